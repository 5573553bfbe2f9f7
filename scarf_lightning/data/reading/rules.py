"""Rules by which columns become features. A rule is fitted to the column of a table and applied to later rows."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd

from ...errors import UsageError
from ...importing import require
from ..columns import Coded, Floats, floats, is_numeric, listed, spell
from .frames import is_half_a_character
from .values import CATEGORICAL_PARTS, Notation, date_parts, is_missing, notation_of, times_of

N_HASHES = 16
"""How many numbers stand for a string of which there are too many for categories."""
N_TEXT_HASHES, TEXT_NGRAMS = 32, (3, 4)
"""How many numbers stand for a text, and the lengths of the pieces of its words that they count."""
NO_VALUE = "(no value)"
"""The category of a gap in a column that has one value and gaps."""
SHOWN = 5

Made = Mapping[str, Coded | Floats]
"""The features of a column by the endings of their names."""


@dataclass(frozen=True)
class Feature:
    """A feature of n rows: categories, or numbers ``(n,)`` with NaN where a value is missing."""

    name: str
    values: Coded | Floats

    @property
    def is_missing(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """True for each row without a value, ``(n,)``."""
        if isinstance(self.values, Coded):
            return self.values.codes < 0
        return np.isnan(self.values)


@dataclass(frozen=True)
class Rule:
    """Rule that turns a column into features.

    Attributes:
        kind: one of `KINDS`.
        notation: of numbers that are text.
        format: of ``dates`` in text; None if the column held times, and later text must be written as 2024-12-31.
        has_zone: of ``dates``: whether the times have a zone.
        parts: of ``dates``: the parts that differ between rows of the table, see `date_parts`.
    """

    kind: str
    notation: Notation = field(default_factory=Notation)
    format: str | None = None
    has_zone: bool = False
    parts: tuple[str, ...] = ()

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        """The features of a column, always equally many.

        Raises:
            UsageError: it holds a value that the rule cannot read.
        """
        features = []
        for ending, values in KINDS[self.kind](self, column).items():
            features.append(Feature(f"{column.name}{ending}", values))
        return features

    def plain(self) -> dict[str, Any]:
        """The rule for JSON."""
        return {"rule": self.kind, **asdict(self.notation), "format": self.format, "has_zone": self.has_zone} | {
            "parts": list(self.parts)
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Rule":
        """The rule that gave this `plain`.

        Raises:
            ValueError: it is none.
        """
        try:
            notation = Notation(str(plain["decimal"]), bool(plain["is_grouped"]), str(plain["unit"]))
            rule = cls(plain["rule"], notation, plain["format"], bool(plain["has_zone"]), tuple(plain["parts"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"a rule of reading lacks {error}") from error
        if rule.kind not in KINDS or notation.decimal not in (".", ","):
            raise ValueError(f"the rule {str(rule.kind)[:40]!r} is unknown")
        return rule


def _numbers(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Numbers, or text in which they are written in one notation."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return {"": floats(column)}
    coded, texts = texts_of(column)
    numbers: list[float] = []
    unread: list[str] = []
    for value, text in zip(coded.distinct, texts, strict=True):
        # Numbers among text are not parsed.
        number = float(value) if isinstance(value, (int, float, np.number)) else rule.notation.number(text)
        if number is None and not is_missing(text):
            unread.append(text)
        numbers.append(np.nan if number is None else number)
    _refuse(column, "numbers", unread)
    return {"": coded.spread(numbers)}


def _dates(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Dates and times as parts, see `date_parts`."""
    features: dict[str, Coded | Floats] = {}
    for chosen, values in date_parts(dates_in(rule, column)).items():
        if chosen in rule.parts:
            features[f" ({chosen})"] = Coded.of(pd.Series(values)) if chosen in CATEGORICAL_PARTS else values
    return features


def dates_in(rule: Rule, column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The time of each row of a column, by a rule for dates.

    Raises:
        UsageError: a value is no date in the rule's format, or times have a zone where the table's had none.
    """
    if pd.api.types.is_datetime64_any_dtype(column):
        if (column.dt.tz is not None) != rule.has_zone and column.notna().any():
            here, there = ("have none", "have a time zone") if rule.has_zone else ("have a time zone", "have none")
            raise UsageError(
                f"The times of column {column.name!r} {here}, and those of the table {there}; convert them."
            )
        return column
    coded, texts = texts_of(column)
    times = times_of(texts, rule.format)
    unread = [text for text, time in zip(texts, times, strict=True) if pd.isna(time) and not is_missing(text)]
    _refuse(column, f"dates as {rule.format or '2024-12-31'}", unread)
    # The code -1 of a missing value picks the last time.
    with_gap = pd.concat([times, pd.Series([pd.NaT], dtype=times.dtype)])
    return pd.Series(with_gap.iloc[coded.codes].reset_index(drop=True))


def _refuse(column: "pd.Series[Any]", kind: str, unread: Sequence[str]) -> None:
    """Refuse values that a rule cannot read."""
    if unread:
        raise UsageError(
            f"Column {column.name!r} holds {kind} in the table, but {listed(unread, SHOWN)} in the rows; correct it."
        )


def _plain_categories(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories as they are spelled."""
    return {"": Coded.of(column)}


def _categories(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories: numbers as they are spelled, text as `text_of` makes it."""
    coded = Coded.of(column)
    return {"": coded if is_numeric(column) else text_of(coded, column.name)}


def _gaps(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Categories, of which a gap is one: in a column with one value, it is the gaps that differ."""
    made = _categories(rule, column)[""]
    assert isinstance(made, Coded)
    if (made.codes >= 0).all():
        return {"": made}
    return {"": Coded(made.codes % (len(made.distinct) + 1), [*made.distinct, NO_VALUE])}


def _hashes(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Strings as min-hashes of their n-grams in [-1, 1]: strings that share letters share numbers, and a string has the
    same numbers in every table. Cerda and Varoquaux (2022), DOI 10.1109/TKDE.2020.2992529."""

    def encode(strings: list[str]) -> Floats:
        require("skrub", "A column of texts or of many categories")
        # It makes a folder for data sets in the user's home otherwise, and is asked for none.
        os.environ.setdefault("SKB_DATA_DIRECTORY", tempfile.gettempdir())
        from skrub import MinHashEncoder

        column = pd.Series(strings, name="text")
        encoder = MinHashEncoder(n_components=N_HASHES)
        return np.asarray(encoder.fit_transform(column)) / 2**31

    return _encoded(column, N_HASHES, encode)


def _text_hashes(rule: Rule, column: "pd.Series[Any]") -> Made:
    """Texts as counts of the pieces of their words, each piece added to or taken from a number by its hash, and scaled
    to length one. Weinberger et al. (2009), DOI 10.1145/1553374.1553516."""

    def encode(texts: list[str]) -> Floats:
        from sklearn.feature_extraction.text import HashingVectorizer

        hasher = HashingVectorizer(n_features=N_TEXT_HASHES, analyzer="char_wb", ngram_range=TEXT_NGRAMS)
        return np.asarray(hasher.transform(texts).toarray())

    return _encoded(column, N_TEXT_HASHES, encode)


def _encoded(column: "pd.Series[Any]", width: int, encode: Callable[[list[str]], Floats]) -> Made:
    """The features of text, whose distinct values `encode` turns into numbers ``(n_distinct, width)``."""
    text = text_of(Coded.of(column), column.name)
    # The libraries refuse to encode nothing.
    numbers = encode(text.distinct) if text.distinct else np.empty((0, width))
    return {f" ({position})": text.spread(values) for position, values in enumerate(numbers.T, start=1)}


KINDS: dict[str, Callable[[Rule, "pd.Series[Any]"], Made]] = {
    "plain categories": _plain_categories,
    "numbers": _numbers,
    "dates": _dates,
    "gaps": _gaps,
    "categories": _categories,
    "strings": _hashes,
    "text": _text_hashes,
}
"""The functions that make the features of each kind of column."""


def texts_of(column: "pd.Series[Any]") -> tuple[Coded, list[str]]:
    """A column, and the text of each of its distinct values, see `plain_text`."""
    coded = Coded.of(column)
    return coded, [plain_text(value, column.name) for value in coded.distinct]


def plain_text(value: Any, column: Any) -> str:
    """A value as text without blanks around it, in Unicode's form NFC.

    Raises:
        UsageError: it holds a NUL character, at which other programs would cut it, or half a character, which no file
            can hold.
    """
    text = spell(value)
    if "\x00" in text:
        raise UsageError(f"column {column!r} holds a NUL character, in {text!r}; remove it from the file.")
    if is_half_a_character(text):
        raise UsageError(f"column {column!r} holds half a character, in {text!r}; remove it, or drop the column.")
    return normalize("NFC", text).strip()


def text_of(coded: Coded, name: Any) -> Coded:
    """A column as the `plain_text` of its values, missing if empty."""
    return coded.mapped([plain_text(value, name) or None for value in coded.distinct])


def floats_of(column: "pd.Series[Any]", decimal: str | None = None) -> tuple[Floats, list[str]]:
    """A column of numbers, or of text with numbers, as float64 ``(n,)``, and the texts that are no numbers. These and
    missing values are NaN; ``decimal`` is as of `notation_of`."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return floats(column), []
    text = text_of(Coded.of(column), column.name)
    known = [each for each in text.distinct if not is_missing(each)]
    notation, others, _ = notation_of(known, decimal)
    numbers = [notation.number(each) for each in text.distinct]
    return text.spread([np.nan if number is None else number for number in numbers]), others
