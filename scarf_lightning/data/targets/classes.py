"""Classes as targets: cross-entropy, and probabilities as predictions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ...metrics import log_loss
from .target import Floats, Ints, Labels, Learn, Predictions, Target

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

UNLABELLED = -1
"""The label of a row that has none."""

RARE = 0.1
"""A target is imbalanced if a class has less than this share of the labelled rows, and less than half of an equal
share: of 26 classes each may well have a twenty-fifth."""

TEXT, FIXED_TEXT = "object", "str"
"""Text in an array of objects, and in one of numpy's arrays of text."""
TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|str")


@dataclass(frozen=True)
class Classes(Target):
    """A class for each row. Labels are indices into ``names``, int64, `UNLABELLED` in rows without one. Predictions are
    probabilities ``(..., n, C)``.

    Attributes:
        names: of the classes that occur, in natural order.
        rarest: the share of the rarest class among the labelled rows.
        dtype: numpy's type of the labels that the names spell, see `answers_of`. Not part of the data's identity.
    """

    name: ClassVar[str] = "classes"
    noun: ClassVar[str] = "classes"
    heading: ClassVar[str] = "class"
    usual_metric: ClassVar[str] = "accuracy"
    can_balance: ClassVar[bool] = True
    can_smooth: ClassVar[bool] = True
    drawings: ClassVar[Mapping[str, str]] = {
        "roc_curves": "True against false positives",
        "confusion_matrix": "Which class is taken for which",
    }
    names: tuple[str, ...]
    rarest: float = field(default=1.0, compare=False)
    dtype: str = field(default=TEXT, compare=False)

    @classmethod
    def read(
        cls, column: "pd.Series[Any]", source: str, decimal: str | None = None
    ) -> tuple["Classes", Ints, list[str]]:
        from ..columns import Coded

        codes, names = Coded.of(column).sorted_codes()
        if len(names) < 2:
            raise UsageError(f"target {column.name!r} of {source} has the one class {names[0]!r}; two are needed.")
        labels = np.nan_to_num(codes, nan=UNLABELLED).astype(np.int64)
        # Rows without a label are of no class.
        counts = np.bincount(labels[labels >= 0], minlength=len(names))
        rarest = float(counts.min() / counts.sum())
        classes = cls(names, rarest, dtype_of(column.dropna()))
        if not classes.is_imbalanced:
            return classes, labels, []
        rare = names[int(counts.argmin())]
        note = (
            f"Target {column.name!r} is imbalanced: {100 * rarest:.2g} % of its rows are of class {rare!r}; "
            "finetune.class_weight=balanced trains with equal weights of the classes."
        )
        return classes, labels, [note]

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Classes":
        classes = cls(tuple(plain["classes"]), float(plain["rarest"]), plain["dtype"])
        # A record whose names are no answers of its type is refused here.
        _ = classes.answers
        return classes

    def plain(self) -> dict[str, Any]:
        target = {"kind": self.name, "rarest": self.rarest, "dtype": self.dtype}
        return {"target": target, "classes": list(self.names)}

    @property
    def answers(self) -> NDArray[Any]:
        """The label of each class, in the type that it was given in, ``(C,)``."""
        return answers_of(self.names, self.dtype)

    @property
    def identity(self) -> dict[str, Any]:
        return {"classes": self.names}

    @property
    def is_imbalanced(self) -> bool:
        """True if a class is rare, see `RARE`."""
        return self.rarest < min(RARE, 0.5 / len(self.names))

    @property
    def metric(self) -> str:
        return "balanced_accuracy" if self.is_imbalanced else self.usual_metric

    @property
    def n_outputs(self) -> int:
        return len(self.names)

    @property
    def in_words(self) -> str:
        return f"{len(self.names)} classes"

    def is_labelled(self, labels: Labels) -> NDArray[np.bool_]:
        return np.asarray(labels != UNLABELLED)

    def strata(self, labels: Labels) -> Ints:
        """The classes."""
        return labels

    def redrawn(self, labels: Labels, positions: Ints, random: np.random.Generator) -> Labels:
        """Labels of which these are drawn uniformly over all classes, the true one included."""
        noisy = labels.copy()
        noisy[positions] = random.integers(self.n_outputs, size=len(positions))
        return noisy

    def class_weights(self, labels: Labels) -> Floats:
        """Weights ``(T, C)`` with which every class of labels ``(T, n)`` counts equally, as ``balanced`` of
        scikit-learn: n / (C n_c), with C the number of classes that occur and n_c the rows of class c.

        A class without a row gets the weight of a class with one row: a pseudo-label may name it.
        """
        counts = np.stack([np.bincount(trial_labels, minlength=self.n_outputs) for trial_labels in labels])
        # Of few labels a trial may lack a class, which then has no share.
        n_present = (counts > 0).sum(axis=1, keepdims=True)
        n_rows = labels.shape[1]
        return np.asarray(n_rows / (n_present * np.maximum(counts, 1)))

    def balanced(self, labels: Labels, targets: "Tensor") -> "Tensor":
        """The weights of the classes, or their mean by the probabilities of soft targets."""
        import torch

        weights = torch.from_numpy(self.class_weights(labels)).to(targets.device)
        # Hard targets are classes (T, n), soft ones probabilities (T, n, C).
        if targets.dim() == 2:
            return weights.gather(1, targets)
        return (targets.double() * weights.unsqueeze(1)).sum(dim=-1)

    def smoothed(self, targets: "Tensor", outputs: "Tensor", share: "float | Tensor") -> "Tensor":
        from ...losses.supervised import smoothed

        return smoothed(targets, outputs, share)

    def fit(self, labels: Labels) -> Floats:
        return np.empty(0)

    def encode(self, labels: Labels, fitted: Floats) -> NDArray[Any]:
        return labels

    def soft(self, labels: Labels) -> Floats:
        return np.asarray(np.eye(self.n_outputs)[labels])

    def loss(self, outputs: "Tensor", targets: "Tensor", weights: "Tensor | None") -> "Tensor":
        from ...losses.supervised import cross_entropy

        return cross_entropy(outputs, targets, weights)

    def validation(self, outputs: "Tensor", targets: "Tensor") -> dict[str, "Tensor"]:
        """The cross-entropy, and the share of wrongly classified rows."""
        is_wrong = outputs.argmax(dim=-1) != targets
        loss = self.loss(outputs, targets, None)
        return {"loss": loss, "error": is_wrong.double().mean(dim=-1)}

    def predictions(self, outputs: "Tensor", fitted: "Tensor") -> "Tensor":
        """Probabilities, ``(T, N, C)``. Where ``fitted`` is not empty, it is an answer for every row, as far as it is
        believed: ``(T, C)``, whose sum is its share of the mixture."""
        probabilities = outputs.softmax(dim=-1)
        if not fitted.numel():
            return probabilities
        answer = fitted.unsqueeze(-2)
        return (1 - answer.sum(dim=-1, keepdim=True)) * probabilities + answer

    def guess(self, labels: Labels) -> Predictions:
        return np.full((len(labels), self.n_outputs), 1 / self.n_outputs)

    def taught(self, labels: Labels, n_rows: int, learn: Learn) -> Predictions:
        """Libraries learn the classes that occur, numbered from 0. Other classes get no probability; an only class gets
        all of it."""
        present, numbered = np.unique(labels, return_inverse=True)
        probabilities = np.zeros((n_rows, self.n_outputs))
        # Libraries refuse to learn one class.
        probabilities[:, present] = learn(numbered) if len(present) > 1 else 1
        return probabilities

    def choose(self, *, classifier: Any, regressor: Any) -> Any:
        return classifier

    def predicted_by(self, model: Any, rows: Any) -> Floats:
        return np.asarray(model.predict_proba(rows))

    def named(self, labels: Labels) -> "pd.Series[Any]":
        import pandas as pd

        # The label -1 of rows without one takes the last.
        names = np.array([*self.names, None], dtype=object)
        return pd.Series(names[labels], name=self.heading, dtype="str")

    def is_one_class(self, predictions: Predictions) -> bool:
        classes = predictions.argmax(axis=1)
        return bool((classes == classes[0]).all())

    def is_worse_than_frequencies(self, predictions: Predictions, labels: Labels, taught: Labels) -> bool:
        frequencies = np.bincount(taught, minlength=self.n_outputs) / len(taught)
        frequency_loss = log_loss(np.tile(frequencies, (len(labels), 1)), labels)
        # Rounding alone must not make `method=constant` worse than itself.
        return log_loss(predictions, labels) > frequency_loss * (1 + 1e-9)

    def n_classes_among(self, labels: Labels) -> int:
        return len(np.unique(labels))

    def frame(self, predictions: Predictions) -> "pd.DataFrame":
        """``probability_<class>`` for each."""
        import pandas as pd

        columns = [f"probability_{name}" for name in self.names]
        return pd.DataFrame(predictions, columns=columns)

    def packed(self, labels: Labels, predictions: Predictions) -> "pd.DataFrame":
        """Probabilities without loss, in columns that the numbers of the classes name: float32, in which networks
        compute, or float64 where a value has more digits."""
        import pandas as pd

        narrow = predictions.astype(np.float32)
        is_exact = np.array_equal(narrow, predictions)
        frame = pd.DataFrame(narrow if is_exact else predictions)
        frame.columns = pd.Index([str(number) for number in frame.columns])
        return frame.assign(label=labels.astype(np.int32))

    def unpacked(self, frame: "pd.DataFrame") -> tuple[Ints, Predictions]:
        labels = frame["label"].to_numpy(dtype=np.int64)
        probabilities = frame.drop(columns="label").to_numpy(dtype=np.float64)
        totals = probabilities.sum(axis=1)
        are_classes = probabilities.shape[1] == self.n_outputs and np.isin(labels, range(self.n_outputs)).all()
        if not are_classes or not (probabilities >= 0).all() or not (np.isfinite(totals) & (totals > 0)).all():
            raise ValueError("a label or a prediction is of no class")
        return labels, np.ascontiguousarray(probabilities)

    def packed_size(self, predictions: Predictions) -> int:
        # At most eight bytes for each probability, and four for the label.
        return len(predictions) * (8 * self.n_outputs + 4)


def dtype_of(labels: "pd.Series[Any] | NDArray[Any]") -> str:
    """numpy's type of labels without gaps: of numbers and truth values; all else is text."""
    values = np.asarray(labels)
    if values.dtype.kind == "U":
        return FIXED_TEXT
    return values.dtype.name if TYPES.fullmatch(values.dtype.name) else TEXT


def answers_of(spelled: Sequence[str], dtype: str) -> NDArray[Any]:
    """The labels that were spelled so, in their type.

    Raises:
        ValueError: the type is unknown, or a text is no spelling of a label of this type.
    """
    if not isinstance(dtype, str) or not TYPES.fullmatch(dtype):
        raise ValueError(f"{str(dtype)[:40]!r} is no type of labels")
    try:
        if dtype == "bool":
            places = [("false", "true").index(text) for text in spelled]
            return np.array(places, dtype=bool)
        if dtype == FIXED_TEXT:
            return np.array(spelled, dtype=np.str_)
        return np.array(spelled, dtype=object).astype(dtype)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"classes: {str(error)[:80]}") from error
