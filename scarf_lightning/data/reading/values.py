"""Numbers and dates that are written as text, each column in one notation."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from pandas.tseries.api import guess_datetime_format

from ..columns import EXACT, Advice, Floats, Note

MISSING = frozenset(["", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "none", "null", "missing", "unknown", "#n/a"])
"""Texts, in lower case, that stand for a missing value in a column of numbers or dates."""
LONGEST = 100
"""Characters. Longer texts are neither numbers nor dates."""
SAMPLE = 1000
"""Texts by which a notation is chosen; of those that fit them equally well, all texts decide."""
LIKE_A_NUMBER = re.compile(r"(\w{1,3}\. ?)?[^\w\s]{0,2} ?\d[\d.,']* ?\S{0,5}")
"""Such as ``120 m2``, ``<120``, ``5k`` and ``ca. 120``."""

DAY = 86_400.0
EPOCH, SECOND = pd.Timestamp(0).as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
"""In seconds: nanoseconds end in 2262, and many tables write 9999-12-31 for a date that never comes."""
CATEGORICAL_PARTS = ("month", "weekday")
LIKE_A_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}|[^\W\d_]{3}")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
IN_UTC = re.compile(r"(Z|[+-]00:?00)$")
OTHER_ZONES = "its times are in time zones other than UTC, and are read as the same moments in UTC"


def is_missing(text: str) -> bool:
    """Tell whether a text among numbers or dates stands for a missing value."""
    return text.lower() in MISSING


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written.

    Attributes:
        decimal: the decimal sign, a point or a comma; the other one separates thousands.
        is_grouped: whether thousands may be separated.
        unit: the sign that stands with every number: a currency's, ``%`` or none. Percentages become shares of 1.
    """

    decimal: str = "."
    is_grouped: bool = False
    unit: str = ""

    @property
    def group(self) -> str:
        """The sign between thousands."""
        return "," if self.decimal == "." else "."

    @cached_property
    def _form(self) -> re.Pattern[str]:
        point, group, unit = map(re.escape, (self.decimal, self.group, self.unit))
        whole = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+" if self.is_grouped else r"\d+"
        number = rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
        return re.compile(rf"([+-]?)(?:{unit} ?([+-]?)({number})|({number}) ?{unit})", re.ASCII)

    def number(self, text: str) -> float | None:
        """The number that a text writes in this notation; None if it writes none."""
        match = self._form.fullmatch(text) if len(text) <= LONGEST else None
        if match is None:
            return None
        digits = (match[3] or match[4]).replace(self.group, "").replace(self.decimal, ".")
        number = float((match[1] or match[2] or "") + digits)
        return number / 100 if self.unit == "%" else number

    def others(self, texts: Sequence[str]) -> list[str]:
        """The texts that are no numbers in this notation."""
        return [text for text in texts if self.number(text) is None]


UNITS = ("", "%", "$", "€", "£", "¥")


def notation_of(texts: Sequence[str], decimal: str | None = None) -> tuple[Notation, list[str], list[Note]]:
    """The notation in which most distinct texts are numbers, the texts that are none in it, and notes on doubts.

    Args:
        texts: without blanks around them, and without those that stand for a missing value.
        decimal: the decimal sign; None takes the point, unless only a comma makes all texts numbers.
    """
    others_in: dict[Notation, list[str]] = {}
    for sign in (decimal,) if decimal else (".", ","):
        for unit in UNITS:
            notation = Notation(sign, is_grouped=True, unit=unit)
            others_in[notation] = notation.others(texts[:SAMPLE])
    fewest = min(map(len, others_in.values()))
    if fewest == len(texts[:SAMPLE]):
        return Notation(), list(texts), []
    fitting = {notation: notation.others(texts) for notation, others in others_in.items() if len(others) == fewest}
    # Of notations in which as many are numbers the first counts, which has the point.
    best = min(fitting, key=lambda notation: len(fitting[notation]))
    others = fitting[best]
    is_grouped = any(best.group in text for text in texts)
    notes: list[Note] = []
    comma = Notation(",", is_grouped=True, unit=best.unit)
    if is_grouped and best.decimal == "." and comma in fitting and len(fitting[comma]) == len(others):
        doubt = "its commas are read as separators of thousands, though they could be decimal"
        notes.append(Advice(doubt, "dataset.decimal", ",", "reads them as decimal"))
    return Notation(best.decimal, is_grouped, best.unit), others, notes


def why_codes(texts: Sequence[str]) -> str | None:
    """The reason why whole numbers are codes and no quantities; None if they may be quantities."""
    for text in texts:
        digits = text.lstrip("+-")
        if not (digits.isascii() and digits.isdigit()):
            continue
        if len(digits) > 1 and digits.startswith("0"):
            return "whole numbers with leading zeros"
        # Python refuses to make integers of thousands of digits.
        if len(digits) > len(str(EXACT)) or int(digits) > EXACT:
            return "whole numbers above 2^53, which float64 rounds"
    return None


def date_format(texts: Sequence[str]) -> tuple[str, list[Note]] | None:
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
    format, notes = fitting[0], list[Note]()
    # After a year everybody writes the month first.
    if len(fitting) > 1 and not format.startswith("%Y"):
        notes.append(
            f"its dates are read as {format}, though they could be {fitting[1]}; write them as 2024-12-31 to be sure"
        )
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
            format = guess_datetime_format(text, dayfirst=is_day_first)
        if format and "%Y" in format:
            # May is a short name and a long one.
            formats |= dict.fromkeys([format, format.replace("%B", "%b")])
    return [format for format in formats if not format.startswith("%Y-%d")]


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
    zoneless: pd.Series[Any] = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return zoneless


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
