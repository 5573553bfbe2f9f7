"""Reading under pandas 2 as under pandas 3: floats to the last bit, and dates of all centuries."""

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

IS_TWO = int(pd.__version__.partition(".")[0]) < 3
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if IS_TWO else {}
"""Arguments of ``pandas.read_csv`` by which a number is the float nearest to its text. In pandas 3 it always is."""
ISO = "ISO8601"
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
FIRST_YEAR, LAST_YEAR = 1678, 2261
"""The whole years of nanoseconds since 1970, which pandas 2 counts."""


def times_in(texts: "pd.Series[Any]", format: str, *, utc: bool) -> "pd.Series[Any]":
    """The time of each text in a format of Python's, or in `ISO`; NaT if it is none. ``utc`` makes times of UTC."""
    times = pd.Series(pd.to_datetime(texts, format=format, errors="coerce", utc=utc), index=texts.index)
    if not IS_TWO:
        return times
    times = times.astype("datetime64[us, UTC]" if utc else "datetime64[us]")
    # Years that pandas 2 does not know, Python knows.
    for place in np.flatnonzero(times.isna() & texts.notna()).tolist():
        times.iloc[place] = _time(texts.iloc[place], format, utc=utc)
    return times


def with_known_years(texts: "pd.Series[Any]") -> "pd.Series[Any]":
    """Dates with the year 2000 for each year that pandas 2 does not know, to find out their format."""

    def known(year: re.Match[str]) -> str:
        return year[0] if FIRST_YEAR <= int(year[0]) <= LAST_YEAR else "2000"

    return texts.map(lambda text: YEAR.sub(known, text))


def date_times(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column of dates, or of dates and times without a zone, as times."""
    if not IS_TWO:
        return pd.Series(pd.to_datetime(column), name=column.name)
    times = []
    for value, is_missing in zip(column, column.isna(), strict=True):
        times.append(np.datetime64("NaT") if is_missing else value)
    return pd.Series(np.array(times, dtype="datetime64[us]"), column.index, name=column.name)


def _time(text: str, format: str, *, utc: bool) -> Any:
    """The time of a text, by Python; NaT if it is none."""
    try:
        time = datetime.fromisoformat(text) if format == ISO else datetime.strptime(text, format)
    except ValueError:
        return pd.NaT
    if not utc:
        return np.datetime64(time, "us")
    # A time without a zone is taken for one of UTC.
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return pd.Timestamp(time.astimezone(UTC)).as_unit("us")
