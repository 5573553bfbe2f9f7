"""Numbers as targets: squared error on values that are standardised by each trial's training rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ..columns import Floats, Ints
from .target import Kind, Labels, Learn, Predictions, ReadTarget

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

STRATA = 10
"""A stratified split divides each tenth of the values by itself."""

ROWS_A_STRATUM = 10
"""Fewer tenths are made of fewer rows."""


@dataclass(frozen=True)
class Number(Kind):
    """A number for each row. Labels are float64 in their own unit, NaN in rows without one.

    Networks learn (y - shift) / scale, with the mean and the standard deviation of the labels that training sees;
    predictions are in the unit of the labels.

    Attributes:
        column: the name of the column.
    """

    name: ClassVar[str] = "number"
    noun: ClassVar[str] = "numbers"
    usual_metric: ClassVar[str] = "rmse"
    has_classes: ClassVar[bool] = False
    drawings: ClassVar[Mapping[str, str]] = {"predicted_against_true": "Predicted against true values"}
    column: str = ""

    @classmethod
    def read(cls, column: "pd.Series[Any]", source: str, decimal: str | None = None) -> ReadTarget:
        from ..reading.rules import floats_of

        labels, others = floats_of(column, decimal=decimal)
        known = labels[~np.isnan(labels)]
        where = f"target {column.name!r} of {source}"
        if others:
            raise UsageError(
                f"{where} is to be a number and holds {str(others[0])[:40]!r}; mend it, mark it as missing, or set "
                "dataset.target_kind=classes."
            )
        low, high = known.min(), known.max()
        # Numbers above 1e154 overflow when they are squared, and those below 1e-162 become zero.
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = known.std()
        if low == high or deviation == 0 or not np.isfinite(deviation):
            raise UsageError(f"{where} goes from {low:g} to {high:g}, which cannot be learnt; rescale it.")
        return ReadTarget(cls(str(column.name)), labels)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Number":
        return cls(str(plain["column"]))

    def plain(self) -> dict[str, Any]:
        return {"target": {"kind": self.name, "column": self.column}, "classes": []}

    @property
    def identity(self) -> dict[str, Any]:
        return {"target": self.name}

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def in_words(self) -> str:
        return f"the number {self.column!r}"

    def is_labelled(self, labels: Labels) -> NDArray[np.bool_]:
        return ~np.isnan(labels)

    def strata(self, labels: Labels) -> Ints:
        known = self.is_labelled(labels)
        n_strata = min(STRATA, max(1, int(known.sum()) // ROWS_A_STRATUM))
        shares = np.arange(1, n_strata) / n_strata
        inner_bounds = np.quantile(labels[known], shares)
        # Of equal numbers all are in one stratum, even where they are more than a tenth.
        strata = np.searchsorted(inner_bounds, labels, side="right")
        return np.where(known, strata, -1)

    def redrawn(self, labels: Labels, positions: Ints, random: np.random.Generator) -> Labels:
        """Each takes the label of another row."""
        n = len(labels)
        # A step of 1 to n - 1 rows, round the end, leads to any row but itself.
        steps = random.integers(1, n, size=len(positions))
        noisy = labels.copy()
        noisy[positions] = labels[(positions + steps) % n]
        return noisy

    def fit(self, labels: Labels) -> Floats:
        # A few labels may be equal, and have no deviation to divide by.
        return np.array([labels.mean(), labels.std() or 1.0])

    def encode(self, labels: Labels, fitted: Floats) -> Floats:
        shift, scale = fitted[:, :1], fitted[:, 1:]
        return np.asarray(((labels - shift) / scale)[..., None])

    def soft(self, labels: Labels) -> Labels:
        return labels

    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        from ...losses.supervised import squared_error

        return squared_error(outputs, targets, weights)

    def errors(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        return (outputs - targets).squeeze(-1).abs()

    def predictions(self, outputs: "Tensor", fitted: "Tensor") -> "Tensor":
        """``(T, N)``, in the unit of the labels."""
        return outputs.squeeze(-1) * fitted[:, 1:] + fitted[:, :1]

    def taught(self, labels: Labels, n_rows: int, learn: Learn) -> Predictions:
        # Some libraries refuse to learn a constant, and none could learn more.
        if (labels == labels[0]).all():
            return np.full(n_rows, labels[0])
        return learn(labels)

    def frame(self, labels: Labels, predictions: Predictions) -> "pd.DataFrame":
        """The true ``number`` and the ``predicted`` one."""
        import pandas as pd

        return pd.DataFrame({"number": labels, "predicted": predictions})
