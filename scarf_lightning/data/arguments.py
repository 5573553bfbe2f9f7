"""Options as a user types them in a shell, for notes and refusals that advise one."""

import re
import shlex
from collections.abc import Sequence

PLAIN = re.compile(r"[^\W\d](?:[^,'\"\\\[\]{}=$]*[^\s,'\"\\\[\]{}=$])?")
"""Text that ``train.py`` reads as it is: it begins with a letter, and holds no sign of Hydra's grammar."""
NOT_TEXT = ("null", "true", "false", "nan", "inf")
SAFE = re.compile(r"[\w@%+=:,./\[\]-]*", re.ASCII)
"""An argument that shells pass on as it is."""
ACTIVE = frozenset('"$`\\!')
"""The characters that a shell acts on within double quotes."""


def argument(option: str, value: str | Sequence[str]) -> str:
    """An option with a value, or with a list of them, in the quotes that Hydra and a shell need.

    >>> print(argument("dataset.drop", ["id", "day"]))
    dataset.drop=[id,day]
    >>> print(argument("dataset.drop", ["price, net"]))
    "dataset.drop=['price, net']"
    """
    return _shell_word(override(option, value))


def override(option: str, value: str | Sequence[str]) -> str:
    """An option with a value, or with a list of them, in the quotes that Hydra needs.

    >>> print(override("dataset.drop", ["price, net"]))
    dataset.drop=['price, net']
    """
    if isinstance(value, str):
        return f"{option}={_hydra_value(value)}"
    written = ",".join(map(_hydra_value, value))
    return f"{option}=[{written}]"


def _hydra_value(text: str) -> str:
    """A text in Hydra's grammar of values."""
    if PLAIN.fullmatch(text) and text.lower() not in NOT_TEXT:
        return text
    quote = "'" if "'" not in text else '"'
    # Backslashes are signs of their own only before a quote.
    escaped = re.sub(rf"(\\*)({quote}|$)", lambda found: 2 * found[1] + (found[2] and f"\\{quote}"), text)
    return f"{quote}{escaped}{quote}"


def _shell_word(text: str) -> str:
    """A text as one word of a command line."""
    if SAFE.fullmatch(text):
        return text
    return shlex.quote(text) if ACTIVE & set(text) else f'"{text}"'
