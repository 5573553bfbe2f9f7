"""Overrides, from what a user writes to what Hydra reads, and back.

A user names a file as a dataset, and writes values that Hydra's grammar does not have. Hydra sees those in quotes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, Quote, QuotedString, Sweep
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ..data.sources import ENDING
from ..errors import UsageError
from ..options.axes import AXES, SEVERAL, TARGET
from .flags import MODES
from .folders import flat, overrides_notation
from .hydra import plain_values, usage_error


def overrides_of(asked: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides from Python, where a sweep may be named without ``sweeps=``.

    Raises:
        UsageError: a word is neither, see `check_words`, or is no text.
    """
    first = [asked] if isinstance(asked, str) else list(asked)
    overrides = list[str]()
    for word in (*first, *more):
        if not isinstance(word, str):
            raise UsageError(
                f"{word!r} is no override: give text such as 'trials=2', one after the other or all in one list."
            )
        # A mode of Hydra's changes nothing, as on the command line.
        if word in MODES:
            continue
        if word.startswith("-"):
            raise UsageError(
                f"{word} is for the command line: in Python options have no dashes, NAME=VALUE, and a folder of "
                "options is the argument config_dir."
            )
        follows_comma = overrides[-1:] and overrides[-1].endswith(",")
        is_sweep = word in first and "=" not in word and not word.startswith("~") and not follows_comma
        overrides.append(f"sweeps={word}" if is_sweep else word)
    check_words(overrides)
    return spelled_out(overrides)


def overrides_of_options(options: Mapping[str, Any]) -> list[str]:
    """The overrides that set options given as a dictionary or a DictConfig, of which some may be left out.

    >>> overrides_of_options({"corruption": {"name": "mean", "rate": 0.3}, "batch_size": 64})
    ['corruption=mean', 'corruption.rate=0.3', 'batch_size=64']

    Raises:
        UsageError: an interpolation leads nowhere, or a value is missing.
    """
    if isinstance(options, DictConfig):
        try:
            options = plain_values(options)
        except OmegaConfBaseException as error:
            raise usage_error(error) from error
    overrides = []
    for name, value in flat(options):
        # The class of a part follows from its name; a logger of Lightning's has no other.
        if not name.endswith(f".{TARGET}") or name.startswith("logger."):
            # A part is chosen by its section's name.
            overrides.append(f"{name.removesuffix('.name')}={hydra_text(value)}")
    return overrides


def check_words(arguments: Sequence[str]) -> None:
    """Refuse words of a command line that are no options, which Hydra would answer in words of its grammar.

    Raises:
        UsageError: a blank stands after a comma or before a sign of equality, or a word has no such sign.
    """
    previous = ""
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if name.endswith(" ") and sign:
            raise UsageError(f"A blank stands before a sign of equality: write {name.strip()}={value.strip()}.")
        if not sign and not name.startswith("~"):
            if previous.endswith(","):
                raise UsageError(f"A blank stands after a comma: write {previous}{name}, or put all values in quotes.")
            raise UsageError(f"{name or repr(name)} is no option; write OPTION=VALUE, or sweeps=NAME for a sweep.")
        previous = argument


def overrides_of_file(path: str, target: str) -> list[str]:
    """The overrides that choose a file as the dataset, and its column to predict."""
    # A column may be called null or have a comma in its name.
    return spelled_out([f"dataset.path={hydra_text(path)}", f"dataset.target={hydra_text(target)}"])


def hydra_text(value: Any) -> str:
    """A plain value as Hydra's grammar writes it, texts in quotes where they need them.

    >>> hydra_text({"a": [None, "b c"]})
    "{a:[null,'b c']}"
    """
    return overrides_notation(value, _text)


def _text(value: Any) -> str:
    not_text = ("null", "true", "false", "nan", "inf")
    if not isinstance(value, str):
        return str(value)
    is_plain = re.fullmatch(r"[A-Za-z_./][\w./-]*", value, re.ASCII) and value.lower() not in not_text
    return value if is_plain else _quoted(value)


def _quoted(value: str) -> str:
    # The user's own quotes are kept: a shell removes the outer ones, so these are meant for Hydra.
    return value if value[:1] in ("'", '"') else str(QuotedString(value, Quote.single).with_quotes())


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """A command line for Hydra: a file of the user's is ``dataset=csv dataset.path=FILE``, however it was named, and a
    value that Hydra's grammar does not have, such as ``Größe (cm)``, is in quotes.

    Raises:
        UsageError: what stands before a sign of equality is no name of an option.
    """
    names = [argument for argument in arguments if argument.startswith("dataset=")]
    file, spelled = names[-1].partition("=")[2] if names else "", list(arguments)
    if not names and any(argument.startswith("dataset.path=") for argument in arguments):
        spelled += ["dataset=csv"]
    elif ENDING.search(file):
        # Each earlier dataset= is dropped as well: the last one wins.
        spelled = [*(each for each in arguments if each not in names), "dataset=csv", f"dataset.path={file}"]
    return list(map(_readable, spelled))


def _readable(argument: str) -> str:
    """An override whose value, or each value of a list, is in quotes if Hydra's grammar does not have it as it is."""
    key, sign, value = argument.partition("=")
    # A sign ~ needs no value.
    if not sign and not argument.startswith("~"):
        return argument
    quoted = _quoted(value)
    # A list stays one: its values are put in quotes, each by itself.
    if value.startswith("[") and value.endswith("]"):
        each = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s][^,]*", value[1:-1])
        quoted = f"[{','.join(map(_quoted, each))}]"
    for written in (argument, f"{key}={quoted}") if key.strip("+~") else ():
        try:
            OverridesParser.create().parse_override(written)
        except HydraException:
            continue
        return written
    raise UsageError(f"{argument}: {key!r} is no name of an option; write OPTION=VALUE.")


def taken_out(arguments: Sequence[str], names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of these options of a command line, and its other arguments.

    Raises:
        UsageError: an option has several values.
    """
    values, others = dict[str, Any](), list[str]()
    for override in OverridesParser.create().parse_overrides(spelled_out(arguments)):
        name = override.get_key_element()
        if name not in names:
            others.append(str(override.input_line))
        elif override.is_sweep_override():
            raise UsageError(f"{override.input_line}: one value; put a text that holds a comma in quotes.")
        else:
            values[name] = override.value()
    return values, others


def override_key(override: Override) -> str:
    """The axis or the dotted option that an override sets; of ``loss@cotrain.loss=NAME`` the place, cotrain.loss."""
    return (override.package or override.key_or_group).replace("/", ".")


def check_choices(arguments: Sequence[str]) -> None:
    """Refuse a number, a list or null where one chooses by name, which Hydra answers by a traceback.

    Raises:
        UsageError: it is so.
    """
    for override in OverridesParser.create().parse_overrides(list(arguments)):
        axis, value = override.key_or_group, override.value()
        if axis not in {each.name for each in AXES}:
            continue
        if override.is_delete():
            raise UsageError(f"{override.input_line}: every cell needs a choice of {axis}; --help lists them.")
        for each in value.list if isinstance(value, ChoiceSweep) else [value]:
            # A list of names was meant as a sweep: Hydra would merge them, and the last one would win.
            if isinstance(each, list) and each and axis not in SEVERAL:
                several = ",".join(map(str, each))
                raise UsageError(f"{axis}=[{several}]: name one option, or try each of them with {axis}={several}.")
            if not each or not isinstance(each, (str, list, Sweep, Glob, QuotedString)):
                raise UsageError(f"{override.input_line}: {axis} is chosen by name; --help lists the names.")
