"""The data of a stack of trials: rows, labels and fitted preprocessing."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ..errors import UsageError
from ..randomness import Purpose, Streams
from .columns import Ints
from .preprocessing import Preprocessing, Scaling
from .regimes import Regime
from .splits import Random, Splitting
from .table import Table
from .targets import Labels


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
    table: Table,
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
    rule = splitting or Random()
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
