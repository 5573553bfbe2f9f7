"""Which labels training sees (paper, section 4), and by which it is stopped. Test labels are never touched."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..limits import Limit, Limited
from ..randomness import Purpose, Streams

Ints = NDArray[np.int64]


@dataclass
class Regime(Limited, ABC):
    """A rule that turns the training labels into those that training sees.

    ``hides_labels`` says that some training rows stay without one.
    """

    name: ClassVar[str]
    hides_labels: ClassVar[bool] = False

    @abstractmethod
    def apply(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        """Positions among the training rows that keep a label, and the labels there: both ``(n_labelled,)``."""

    def judge(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        """Positions among the validation rows by which training is stopped, and their labels: both ``(n_judged,)``.

        All of them, by the labels that they have.
        """
        return np.arange(len(labels)), labels


@dataclass
class Full(Regime):
    """Every training label, as it is."""

    name: ClassVar[str] = "full"

    def apply(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        return np.arange(len(labels)), labels


@dataclass
class Semi25(Regime):
    """A random share of the training rows keeps its label (section 4.4); the others stay as unlabelled rows.

    Training is stopped by all validation rows, or by a random share of them, ``labelled_validation``.
    """

    name: ClassVar[str] = "semi25"
    limits: ClassVar[dict[str, Limit]] = {"labelled": "(0, 1]", "labelled_validation": "(0, 1]"}
    hides_labels: ClassVar[bool] = True
    labelled: float = 0.25
    labelled_validation: float = 1.0

    def apply(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        return _kept(labels, self.labelled, streams.numpy(trial, Purpose.LABELLED_SUBSET))

    def judge(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        return _kept(labels, self.labelled_validation, streams.numpy(trial, Purpose.LABELLED_VALIDATION))


@dataclass
class Few(Regime):
    """So many random training rows keep their label, or such a share; the others stay as unlabelled rows.

    A share of 0.25 is semi25, and of two numbers the smaller shows some of the labels that the larger does.
    """

    name: ClassVar[str] = "few"
    hides_labels: ClassVar[bool] = True
    limits: ClassVar[dict[str, Limit]] = {"labels": "(0, inf)"}
    labels: float = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels > 1 and self.labels != int(self.labels):
            raise ValueError(f"labels must be a whole number of rows, or a share between 0 and 1, not {self.labels}")

    def apply(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        if self.labels > len(labels):
            raise UsageError(
                f"regime.labels={self.labels:g} is more than the {len(labels)} training rows with a label."
            )
        share = self.labels if self.labels < 1 else self.labels / len(labels)
        return Semi25(share).apply(labels, n_classes, streams, trial)


@dataclass
class Noise30(Regime):
    """Exactly round(noise * n) training labels are redrawn uniformly: over ``all`` classes, the true one included, or
    over the ``others``, so that every label that is redrawn is wrong. The labels of the validation rows are ``clean``,
    or ``noisy`` in the same way; those of the test rows are never touched."""

    name: ClassVar[str] = "noise30"
    limits: ClassVar[dict[str, Limit]] = {
        "noise": "[0, 1]",
        "over": ("all", "others"),
        "validation": ("clean", "noisy"),
    }
    noise: float = 0.3
    over: str = "all"
    validation: str = "clean"

    def apply(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        return np.arange(len(labels)), self._noisy(labels, n_classes, streams.numpy(trial, Purpose.LABEL_NOISE))

    def judge(self, labels: Ints, n_classes: int, streams: Streams, trial: int) -> tuple[Ints, Ints]:
        if self.validation == "clean":
            return super().judge(labels, n_classes, streams, trial)
        noisy = self._noisy(labels, n_classes, streams.numpy(trial, Purpose.VALIDATION_NOISE))
        return np.arange(len(labels)), noisy

    def _noisy(self, labels: Ints, n_classes: int, random: np.random.Generator) -> Ints:
        redrawn = random.permutation(len(labels))[: round(self.noise * len(labels))]
        noisy = labels.copy()
        if self.over == "all":
            noisy[redrawn] = random.integers(n_classes, size=len(redrawn))
        else:
            noisy[redrawn] = (noisy[redrawn] + 1 + random.integers(n_classes - 1, size=len(redrawn))) % n_classes
        return noisy


def _kept(labels: Ints, share: float, random: np.random.Generator) -> tuple[Ints, Ints]:
    """A random share of the rows, one at least, in their order, and their labels."""
    kept = np.sort(random.permutation(len(labels))[: max(1, round(share * len(labels)))])
    return kept, labels[kept]
