"""What the trials of a stack are given: rows, labels and fitted preprocessing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..randomness import Purpose, Streams
from .preprocessing import Preprocessing
from .regimes import Regime
from .scaling import Scaling
from .splits import split_rows
from .table import Table

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TrialData:
    """The data of ``T`` trials on one table.

    **Shape.** All are int64 with a leading trial axis: row numbers ``train``, ``validation``, ``test``; ``labelled``,
    the training rows whose label training sees, and ``labels``, those labels, both ``(T, n_labelled)``. All trials have
    the same counts, which is what lets them train as one stack.
    """

    trials: tuple[int, ...]
    train: Ints
    validation: Ints
    test: Ints
    labelled: Ints
    labels: Ints
    preprocessing: Preprocessing

    def of(self, position: int) -> "TrialData":
        """The data of the trial at this position, alone."""
        one = slice(position, position + 1)
        return TrialData(
            self.trials[one],
            self.train[one],
            self.validation[one],
            self.test[one],
            self.labelled[one],
            self.labels[one],
            self.preprocessing.of(position),
        )


def prepare_trials(
    table: Table, trials: Sequence[int], streams: Streams, *, regime: Regime, scaling: Scaling, fit_on: str
) -> TrialData:
    """Split, label and preprocess for each trial. ``fit_on`` is ``all`` rows or only those of ``train``."""
    splits = [split_rows(table.n_rows, streams.numpy(trial, Purpose.SPLIT)) for trial in trials]
    labelled, labels = [], []
    for trial, split in zip(trials, splits, strict=True):
        positions, seen = regime.apply(table.labels[split.train], table.n_classes, streams, trial)
        labelled.append(split.train[positions])
        labels.append(seen)
    fit_rows = [split.train if fit_on == "train" else None for split in splits]
    return TrialData(
        trials=tuple(trials),
        train=np.stack([split.train for split in splits]),
        validation=np.stack([split.validation for split in splits]),
        test=np.stack([split.test for split in splits]),
        labelled=np.stack(labelled),
        labels=np.stack(labels),
        preprocessing=Preprocessing.fit(table, fit_rows, scaling),
    )
