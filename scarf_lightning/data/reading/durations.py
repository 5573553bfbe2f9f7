"""Lengths of time as numbers of seconds."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..columns import Floats
from .numbers import is_missing

SECOND = 10**9
"""In nanoseconds. They are counted in whole numbers, so that each notation of a length gives the same number."""
A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
DAY, WEEK = 24 * HOUR, 168 * HOUR

LONGEST = 100
"""Characters. No length of time is longer; the bound keeps long texts from slowing down the reading."""

CLOCK = re.compile(
    r"(?:(?P<days>[+-]?\d{1,7}) days?,? *)?"
    r"(?:(?P<sign>[+-])?(?P<hours>\d{1,9}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d)(?:[.,](?P<part>\d{1,9}))?)?)?",
    re.IGNORECASE,
)
"""``3:02:15``, ``27:30``, ``2 days 03:00:00``, ``-1 days +23:00:00`` and ``5 days``: as pandas, Python, SQL and
spreadsheets write a length of time. Without seconds it is hours and minutes. Days and clock have a sign each."""

ISO = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<weeks>\d{1,7})W)?(?:(?P<days>[+-]?\d{1,7})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})(?:[.,](?P<part>\d{1,9}))?S)?)?",
    re.IGNORECASE,
)
"""``PT3H``, ``P2DT3H4M5.5S``: ISO 8601 without months and years, which have no fixed length."""

UNITS = {"weeks": WEEK, "days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": SECOND}


def as_seconds(texts: Sequence[str]) -> list[float] | None:
    """Distinct texts as seconds, NaN for those that stand for a missing value; None if another one is no length of
    time."""
    seconds = [seconds_of(text) for text in texts]
    found = 0
    for text, length in zip(texts, seconds, strict=True):
        if not np.isnan(length):
            found += 1
        elif not is_missing(text):
            return None
    return seconds if found else None


def seconds_of(text: str) -> float:
    """A length of time in seconds, NaN if the text is none."""
    if len(text) > LONGEST:
        return np.nan
    if clock := CLOCK.fullmatch(text):
        days = int(clock["days"] or 0) * DAY
        return _seconds(clock, ("hours", "minutes", "seconds"), clock["days"] is not None, days)
    if iso := ISO.fullmatch(text):
        return _seconds(iso, tuple(UNITS), False, 0)
    return np.nan


def _seconds(match: "re.Match[str]", units: Sequence[str], is_some: bool, days: int) -> float:
    """The units of a match, with its sign, and further ``days`` in nanoseconds; NaN if there is nothing of both."""
    total = 0
    for unit in units:
        if match[unit]:
            is_some = True
            total += int(match[unit]) * UNITS[unit]
    if not is_some:
        return np.nan
    total += int((match["part"] or "0").ljust(9, "0"))
    if match["sign"] == "-":
        total = -total
    return (days + total) / SECOND


def seconds_in(column: "pd.Series[Any]") -> Floats:
    """A column of the type of lengths of time as seconds ``(n,)``, NaN where one is missing."""
    lengths: Any = column.to_numpy()
    unit, _ = np.datetime_data(lengths.dtype)
    # Python divides whole numbers without an error in the last bit, pandas does not.
    counts = lengths.astype(np.int64).tolist()
    seconds = np.array([count / A_SECOND[unit] for count in counts], dtype=np.float64)
    seconds[np.isnat(lengths)] = np.nan
    return seconds
