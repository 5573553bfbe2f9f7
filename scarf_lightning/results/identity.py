"""The identity of a cell: its data, and the options of its parts that differ from their defaults.

An option that is added later, at its default, is no part of any finished cell's identity. So finished cells stay
finished. The description beside a cell keeps every option that the cell uses, with its value.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..metrics import metrics
from ..options import Config, plugin_hashes, used_options
from ..options.combinations import UsedOption
from ..options.config import derived
from ..options.settings import READING
from .records import Fields, Row

SCIENCE_VERSION = 3
"""Raised by every change that alters the numbers of a cell; results of another version are other results."""

NOT_OPTIONS = ("science", "data", "plugins")
"""Fields of an identity that are no options of the cell."""

NULL = "null"
"""An option that is set to nothing, in a column of results."""
PLAIN_WORD = re.compile(r"""[^,'"\\\[\]]+""")
"""A word in a list that needs no quotes."""


def identity(config: Config, options: Sequence[UsedOption], data_hash: str) -> Row:
    """The fields that decide the numbers of a cell, or of its pre-training, on the data of this hash: science, data,
    plugins of which they use something, and the options that differ from their defaults.

    Args:
        options: the options that decide them, see `used_options` and `pretraining_options`.
    """
    fields: Row = {"science": SCIENCE_VERSION, "data": data_hash}
    if config.plugins:
        watched_metrics = [each.value for each in options if each.name == "finetune.metric"]
        code = [
            *(each.own for each in options if each.own),
            *(metric.function for metric in metrics() if metric.name in watched_metrics),
        ]
        # A plugin that the cell does not use changes no numbers.
        if hashes := plugin_hashes(config.plugins, code):
            fields["plugins"] = hashes
    for each in options:
        # Defaults are left out, so that an option that is added later changes no identity.
        if each.differs:
            fields[each.name] = _plain(each.value)
    return fields


def columns(config: Config) -> Row:
    """Every option that the cell uses, by its dotted name, as columns of results show it.

    Options of reading are among them if they are set, such as ``dataset.drop``.
    """
    # They describe a cell and are no part of its identity. The hash of the table holds what they do to it, so two ways
    # to name one table are one cell, and a cell keeps its fingerprint whether or not its reading is described.
    # An option that does nothing is left out, as it is from results that are older than the option.
    dataset = vars(config.dataset)
    reading = {f"dataset.{name}": as_column(dataset[name]) for name in READING if dataset.get(name) not in (None, [])}
    return _option_columns(config) | reading


@derived
def _option_columns(config: Config) -> Row:
    """Those of `columns` that are not of reading."""
    return {each.name: as_column(_plain(each.value)) for each in used_options(config)}


def is_of_reading(column: str) -> bool:
    """Tell whether a column is an option of how a table is read."""
    section, _, option = column.partition(".")
    return section == "dataset" and option in READING


def with_reading(rows: Sequence[Fields]) -> list[Row]:
    """Rows in which an option of reading that some of them set is null in the others, which do without it."""
    names = sorted(filter(is_of_reading, set().union(*rows)))
    return [{**row, **{name: NULL for name in names if row.get(name) is None}} for row in rows]


def as_column(value: Any) -> Any:
    """An option's value in a column of results.

    A list or options by name are in the words of the command line, so that they can be compared.
    """
    if isinstance(value, list):
        # A comma in a word would make two words of it.
        words = [word if PLAIN_WORD.fullmatch(word) else repr(word) for word in map(str, value)]
        return f"[{','.join(words)}]"
    if isinstance(value, dict):
        entries = [f"{name}:{as_column(each)}" for name, each in sorted(value.items())]
        return f"{{{','.join(entries)}}}"
    return NULL if value is None else value


def _plain(value: Any) -> Any:
    """A value as it is hashed. A number's identity is its value: 1 and 1.0 are one setting."""
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
