"""The identity of a cell: its data, and the options of its parts that differ from their defaults.

An option that is added later, at its default, is no part of any finished cell's identity. So finished cells stay
finished. The description beside a cell keeps every option that the cell uses, with its value.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..metrics import metrics
from ..options import Config, plugin_hashes
from ..options.combinations import UsedOption, is_in, own_parts, used_options
from ..options.config import derived
from ..options.settings import READING
from .records import Fields, Row

SCIENCE_VERSION = 3
"""Raised by every change that alters the numbers of a cell; results of another version are other results."""

NOT_OPTIONS = ("science", "data", "plugins")
"""Fields of an identity that are no options of the cell."""

OF_NO_PRETRAINING = ("regime", "method", "cotrain", "finetune", "network.head")
"""Options, and groups of them, that a cell's pre-training does not depend on."""

OF_LABELS = ("regime",)
"""Those among them that it depends on if it uses labels."""

NULL = "null"
"""An option that is set to nothing, in a column of results."""
PLAIN_WORD = re.compile(r"""[^,'"\\\[\]]+""")
"""A word in a list that needs no quotes."""


def identity(config: Config, data_hash: str) -> Row:
    """The fields that decide the numbers of a cell on the data of this hash."""
    used = used_options(config)
    own = own_parts(used) if config.plugins else []
    return _fields(config, data_hash, used, own)


def pretraining_identity(config: Config, data_hash: str) -> Row:
    """The fields that decide a cell's pre-training.

    One pre-training serves every method and regime, unless it depends on labels: then it depends on the regime, and
    with ``validation=inside`` on how many labels are left to train.
    """
    used = _of_pretraining(config)
    own = own_parts(used) if config.plugins else []
    return _fields(config, data_hash, used, own)


@derived
def _of_pretraining(config: Config) -> list[UsedOption]:
    """The options that a cell's pre-training uses: none of its method, and of labels only if it sees them."""
    options = used_options(replace(config, method={"name": "control"}))
    passed_over = OF_NO_PRETRAINING if config.pretrain.probe else (*OF_NO_PRETRAINING, "pretrain.probe")
    used = [each for each in options if not is_in(each.name, passed_over)]
    # By its pretext, or by the probes in its curves.
    if not config.is_pretrained or not (config.pretrain.probe or config.part("pretrain").uses_labels):
        return used
    # The cell itself says whether anything validates, and so whether the share that does is used.
    used += [each for each in used_options(config) if is_in(each.name, OF_LABELS)]
    if config.part("pretrain").uses_labels:
        used += [each for each in options if is_in(each.name, ("network.head",))]
    if config.regime.get("validation") == "inside":
        used.append(UsedOption("watched from", str(config.watched_from), True))
    return used


def columns(config: Config) -> Row:
    """Every option that the cell uses, by its dotted name, as columns of results show it.

    Options of reading are among them if they are set, such as ``dataset.drop``.
    """
    # They describe a cell and are no part of its identity. The hash of the table holds what they do to it, so two ways
    # of asking for one table are one cell, and a cell keeps its fingerprint whether or not its reading is described.
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


def fingerprint(fields: Row) -> str:
    """16 hexadecimal digits that name these fields."""
    text = json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fields(config: Config, data_hash: str, used: Sequence[UsedOption], own: Sequence[tuple[str, type[Any]]]) -> Row:
    """The fields of an identity: science, data, plugins of the user's ``own`` parts, and the options that differ from
    their defaults."""
    fields: Row = {"science": SCIENCE_VERSION, "data": data_hash}
    if config.plugins:
        watched = [each.value for each in used if each.name == "finetune.metric"]
        code = [*(cls for _, cls in own), *(metric.function for metric in metrics() if metric.name in watched)]
        # A plugin of which nothing is used decides nothing.
        if hashes := plugin_hashes(config.plugins, code):
            fields["plugins"] = hashes
    for each in used:
        # Defaults are left out, so that an option that is added later changes no identity.
        if each.differs:
            fields[each.name] = _plain(each.value)
    return fields


def _plain(value: Any) -> Any:
    """A value as it is hashed. A number's identity is its value: 1 and 1.0 are one setting."""
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
