"""The trials of a stack: which labels training sees (paper, section 4), their rows and their preprocessing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import UsageError
from ..options.option import Options, option
from ..randomness import Purpose, Streams
from .columns import Ints
from .preprocessing import Preprocessing, Scaling
from .splits import Random, Splitting
from .targets import Labels, Target

if TYPE_CHECKING:
    from .table import Table


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


@dataclass(frozen=True)
class TrialData:
    """The data of ``T`` trials on one table, with equally many rows of each kind.

    Attributes:
        trials: their numbers.
        train, validation, test: row numbers, int64 ``(T, n)``. Training rows may have no label.
        predicted: the rows that the method predicts: further rows if there are any, then the test rows.
        labelled, labels: the training rows whose label training sees, and these labels, ``(T, n_labelled)``.
        validation_labels: the labels of the validation rows.
    """

    trials: tuple[int, ...]
    train: Ints
    validation: Ints
    test: Ints
    predicted: Ints
    labelled: Ints
    labels: Labels
    validation_labels: Labels
    preprocessing: Preprocessing

    def of(self, position: int) -> "TrialData":
        """The data of the trial at this position alone."""
        one = slice(position, position + 1)
        arrays = {f.name: getattr(self, f.name)[one] for f in fields(self) if f.name != "preprocessing"}
        return TrialData(**arrays, preprocessing=self.preprocessing.of(position))


def prepare_trials(
    table: "Table",
    trials: Sequence[int],
    streams: Streams,
    *,
    regime: Regime,
    scaling: Scaling,
    fit_on: str,
    splitting: Splitting | None = None,
) -> TrialData:
    """Split, label and preprocess the table for each trial.

    Args:
        trials: numbers of trials; only one if the split's sizes differ between trials.
        streams: random streams of the data.
        fit_on: ``all`` fits imputation and scaling on all rows, ``train`` on the training rows only.
        splitting: None splits as the paper does (section 4).

    Raises:
        UsageError: the table cannot be split in this way, has fewer labels than the regime shows, or these rows all
            weigh nothing.
    """
    rule = splitting or Random(copies="apart")
    splits = [rule.of_trial(table, trial, streams.numpy(trial, Purpose.SPLIT)) for trial in trials]
    labelled, labels = [], []
    for trial, split in zip(trials, splits, strict=True):
        known = split.train[table.is_labelled[split.train]]
        positions, seen = regime.apply(table.labels[known], table.target, streams, trial)
        if table.weights is not None and not table.weights[known[positions]].any():
            raise UsageError(
                f"the {len(positions)} labelled training rows of trial {trial} all have the weight 0; give more rows a "
                "weight above 0, or leave those without one out of the table."
            )
        labelled.append(known[positions])
        labels.append(seen)
    validation, test = (np.stack([getattr(split, part) for split in splits]) for part in ("validation", "test"))
    fitted = Preprocessing.fit(table, [split.train if fit_on == "train" else None for split in splits], scaling)
    return TrialData(
        trials=tuple(trials),
        train=np.stack([split.train for split in splits]),
        validation=validation,
        test=test,
        predicted=test,
        labelled=np.stack(labelled),
        labels=np.stack(labels),
        validation_labels=table.labels[validation],
        preprocessing=replace(fitted, target=np.stack([table.target.fit(seen) for seen in labels])),
    )
