"""Rules by which columns become features. A rule is fitted to the column of a table and applied to later rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..columns import Coded, Floats, floats, is_numeric, listed, spell
from .frames import UNWRITABLE
from .hashing import min_hashes, text_hashes
from .values import (
    CATEGORICAL_PARTS,
    CODE,
    DATE_PARTS,
    Notation,
    date_format,
    date_parts,
    known_values,
    notation_of,
    number_of,
    times_of,
)

NO_VALUE = "(no value)"
"""The category of a gap in a column that has one value and gaps."""
SHOWN = 5
LEFT_OUT = ("empty", "constant", "id")
ENCODERS = {"strings": min_hashes, "text": text_hashes}

Values = Coded | Floats
"""A feature of n rows: categories, or numbers ``(n,)`` with NaN where a value is missing."""


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

    def features(self, column: "pd.Series[Any]") -> dict[str, Values]:
        """The features of a column by their names, always equally many; none of a column that is left out.

        Raises:
            UsageError: it holds a value that the rule cannot read.
        """
        if self.rule in LEFT_OUT:
            return {}
        if self.rule == "numbers":
            return {self.column: self.numbers(column)}
        if self.rule == "dates":
            parts = date_parts(self.times(column))
            return {
                f"{self.column} ({part})": (Coded.of if part in CATEGORICAL_PARTS else floats)(parts[part])
                for part in self.parts
            }
        coded = text_of(column)
        if self.rule in ENCODERS:
            # The code -1 of a missing value picks the last.
            hashes = ENCODERS[self.rule]([*coded.distinct, "missing"])
            hashes[-1] = np.nan
            return {f"{self.column} ({place})": numbers for place, numbers in enumerate(hashes[coded.codes].T, start=1)}
        if self.rule == "gaps":
            coded = Coded(coded.codes % (len(coded.distinct) + 1), [*coded.distinct, NO_VALUE])
        return {self.column: coded}

    def numbers(self, column: "pd.Series[Any]") -> Floats:
        """A column of numbers, or of text in which they are written in the rule's notation, ``(n,)``."""
        numbers, others = floats_of(column, (self.decimal, self.is_grouped, self.unit))
        _refuse(column, "numbers", others)
        return numbers

    def times(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        """The time of each row of a column of dates.

        Raises:
            UsageError: a value is no date in the rule's format, or times have a zone where the table's had none.
        """
        if pd.api.types.is_datetime64_any_dtype(column):
            if (column.dt.tz is not None) != self.has_zone:
                kind = "times with a zone" if self.has_zone else "times without a zone"
                _refuse(column, kind, column.dropna().astype("str").tolist())
            return column
        text = text_of(column)
        times = times_of([*text.distinct, ""], self.format)
        unread = [value for value, is_none in zip(text.distinct, times.isna(), strict=False) if is_none]
        _refuse(column, f"dates as {self.format}", known_values(unread))
        # The code -1 of a missing value picks the last.
        return times.iloc[text.codes].reset_index(drop=True)


def quantity_rule(
    column: "pd.Series[Any]", decimal: str | None = None, text: Coded | None = None, asked: str | None = None
) -> tuple[Rule, list[str]] | None:
    """The rule by which a column holds numbers or dates, and notes on doubts; None if it holds neither.

    Text that is codes, such as 007, or a single number is neither. ``text`` is of the column, if it is known already;
    ``asked`` is numeric, if the user says so.
    """
    name = str(column.name)
    if is_numeric(column):
        return Rule(name, "numbers", decimal or "."), []
    if pd.api.types.is_datetime64_any_dtype(column):
        return Rule(name, "dates", has_zone=column.dt.tz is not None), []
    known = known_values((text or text_of(column)).distinct)
    notation, others, notes = notation_of(known, decimal)
    are_numbers = not others and len(known) > 1 and not any(map(CODE.fullmatch, known))
    if asked == "numeric" or (are_numbers and asked is None):
        return Rule(name, "numbers", *notation), notes
    format, notes = date_format(known)
    return (Rule(name, "dates", format=format, has_zone="%z" in format), notes) if format else None


def _refuse(column: "pd.Series[Any]", kind: str, wrong: Sequence[str]) -> None:
    if wrong:
        raise UsageError(f"Column {column.name!r} is read as {kind}, and holds {listed(wrong, SHOWN)}; correct it.")


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
    column: "pd.Series[Any]", notation: Notation | None = None, decimal: str | None = None
) -> tuple[Floats, list[str]]:
    """A column of numbers, or of text with numbers, as float64 ``(n,)``, and the texts that are no numbers. These and
    missing values are NaN. Without a notation it is that of `notation_of`."""
    if is_numeric(column) or pd.api.types.is_bool_dtype(column):
        return floats(column), []
    text = text_of(column)
    if notation is None:
        notation, *_ = notation_of(known_values(text.distinct), decimal)
    numbers = [number_of(each, notation) for each in text.distinct]
    others = [each for each, number in zip(text.distinct, numbers, strict=True) if np.isnan(number)]
    return text.spread(numbers), known_values(others)
