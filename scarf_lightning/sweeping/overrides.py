"""Overrides, from what a user writes to what Hydra reads, and back.

A user names a file as a dataset, and writes values that Hydra's grammar does not have. Hydra sees those in quotes.
"""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from ..data.sources import ENDING
from ..errors import UsageError
from ..options.axes import AXES, SEVERAL
from .flags import CONFIG_DIR, FLAGS, MODES
from .folders import overrides_notation, swept

PARAMS = "hydra.sweeper.params"
"""Hydra's own place for the axes of a sweep."""


def overrides_of(asked: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides from Python, where a sweep may be named without ``sweeps=``.

    Raises:
        UsageError: a word is neither, see `check_words`, or is no text.
    """
    first = [asked] if isinstance(asked, str) else list(asked)
    for word in (*first, *more):
        if not isinstance(word, str):
            raise UsageError(
                f"{word!r} is no override: give text such as 'trials=2', one after the other or all in one list."
            )
    # A mode of Hydra's changes nothing, as on the command line.
    words = [word for word in (*first, *more) if word not in MODES]
    overrides = list[str]()
    for place, word in enumerate(words):
        if word.startswith("-"):
            _refuse_flag(word, words[place + 1 :])
        follows_comma = bool(overrides) and overrides[-1].endswith(",")
        is_sweep = word in first and "=" not in word and not word.startswith("~") and not follows_comma
        overrides.append(f"sweeps={word}" if is_sweep else word)
    check_words(overrides)
    return spelled_out(overrides)


def _refuse_flag(word: str, following: Sequence[str]) -> NoReturn:
    """Refuse a flag from Python, whose arguments take the place of some."""
    name, _, value = word.lstrip("-").partition("=")
    if word.partition("=")[0] in CONFIG_DIR:
        raise UsageError(f"{word} is a flag of the command line; in Python it is the argument config_dir.")
    if word.partition("=")[0] in FLAGS:
        raise UsageError(f"{word} is a flag of the command line, which shows something or is refused; leave it out.")
    value = value or "".join([each for each in following[:1] if "=" not in each]) or "VALUE"
    raise UsageError(f"{word} is not known; options have no dashes: {name}={value}.")


def check_words(arguments: Sequence[str]) -> None:
    """Refuse words of a command line that are no options, which Hydra would answer in words of its grammar.

    Raises:
        UsageError: a blank stands after a comma or before a sign of equality, or a word has no such sign.
    """
    previous = ""
    for argument in arguments:
        # Flags have a value, but for those of a mode.
        is_of_flag = previous.startswith("-") and previous not in MODES
        name, _, value = argument.partition("=")
        if name.endswith(" ") and not name.startswith("-") and not is_of_flag:
            raise UsageError(f"A blank stands before a sign of equality: write {name.strip()}={value.strip()}.")
        if "=" in argument or argument[:1] in ("-", "~") or is_of_flag:
            previous = argument
            continue
        if previous.endswith(","):
            raise UsageError(f"A blank stands after a comma: write {previous}{argument}, or put all values in quotes.")
        raise UsageError(f"{argument or repr(argument)} is no option; write OPTION=VALUE, or sweeps=NAME for a sweep.")


def overrides_of_file(path: str, target: str) -> list[str]:
    """The overrides that choose a file as the dataset, and its column to predict."""
    asked = []
    for option, value in (("dataset.path", path), ("dataset.target", target)):
        # A column may be called null or have a comma in its name.
        text = value if is_plain_text(value) else _quoted(value)
        asked.append(f"{option}={text}")
    return spelled_out(asked)


def is_plain_text(value: str) -> bool:
    """True if Hydra reads a value as this text also without quotes."""
    not_text = ("null", "true", "false", "nan", "inf")
    return re.fullmatch(r"[A-Za-z_./][\w./-]*", value, re.ASCII) is not None and value.lower() not in not_text


def hydra_text(value: Any) -> str:
    """A plain value as Hydra's grammar writes it, texts in quotes where they need them.

    >>> hydra_text({"a": [None, "b c"]})
    "{a:[null,'b c']}"
    """
    return overrides_notation(value, _text)


def _text(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) and not is_plain_text(value) else str(value)


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """A command line for Hydra: a file of the user's is ``dataset=csv dataset.path=FILE``, however it was named, and a
    value that Hydra's grammar does not have, such as ``Größe (cm)``, is in quotes. Axes in ``hydra.sweeper.params``,
    Hydra's own place for them, are options."""
    arguments = _with_axes(arguments)
    names = [argument for argument in arguments if argument.startswith("dataset=")]
    has_path = any(argument.startswith("dataset.path=") for argument in arguments)
    file, spelled = names[-1].partition("=")[2] if names else "", list(arguments)
    if has_path and not names:
        spelled += ["dataset=csv"]
    elif ENDING.search(file):
        # Each earlier dataset= is dropped as well: the last one wins.
        others = [argument for argument in arguments if argument not in names]
        spelled = [*others, "dataset=csv", f"dataset.path={file}"]
    return [_readable(argument) for argument in spelled]


def _with_axes(arguments: Sequence[str]) -> list[str]:
    """The arguments with the axes of ``hydra.sweeper.params`` as options, where no other argument sets them."""
    axes, others = dict[str, str](), list[str]()
    for argument in arguments:
        place, _, value = argument.lstrip("+").partition("=")
        if not place.startswith(PARAMS):
            others.append(argument)
            continue
        name = place.removeprefix(PARAMS).lstrip(".")
        values: Any = value
        # In quotes, or as a dictionary of all axes.
        if not name or value[:1] in ("'", '"'):
            values = OverridesParser.create().parse_override(argument).value()
        if name:
            axes[name] = str(values)
        elif isinstance(values, dict):
            axes |= {str(key): swept(each) for key, each in values.items()}
        else:
            raise UsageError(f"{argument}: {PARAMS} has axes by name, as in {PARAMS}.corruption=mean,marginal.")
    given = {argument.lstrip("+").partition("=")[0] for argument in others}
    return [*(f"{name}={values}" for name, values in axes.items() if name not in given), *others]


def _readable(argument: str) -> str:
    """An override whose value, or each value of a list, is in quotes if Hydra's grammar does not have it as it is.

    Raises:
        UsageError: the value is a dictionary, and Python runs without assertions.
    """
    key, sign, value = argument.partition("=")
    if not sign or argument.startswith("-"):
        return argument
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        # A list stays one: its values are put in quotes, each by itself.
        if value.startswith("[") and value.endswith("]"):
            each = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s][^,]*", value[1:-1])
            return f"{key}=[{','.join(map(_quoted, each))}]"
        return f"{key}={_quoted(value)}"
    except AttributeError as error:
        # Hydra's grammar of dictionaries is made by assertions, which python -O leaves out.
        if __debug__:
            raise
        reason = "Hydra cannot read a dictionary under python -O; start Python without -O"
        raise UsageError(f"{argument}: {reason}.") from error
    return argument


def _quoted(value: str) -> str:
    # The user's own quotes are kept: a shell removes the outer ones, so these are meant for Hydra.
    if value[:1] in ("'", '"'):
        return value
    return QuotedString(value, Quote.single).with_quotes()


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
    group, _, package = override.get_key_element().lstrip("+~").partition("@")
    return (package or group).replace("/", ".")


def check_choices(arguments: Sequence[str]) -> None:
    """Refuse what Hydra answers by a traceback: an override without a name, and a number, a list or null where one
    chooses by name. Raises `UsageError`."""
    axes = {axis.name for axis in AXES}
    for argument in arguments:
        group = argument.partition("=")[0].lstrip("+").partition("@")[0]
        if not group.strip("~ "):
            raise UsageError(f"{argument} names no option; write OPTION=VALUE.")
        if "=" not in argument or group not in axes:
            continue
        override = OverridesParser.create().parse_override(argument)
        value = override.value()
        if override.is_sweep_override() or isinstance(value, str):
            continue
        # A list of names was meant as a sweep; a list of anything else is no choice.
        names = value if isinstance(value, list) else []
        if names and all(isinstance(each, str) for each in names):
            if group in SEVERAL:
                continue
            refuse_several(group, ",".join(names))
        raise UsageError(f"{argument}: {group} is chosen by name; --help lists the names.")


def refuse_several(axis: str, options: str) -> NoReturn:
    """Hydra would merge several options of an axis, and the last one would win."""
    raise UsageError(f"{axis}=[{options}]: name one option, or try each of them with {axis}={options}.")
