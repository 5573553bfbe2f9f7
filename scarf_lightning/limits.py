"""What values an option takes, said once: its check, its sentence and its documentation are made from it."""

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

Limit = str | tuple[str, ...]
"""An interval as it is written in mathematics, ``"(0, 1]"``, whose ends may be ``inf``; or the strings allowed."""

INTERVAL = re.compile(r"([\[(])(\S+), (\S+)([\])])")
LARGEST_SHARE = 1
"""An interval that ends here or before is said as a whole, another one by the end that is passed."""


class Limited:
    """A dataclass whose options have limits.

    ``limits`` names them by option; those of a class that it inherits from hold too. A class reads them off its source
    (`scarf_lightning.config.facts`), so they must be written out. None, where an option takes it, has no limits.
    """

    limits: ClassVar[dict[str, Limit]] = {}

    def __post_init__(self) -> None:
        check_limits(vars(self), limits_of(type(self)))


def limits_of(cls: type[Any]) -> dict[str, Limit]:
    """Those of a class, with those that it inherits."""
    limits: dict[str, Limit] = {}
    for each in reversed(cls.__mro__):
        limits |= vars(each).get("limits", {})
    return limits


def check_limits(options: Mapping[str, Any], limits: Mapping[str, Limit]) -> None:
    """Raise a ValueError that names the first option beyond its limits, and these."""
    for option, limit in limits.items():
        value = options.get(option)
        wanted = None if value is None else _wanted(limit, value)
        if wanted is not None:
            raise ValueError(f"{option} must {wanted}, not {value}")


def in_words(limit: Limit) -> str:
    """What is allowed, for people."""
    if isinstance(limit, tuple):
        return ", ".join(limit)
    if _is_share(limit):
        return limit
    least, most = _ends(limit)
    return "; ".join(end for end in (least, most) if end)


def _wanted(limit: Limit, value: Any) -> str | None:
    """What a value must do that it does not."""
    if isinstance(limit, tuple):
        return None if value in limit else f"be one of {', '.join(limit)}"
    if isinstance(value, str):
        return None  # a word in the place of a number, such as auto, is for the class to judge
    opening, low, high, closing = _parsed(limit)
    above = value > float(low) or (opening == "[" and value == float(low))
    below = value < float(high) or (closing == "]" and value == float(high))
    if above and below:
        return None
    if _is_share(limit):
        return f"lie in {limit}"
    least, most = _ends(limit)
    return f"be {most if above and most else least}"


def _ends(limit: str) -> tuple[str, str]:
    """The two ends of an interval in words; the upper one is empty where there is none."""
    opening, low, high, closing = _parsed(limit)
    most = "" if float(high) == math.inf else f"{'at most' if closing == ']' else 'below'} {high}"
    return f"{'at least' if opening == '[' else 'greater than'} {low}", most


def _is_share(limit: str) -> bool:
    return float(_parsed(limit)[2]) <= LARGEST_SHARE


def _parsed(limit: str) -> tuple[str, str, str, str]:
    found = INTERVAL.fullmatch(limit)
    if found is None:
        raise TypeError(f"{limit!r} is no interval such as '(0, 1]'")
    opening, low, high, closing = found.groups()
    return opening, low, high, closing
