"""Rules by which columns become features. A rule is fitted to the column of a table and applied to later rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..columns import Coded, Floats, floats, is_numeric, listed, spell
from .frames import is_half_a_character
from .hashing import N_HASHES, N_TEXT_HASHES, min_hashes, text_hashes
from .values import CATEGORICAL_PARTS, Notation, date_parts, known_values, notation_of, number_of, times_of

NO_VALUE = "(no value)"
"""The category of a gap in a column that has one value and gaps."""
SHOWN = 5

Values = Coded | Floats
"""A feature of n rows: categories, or numbers ``(n,)`` with NaN where a value is missing."""


@dataclass(frozen=True)
class Rule:
    """Rule that turns a column into features.

    Attributes:
        rule: the kind of the column.
        decimal, is_grouped, unit: of numbers that are text, see `Notation`.
        format: of dates in text; None if the column held times, and later text must be written as 2024-12-31.
        has_zone: of dates: whether the times have a zone.
        parts: of dates: the parts that differ between rows of the table, see `date_parts`.
    """

    rule: Literal["plain categories", "numbers", "dates", "gaps", "categories", "strings", "text"]
    decimal: str = "."
    is_grouped: bool = False
    unit: str = ""
    format: str | None = None
    has_zone: bool = False
    parts: tuple[str, ...] = ()

    @property
    def notation(self) -> Notation:
        return self.decimal, self.is_grouped, self.unit

    def features(self, column: "pd.Series[Any]") -> dict[str, Values]:
        """The features of a column by their names, always equally many.

        Raises:
            UsageError: it holds a value that the rule cannot read.
        """
        made = KINDS[self.rule](self, column)
        return {f"{column.name}{ending}": values for ending, values in made.items()}


def _numbers(rule: Rule, column: "pd.Series[Any]") -> Mapping[str, Values]:
    """Numbers, or text in which they are written in one notation."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return {"": floats(column)}
    text = text_of(column)
    numbers = [number_of(each, rule.notation) for each in text.distinct]
    _refuse(column, "numbers", [each for each, number in zip(text.distinct, numbers, strict=True) if number is None])
    return {"": text.spread([np.nan if number is None else number for number in numbers])}


def _dates(rule: Rule, column: "pd.Series[Any]") -> Mapping[str, Values]:
    """Dates and times as parts, see `date_parts`."""
    features: dict[str, Values] = {}
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
    text = text_of(column)
    times = times_of(text.distinct, rule.format)
    unread = [each for each, is_none in zip(text.distinct, times.isna(), strict=True) if is_none]
    _refuse(column, f"dates as {rule.format or '2024-12-31'}", unread)
    # The code -1 of a missing value picks the last time.
    with_gap = pd.concat([times, pd.Series([pd.NaT], dtype=times.dtype)])
    return pd.Series(with_gap.iloc[text.codes].reset_index(drop=True))


def _refuse(column: "pd.Series[Any]", kind: str, unread: Sequence[str]) -> None:
    """Refuse values that a rule cannot read, but words for missing ones."""
    if wrong := known_values(unread):
        raise UsageError(
            f"Column {column.name!r} holds {kind} in the table, but {listed(wrong, SHOWN)} in the rows; correct it."
        )


def _categories(rule: Rule, column: "pd.Series[Any]") -> Mapping[str, Coded]:
    """Categories: numbers as they are spelled, text as `text_of` makes it."""
    is_plain = is_numeric(column) or rule.rule == "plain categories"
    return {"": Coded.of(column) if is_plain else text_of(column)}


def _gaps(rule: Rule, column: "pd.Series[Any]") -> Mapping[str, Coded]:
    """Categories, of which a gap is one: in a column with one value, it is the gaps that differ."""
    made = _categories(rule, column)[""]
    if (made.codes >= 0).all():
        return {"": made}
    return {"": Coded(made.codes % (len(made.distinct) + 1), [*made.distinct, NO_VALUE])}


def _hashes(rule: Rule, column: "pd.Series[Any]") -> Mapping[str, Values]:
    """Hashes of each text, ``strings`` by `min_hashes` and ``text`` by `text_hashes`."""
    encode, width = (min_hashes, N_HASHES) if rule.rule == "strings" else (text_hashes, N_TEXT_HASHES)
    text = text_of(column)
    numbers = encode(text.distinct) if text.distinct else np.empty((0, width))
    return {f" ({position})": text.spread(values) for position, values in enumerate(numbers.T, start=1)}


KINDS: dict[str, Callable[[Rule, "pd.Series[Any]"], Mapping[str, Values]]] = {
    **dict.fromkeys(("plain categories", "categories"), _categories),
    "numbers": _numbers,
    "dates": _dates,
    "gaps": _gaps,
    **dict.fromkeys(("strings", "text"), _hashes),
}
"""The functions that make the features of each kind of column."""


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


def text_of(column: "pd.Series[Any]") -> Coded:
    """A column as the `plain_text` of its values, missing if empty."""
    coded = Coded.of(column)
    return coded.mapped([plain_text(value, column.name) or None for value in coded.distinct])


def floats_of(column: "pd.Series[Any]", decimal: str | None = None) -> tuple[Floats, list[str]]:
    """A column of numbers, or of text with numbers, as float64 ``(n,)``, and the texts that are no numbers. These and
    missing values are NaN; ``decimal`` is as of `notation_of`."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return floats(column), []
    text = text_of(column)
    notation, others, _ = notation_of(known_values(text.distinct), decimal)
    numbers = [number_of(each, notation) for each in text.distinct]
    return text.spread([np.nan if number is None else number for number in numbers]), others
