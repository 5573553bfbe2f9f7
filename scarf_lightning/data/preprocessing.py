"""From columns to the numbers that networks get: encoding, imputation and scaling (paper, section 4)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..options.option import Options, option
from .columns import GAP, Column, Floats, Ints

if TYPE_CHECKING:
    from .table import Table

VECTORS = ("fill", "shift", "scale")
"""The vectors of `Preprocessing` that are applied before every network."""
ARRAYS = (*VECTORS, "target", "clip", "curve")


@dataclass
class Scaling(Options, ABC):
    """A way of scaling numeric columns: x becomes (x - shift) / divisor (paper, section 4.3).

    A scaling that is no straight line has a ``bound``, or a `curve`.
    """

    name: ClassVar[str]

    @property
    def bound(self) -> float:
        """Size that scaled numbers approach and do not exceed; infinite if there is none."""
        return np.inf

    def curve(self, values: Floats) -> Floats:
        """Knots of a piecewise linear function that is applied before shift and divisor, from imputed ``values``
        ``(n, M)``: numbers and what they become, ``(M, 2, K)``, both in ascending order; K is 0 for no function."""
        return np.empty((values.shape[1], 2, 0))

    @abstractmethod
    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        """Shift and divisor of each column, both ``(M,)``, from imputed ``values`` ``(n, M)``. A divisor of 0 makes the
        column zero."""


@dataclass
class ZScore(Scaling):
    """(x - mean) / std, with the population standard deviation."""

    name: ClassVar[str] = "zscore"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        # Rounding can give a constant column a tiny deviation; its range is exactly zero.
        is_constant = np.ptp(values, axis=0) == 0
        deviation = np.where(is_constant, 0.0, values.std(axis=0))
        return values.mean(axis=0), deviation


@dataclass
class MinMax(Scaling):
    """(x - min) / (max - min)."""

    name: ClassVar[str] = "minmax"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return values.min(axis=0), np.ptp(values, axis=0)


@dataclass
class Mean(Scaling):
    """(x - mean) / (max - min)."""

    name: ClassVar[str] = "mean"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return values.mean(axis=0), np.ptp(values, axis=0)


@dataclass
class NoScaling(Scaling):
    """x as it is, constant columns too."""

    name: ClassVar[str] = "none"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])


@dataclass
class Robust(Scaling):
    """z = (x - median) / (distance of the quartiles), and z / sqrt(1 + (z / bound)^2): outliers stay below the bound.
    Half the range replaces the distance if the quartiles are equal.

    The scaling of RealMLP (Holzmüller et al. 2024, section 3, https://arxiv.org/abs/2407.04491).
    """

    name: ClassVar[str] = "robust"
    largest: float = option(3.0, "size that scaled numbers approach and do not exceed", "(0, 1000000]")

    @property
    def bound(self) -> float:
        return self.largest

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        quartiles = high - low
        # More than half of the rows may hold one value.
        half_range = np.ptp(values, axis=0) / 2
        return median, np.where(quartiles > 0, quartiles, half_range)


@dataclass
class Quantile(Scaling):
    """The quantile of the standard normal distribution at a number's rank, so that any column looks normal.

    The number at place i of n has the rank (i - 1/2) / n, and one that occurs often has the mean of its ranks. Between
    ``knots``, which are numbers of the column, the quantile is linear; beyond the last ones it is constant.
    """

    name: ClassVar[str] = "quantile"
    knots: int = option(100, "numbers of a column that have their exact quantile", "[2, 10000]")

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        # The curve does the work, but for a constant, which becomes zero.
        return np.zeros(values.shape[1]), (np.ptp(values, axis=0) > 0).astype(np.float64)

    def curve(self, values: Floats) -> Floats:
        from scipy.special import ndtri
        from scipy.stats import rankdata

        n = len(values)
        ranks = (rankdata(values, axis=0) - 0.5) / n
        # Whole places: a rounding error would put a knot beside a number that occurs often.
        places = np.arange(self.knots) * (n - 1) // (self.knots - 1)
        numbers, ends = np.sort(values, axis=0)[places], ndtri(np.sort(ranks, axis=0)[places])
        return np.stack([numbers.T, ends.T], axis=1)


@dataclass(kw_only=True)
class Encoding(Options, ABC):
    """An encoding of categorical columns; numeric ones stay as they are.

    With ``gaps`` networks see which values are missing in the columns that have missing values. In a column of
    categories these are a category of their own. A number gets a column beside it, 1 where the number is missing and 0
    elsewhere, and the missing number is 0 after scaling. Both are one feature to corruptions and pretexts: a value
    that is replaced or hidden takes its gap with it.

    Attributes:
        widens: whether a category may become a column of its own.
    """

    name: ClassVar[str]
    widens: ClassVar[bool] = True
    gaps: bool = option(False, "show networks which values are missing, by a category or by a column beside a number")

    @abstractmethod
    def column(self, column: Column) -> Column:
        """A categorical column with its categories in the order of their codes and its number of indicators."""

    def columns(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """All columns, encoded."""
        # The category of gaps must be there before categories are ordered.
        gap_columns = [self._with_gap(column) if self.gaps and column.has_gaps else column for column in columns]
        return tuple(self.column(column) if column.is_categorical else column for column in gap_columns)

    def _with_gap(self, column: Column) -> Column:
        """A column that shows its gaps; encoded categories have one for them."""
        categories, gap = column.categories, GAP
        if categories is not None and self.widens:
            # The table may have a category of this name.
            while gap in categories:
                gap += "'"
            categories = (*categories, gap)
        return replace(column, categories=categories, tells_gaps=True)

    def encode(self, table: "Table") -> "Table":
        """The table with its columns encoded. Its hash is another one."""
        columns = self.columns(table.columns)
        if columns == table.columns:
            return table
        values = table.values.copy()
        for m, (before, after) in enumerate(zip(table.columns, columns, strict=True)):
            if before.categories == after.categories:
                continue
            # Gaps stay gaps here; imputation fills them, with their own category if they have one. The code -1 of a gap
            # takes the last number.
            codes = np.nan_to_num(values[:, m], nan=-1).astype(np.int64)
            values[:, m] = np.append(codes_in(before, after.categories or ()), np.nan)[codes]
        return replace(table, columns=columns, values=values)


@dataclass
class OneHotEncoding(Encoding):
    """One indicator for each category."""

    name: ClassVar[str] = "onehot"

    def column(self, column: Column) -> Column:
        return replace(column, indicators=None)


@dataclass
class OneHotDropLast(Encoding):
    """One indicator for each category but the last, whose rows have zeros. A single category keeps its indicator."""

    name: ClassVar[str] = "onehot_drop_last"

    def column(self, column: Column) -> Column:
        n_categories = len(column.categories or ())
        return replace(column, indicators=max(n_categories - 1, 1))


@dataclass
class Ordinal(Encoding):
    """Codes 0, 1, 2 ..., imputed by the mode and then scaled as numbers are.

    The order is that of the column's type, as in the header of an ARFF file. Without one, numbers are ordered by size
    and other strings alphabetically.
    """

    name: ClassVar[str] = "ordinal"
    widens: ClassVar[bool] = False

    def column(self, column: Column) -> Column:
        return replace(column, categories=column.declared or column.categories, indicators=0)


def codes_in(column: Column, order: Sequence[str]) -> Floats:
    """The place in ``order`` of each of a column's categories, ``(n_categories,)``."""
    place = {category: float(position) for position, category in enumerate(order)}
    return np.array([place[category] for category in column.categories or ()])


def _nothing() -> Floats:
    return np.empty((0, 0))


@dataclass(frozen=True)
class Preprocessing:
    """Fitted arrays: ``fill`` replaces missing values, and then x becomes (x - shift) * scale. It is NaN for numbers
    whose gaps networks see.

    Codes of categorical columns have a shift of 0 and a scale of 1, unless their encoding uses them as numbers.

    Attributes:
        fill, shift, scale: float64 ``(T, M)``, one row for each trial.
        is_shared: whether all trials were fitted on the whole table.
        target: fitted to the labels of each trial, ``(T, K)``, see `Target.fit`; empty if nothing is.
        clip: scaled numbers z end as z / sqrt(1 + clip z^2), ``(T, M)``; empty if none are clipped.
        curve: see `Scaling.curve`, ``(T, M, 2, K)``; empty if there is none. A column with equal knots has none.
    """

    fill: Floats
    shift: Floats
    scale: Floats
    is_shared: bool
    target: Floats = field(default_factory=_nothing)
    clip: Floats = field(default_factory=_nothing)
    curve: Floats = field(default_factory=_nothing)

    @classmethod
    def fit(cls, table: "Table", rows: Sequence[Ints | None], scaling: Scaling) -> "Preprocessing":
        """Fit imputation and scaling on ``rows``, the row numbers of each trial; None means all rows.

        Raises:
            UsageError: a column's numbers are so large that its mean, deviation or range overflows.
        """
        is_shared = all(trial_rows is None for trial_rows in rows)
        # One fit serves all trials that are fitted on the whole table.
        fits = [_fit_one(table, trial_rows, scaling) for trial_rows in (rows[:1] if is_shared else rows)]
        if is_shared:
            fits *= len(rows)
        return cls(**{name: np.stack([arrays[name] for arrays in fits]) for name in fits[0]}, is_shared=is_shared)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats], *, is_shared: bool) -> "Preprocessing":
        """The inverse of `arrays`.

        Raises:
            TypeError: an array is missing, or its name is unknown.
        """
        return cls(**arrays, is_shared=is_shared)

    def take(self, trials: Ints) -> "Preprocessing":
        """The arrays of the trials at these positions."""
        arrays = {name: array[trials] for name, array in self.arrays().items()}
        return Preprocessing(**arrays, is_shared=self.is_shared)

    def arrays(self) -> dict[str, Floats]:
        """The arrays by name, as they are kept."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {name: array for name, array in arrays.items() if array.size}

    def apply(self, values: Floats, trial: int) -> Floats:
        """Impute and scale ``values`` ``(n, M)`` as the trial at position ``trial`` does."""
        scaled = np.where(np.isnan(values), self.fill[trial], values)
        if self.curve.size:
            for column, (numbers, ends) in zip(scaled.T, self.curve[trial], strict=True):
                if numbers[0] < numbers[-1]:
                    column[:] = np.interp(column, numbers, ends)
        # In place, so that no second table in float64 is needed.
        scaled -= self.shift[trial]
        scaled *= self.scale[trial]
        if self.clip.size:
            scaled /= (1 + self.clip[trial] * scaled * scaled) ** 0.5
        return scaled


def refuse_too_large(table: "Table", fits: NDArray[np.bool_]) -> None:
    """Refuse the first column that training cannot compute with; ``fits`` is ``(M,)``."""
    if fits.all():
        return
    m = int(fits.argmin())
    size = np.nanmax(np.abs(table.values[:, m]))
    raise UsageError(
        f"The numbers of column {table.columns[m].name!r} are too large to train with: they go up to {size:.3g} in "
        "size. Leave the column out, or divide it."
    )


# Columns that overflow are refused by name.
@np.errstate(over="ignore", invalid="ignore")
def _fit_one(table: "Table", rows: Ints | None, scaling: Scaling) -> dict[str, Floats]:
    """The arrays of one trial, each ``(M, ...)``."""
    # A copy: gaps are filled in it.
    values = np.array(table.values if rows is None else table.values[rows])
    is_missing = np.isnan(values)
    # A column without any value in these rows stays zero.
    fill = np.zeros(len(table.columns))
    for m, column in enumerate(table.columns):
        observed = values[~is_missing[:, m], m]
        if len(observed):
            fill[m] = _middle(column, observed)
    np.copyto(values, fill, where=is_missing)
    shift, divisor = scaling.statistics(values)
    curve = scaling.curve(values)
    refuse_too_large(table, np.all(np.isfinite([fill, shift, divisor]), axis=0))

    # A smaller divisor than a normal number would overflow.
    is_scaled = divisor > np.finfo(np.float64).tiny
    scale = np.divide(1.0, divisor, out=np.zeros_like(divisor), where=is_scaled)
    # Codes that become indicators stay codes.
    has_indicators = np.array(table.n_categories) > 0
    shift[has_indicators] = curve[has_indicators] = 0
    scale[has_indicators] = 1
    for m, column in enumerate(table.columns):
        if column.adds_gap_column:
            # A missing number stays one, which the input layer shows.
            fill[m] = np.nan
        elif column.tells_gaps:
            # The last code is that of missing categories.
            fill[m] = column.n_categories - 1
    arrays = {"fill": fill, "shift": shift, "scale": scale, "curve": curve}
    if np.isfinite(scaling.bound):
        arrays["clip"] = np.where(has_indicators, 0.0, 1 / scaling.bound**2)
    return arrays


def _middle(column: Column, observed: Floats) -> float:
    """The mode of codes or the mean of numbers ``(n,)``, which replaces missing ones."""
    if column.is_categorical:
        counts = np.bincount(observed.astype(np.int64))
        # Of several modes the first, which no order of the rows decides.
        return float(counts.argmax())
    # Rounding can move the mean of a constant.
    return float(np.clip(observed.mean(), observed.min(), observed.max()))
