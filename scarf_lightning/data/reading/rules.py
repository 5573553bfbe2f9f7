"""Rules by which columns become features: numbers and dates, also as text, categories, and hashes of strings.

A rule is fitted to the column of a table and applied to later rows. All numbers of a text column are written in one
notation, and all its dates in one format. Texts that share letters share hashes, and a text has the same ones in every
table.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan, nan
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from pandas.tseries.api import guess_datetime_format

from ...errors import UsageError
from ..columns import Coded, Floats, floats, is_numeric, listed, spell
from .frames import CODE, UNWRITABLE

NO_VALUE = "(no value)"
"""The category of a gap in a column that has one value and gaps."""
LEFT_OUT = ("empty", "constant", "id")

Values = Coded | Floats
"""A feature of n rows: categories, or numbers ``(n,)`` with NaN where a value is missing."""

MISSING = frozenset(["", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "none", "null", "missing", "unknown", "#n/a"])
"""Texts, in lower case, that mean a missing value in a column of numbers or dates."""
LONGEST = 100
"""Characters. Longer texts are no dates."""
UNITS = "%$€£¥"
THOUSANDS = {".": ",", ",": "."}
"""The sign between thousands by the decimal sign."""
DATE_PARTS, CATEGORICAL_PARTS = ("days", "month", "weekday", "hour"), ("month", "weekday")
EPOCH, SECOND = pd.Timestamp(0).as_unit("s"), pd.Timedelta(seconds=1).as_unit("s")
"""In seconds: nanoseconds end in 2262, and many tables write 9999-12-31 for a date that never comes."""

Notation = tuple[str, bool, str]
"""How the numbers of a column are written: the decimal sign, a point or a comma; whether the other one separates
thousands; and the sign that stands with every number, a currency's, ``%`` or none."""

N_HASHES, NGRAMS = 16, (2, 3, 4)
"""The numbers that encode a string in a column with too many for categories, and the lengths of its pieces."""
N_TEXT_HASHES, TEXT_NGRAMS = 32, (3, 4)
"""The numbers that encode a text, and the lengths of the pieces of its words."""
LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Rule:
    """Rule that turns a column into features.

    Attributes:
        column: its name.
        rule: the kind of the column.
        decimal, is_grouped, unit: of numbers that are text, see `Notation`.
        format: of dates in text, as in ``strptime``; ``ISO8601`` if the column held times.
        has_zone: of dates: whether the times have a zone.
        parts: of dates: the parts that differ between rows of the table, see `date_parts`.
    """

    column: str
    rule: Literal["numbers", "dates", "gaps", "categories", "strings", "text", "empty", "constant", "id"]
    decimal: str = "."
    is_grouped: bool = False
    unit: str = ""
    format: str = "ISO8601"
    has_zone: bool = False
    parts: tuple[str, ...] = DATE_PARTS

    def features(self, column: "pd.Series[Any]", text: Coded | None = None) -> dict[str, Values]:
        """The features of a column by their names, always equally many; none of a column that is left out. ``text`` is
        `text_of` the column, if it is known already.

        Raises:
            UsageError: it holds a value that the rule cannot read.
        """
        if self.rule in LEFT_OUT:
            return {}
        if self.rule == "numbers":
            return {self.column: self.numbers(column, text)}
        if self.rule == "dates":
            parts = date_parts(self.times(column, text))
            return {
                f"{self.column} ({part})": (Coded.of if part in CATEGORICAL_PARTS else floats)(parts[part])
                for part in self.parts
            }
        coded = text or text_of(column)
        if self.rule in ENCODERS:
            # The code -1 of a missing value picks the last.
            hashes = ENCODERS[self.rule]([*coded.distinct, "missing"])
            hashes[-1] = np.nan
            return {f"{self.column} ({place})": numbers for place, numbers in enumerate(hashes[coded.codes].T, start=1)}
        if self.rule == "gaps":
            coded = Coded(coded.codes % (len(coded.distinct) + 1), [*coded.distinct, NO_VALUE])
        return {self.column: coded}

    def numbers(self, column: "pd.Series[Any]", text: Coded | None = None) -> Floats:
        """A column of numbers, or of text in which they are written in the rule's notation, ``(n,)``."""
        numbers, others = floats_of(column, (self.decimal, self.is_grouped, self.unit), text=text)
        _refuse(column, "numbers", others)
        return numbers

    def times(self, column: "pd.Series[Any]", text: Coded | None = None) -> "pd.Series[Any]":
        """The time of each row of a column of dates.

        Raises:
            UsageError: a value is no date in the rule's format, or times have a zone where the table's had none.
        """
        if pd.api.types.is_datetime64_any_dtype(column):
            if (column.dt.tz is not None) != self.has_zone:
                kind = "times with a zone" if self.has_zone else "times without a zone"
                _refuse(column, kind, column.dropna().astype("str").tolist())
            return column
        text = text or text_of(column)
        times = times_of([*text.distinct, ""], self.format)
        bad_texts = [value for value, is_none in zip(text.distinct, times.isna(), strict=False) if is_none]
        _refuse(column, f"dates as {self.format}", known_values(bad_texts))
        # The code -1 of a missing value picks the last.
        return times.iloc[text.codes].reset_index(drop=True)


def quantity_rule(
    column: "pd.Series[Any]", decimal: str | None = None, text: Coded | None = None, kind: str | None = None
) -> tuple[Rule, list[str]] | None:
    """The rule by which a column holds numbers or dates, and notes on doubts; None if it holds neither.

    Text that is codes, such as 007, or a single number is neither. ``text`` is the column's, if it is known already;
    ``kind`` is numeric if the user sets it.
    """
    name = str(column.name)
    if is_numeric(column):
        return Rule(name, "numbers", decimal or "."), []
    if pd.api.types.is_datetime64_any_dtype(column):
        return Rule(name, "dates", has_zone=column.dt.tz is not None), []
    texts = known_values((text or text_of(column)).distinct)
    notation, others, notes = notation_of(texts, decimal)
    are_numbers = not others and len(texts) > 1 and not any(map(CODE.fullmatch, texts))
    if kind == "numeric" or (are_numbers and kind is None):
        return Rule(name, "numbers", *notation), notes
    format, notes = date_format(texts)
    return (Rule(name, "dates", format=format, has_zone="%z" in format), notes) if format else None


def _refuse(column: "pd.Series[Any]", kind: str, bad_texts: Sequence[str]) -> None:
    if bad_texts:
        raise UsageError(f"Column {column.name!r} is read as {kind}, and holds {listed(bad_texts)}; correct it.")


def plain_text(value: Any, column: Any) -> str:
    """A value as text without blanks around it, in Unicode's form NFC.

    Raises:
        UsageError: it holds a NUL, at which other programs would cut it, or half a character.
    """
    text = spell(value)
    if UNWRITABLE.search(text):
        raise UsageError(f"Column {column!r} holds {text!r}, which no file can hold; correct it, or leave it out.")
    return normalize("NFC", text).strip()


def text_of(column: "pd.Series[Any]") -> Coded:
    """A column as the `plain_text` of its values, missing if empty."""
    coded = Coded.of(column)
    return coded.mapped([plain_text(value, column.name) or None for value in coded.distinct])


def floats_of(
    column: "pd.Series[Any]",
    notation: Notation | None = None,
    decimal: str | None = None,
    text: Coded | None = None,
) -> tuple[Floats, list[str]]:
    """A column of numbers, or of text with numbers, as float64 ``(n,)``, and the texts that are no numbers. These and
    missing values are NaN. Without a notation it is that of `notation_of`."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return floats(column), []
    text = text or text_of(column)
    if notation is None:
        notation, *_ = notation_of(known_values(text.distinct), decimal)
    numbers = [number_of(each, notation) for each in text.distinct]
    others = [each for each, number in zip(text.distinct, numbers, strict=True) if np.isnan(number)]
    return text.spread(numbers), known_values(others)


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
    if is_grouped and best == "." and others["."] == others.get(",") != texts:
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


def min_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts the smallest hashes of its pieces in [-1, 1], ``(n, 16)``.

    Cerda and Varoquaux (2022), DOI 10.1109/TKDE.2020.2992529, with the numbers of skrub's ``MinHashEncoder``.
    """
    factors = []
    for n in NGRAMS:
        vectors = [np.random.RandomState(seed).randint(-LARGEST, LARGEST, n, np.int32) for seed in range(N_HASHES)]
        factors.append(np.array(vectors).T)
    smallest = np.empty((len(texts), N_HASHES), dtype=np.float32)
    for row, text in enumerate(texts):
        letters = np.frombuffer(text.encode(), dtype=np.int8, count=len(text)).astype(np.int32)
        # A hash is the product of a piece with random numbers, which overflows; a short text meets some of them.
        hashes = [
            sliding_window_view(letters, len(numbers)) @ numbers
            if len(letters) >= len(numbers)
            else sliding_window_view(numbers, len(letters), axis=0) @ letters
            for numbers in factors
        ]
        smallest[row] = np.concatenate(hashes).min(axis=0)
    return np.asarray(smallest / np.float32(2**31), dtype=np.float64)


def text_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts counts of the pieces of its words, each piece added to or taken from a number by its hash,
    and scaled to length one, ``(n, 32)``. Weinberger et al. (2009), DOI 10.1145/1553374.1553516."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hasher = HashingVectorizer(n_features=N_TEXT_HASHES, analyzer="char_wb", ngram_range=TEXT_NGRAMS)
    return np.asarray(hasher.transform(texts).toarray())


ENCODERS = {"strings": min_hashes, "text": text_hashes}
