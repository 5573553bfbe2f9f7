"""How a column becomes features: chosen once for a table, and then the same for its rows and for rows that come later.

A rule holds all that was found out of its column, as plain values, so that it can be kept as JSON.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..table import spell
from .dates import as_dates, date_parts, hours_of, times_of
from .numbers import Notation, is_missing
from .strings import as_hashes

Feature = tuple["pd.Series[Any]", bool]
"""A column of a table, and whether it is one of categories."""


@dataclass(frozen=True)
class Rule(ABC):
    """Makes features of a column. What it cannot read is missing in them."""

    name: ClassVar[str]
    of: ClassVar[str]
    """What the column's values are, in the plural."""
    from_text: bool
    """Whether the table's column was text, as which a file is to be read then, whatever else it could be read as."""

    @abstractmethod
    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        """The features of n rows, always as many.

        Raises:
            UsageError: a value is nothing that such a column can hold.
        """

    def plain(self) -> dict[str, Any]:
        """What `rule_of` makes the rule from."""
        return {"rule": self.name, **asdict(self)}


def rule_of(plain: Mapping[str, Any]) -> Rule:
    """The rule that says this of itself."""
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }
    return RULES[str(options.pop("rule"))](**options)


@dataclass(frozen=True)
class AsPlainNumbers(Rule):
    """Numbers, and nothing else."""

    name: ClassVar[str] = "plain numbers"
    of: ClassVar[str] = "numbers"
    from_text: bool = False

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        dtype = column.dtype
        is_number = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        if not is_number or pd.api.types.is_complex_dtype(dtype):
            for value in column.dropna():
                if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
                    raise UsageError(f"Column {column.name!r} is numeric, but the rows hold {value!r} in it.")
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return [(pd.Series(values, column.index, name=str(column.name)), False)]


@dataclass(frozen=True)
class AsPlainCategories(Rule):
    """Categories as they are spelled."""

    name: ClassVar[str] = "plain categories"
    of: ClassVar[str] = "categories"
    from_text: bool = False

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        return [(column, True)]


@dataclass(frozen=True)
class AsNumbers(Rule):
    """Numbers, or text in which they are written in one notation."""

    name: ClassVar[str] = "numbers"
    of: ClassVar[str] = "numbers"
    from_text: bool
    decimal: str = "."
    group: str = ","

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        if is_numeric(column):
            return [(column.astype("float64"), False)]
        text = as_text(column)[0]
        values: dict[Any, float] = dict(Notation(self.decimal, self.group).read(text.dropna().unique().tolist()))
        numbers = text.map(values).astype("float64")
        are_numbers = np.array([isinstance(value, (int, float, np.number, np.bool_)) for value in column])
        if are_numbers.any():  # truth values, and numbers among text, are not parsed
            numbers[are_numbers] = column[are_numbers].astype("float64")
        return [(numbers, False)]


@dataclass(frozen=True)
class AsDates(Rule):
    """Dates and times, as those of `date_parts` that were not the same in all rows of the table.

    ``format`` is the one that text was read in; None where the column held times, and text is read in any one format.
    """

    name: ClassVar[str] = "dates"
    of: ClassVar[str] = "dates"
    from_text: bool
    format: str | None
    parts: tuple[str, ...]

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        made = date_parts(self.times(column))
        return [(made[part][0].rename(f"{column.name} ({part})"), made[part][1]) for part in self.parts]

    def times(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        """The column as times, NaT where there is none."""
        if pd.api.types.is_datetime64_any_dtype(column):
            return column
        text = as_text(column)[0]
        if self.format is not None:
            return times_of(text, self.format)
        found = as_dates(text)
        return pd.Series(pd.NaT, index=column.index) if found is None else found[0]


@dataclass(frozen=True)
class AsHours(Rule):
    """Times of day, as hours."""

    name: ClassVar[str] = "times of day"
    of: ClassVar[str] = "times"
    from_text: bool = True

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        hours = as_text(column)[0].map(hours_of, na_action="ignore")
        return [(hours.astype("float64"), False)]


@dataclass(frozen=True)
class AsCategories(Rule):
    """Categories: numbers as they are spelled, text without blanks around it. A type's order of them stays."""

    name: ClassVar[str] = "categories"
    of: ClassVar[str] = "categories"
    from_text: bool

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        if is_numeric(column):
            return [(column, True)]
        text = as_text(column)[0]
        if isinstance(column.dtype, pd.CategoricalDtype):
            declared = pd.Index(as_text(column.cat.categories.to_series())[0].dropna().unique())
            text = text.astype(pd.CategoricalDtype(declared))
        return [(text, True)]


@dataclass(frozen=True)
class AsBooleans(Rule):
    """True and false, however they are written in upper and lower case."""

    name: ClassVar[str] = "Booleans"
    of: ClassVar[str] = "truth values"
    from_text: bool = False

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        return [(as_text(column)[0].map(str.lower, na_action="ignore"), True)]


@dataclass(frozen=True)
class AsHashes(Rule):
    """Strings, as hashes of their letters."""

    name: ClassVar[str] = "strings"
    of: ClassVar[str] = "strings"
    from_text: bool = True

    def features(self, column: "pd.Series[Any]") -> list[Feature]:
        return [(made, False) for made in as_hashes(as_text(column)[0])]


RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (AsPlainNumbers, AsPlainCategories, AsNumbers, AsDates, AsHours, AsCategories, AsBooleans, AsHashes)
}


def unread(column: "pd.Series[Any]", features: list[Feature]) -> "pd.Series[Any]":
    """The values of a column that a rule made nothing of, as text; those that say themselves that they are missing
    are not among them."""
    if not features:
        return column.head(0)
    values = column[column.notna() & features[0][0].isna()].map(lambda value: spell(value).strip())
    return values[[bool(value) and not is_missing(value) for value in values]]


def as_text(column: "pd.Series[Any]") -> tuple["pd.Series[Any]", list[str]]:
    """A column as text without blanks around its values, None where they are missing, and what is to be said of it."""
    spelled = {value: spell(value) for value in _distinct(column)}
    for text in spelled.values():
        if "\x00" in text:
            raise UsageError(f"column {column.name!r} holds a NUL character, in {text!r}; remove it from the file.")
    cut = {value: text.strip() for value, text in spelled.items()}
    without = column.astype("object").map(lambda value: cut.get(value) or None)
    n_merged = len(set(spelled.values())) - len(set(cut.values()))
    if n_merged == 0:
        return without, []
    return without, [f"blanks around its values are cut off; {n_merged} of them differed from another by those alone"]


def _distinct(column: "pd.Series[Any]") -> list[Any]:
    try:
        return list(column.dropna().unique())
    except TypeError:
        odd = next(value for value in column if type(value).__hash__ is None)
        raise UsageError(
            f"Column {str(column.name)!r} holds {odd!r}, which is neither a number nor a category nor a date; "
            "convert it, or leave the column out."
        ) from None


def is_text(column: "pd.Series[Any]") -> bool:
    """Whether a column holds strings, and nothing else beside gaps."""
    return not is_numeric(column) and pd.api.types.infer_dtype(column, skipna=True) == "string"


def is_numeric(column: "pd.Series[Any]") -> bool:
    """Whether a column is of a type of numbers, which Booleans are not."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
