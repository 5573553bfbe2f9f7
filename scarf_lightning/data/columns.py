"""Columns of a table, how their values become numbers, and notes on how they were read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

GAP = "(missing)"
"""The category of missing values, if they have one of their own."""


@dataclass(frozen=True)
class Column:
    """One feature.

    Attributes:
        categories: the strings that the codes stand for; None for a numeric column.
        declared: the same strings in the order of the source, as in the header of an ARFF file, if it has one. Not part
            of the data's identity.
        indicators: how many of the first codes become an indicator, see `Encoding`. None means all; 0 means that
            the codes are used as numbers.
        has_gaps: whether a value was missing when the table was made. Not part of the data's identity.
        tells_gaps: whether networks see which values are missing: as the last category, or in a column of 0 and 1 that
            follows a number.
    """

    name: str
    categories: tuple[str, ...] | None = None
    declared: tuple[str, ...] | None = field(default=None, compare=False)
    indicators: int | None = None
    has_gaps: bool = field(default=False, compare=False)
    tells_gaps: bool = False

    @property
    def is_categorical(self) -> bool:
        return self.categories is not None

    @property
    def adds_gap_column(self) -> bool:
        """True if a column of 0 and 1 follows, which is 1 where the value is missing."""
        return self.tells_gaps and self.n_indicators == 0

    @property
    def n_categories(self) -> int:
        return len(self.categories or ())

    @property
    def n_indicators(self) -> int:
        return len(self.categories or ()) if self.indicators is None else self.indicators


@dataclass(frozen=True)
class ColumnReading:
    """Record of how a column of a user's file was read.

    Attributes:
        column: its name.
        kind: of its values, such as ``dates``.
        missing, distinct: numbers of missing and of distinct values.
        done: for the user, such as ``left out: one value alone``.
        n_features: columns of the table that are made of it."""

    column: str
    kind: str
    missing: int
    distinct: int
    done: str
    n_features: int = 0


SHOWN = 5
"""Names in a message."""
EXACT = 2**53
"""float64 represents every whole number up to this one."""


@dataclass(frozen=True)
class Coded:
    """A column as its ``distinct`` values in the order of their first row, and for each row the position of its value
    among them, ``codes`` ``(n,)``; -1 where the value is missing."""

    codes: Ints
    distinct: list[Any]

    @classmethod
    def of(cls, column: "pd.Series[Any]") -> "Coded":
        """The distinct values of a column.

        Raises:
            UsageError: a value can be no category, such as a list.
        """
        import pandas as pd

        try:
            codes, distinct = pd.factorize(column, use_na_sentinel=True)
        except TypeError:
            # The first that pandas could not hash, such as a list.
            odd = next(value for value in column if type(value).__hash__ is None)
            raise UsageError(
                f"Column {str(column.name)!r} holds {odd!r}, which is neither a number nor a category nor a date; "
                "convert it, or leave the column out."
            ) from None
        return cls(codes, list(distinct))

    def spread(self, values: Sequence[float] | Floats) -> Floats:
        """One number for each row, ``(n,)``, from one for each distinct value; NaN where the value is missing."""
        # The code -1 of a missing value picks the last number.
        return np.append(values, np.nan)[self.codes]

    def mapped(self, values: Sequence[Any]) -> "Coded":
        """Another value for each distinct one. Equal values are merged, and None is missing."""
        import pandas as pd

        # A row without a value has the code -1, so it takes the last of these.
        codes, distinct = pd.factorize(np.array([*values, None], dtype=object))
        return Coded(codes[self.codes], list(distinct))

    def sorted_codes(self) -> tuple[Floats, tuple[str, ...]]:
        """The codes of the values ``(n,)``, NaN where missing, and the values as text in natural order."""
        texts = list(map(spell, self.distinct))
        order = sorted_naturally(texts)
        code_of = {text: float(code) for code, text in enumerate(order)}
        return self.spread([code_of[text] for text in texts]), order


def is_numeric(column: "pd.Series[Any]") -> bool:
    """True if the type of a column is numeric. Booleans are not."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column)


def floats(column: "pd.Series[Any]") -> Floats:
    """A column as float64 ``(n,)``, NaN where a value is missing."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def canonical(values: Floats) -> Floats:
    """Numbers whose bits are equal where the numbers are: one gap, and no negative zero."""
    return np.where(np.isnan(values), np.nan, values + 0.0)


def first_positions(keys: NDArray[np.generic]) -> Ints:
    """For each key ``(n,)`` the position where it occurs first, ``(n,)``."""
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[number])


def are_whole(values: "NDArray[Any]") -> bool:
    """True if all numbers are whole."""
    return bool((np.floor(values) == values).all())


def spell(value: Any) -> str:
    """A category as OpenML writes it: whole numbers without a point, Booleans in lower case."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def sorted_naturally(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct texts, by size if all of them are numbers, else alphabetically.

    >>> sorted_naturally(["10", "9"]), sorted_naturally(["10", "9", "many"])
    (('9', '10'), ('10', '9', 'many'))
    """
    distinct = set(texts)
    try:
        numbers = {text: float(text) for text in distinct}
    except ValueError:
        numbers = {}
    # "nan" is a number to Python, and has no place among numbers.
    if not numbers or any(map(np.isnan, numbers.values())):
        return tuple(sorted(distinct))
    # Two texts may spell one number, as 1 and 1.0 do.
    return tuple(sorted(distinct, key=lambda text: (numbers[text], text)))


def listed(names: Sequence[str]) -> str:
    """Names for a message: the first few of many, and how many more there are."""
    shown = ", ".join(map(repr, names[:SHOWN]))
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
