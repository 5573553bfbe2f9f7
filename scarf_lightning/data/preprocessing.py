"""Imputation and scaling, fitted for each trial of a stack (paper, section 4, "Dataset pre-processing")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .scaling import Scaling
from .table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Preprocessing:
    """What was fitted: x becomes (x - shift) * scale, after ``fill`` has taken the place of a missing value.

    **Shape.** Each is float64 ``(T, M)``, a row a trial. Codes of categorical columns keep their values, with a shift
    of 0 and a scale of 1, unless their encoding takes them as numbers. ``is_shared`` tells whether all trials were
    fitted on the whole table.
    """

    fill: Floats
    shift: Floats
    scale: Floats
    is_shared: bool

    @classmethod
    def fit(
        cls,
        table: Table,
        rows: Sequence[NDArray[np.int64] | None],
        scaling: Scaling,
        impute: Sequence[NDArray[np.int64] | None] | None = None,
    ) -> "Preprocessing":
        """Fit scaling on ``rows``, one set of row numbers a trial, and imputation on ``impute``, by default the same;
        a set that is None stands for all rows.

        Raises:
            UsageError: a column's numbers are so large that its mean, deviation or range overflows.
        """
        fitted: dict[tuple[bytes | None, ...], tuple[Floats, Floats, Floats]] = {}
        stacked = []
        for both in zip(rows if impute is None else impute, rows, strict=True):
            key = tuple(None if selected is None else selected.tobytes() for selected in both)
            if key not in fitted:
                seen, scaled = (table.values if selected is None else table.values[selected] for selected in both)
                fitted[key] = _fit_one(table, seen, scaled, scaling)
            stacked.append(fitted[key])
        fill, shift, scale = (np.stack(vectors) for vectors in zip(*stacked, strict=True))
        return cls(fill, shift, scale, is_shared=set(fitted) == {(None, None)})

    def of(self, trial: int) -> "Preprocessing":
        """That of the trial at position ``trial``, alone."""
        one = slice(trial, trial + 1)
        return Preprocessing(self.fill[one], self.shift[one], self.scale[one], self.is_shared)

    def check_range(self, table: Table, largest: float) -> None:
        """Make sure that no imputed and scaled value exceeds the largest finite number of the networks' type.

        Raises:
            UsageError: some do; their columns are named.
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
    """Name the first column that does not fit, if there is one; ``fits`` is ``(M,)``."""
    overflowing = np.flatnonzero(~fits)
    for m in overflowing[:1]:
        others = f" (and those of {len(overflowing) - 1} more)" if len(overflowing) > 1 else ""
        size = np.nanmax(np.abs(table.values[:, m]))
        raise UsageError(
            f"The numbers of column '{table.columns[m].name}'{others} {what}: they go up to {size:.3g} in size. "
            "Leave the column out, or divide it."
        )


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused, and named
def _fit_one(table: Table, imputed: Floats, values: Floats, scaling: Scaling) -> tuple[Floats, Floats, Floats]:
    """Fill from the rows ``imputed``, shift and scale from ``values``, which are imputed with it."""
    missing = np.isnan(imputed)
    fill = np.zeros(values.shape[1])  # stays where the fitted rows hold no value at all: such a column says nothing
    for m, column in enumerate(table.columns):
        seen = imputed[~missing[:, m], m]
        if len(seen):
            mean = np.clip(seen.mean(), seen.min(), seen.max())  # rounding may carry it out of a constant's range
            fill[m] = np.bincount(seen.astype(np.int64)).argmax() if column.is_categorical else mean
    filled = np.where(np.isnan(values), fill, values)
    shift, divisor = scaling.statistics(filled)
    _refuse_overflow(
        table, np.all(np.isfinite([fill, shift, divisor]), axis=0), "overflow when they are averaged or scaled"
    )
    scale = np.divide(1.0, divisor, out=np.zeros_like(divisor), where=divisor > np.finfo(np.float64).tiny)
    has_indicators = np.array(table.n_categories) > 0
    return fill, np.where(has_indicators, 0.0, shift), np.where(has_indicators, 1.0, scale)
