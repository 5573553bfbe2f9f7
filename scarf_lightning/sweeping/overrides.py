"""Overrides, from what a user writes to what Hydra reads, and back.

A user names a file as a dataset, and writes values that Hydra's grammar does not have. Hydra sees those in quotes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, Quote, QuotedString, Sweep
from hydra.errors import HydraException
from omegaconf import MISSING

from ..data.sources import ENDING
from ..errors import UsageError
from ..options.axes import AXES, SEVERAL, TARGET
from .folders import flat

AXIS_NAMES = frozenset(axis.name for axis in AXES)
PLAIN_TEXT = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_./][\w./-]*", re.ASCII | re.IGNORECASE)
"""A text that Hydra reads as one without quotes."""


def overrides_of(asked: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides from Python, where a sweep may be named without ``sweeps=``, as Hydra reads them.

    Raises:
        UsageError: a word is neither, or is no text.
    """
    first = [asked] if isinstance(asked, str) else list(asked)
    overrides = list[str]()
    for word in (*first, *more):
        if not isinstance(word, str):
            raise UsageError(f"{word!r} is no override: give texts such as 'trials=2', each alone or all in one list.")
        is_sweep = word in first and re.match(r"[^=~-]+$", word)
        overrides.append(f"sweeps={word}" if is_sweep else word)
    return spelled_out(overrides)


def overrides_of_options(options: Mapping[str, Any]) -> list[str]:
    """The overrides that set options given as a dictionary, of which some may be left out.

    >>> overrides_of_options({"corruption": {"name": "mean", "rate": 0.3}, "batch_size": 64})
    ['corruption=mean', 'corruption.rate=0.3', 'batch_size=64']
    """
    overrides = []
    for name, value in flat(options):
        # The class of a part follows from its name; a logger of Lightning's has no other.
        is_class = name.endswith(f".{TARGET}") and not name.startswith("logger.")
        if not is_class and value != MISSING:
            # A part is chosen by its section's name.
            overrides.append(f"{name.removesuffix('.name')}={hydra_text(value)}")
    return overrides


def hydra_text(value: Any) -> str:
    """A plain value as Hydra's grammar writes it, texts in quotes where they need them.

    >>> hydra_text({"a": [None, "b c"], "d": True})
    "{a:[null,'b c'],d:true}"
    """
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(hydra_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{name}:{hydra_text(each)}' for name, each in value.items())}}}"
    # Hydra reads Python's None and True as texts.
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    needs_quotes = isinstance(value, str) and not PLAIN_TEXT.fullmatch(value)
    return _quoted(value) if needs_quotes else str(value)


def swept(values: Any) -> str:
    """The values of an axis of a file in Hydra's notation. A list is swept; a list in a list is one value. A text is as
    on the command line: ``glob(cc18-*)``."""
    if isinstance(values, str):
        return values
    return ",".join(map(hydra_text, values)) if isinstance(values, list) else hydra_text(values)


def _quoted(value: str) -> str:
    # The user's own quotes are kept: a shell removes the outer ones, so these are meant for Hydra.
    return value if value[:1] in ("'", '"') else str(QuotedString(value, Quote.single).with_quotes())


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """A command line for Hydra: a file of the user's is ``dataset=csv dataset.path=FILE``, however it was named, and a
    value that Hydra's grammar does not have, such as ``Größe (cm)``, is in quotes.

    Raises:
        UsageError: an argument is no option with a value.
    """
    words = [*arguments]
    names = [word for word in words if word.startswith("dataset=")]
    # The last one wins.
    if names and ENDING.search(names[-1]):
        words = [*(word for word in words if word not in names), names[-1].replace("=", ".path=", 1)]
        names = []
    if not names and any(word.startswith("dataset.path=") for word in words):
        words.append("dataset=csv")
    return list(map(_readable, words))


def _readable(argument: str) -> str:
    """An override whose value, or each value of a list, is in quotes if Hydra's grammar does not have it as it is."""
    key, _, value = argument.partition("=")
    quoted = _quoted(value)
    # A list stays one: its values are put in quotes, each by itself.
    if value.startswith("[") and value.endswith("]"):
        each = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s][^,]*", value[1:-1])
        quoted = f"[{','.join(map(_quoted, each))}]"
    has_name = re.match(r"~.|[^=]+=", argument)
    for written in (argument, f"{key}={quoted}") if has_name else ():
        with suppress(HydraException):
            OverridesParser.create().parse_override(written)
            return written
    raise UsageError(f"{argument!r} is no option; write OPTION=VALUE or OPTION=A,B without blanks, or sweeps=NAME.")


def parsed(arguments: Sequence[str], loader: ConfigLoader | None = None) -> list[Override]:
    """Overrides as Hydra reads them. With its loader a pattern stands for the options that it matches.

    Raises:
        UsageError: an axis is taken away or not chosen by a name, or an option of Hydra's would lose results.
    """
    overrides = OverridesParser.create(config_loader=loader).parse_overrides(list(arguments))
    for override in overrides:
        line, axis, value = override.input_line, override.key_or_group, override.value()
        if axis.startswith("hydra.run.") or (axis == "hydra.job.chdir" and value is not False):
            raise UsageError(f"{line}: leave it out, for paths.results=FOLDER says where results go.")
        if axis.startswith("hydra.sweeper.params."):
            raise UsageError(f"{line}: leave it out; write AXIS=A,B on the command line, or in a file of sweeps/.")
        is_name = isinstance(value, (str, dict, Sweep, Glob)) or (isinstance(value, list) and axis in SEVERAL)
        # Hydra would merge the names of a list, and the last one would win.
        if axis in AXIS_NAMES and (override.is_delete() or not is_name):
            raise UsageError(f"{line}: {axis} is chosen by name, {axis}=NAME or {axis}=A,B; --help lists the names.")
    return overrides


def taken_out(arguments: Sequence[str], names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of these options of a command line, and its other arguments.

    Raises:
        UsageError: an option has several values.
    """
    words = spelled_out(arguments)
    own = [word for word in words if word.partition("=")[0] in names]
    values = dict[str, Any]()
    for override in parsed(own):
        if override.is_sweep_override():
            raise UsageError(f"{override.input_line}: one value; put a text that holds a comma in quotes.")
        values[override.key_or_group] = override.value()
    return values, [word for word in words if word not in own]


def override_key(override: Override) -> str:
    """The axis or the dotted option that an override sets; of ``loss@cotrain.loss=NAME`` the place, cotrain.loss."""
    return (override.package or override.key_or_group).replace("/", ".")
