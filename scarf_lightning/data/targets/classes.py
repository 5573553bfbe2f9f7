"""Classes as targets: cross-entropy, and probabilities as predictions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ...metrics import log_loss
from ..columns import Coded, Floats, Ints
from .target import Kind, Labels, Learn, Predictions, ReadTarget

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

UNLABELLED = -1
"""The label of a row that has none."""

RARE = 0.1
"""A target is imbalanced if a class has less than this share of the labelled rows, and less than half of an equal
share: of 26 classes each may well have a twenty-fifth."""
TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|str")
"""numpy's types of labels: text has an array of objects, or one of numpy's text."""


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
    def read(cls, column: "pd.Series[Any]", source: str, decimal: str | None = None) -> ReadTarget:
        """The target of n rows and their labels.

        Args:
            column: values of any type, missing where a row has no label.
            source: where the data came from, for messages.
            decimal: the decimal sign of numbers that are text; None finds it.

        Raises:
            UsageError: the values are not of this kind, or are all the same.
        """
        codes, names = Coded.of(column).sorted_codes()
        if len(names) < 2:
            raise UsageError(f"target {column.name!r} of {source} has the one class {names[0]!r}; two are needed.")
        labels = np.nan_to_num(codes, nan=UNLABELLED).astype(np.int64)
        counts = np.bincount(labels[labels != UNLABELLED])
        rarest = float(counts.min() / counts.sum())
        return ReadTarget(cls(names, rarest, dtype_of(column.dropna())), labels)

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
        noisy = labels.copy()
        noisy[positions] = random.integers(self.n_outputs, size=len(positions))
        return noisy

    def balanced(self, labels: Labels, targets: "Tensor") -> "Tensor":
        """The weights of the classes, or their mean by the probabilities of soft targets. Every class counts equally,
        as with ``balanced`` of scikit-learn: n / (C n_c), with C the number of classes that occur and n_c the rows of
        class c. A class without a row weighs as one with a single row: a pseudo-label may name it.
        """
        import torch

        counts = np.stack([np.bincount(trial_labels, minlength=self.n_outputs) for trial_labels in labels])
        # Of few labels a trial may lack a class, which then has no share.
        n_present = (counts > 0).sum(axis=1, keepdims=True)
        of_classes = labels.shape[1] / (n_present * np.maximum(counts, 1))
        weights = torch.from_numpy(of_classes).to(targets.device)
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
        from ...losses.supervised import cross_entropy

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
        present, numbered = np.unique(labels, return_inverse=True)
        probabilities = np.zeros((n_rows, self.n_outputs))
        # Libraries refuse to learn one class.
        probabilities[:, present] = learn(numbered) if len(present) > 1 else 1
        return probabilities

    def measured(self, predictions: Predictions, labels: Labels, taught: Labels | None = None) -> dict[str, float]:
        """The metrics, ``one_class``, whether all rows get the same class, and ``worse_than_frequencies``: whether the
        log-loss is above that of the frequencies of the classes that training saw, as one answer for every row."""
        classes = predictions.argmax(axis=1)
        measured = super().measured(predictions, labels) | {"one_class": bool((classes == classes[0]).all())}
        if taught is not None:
            frequencies = np.bincount(taught, minlength=self.n_outputs) / len(taught)
            frequency_loss = log_loss(np.tile(frequencies, (len(labels), 1)), labels)
            # Rounding alone must not make `method=constant` worse than itself.
            is_worse = log_loss(predictions, labels) > frequency_loss * (1 + 1e-9)
            measured["worse_than_frequencies"] = bool(is_worse)
        return measured

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


def dtype_of(labels: "pd.Series[Any] | NDArray[Any]") -> str:
    """numpy's type of labels without gaps: of numbers and truth values; all else is text."""
    dtype = np.asarray(labels).dtype
    if dtype.kind == "U":
        return "str"
    return dtype.name if TYPES.fullmatch(dtype.name) else "object"
