"""Kinds of targets, the quantities that are predicted of a table's rows: classes, and numbers.

A kind says in its class what differs between kinds: how its labels are kept, split, made noisy and weighted, what h
puts out and what its loss is, what a prediction is, and which metric leads. Everything else asks it.
`scarf_lightning.data.reading.roles` reads a column as a target.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric, log_loss, metrics
from .columns import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

Labels = NDArray[Any]
"""One for each row ``(..., n)``: int64 class numbers, or float64 numbers in their own unit."""
Predictions = NDArray[np.float64]
"""What networks and rivals give for n rows: what the kind's metrics take."""
Learn = Callable[[Labels], Floats]

UNLABELLED = -1
"""The label of a row that has none."""

RARE = 0.1
"""A target is imbalanced if a class has less than this share of the labelled rows, and less than half of an equal
share: of 26 classes each may well have a twenty-fifth."""
TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|str")
"""numpy's types of labels: text has an array of objects, or one of numpy's text."""

STRATA = 10
"""A stratified split divides each tenth of the values by itself."""

ROWS_A_STRATUM = 10
"""Fewer tenths are made of fewer rows."""


@dataclass(frozen=True)
class Kind(ABC):
    """Quantity that is predicted for the rows of a table. A subclass is a kind of target. `Classes` documents all
    methods.

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

    def measured(
        self, predictions: Predictions, labels: Labels, training_labels: Labels | None = None
    ) -> dict[str, float]:
        """Every metric of one trial by name, and what else its record holds on its predictions.

        Args:
            predictions, labels: of the test rows.
            training_labels: the labels of training, if they are known.
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
            float32_values = predictions.astype(np.float32)
        frame = pd.DataFrame(float32_values if np.array_equal(float32_values, predictions) else predictions)
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
class Classes(Kind):
    """A class for each row. Labels are indices into ``names``, int64, `UNLABELLED` in rows without one. Predictions are
    probabilities ``(..., n, C)``.

    Attributes:
        names: of the classes that occur, in natural order.
        rarest: the share of the rarest class among the labelled rows.
        dtype: numpy's type of the labels that the names spell, see `answers`. Not part of the data's identity.
    """

    name: ClassVar[str] = "classes"
    noun: ClassVar[str] = "classes"
    usual_metric: ClassVar[str] = "accuracy"
    has_classes: ClassVar[bool] = True
    drawings: ClassVar[Mapping[str, str]] = {
        "roc_curves": "True against false positives",
        "confusion_matrix": "Which class is taken for which",
    }
    names: tuple[str, ...]
    rarest: float = field(default=1.0, compare=False)
    dtype: str = field(default="object", compare=False)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Classes":
        """The inverse of `plain`. Raises KeyError, TypeError or ValueError for what it does not give."""
        classes = cls(tuple(plain["classes"]), float(plain["rarest"]), plain["dtype"])
        # A record whose names are no answers of its type is refused here.
        _ = classes.answers
        return classes

    def plain(self) -> dict[str, Any]:
        """The target as JSON for a record."""
        target = {"kind": self.name, "rarest": self.rarest, "dtype": self.dtype}
        return {"target": target, "classes": list(self.names)}

    @property
    def answers(self) -> NDArray[Any]:
        """The label of each class, in the type that it was given in, ``(C,)``.

        Raises:
            ValueError, OverflowError: the type is unknown, or a name is no spelling of a label of this type.
        """
        if not TYPES.fullmatch(self.dtype):
            raise ValueError(f"{self.dtype!r:.40} is no type of labels")
        if self.dtype == "bool":
            return np.array([name == "true" for name in self.names])
        return np.array(self.names, dtype=object).astype(self.dtype)

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the data's hash, besides the labels."""
        return {"classes": self.names}

    @property
    def metric(self) -> str:
        return "balanced_accuracy" if self.rarest < min(RARE, 0.5 / len(self.names)) else self.usual_metric

    @property
    def n_outputs(self) -> int:
        return len(self.names)

    @property
    def in_words(self) -> str:
        """Description of the target, such as ``3 classes``."""
        return f"{len(self.names)} classes"

    def is_labelled(self, labels: Labels) -> NDArray[np.bool_]:
        """True for rows with a label."""
        return np.asarray(labels != UNLABELLED)

    def strata(self, labels: Labels) -> Ints:
        """For each row the group that a stratified split divides by itself, numbered from 0; -1 without a label."""
        return labels

    def redrawn(self, labels: Labels, positions: Ints, random: np.random.Generator) -> Labels:
        """Labels of which these are drawn uniformly over all classes, the true one included."""
        noisy_labels = labels.copy()
        noisy_labels[positions] = random.integers(self.n_outputs, size=len(positions))
        return noisy_labels

    def balanced(self, labels: Labels, targets: "Tensor") -> "Tensor":
        """The weights of the classes, or their mean by the probabilities of soft targets. Every class counts equally,
        as with ``balanced`` of scikit-learn: n / (C n_c), with C the number of classes that occur and n_c the rows of
        class c. A class without a row weighs as one with a single row: a pseudo-label may name it.
        """
        import torch

        counts = np.stack([np.bincount(trial_labels, minlength=self.n_outputs) for trial_labels in labels])
        # Of few labels a trial may lack a class, which then has no share.
        n_present = (counts > 0).sum(axis=1, keepdims=True)
        class_weights = labels.shape[1] / (n_present * np.maximum(counts, 1))
        weights = torch.from_numpy(class_weights).to(targets.device)
        # Hard targets are classes (T, n), soft ones probabilities (T, n, C).
        if targets.dim() == 2:
            return weights.gather(1, targets)
        return (targets.double() * weights.unsqueeze(1)).sum(dim=-1)

    def fit(self, labels: Labels) -> Floats:
        """Estimates ``(K,)`` from the labels ``(n,)`` that training sees, kept with the preprocessing."""
        return np.empty(0)

    def encode(self, labels: Labels, fitted: Floats) -> NDArray[Any]:
        """Labels or predictions ``(T, n, ...)`` as the loss takes them; ``fitted`` is ``(T, K)``."""
        return labels

    def soft(self, labels: Labels) -> Floats:
        """Labels ``(..., n)`` in a form that `encode` takes and that may be averaged: predictions without an error."""
        return np.asarray(np.eye(self.n_outputs)[labels])

    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        from ..losses.loss import cross_entropy

        return cross_entropy(outputs, targets, weights)

    def errors(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        return outputs.argmax(dim=-1) != targets

    def predictions(self, outputs: "Tensor", fitted: "Tensor") -> "Tensor":
        """Probabilities, ``(T, N, C)``. Where ``fitted`` is not empty, it is an answer for every row, as far as it is
        believed: ``(T, C)``, whose sum is its share of the mixture."""
        probabilities = outputs.softmax(dim=-1)
        if not fitted.numel():
            return probabilities
        answer = fitted.unsqueeze(-2)
        return (1 - answer.sum(dim=-1, keepdim=True)) * probabilities + answer

    def taught(self, labels: Labels, n_rows: int, learn: Learn) -> Predictions:
        """Predictions of another library's model for ``n_rows`` rows. ``learn`` fits it to labels of the library's kind
        and predicts; it is not called if they are all equal. Libraries learn the classes that occur, numbered from 0.
        Other classes get no probability; an only class gets all of it."""
        present, codes = np.unique(labels, return_inverse=True)
        probabilities = np.zeros((n_rows, self.n_outputs))
        # Libraries refuse to learn one class.
        probabilities[:, present] = learn(codes) if len(present) > 1 else 1
        return probabilities

    def measured(
        self, predictions: Predictions, labels: Labels, training_labels: Labels | None = None
    ) -> dict[str, float]:
        """The metrics, ``one_class``, whether all rows get the same class, and ``worse_than_frequencies``: whether the
        log-loss is above that of the frequencies of the classes that training saw, as one answer for every row."""
        classes = predictions.argmax(axis=1)
        measures = super().measured(predictions, labels) | {"one_class": bool((classes == classes[0]).all())}
        if training_labels is not None:
            frequencies = np.bincount(training_labels, minlength=self.n_outputs) / len(training_labels)
            frequency_loss = log_loss(np.tile(frequencies, (len(labels), 1)), labels)
            # Rounding alone must not make `method=constant` worse than itself.
            is_worse = log_loss(predictions, labels) > frequency_loss * (1 + 1e-9)
            measures["worse_than_frequencies"] = bool(is_worse)
        return measures

    def frame(self, labels: Labels, predictions: Predictions) -> "pd.DataFrame":
        """The ``class``, and ``probability_<class>`` for each."""
        import pandas as pd

        frame = pd.DataFrame(predictions, columns=[f"probability_{name}" for name in self.names])
        frame.insert(0, "class", np.array(self.names, dtype=object)[labels], allow_duplicates=True)
        return frame

    def unpacked(self, frame: "pd.DataFrame") -> tuple[Labels, Predictions]:
        labels, probabilities = super().unpacked(frame)
        if not np.isin(labels, range(self.n_outputs)).all() or (probabilities < 0).any():
            raise ValueError("a label or a prediction is of no class")
        return labels, probabilities


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
        is_known = self.is_labelled(labels)
        n_strata = min(STRATA, max(1, int(is_known.sum()) // ROWS_A_STRATUM))
        shares = np.arange(1, n_strata) / n_strata
        inner_bounds = np.quantile(labels[is_known], shares)
        # Of equal numbers all are in one stratum, even where they are more than a tenth.
        strata = np.searchsorted(inner_bounds, labels, side="right")
        return np.where(is_known, strata, -1)

    def redrawn(self, labels: Labels, positions: Ints, random: np.random.Generator) -> Labels:
        """Each takes the label of another row."""
        n = len(labels)
        # A step of 1 to n - 1 rows, round the end, leads to any row but itself.
        steps = random.integers(1, n, size=len(positions))
        noisy_labels = labels.copy()
        noisy_labels[positions] = labels[(positions + steps) % n]
        return noisy_labels

    def fit(self, labels: Labels) -> Floats:
        # A few labels may be equal, and have no deviation to divide by.
        return np.array([labels.mean(), labels.std() or 1.0])

    def encode(self, labels: Labels, fitted: Floats) -> Floats:
        shift, scale = fitted[:, :1], fitted[:, 1:]
        return np.asarray(((labels - shift) / scale)[..., None])

    def soft(self, labels: Labels) -> Labels:
        return labels

    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        from ..losses.loss import squared_error

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


Target = Classes | Number
KINDS: dict[str, type[Target]] = {kind.name: kind for kind in (Classes, Number)}


def leading_metric(targets: Iterable[Target]) -> str:
    """The metric that tables of these targets lead with, by the kind that most of them are: the one that all targets
    of this kind agree on, or else the usual one."""
    all_targets = list(targets)
    kinds = [type(each) for each in all_targets]
    # Of two kinds with as many targets the first leads, in whichever order the cells are read.
    kind = max(KINDS.values(), key=kinds.count)
    metric_names = {each.metric for each in all_targets if type(each) is kind}
    return metric_names.pop() if len(metric_names) == 1 else kind.usual_metric


def target_from_plain(plain: Any) -> Target:
    """The target that a record of a cell describes.

    Raises:
        ValueError: a value is not possible.
    """
    try:
        description = plain["target"]
        kind = KINDS[description["kind"]]
        return kind.from_plain({**plain, **description})
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("it has no target") from error


def dtype_of(labels: "pd.Series[Any] | NDArray[Any]") -> str:
    """numpy's type of labels without gaps: of numbers and truth values; all else is text."""
    dtype = np.asarray(labels).dtype
    if dtype.kind == "U":
        return "str"
    return dtype.name if TYPES.fullmatch(dtype.name) else "object"
