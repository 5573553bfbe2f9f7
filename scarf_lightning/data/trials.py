"""What the trials of a stack are given: rows, labels and fitted preprocessing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..randomness import Purpose, Streams
from .preprocessing import Preprocessing
from .regimes import Regime
from .scaling import Scaling
from .splits import Random, Splitting
from .table import UNLABELLED, Table

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TrialData:
    """The data of ``T`` trials on one table.

    **Shape.** All are int64 with a leading trial axis: row numbers ``train`` (also of rows without a label),
    ``validation``, ``test``; ``labelled``, the training rows whose label training sees, and ``labels``, those labels,
    both ``(T, n_labelled)``; ``judged``, the validation rows by which training is stopped, and ``judged_labels``, both
    ``(T, n_judged)``. All trials have the same counts, which is what lets them train as one stack.
    """

    trials: tuple[int, ...]
    train: Ints
    validation: Ints
    test: Ints
    labelled: Ints
    labels: Ints
    judged: Ints
    judged_labels: Ints
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
            self.judged[one],
            self.judged_labels[one],
            self.preprocessing.of(position),
        )


def prepare_trials(
    table: Table,
    trials: Sequence[int],
    streams: Streams,
    *,
    regime: Regime,
    scaling: Scaling,
    fit_on: str,
    impute_on: str | None = None,
    splitting: Splitting | None = None,
) -> TrialData:
    """Split, label and preprocess for each trial.

    Args:
        table: the data.
        trials: numbers of trials; only one where the splitting's sizes differ from trial to trial.
        streams: random streams of the data.
        regime: which of the training rows' labels training sees.
        scaling: of numeric columns.
        fit_on: scaling is fitted on ``all`` rows, or only on those of ``train``.
        impute_on: the same of imputation; None is as ``fit_on``.
        splitting: None splits as the paper does.

    Raises:
        UsageError: the table cannot be split so, or has fewer labels than the regime shows.
    """
    rule = splitting or Random()
    splits = [rule.of_trial(table, trial, streams.numpy(trial, Purpose.SPLIT)) for trial in trials]
    labelled, labels, judged, judged_labels = [], [], [], []
    for trial, split in zip(trials, splits, strict=True):
        known = split.train[table.labels[split.train] != UNLABELLED]
        positions, seen = regime.apply(table.labels[known], table.n_classes, streams, trial)
        labelled.append(known[positions])
        labels.append(seen)
        positions, seen = regime.judge(table.labels[split.validation], table.n_classes, streams, trial)
        judged.append(split.validation[positions])
        judged_labels.append(seen)
    scaled, imputed = (
        [split.train if rows == "train" else None for split in splits] for rows in (fit_on, impute_on or fit_on)
    )
    return TrialData(
        trials=tuple(trials),
        train=np.stack([split.train for split in splits]),
        validation=np.stack([split.validation for split in splits]),
        test=np.stack([split.test for split in splits]),
        labelled=np.stack(labelled),
        labels=np.stack(labels),
        judged=np.stack(judged),
        judged_labels=np.stack(judged_labels),
        preprocessing=Preprocessing.fit(table, scaled, scaling, imputed),
    )
