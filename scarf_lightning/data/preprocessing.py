"""Imputation and scaling, fitted for each trial of a stack (paper, section 4, "Dataset pre-processing")."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .columns import Floats, Ints
from .scaling import Scaling
from .table import Table

COLUMNS_AT_A_TIME = 8
"""Columns that are copied at once to fit their statistics, so that no second table is needed."""


@dataclass(frozen=True)
class Preprocessing:
    """Fitted vectors: ``fill`` replaces missing values, and then x becomes (x - shift) * scale.

    Codes of categorical columns have a shift of 0 and a scale of 1, unless their encoding uses them as numbers.

    Attributes:
        fill, shift, scale: float64 ``(T, M)``, one row for each trial.
        is_shared: whether all trials were fitted on the whole table.
        target: what the target has fitted to the labels of each trial, ``(T, K)``, see `Target.fit`; empty where it
            fits nothing.
    """

    fill: Floats
    shift: Floats
    scale: Floats
    is_shared: bool
    target: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def fit(cls, table: Table, rows: Sequence[Ints | None], scaling: Scaling) -> "Preprocessing":
        """Fit imputation and scaling on ``rows``, the row numbers of each trial; None stands for all rows.

        Raises:
            UsageError: a column's numbers are so large that its mean, deviation or range overflows.
        """
        fitted: dict[bytes | None, tuple[Floats, Floats, Floats]] = {}
        stacked = []
        for selected in rows:
            key = None if selected is None else selected.tobytes()
            if key not in fitted:
                fitted[key] = _fit_one(table, selected, scaling)
            stacked.append(fitted[key])
        fill, shift, scale = (np.stack(vectors) for vectors in zip(*stacked, strict=True))
        return cls(fill, shift, scale, is_shared=set(fitted) == {None})

    def of(self, trial: int) -> "Preprocessing":
        """The vectors of the trial at position ``trial`` alone."""
        one = slice(trial, trial + 1)
        return Preprocessing(self.fill[one], self.shift[one], self.scale[one], self.is_shared, self.target[one])

    def arrays(self) -> dict[str, Floats]:
        """The vectors by name, as they are kept."""
        kept = {"fill": self.fill, "shift": self.shift, "scale": self.scale}
        return kept | ({"target": self.target} if self.target.size else {})

    def check_range(self, table: Table, largest: float) -> None:
        """Refuse a table with imputed and scaled values above the largest finite number of the networks' type.

        Raises:
            UsageError: there are such values; their column is named.
        """
        if len(table.values) == 0:
            return
        extremes = np.stack([np.fmin.reduce(table.values), np.fmax.reduce(table.values)])[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.abs((np.where(np.isnan(extremes), self.fill, extremes) - self.shift) * self.scale)
        _refuse_overflow(table, np.all(scaled <= largest, axis=(0, 1)), "become larger than training can compute with")

    def apply(self, values: Floats, trial: int) -> Floats:
        """Impute and scale ``values`` ``(n, M)`` as the trial at position ``trial`` does."""
        filled = np.where(np.isnan(values), self.fill[trial], values)
        return np.asarray((filled - self.shift[trial]) * self.scale[trial])


def _refuse_overflow(table: Table, fits: NDArray[np.bool_], what: str) -> None:
    """Refuse the first column that does not fit, if there is one; ``fits`` is ``(M,)``."""
    overflowing = np.flatnonzero(~fits)
    for m in overflowing[:1]:
        others = f" (and those of {len(overflowing) - 1} more)" if len(overflowing) > 1 else ""
        size = np.nanmax(np.abs(table.values[:, m]))
        raise UsageError(
            f"The numbers of column '{table.columns[m].name}'{others} {what}: they go up to {size:.3g} in size. "
            "Leave the column out, or divide it."
        )


@np.errstate(over="ignore", invalid="ignore")  # columns that overflow are refused by name
def _fit_one(table: Table, rows: Ints | None, scaling: Scaling) -> tuple[Floats, Floats, Floats]:
    """Fill, shift and scale of one trial, each ``(M,)``, from the row numbers ``rows``; None stands for all rows."""
    fill, shift, divisor = np.zeros((3, len(table.columns)))  # a column without any value in these rows stays zero
    for block in _blocks(len(table.columns)):
        values = table.values[:, block]
        values = np.array(values if rows is None else values[rows], order="C")
        missing = np.isnan(values)
        for m, column in enumerate(table.columns[block]):
            seen = values[~missing[:, m], m]
            if len(seen):
                mean = np.clip(seen.mean(), seen.min(), seen.max())  # rounding can move the mean of a constant
                fill[block][m] = np.bincount(seen.astype(np.int64)).argmax() if column.is_categorical else mean
        np.copyto(values, fill[block], where=missing)
        shift[block], divisor[block] = scaling.statistics(values)
    _refuse_overflow(
        table, np.all(np.isfinite([fill, shift, divisor]), axis=0), "overflow when they are averaged or scaled"
    )
    scale = np.divide(1.0, divisor, out=np.zeros_like(divisor), where=divisor > np.finfo(np.float64).tiny)
    has_indicators = np.array(table.n_categories) > 0
    return fill, np.where(has_indicators, 0.0, shift), np.where(has_indicators, 1.0, scale)


def _blocks(n_columns: int) -> list[slice]:
    """Columns that are copied at once. One column alone would be summed in another order than beside others, so the
    last one never stays alone."""
    starts = range(0, max(1, n_columns - 1), COLUMNS_AT_A_TIME)
    return [slice(start, end) for start, end in pairwise([*starts, n_columns])]
