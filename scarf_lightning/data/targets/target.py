"""What both kinds of targets share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics import Metric, metrics
from ..columns import Floats

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from . import Target

Labels = NDArray[Any]
"""One for each row ``(..., n)``: int64 class numbers, or float64 numbers in their own unit."""
Predictions = NDArray[np.float64]
"""What networks and rivals give for n rows: what the kind's metrics take."""


@dataclass(frozen=True)
class Kind(ABC):
    """Quantity that is predicted of the rows of a table. A subclass is a kind of target, and `Classes` says what all
    methods do.

    Class variables:

    - ``name``: of the kind in ``dataset.target_kind``;
    - ``noun``: the plural in sentences;
    - ``usual_metric``: the default metric of tables and verdicts;
    - ``has_classes``: whether labels are classes, which ``finetune.class_weight`` can balance and
      ``finetune.label_smoothing`` can smooth;
    - ``drawings``: what a report draws of predictions: names of drawings, and how their titles begin.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    usual_metric: ClassVar[str]
    has_classes: ClassVar[bool]
    drawings: ClassVar[Mapping[str, str]]

    @classmethod
    def is_among(cls, names: Sequence[str]) -> bool:
        """True if it is one of these kinds; no names mean all kinds."""
        return not names or cls.name in names

    @classmethod
    def metrics(cls) -> tuple[Metric, ...]:
        """The metrics of this kind."""
        return metrics((cls.name,))

    def measured(self, predictions: Predictions, labels: Labels, taught: Labels | None = None) -> dict[str, float]:
        """Every metric of one trial by name, and what else rows say of its predictions.

        Args:
            predictions, labels: of the test rows.
            taught: the labels that training saw, if they are known.
        """
        return {each.name: each.function(predictions, labels) for each in self.metrics()}

    @property
    def metric(self) -> str:
        """The default metric of tables and verdicts for this target."""
        return self.usual_metric

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The width of h."""

    def balanced(self, labels: Labels, targets: "Tensor") -> "Tensor":
        """Weights ``(T, m)`` that balance encoded ``targets`` ``(T, m, ...)`` by labels ``(T, n)``."""
        raise NotImplementedError

    @abstractmethod
    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        """The supervised loss ``(...)``, averaged over rows.

        Args:
            outputs: of h, ``(..., N, n_outputs)``.
            targets: as `encode` gives them.
            weights: ``(..., N)``, or None if all rows weigh the same.
        """

    def validation(self, outputs: "Tensor", targets: "Tensor") -> dict[str, "Tensor"]:
        """``loss`` and ``error`` ``(...)`` of validation rows; ``finetune.monitor`` names the one that is watched."""
        error = self.errors(outputs, targets).double().mean(dim=-1)
        return {"loss": self.loss(outputs, targets, None), "error": error}

    @abstractmethod
    def errors(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The error of each row ``(..., N)``: whether its class is wrong, or how far its number is off."""

    def choose(self, *, classifier: Any, regressor: Any) -> Any:
        """The one of a library's two models that serves the kind."""
        return classifier if self.has_classes else regressor

    def predicted_by(self, model: Any, rows: Any) -> Floats:
        """Predictions of a fitted model with the interface of scikit-learn."""
        predict = model.predict_proba if self.has_classes else model.predict
        return np.asarray(predict(rows), dtype=np.float64)

    def packed(self, labels: Labels, predictions: Predictions) -> "pd.DataFrame":
        """Labels and predictions as columns for a file: ``label``, and the predictions by their place. These are
        float32, in which networks compute, or float64 where a value has more digits."""
        import pandas as pd

        # A number may be too large for float32.
        with np.errstate(over="ignore"):
            narrow = predictions.astype(np.float32)
        frame = pd.DataFrame(narrow if np.array_equal(narrow, predictions) else predictions)
        frame.columns = pd.Index([str(place) for place in frame.columns])
        return frame.assign(label=labels)

    def unpacked(self, frame: "pd.DataFrame") -> tuple[Labels, Predictions]:
        """The inverse of `packed`.

        Raises:
            ValueError: a value is not possible.
        """
        labels = frame["label"].to_numpy(dtype=np.int64 if self.has_classes else np.float64)
        predictions = np.ascontiguousarray(frame.drop(columns="label").to_numpy(dtype=np.float64))
        is_finite = np.isfinite(labels).all() and np.isfinite(predictions).all()
        if not is_finite or predictions.shape[1] != self.n_outputs:
            raise ValueError("a label or a prediction is not finite, or of another target")
        return labels, predictions if self.has_classes else predictions[:, 0]


@dataclass(frozen=True)
class ReadTarget:
    """A target column as it was read, with the labels of n rows ``(n,)``, and sentences for the user."""

    target: "Target"
    labels: Labels
    notes: tuple[str, ...] = ()


Learn = Callable[[Labels], Floats]
