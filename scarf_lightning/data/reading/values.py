"""Numbers and dates that are written as text, each column in one notation."""

import re
import warnings
from collections.abc import Sequence
from functools import cache
from math import isnan, nan
from typing import Any

import pandas as pd
from pandas.tseries.api import guess_datetime_format

MISSING = frozenset(["", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "none", "null", "missing", "unknown", "#n/a"])
"""Texts, in lower case, that stand for a missing value in a column of numbers or dates."""
LONGEST = 100
"""Characters. Longer texts are no dates."""
UNITS = "%$€£¥"
THOUSANDS = {".": ",", ",": "."}
"""The sign between thousands by the decimal sign."""
CODE = re.compile(r"[+-]*(0\d+|9\d{15}|\d{17,})", re.ASCII)
"""Whole numbers with leading zeros, or so large that float64 rounds some."""

DATE_PARTS, CATEGORICAL_PARTS = ("days", "month", "weekday", "hour"), ("month", "weekday")
EPOCH, SECOND = pd.Timestamp(0).as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
"""In seconds: nanoseconds end in 2262, and many tables write 9999-12-31 for a date that never comes."""

Notation = tuple[str, bool, str]
"""How the numbers of a column are written: the decimal sign, a point or a comma; whether the other one separates
thousands; and the sign that stands with every number, a currency's, ``%`` or none."""


def known_values(texts: Sequence[str]) -> list[str]:
    """The texts but those that stand for a missing value among numbers or dates."""
    return [text for text in texts if text.lower() not in MISSING]


@cache
def _pattern(notation: Notation) -> re.Pattern[str]:
    decimal, is_grouped, unit = notation
    point, sign = re.escape(decimal), re.escape(unit)
    whole = rf"(?:[1-9]\d{{0,2}}(?:[{THOUSANDS[decimal]}]\d{{3}})+|\d+)" if is_grouped else r"\d+"
    number = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(rf"[+-]?{sign} ?{number}|{sign}[+-]{number}|[+-]?{number} ?{sign}", re.ASCII)


def number_of(text: str, notation: Notation) -> float:
    """The number that a text writes in a notation, percentages as shares of 1; NaN if it writes none."""
    if not _pattern(notation).fullmatch(text):
        return nan
    decimal, _, unit = notation
    number = float(re.sub(rf"[ {unit}{THOUSANDS[decimal]}]", "", text).replace(decimal, "."))
    return number / 100 if unit == "%" else number


def notation_of(texts: Sequence[str], decimal: str | None = None) -> tuple[Notation, list[str], list[str]]:
    """The notation in which most distinct texts are numbers, the texts that are none in it, and notes on doubts.

    Args:
        texts: without blanks around them, and without those that stand for a missing value.
        decimal: the decimal sign; None takes the point, unless more texts are numbers with a comma.
    """
    unit = next((sign for sign in UNITS if texts and sign in texts[0]), "")
    others = {}
    for sign in [decimal] if decimal else THOUSANDS:
        others[sign] = [text for text in texts if isnan(number_of(text, (sign, True, unit)))]
    best = min(others, key=lambda sign: len(others[sign]))
    is_grouped = any(THOUSANDS[best] in text for text in texts)
    notes = []
    if is_grouped and others[best] == others.get(",") != texts:
        doubt = "its commas are read as separators of thousands, though they could be decimal"
        notes.append(f"{doubt}; \"dataset.decimal=','\" reads them as decimal")
    return (best, is_grouped, unit), others[best], notes


def date_format(texts: Sequence[str]) -> tuple[str, list[str]]:
    """The one format in which all distinct texts are dates, and notes on doubts; "" if there is none.

    Of formats that differ in the order of day and month, the one with the month first counts, but behind dots.

    Args:
        texts: without those that stand for a missing value.
    """
    longest = max(texts, key=len, default="")[:LONGEST]
    fitting = []
    for is_day_first in ("." in longest, "." not in longest):
        with warnings.catch_warnings():
            # It warns of a day after the 12th that tells the order.
            warnings.simplefilter("ignore")
            format = guess_datetime_format(longest, dayfirst=is_day_first) or ""
        # After a year everybody writes the month first.
        is_dated = "%Y" in format and not format.startswith("%Y-%d")
        if is_dated and format not in fitting and times_of(texts, format).notna().all():
            fitting.append(format)
    first, *others = fitting or [""]
    doubt = f"its dates are read as {first}, though they could be {{}}; write them as 2024-12-31 to be sure"
    return first, [doubt.format(other) for other in others]


def times_of(texts: Sequence[str], format: str) -> "pd.Series[Any]":
    """A time of UTC for each text, NaT if it is not in this format, which may be pandas' ``ISO8601``."""
    return pd.Series(pd.to_datetime(pd.Series(texts, dtype="str"), format=format, errors="coerce", utc=True))


def since_epoch(times: "pd.Series[Any]") -> Any:
    """The time of UTC since 1970, of times of any zone, or of none."""
    return pd.to_datetime(times, utc=True).dt.tz_localize(None) - EPOCH


def date_parts(times: "pd.Series[Any]") -> "dict[str, pd.Series[Any]]":
    """Days since 1970, month, weekday and hour of n times, each ``(n,)``; missing where a time is missing.

    Months and weekdays are categories. A periodic coding by a sine would differ between machines in its last bits, and
    with it the hash of the data.
    """
    calendar = pd.to_datetime(times, utc=True).dt
    days, hour = since_epoch(times) // SECOND / 86_400, calendar.hour + calendar.minute / 60
    return {"days": days, "month": calendar.month, "weekday": calendar.day_of_week + 1, "hour": hour}
