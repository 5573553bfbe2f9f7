"""Dates and times as numbers and categories."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ...importing import import_skrub, require
from ..columns import Floats
from .numbers import is_missing
from .pandas_two import IS_TWO, ISO, times_in, with_known_years

DAY = 86_400.0
EPOCH, SECOND = pd.Timestamp(0).as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
"""In seconds: nanoseconds end in 2262, and many tables write 9999-12-31 for a date that never comes."""
PARTS = ("days", "month", "weekday", "hour")
CATEGORICAL_PARTS = ("month", "weekday")

NUMERIC_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}([-/. ]|$)")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ZONE = re.compile(r"\d[T ]\d.*([+-]\d{2}:?\d{2})$")
NAME_OF_A_MONTH = re.compile(r"[^\W\d_]{3}")
IN_UTC = re.compile(r"(Z|[+-]00:?00)$")
OTHER_ZONES = "its times are in time zones other than UTC, and are read as the same moments in UTC"
MONTHS = {
    "January": "januar jänner janvier enero gennaio janeiro januari",
    "February": "februar feber février fevrier febrero febbraio fevereiro februari",
    "March": "märz maerz mars marzo março marco maart",
    "April": "avril abril aprile",
    "May": "mai mayo maggio maio mei maj",
    "June": "juni juin junio giugno junho",
    "July": "juli juillet julio luglio julho",
    "August": "août aout agosto augustus augusti",
    "September": "septembre septiembre settembre setembro",
    "October": "oktober octobre octubre ottobre outubro",
    "November": "novembre noviembre novembro",
    "December": "dezember décembre decembre diciembre dicembre dezembro december",
}
"""Months in German, French, Spanish, Italian, Portuguese, Dutch and Swedish."""
ENGLISH = {word: month for month, words in MONTHS.items() for word in words.split()}
# Names that are the English ones, and their first three letters, also come in small or in capital letters.
ENGLISH |= {name.lower(): name for month in MONTHS for name in (month, month[:3])}
LONG_WORD = re.compile(r"[^\W\d_]{3,}")
NUMBER = re.compile(r"\d+")
MAY = re.compile(r"(?<![^\W\d_])May(?![^\W\d_])")

LONGEST_DATE = 100
"""Characters. No format of dates is longer; the bound keeps long texts from slowing down the reading."""


def as_dates(texts: Sequence[str]) -> "tuple[pd.Series[Any], str, list[str]] | None":
    """Distinct texts as times in one format, NaT for texts that are not in it; this format; and notes on doubts. None
    if they are no dates."""
    known = [text for text in texts if not is_missing(text)]
    if not known or not all(map(_looks_like_a_date, known)):
        return None
    require("skrub", "A column of dates")
    import_skrub()
    from skrub import ToDatetime
    from skrub.core import RejectColumn

    column = pd.Series(list(map(_english_date, known)), name="date", dtype="str")
    reader = ToDatetime()
    telling = _format_sample(column)
    try:
        reader.fit_transform(with_known_years(telling) if IS_TWO else telling)
    except RejectColumn:
        return None
    if times_of(known, reader.format_).isna().any():
        return None
    notes = _two_ways(column, reader.format_)
    # A moment in another zone may be on another day there.
    if "%z" in reader.format_ and not all(map(IN_UTC.search, known)):
        notes.append(OTHER_ZONES)
    return times_of(texts, reader.format_), reader.format_, notes


def times_of(texts: Sequence[str], format: str) -> "pd.Series[Any]":
    """A time for each text, NaT if the text is not in this format."""
    column = pd.Series(list(map(_english_date, texts)), dtype="str")
    return times_in(column, format, utc="%z" in format)


def iso_times(texts: Sequence[str], column: str) -> "pd.Series[Any]":
    """A time for each text that ISO 8601 writes, as 2024-12-31; NaT if the text is no date.

    Each text is read by itself. Dates in another format are not: 02/03/2020 would be in February or in March by what
    stands beside it.

    Raises:
        UsageError: a text is a date in another format.
    """
    times = times_in(pd.Series(list(texts), dtype="str"), ISO, utc=True)
    # ISO 8601 has other forms too, such as 20241231, which is rather a number.
    has_form = [bool(ISO_DATE.match(text)) for text in texts]
    is_iso = np.array(has_form, dtype=bool) & times.notna().to_numpy()
    for text, is_read in zip(texts, is_iso, strict=True):
        if not is_read and not is_missing(text) and _looks_like_a_date(text):
            raise UsageError(
                f"Column {column!r} holds {text!r}, and the table had dates in no format of text; write them as "
                "2024-12-31."
            )
    return times.where(is_iso)


def are_in_other_zones(column: "pd.Series[Any]") -> bool:
    """True if times have a zone other than UTC; text has the zone at its end, as in 2024-12-31 08:00+09:00."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return str(column.dt.tz or "UTC") != "UTC"
    for text in column.dropna().unique():
        zone = ZONE.search(text) if isinstance(text, str) else None
        if zone is not None and not IN_UTC.search(zone[1]):
            return True
    return False


def date_parts(times: "pd.Series[Any]") -> dict[str, Floats]:
    """Days since 1970, month, weekday and hour of n times, each ``(n,)``; NaN where a time is missing.

    Months and weekdays are categories. A periodic coding by a sine would differ between machines in its last bits, and
    with it the hash of the data.
    """
    times = utc_times(times)
    seconds = (times - EPOCH) // SECOND
    parts: dict[str, Any] = {
        "days": seconds / DAY,
        "month": times.dt.month,
        "weekday": times.dt.day_of_week + 1,
        "hour": times.dt.hour + times.dt.minute / 60,
    }
    known = times.notna()
    arrays = {}
    for name, part in parts.items():
        arrays[name] = pd.Series(part, dtype="float64").where(known).to_numpy()
    return arrays


def utc_times(times: "pd.Series[Any]") -> "pd.Series[Any]":
    """Times of any zone, or of none, as times of UTC without a zone."""
    if times.dt.tz is None:
        return times
    zoneless: pd.Series[Any] = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return zoneless


def _english_date(text: str) -> str:
    """A date with the name of its month in English."""
    return LONG_WORD.sub(lambda word: ENGLISH.get(word[0].lower(), word[0]), text)


def _format_sample(texts: "pd.Series[str]") -> "pd.Series[str]":
    """The English dates that tell in which format all are: skrub guesses it from a sample.

    May is a short name and a long one, so January takes its place, as long as other months are. Only a day after the
    12th tells whether days or months come first.
    """
    words = {word for text in texts for word in LONG_WORD.findall(text)}
    is_long = any(word in MONTHS and word != "May" for word in words)
    named = texts.str.replace(MAY, "January" if is_long else "Jan", regex=True)
    is_telling = [any(int(number) > 12 for number in NUMBER.findall(text)[:2]) for text in named]
    return named[is_telling] if any(is_telling) else named


def _looks_like_a_date(text: str) -> bool:
    """A cheap test: skrub takes a heavy import and tries many formats."""
    if len(text) > LONGEST_DATE or not any(map(str.isdigit, text)):
        return False
    return bool(NUMERIC_DATE.search(text) or NAME_OF_A_MONTH.search(text))


def _two_ways(texts: "pd.Series[str]", format: str) -> list[str]:
    """A note on dates whose day and month could be exchanged. skrub takes the month first."""
    # After a year everybody writes the month first.
    if "%m" not in format or "%d" not in format or format.startswith("%Y"):
        return []
    exchanged = format.replace("%m", "%_").replace("%d", "%m").replace("%_", "%d")
    # One day after the 12th of a month settles it.
    if times_in(texts, exchanged, utc="%z" in exchanged).isna().any():
        return []
    return [f"its dates are read as {format}, though they could be {exchanged}; write them as 2024-12-31 to be sure"]
