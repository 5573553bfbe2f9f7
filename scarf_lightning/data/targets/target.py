"""The interface of every kind of target."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics import Metric, metrics

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[Any]
"""One for each row ``(..., n)``: int64 class numbers, or float64 numbers in their own unit."""
Predictions = NDArray[np.float64]
"""What networks and rivals give for n rows: what the kind's metrics take."""


@dataclass(frozen=True)
class Target(ABC):
    """Quantity that is predicted of the rows of a table. A subclass is a kind of target.

    Class variables:

    - ``name``: of the kind in ``dataset.target_kind``;
    - ``noun``: the plural in sentences;
    - ``usual_metric``: the default metric of tables and verdicts;
    - ``heading``: of a column of labels or answers;
    - ``can_balance``: whether ``finetune.class_weight=balanced`` is allowed, which calls `balanced`;
    - ``can_smooth``: whether ``finetune.label_smoothing`` has a meaning, which calls `smoothed`;
    - ``drawings``: what a report draws of predictions: names of drawings, and how their titles begin.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    usual_metric: ClassVar[str]
    heading: ClassVar[str]
    can_balance: ClassVar[bool] = False
    can_smooth: ClassVar[bool] = False
    drawings: ClassVar[Mapping[str, str]] = {}

    @classmethod
    @abstractmethod
    def read(
        cls, column: "pd.Series[Any]", source: str, decimal: str | None = None
    ) -> "tuple[Target, Labels, Sequence[str]]":
        """The target of n rows, their labels ``(n,)``, and sentences for the user.

        Args:
            column: values of any type, missing where a row has no label.
            source: where the data came from, for messages.
            decimal: the decimal sign of numbers that are text; None finds it.

        Raises:
            UsageError: the values are not of this kind, or are all the same.
        """

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Target":
        """The inverse of `plain`.

        Raises:
            ValueError: a value is not possible.
        """

    @classmethod
    def is_among(cls, names: Sequence[str]) -> bool:
        """True if it is one of these kinds; no names mean all kinds."""
        return not names or cls.name in names

    @classmethod
    def metrics(cls) -> tuple[Metric, ...]:
        """The metrics of this kind."""
        return metrics((cls.name,))

    def measured(self, predictions: Predictions, labels: Labels) -> dict[str, float]:
        """Every metric of one trial, by name."""
        return {each.name: each.function(predictions, labels) for each in self.metrics()}

    @abstractmethod
    def plain(self) -> dict[str, Any]:
        """The target as JSON for a record."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Its part of the data's hash, besides the labels."""

    @property
    def metric(self) -> str:
        """The default metric of tables and verdicts for this target."""
        return self.usual_metric

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The width of h."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """Description of the target, such as ``3 classes``."""

    @abstractmethod
    def is_labelled(self, labels: Labels) -> NDArray[np.bool_]:
        """True for rows with a label."""

    @abstractmethod
    def strata(self, labels: Labels) -> Ints:
        """For each row the group that a stratified split divides by itself, numbered from 0; -1 without a label."""

    @abstractmethod
    def redrawn(self, labels: Labels, positions: Ints, random: np.random.Generator) -> Labels:
        """Labels ``(n,)`` of which those at some positions are drawn at random: label noise."""

    def balanced(self, labels: Labels, targets: "Tensor") -> "Tensor":
        """Weights ``(T, m)`` that balance encoded ``targets`` ``(T, m, ...)`` by labels ``(T, n)``."""
        raise NotImplementedError

    def smoothed(self, targets: "Tensor", outputs: "Tensor", share: "float | Tensor") -> "Tensor":
        """Encoded ``targets`` as probabilities ``(..., N, C)``, of which a uniform distribution has the given share.
        ``outputs`` are those of h, ``(..., N, C)``."""
        raise NotImplementedError

    @abstractmethod
    def fit(self, labels: Labels) -> Floats:
        """Estimates ``(K,)`` from the labels ``(n,)`` that training sees, kept with the preprocessing."""

    @abstractmethod
    def encode(self, labels: Labels, fitted: Floats) -> NDArray[Any]:
        """Labels or predictions ``(T, n, ...)`` as the loss takes them; ``fitted`` is ``(T, K)``."""

    @abstractmethod
    def soft(self, labels: Labels) -> NDArray[Any]:
        """Labels ``(T, n)`` in a form that `encode` takes and that may be averaged."""

    @abstractmethod
    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        """The supervised loss ``(...)``, averaged over rows.

        Args:
            outputs: of h, ``(..., N, n_outputs)``.
            targets: as `encode` gives them.
            weights: ``(..., N)``, or None if all rows weigh the same.
        """

    @abstractmethod
    def validation(self, outputs: "Tensor", targets: "Tensor") -> dict[str, "Tensor"]:
        """``loss`` and ``error`` ``(...)`` of validation rows; ``finetune.monitor`` names the one that is watched."""

    @abstractmethod
    def predictions(self, outputs: "Tensor", fitted: "Tensor") -> "Tensor":
        """Predictions from outputs ``(T, N, n_outputs)``, float64; ``fitted`` is ``(T, K)``."""

    @abstractmethod
    def guess(self, labels: Labels) -> Predictions:
        """Predictions on which every metric is defined, if it can be defined for these labels."""

    @abstractmethod
    def taught(self, labels: Labels, n_rows: int, learn: "Learn") -> Predictions:
        """Predictions of another library's model, learnt from ``labels``, for ``n_rows`` rows. ``learn`` fits it to
        labels of the library's kind and predicts; it is not called if they are all equal."""

    @abstractmethod
    def choose(self, *, classifier: Any, regressor: Any) -> Any:
        """The one of a library's two models that serves the kind."""

    @abstractmethod
    def predicted_by(self, model: Any, rows: Any) -> Floats:
        """Predictions of a fitted model with the interface of scikit-learn."""

    @abstractmethod
    def named(self, labels: Labels) -> "pd.Series[Any]":
        """Labels of n rows as their user knows them, missing where a row has none."""

    def is_one_class(self, predictions: Predictions) -> bool | None:
        """True if all rows get the same class; None if there are no classes."""
        return None

    def is_worse_than_frequencies(self, predictions: Predictions, labels: Labels, taught: Labels) -> bool | None:
        """True if the log-loss of predictions is above that of the class frequencies; None if there are no classes.

        Args:
            predictions: of the test rows.
            labels: of the test rows.
            taught: the labels that training saw, whose frequencies are one answer for every row.
        """
        return None

    def n_classes_among(self, labels: Labels) -> int | None:
        """The classes that occur among labels; None if there are no classes."""
        return None

    @abstractmethod
    def frame(self, predictions: Predictions) -> "pd.DataFrame":
        """Predictions as columns for people, without those of `decided`."""

    @abstractmethod
    def packed(self, labels: Labels, predictions: Predictions) -> "pd.DataFrame":
        """Labels and predictions as columns for a file: ``label``, and others in their order."""

    @abstractmethod
    def unpacked(self, frame: "pd.DataFrame") -> tuple[Labels, Predictions]:
        """The inverse of `packed`.

        Raises:
            ValueError: a value is not possible.
        """

    @abstractmethod
    def packed_size(self, predictions: Predictions) -> int:
        """Bytes that labels and predictions take in a file at most, before they are compressed."""


Learn = Callable[[Labels], Floats]
