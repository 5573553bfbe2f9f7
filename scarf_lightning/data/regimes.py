"""Which labels training sees (paper, section 4). Labels of validation and test rows are never touched."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import UsageError
from ..options.option import Options, option
from ..randomness import Purpose, Streams
from .targets import Ints, Labels, Target


@dataclass
class Regime(Options, ABC):
    """A rule that turns the labels of the training rows into those that training sees. With ``hides_labels`` some rows
    lose their label."""

    name: ClassVar[str]
    hides_labels: ClassVar[bool] = False

    @abstractmethod
    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        """Positions among the training rows that keep a label, and the labels there: both ``(n_labelled,)``.

        Raises:
            UsageError: there are fewer labels than the regime shows.
        """


@dataclass
class Full(Regime):
    """Training sees every training label."""

    name: ClassVar[str] = "full"
    label: ClassVar[str] = "all labels"

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        return np.arange(len(labels)), labels


@dataclass
class Few(Regime):
    """Some random training rows keep their label; the others stay as unlabelled rows.

    Of two numbers of labels, the smaller one shows a part of the labels that the larger one shows.
    """

    name: ClassVar[str] = "few"
    hides_labels: ClassVar[bool] = True
    labels: float = option(20, "training rows that keep their label: a number, or a share below 1", "(0, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels > 1 and self.labels != int(self.labels):
            raise ValueError(f"labels must be a whole number of rows, or a share between 0 and 1, not {self.labels}")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        if self.labels > len(labels):
            raise UsageError(
                f"regime.labels={self.labels:g} is more than the {len(labels)} training rows with a label."
            )
        n_kept = round(self.labels * len(labels)) if self.labels < 1 else int(self.labels)
        return _kept(labels, n_kept, streams, trial)


@dataclass
class Semi25(Regime):
    """A random share of the training rows keeps its label (section 4.4), as in ``few`` with a share."""

    name: ClassVar[str] = "semi25"
    label: ClassVar[str] = "25 % labelled"
    hides_labels: ClassVar[bool] = True
    labelled: float = option(0.25, "share of the training rows that keep their label", "(0, 1]")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        return _kept(labels, round(self.labelled * len(labels)), streams, trial)


def _kept(labels: Labels, n: int, streams: Streams, trial: int) -> tuple[Ints, Labels]:
    """Random rows, at least one, in their order, and their labels."""
    permutation = streams.numpy(trial, Purpose.LABELLED_SUBSET).permutation(len(labels))
    kept = np.sort(permutation[: max(1, n)])
    return kept, labels[kept]


@dataclass
class Noise30(Regime):
    """Exactly round(noise * n) training labels are drawn at random: of classes uniformly over all, the true one
    included; of numbers each is that of another training row."""

    name: ClassVar[str] = "noise30"
    label: ClassVar[str] = "30 % of labels redrawn"
    noise: float = option(0.3, "share of the training labels that are drawn at random", "[0, 1]")

    def apply(self, labels: Labels, target: Target, streams: Streams, trial: int) -> tuple[Ints, Labels]:
        random = streams.numpy(trial, Purpose.LABEL_NOISE)
        redrawn = random.permutation(len(labels))[: round(self.noise * len(labels))]
        return np.arange(len(labels)), target.redrawn(labels, redrawn, random)
