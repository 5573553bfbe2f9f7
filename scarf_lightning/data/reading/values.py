"""Numbers and dates that are written as text, each column in one notation."""

import re
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd
from pandas.tseries.api import guess_datetime_format

from ..arguments import argument
from ..columns import EXACT, Floats

MISSING = frozenset(["", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "none", "null", "missing", "unknown", "#n/a"])
"""Texts, in lower case, that stand for a missing value in a column of numbers or dates."""
LONGEST = 100
"""Characters. Longer texts are neither numbers nor dates."""
UNITS = "%$€£¥"
LIKE_A_NUMBER = re.compile(r"(\w{1,3}\. ?)?[^\w\s]{0,2} ?\d[\d.,']* ?\S{0,5}")
"""Such as ``120 m2``, ``<120``, ``5k`` and ``ca. 120``."""

DAY = 86_400.0
EPOCH, SECOND = pd.Timestamp(0).as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
"""In seconds: nanoseconds end in 2262, and many tables write 9999-12-31 for a date that never comes."""
DATE_PARTS, CATEGORICAL_PARTS = ("days", "month", "weekday", "hour"), ("month", "weekday")
LIKE_A_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}|[^\W\d_]{3}")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
IN_UTC = re.compile(r"(Z|[+-]00:?00)$")
OTHER_ZONES = "its times are in time zones other than UTC, and are read as the same moments in UTC"

Notation = tuple[str, bool, str]
"""How the numbers of a column are written: the decimal sign, a point or a comma; whether the other one separates
thousands; and the sign that stands with every number, a currency's, ``%`` or none."""


def known_values(texts: Sequence[str]) -> list[str]:
    """The texts but those that stand for a missing value among numbers or dates."""
    return [text for text in texts if text.lower() not in MISSING]


@cache
def _pattern(notation: Notation) -> re.Pattern[str]:
    decimal, is_grouped, unit = notation
    point, group, sign = re.escape(decimal), re.escape(_thousands(decimal)), re.escape(unit)
    whole = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+" if is_grouped else r"\d+"
    number = rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(rf"([+-]?)(?:{sign} ?([+-]?)({number})|({number}) ?{sign})", re.ASCII)


def _thousands(decimal: str) -> str:
    """The sign between thousands."""
    return "," if decimal == "." else "."


def number_of(text: str, notation: Notation) -> float | None:
    """The number that a text writes in a notation, percentages as shares of 1; None if it writes none."""
    match = _pattern(notation).fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    decimal, _, unit = notation
    sign, inner_sign, behind, before = match.groups(default="")
    digits = (behind + before).replace(_thousands(decimal), "").replace(decimal, ".")
    number = float(sign + inner_sign + digits)
    return number / 100 if unit == "%" else number


def notation_of(texts: Sequence[str], decimal: str | None = None) -> tuple[Notation, list[str], list[str]]:
    """The notation in which most distinct texts are numbers, the texts that are none in it, and notes on doubts.

    Args:
        texts: without blanks around them, and without those that stand for a missing value.
        decimal: the decimal sign; None takes the point, unless more texts are numbers with a comma.
    """
    unit = next((sign for sign in UNITS if texts and sign in texts[0]), "")
    others = {}
    for sign in (decimal,) if decimal else (".", ","):
        notation = (sign, True, unit)
        others[sign] = [text for text in texts if number_of(text, notation) is None]
    best = min(others, key=lambda sign: len(others[sign]))
    is_grouped = any(_thousands(best) in text for text in texts)
    notes = []
    if best == "." and is_grouped and len(others.get(",", texts)) == len(others[best]) < len(texts):
        doubt = "its commas are read as separators of thousands, though they could be decimal"
        notes.append(f"{doubt}; {argument('dataset.decimal', ',')} reads them as decimal")
    return (best, is_grouped, unit), others[best], notes


def why_codes(texts: Sequence[str]) -> str | None:
    """The reason why whole numbers are codes and no quantities; None if they may be quantities."""
    unsigned = [text.lstrip("+-") for text in texts]
    whole = [digits for digits in unsigned if digits.isascii() and digits.isdigit()]
    if any(len(digits) > 1 and digits.startswith("0") for digits in whole):
        return "whole numbers with leading zeros"
    # Python refuses to make integers of thousands of digits.
    if any(len(digits) > len(str(EXACT)) or int(digits) > EXACT for digits in whole):
        return "whole numbers above 2^53, which float64 rounds"
    return None


def date_format(texts: Sequence[str]) -> tuple[str, list[str]] | None:
    """The one format in which all distinct texts are dates, and notes on doubts; None if there is none.

    Of formats that differ in the order of day and month, the one with the month first counts, but behind dots.

    Args:
        texts: without those that stand for a missing value.
    """
    if not texts or not all(len(text) <= LONGEST and LIKE_A_DATE.search(text) for text in texts):
        return None
    fitting = [format for format in _formats(max(texts, key=len)) if times_of(texts, format).notna().all()]
    if not fitting:
        return None
    format, *others = fitting
    notes = []
    # After a year everybody writes the month first.
    if others and not format.startswith("%Y"):
        doubt = f"its dates are read as {format}, though they could be {others[0]}"
        notes.append(f"{doubt}; write them as 2024-12-31 to be sure")
    # A moment in another zone may be on another day there.
    if "%z" in format and not all(map(IN_UTC.search, texts)):
        notes.append(OTHER_ZONES)
    return format, notes


def _formats(text: str) -> list[str]:
    """The formats with a year in which a text may be a date, by pandas."""
    formats: dict[str, None] = {}
    for is_day_first in ("." in text, "." not in text):
        with warnings.catch_warnings():
            # It warns of a day after the 12th that tells the order.
            warnings.simplefilter("ignore")
            format = guess_datetime_format(text, dayfirst=is_day_first) or ""
        if "%Y" in format and not format.startswith("%Y-%d"):
            # May is a short name and a long one.
            formats |= dict.fromkeys([format, format.replace("%B", "%b")])
    return list(formats)


def times_of(texts: Sequence[str], format: str | None) -> "pd.Series[Any]":
    """A time for each text, NaT if it is not in this format; without one, as ISO 8601 writes it (2024-12-31)."""
    column = pd.Series(list(texts), dtype="str")
    if format is None:
        # ISO 8601 has other forms too, such as 20241231, which is rather a number.
        column = column.where(column.str.match(ISO_DATE))
        return pd.Series(pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True))
    return pd.Series(pd.to_datetime(column, format=format, errors="coerce", utc="%z" in format))


def utc(times: "pd.Series[Any]") -> "pd.Series[Any]":
    """Times of any zone, or of none, as times of UTC without a zone."""
    if times.dt.tz is None:
        return times
    return pd.Series(times.dt.tz_convert("UTC").dt.tz_localize(None))


def date_parts(times: "pd.Series[Any]") -> dict[str, Floats]:
    """Days since 1970, month, weekday and hour of n times, each ``(n,)``; NaN where a time is missing.

    Months and weekdays are categories. A periodic coding by a sine would differ between machines in its last bits, and
    with it the hash of the data.
    """
    times = utc(times)
    parts: dict[str, Any] = {
        "days": (times - EPOCH) // SECOND / DAY,
        "month": times.dt.month,
        "weekday": times.dt.day_of_week + 1,
        "hour": times.dt.hour + times.dt.minute / 60,
    }
    return {name: pd.Series(part, dtype="float64").where(times.notna()).to_numpy() for name, part in parts.items()}
