"""Dates and times as numbers and categories that a network can use."""

import re
from typing import Any

import pandas as pd

from .numbers import is_missing

DAY = 86_400.0

LOOKS_LIKE_A_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}([-/. ]|$)|\d.*[A-Za-z]{3}|[A-Za-z]{3}.*\d")
"""What a text must have before a date is looked for in it, which takes a heavy import."""

TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")


def as_dates(column: "pd.Series[Any]") -> "tuple[pd.Series[Any], str, str | None] | None":
    """A column of text as times, all in one format; None where it is none of dates.

    Returns:
        Times, NaT where a date is missing; their format; and what is to be said of how they were read.
    """
    texts = [text for text in column.dropna().unique() if not is_missing(text)]
    if not texts or not all(LOOKS_LIKE_A_DATE.search(text) for text in texts):
        return None
    from skrub import ToDatetime
    from skrub.core import RejectColumn

    distinct = pd.Series(texts, name="date", dtype="str")
    reader = ToDatetime()
    try:
        reader.fit_transform(distinct)
    except RejectColumn:
        return None
    return times_of(column, reader.format_), reader.format_, _two_ways(distinct, reader.format_)


def times_of(column: "pd.Series[Any]", format: str) -> "pd.Series[Any]":
    """A column of text as times, NaT where it is none in this format."""
    texts = column.dropna().unique()
    distinct = pd.Series(texts, dtype="str")
    times = pd.to_datetime(distinct, format=format, errors="coerce", utc="%z" in format)
    by_text = dict(zip(texts, times, strict=True))
    return pd.Series([by_text.get(text, pd.NaT) for text in column], index=column.index, dtype=times.dtype)


def as_hours(column: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """A column of times of day, as ``14:30``, in hours; None where it is none."""
    texts = [text for text in column.dropna().unique() if not is_missing(text)]
    if not texts or not all(TIME_OF_DAY.fullmatch(text) for text in texts):
        return None
    return column.map(hours_of, na_action="ignore").astype("float64")


def hours_of(text: str) -> float:
    """A time of day in hours, NaN where a text is none."""
    match = TIME_OF_DAY.fullmatch(text)
    return int(match[1]) + int(match[2]) / 60 + int(match[3] or 0) / 3600 if match else float("nan")


def date_parts(times: "pd.Series[Any]") -> dict[str, tuple["pd.Series[Any]", bool]]:
    """Times as columns, each with whether it is one of categories: days since 1970, month, weekday, and the hour.

    Only whole numbers and a division come in, so that the columns are equal to the last bit on every machine; a sine is
    not.
    """
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    seconds = (times - pd.Timestamp(0)) // pd.Timedelta(seconds=1)
    known = times.notna()
    parts: dict[str, tuple[Any, bool]] = {
        "days": (seconds / DAY, False),
        "month": (times.dt.month, True),
        "weekday": (times.dt.day_of_week + 1, True),
        "hour": (times.dt.hour + times.dt.minute / 60, False),
    }
    return {name: (pd.Series(part, dtype="float64").where(known), kind) for name, (part, kind) in parts.items()}


def _two_ways(texts: "pd.Series[str]", format: str) -> str | None:
    """What to say of dates whose day and month could be exchanged; skrub takes the month first."""
    if "%m" not in format or "%d" not in format:
        return None
    exchanged = format.replace("%m", "%_").replace("%d", "%m").replace("%_", "%d")
    if pd.to_datetime(texts, format=exchanged, errors="coerce").isna().any() or format.startswith("%Y"):
        return None
    return f"its dates are read as {format}, though they could be {exchanged}; write them as 2024-12-31 to be sure"
