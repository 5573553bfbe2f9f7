"""The metric of a model that was chosen among several, from trials and rows that did not choose it.

The best of several models is in part the best by luck, so the metric that it was chosen by says too much of it: of ten
equal models with a hundred labels and five trials by six points of accuracy. Here the rows of a trial are measured with
the model that *other* trials and *other* rows choose (nested cross-validation, Varma and Simon 2006, DOI
10.1186/1471-2105-7-91; over rows, too, because trials of one table share them). If these choose the same model
everywhere, its metric is what it was.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..intervals import Interval
from ..metrics import Metric
from .frame import Trials
from .rows_and_fits import Integers
from .scores import Floats
from .trial_rows import RowsOfTrial, units_of_trials

TRIAL_FOLDS, ROW_FOLDS = 10, 5
"""Folds of trials, of which each of fewer is one, and of rows."""

Choose = Callable[[Floats], int]
"""The place of the model that is chosen by the metrics of all, ``(M,)``."""


def level_of_choice(candidates: Sequence[Trials], chosen: int, choose: Choose, metric: Metric) -> Interval:
    """The metric to expect of a model that was chosen, with its interval.

    Args:
        candidates: the trials of M models on one table.
        chosen: the place of the model.
        choose: the rule by which it was chosen.
        metric: of the trials.

    Without the first trial the second model is chosen, so the first trial counts by its 0.7:

    >>> from scarf_lightning.metrics import metric_named
    >>> models = [Trials({0: 0.9, 1: 0.7, 2: 0.8}), Trials({0: 0.7, 1: 0.8, 2: 0.85})]
    >>> found = level_of_choice(models, 0, lambda means: int(means.argmax()), metric_named("accuracy"))
    >>> round(models[0].mean, 2), round(found.mean, 2)
    (0.8, 0.73)
    """
    chosen_trials = candidates[chosen]
    shared = [trial for trial in chosen_trials.values if all(trial in each.values for each in candidates)]
    # One trial has no other that could choose.
    if len(shared) < 2 or len(candidates) < 2:
        return chosen_trials.level(metric)
    known = [[each.rows[trial] for trial in shared if trial in each.rows] for each in candidates]
    has_rows = all(len(model_rows) == len(shared) for model_rows in known) and _are_of_same_rows(known)
    if not has_rows:
        # A trial without its predictions is one row that no other trial tests.
        known = [[_as_one_row(each.values[trial], place) for place, trial in enumerate(shared)] for each in candidates]
    trial_folds = np.arange(len(shared)) % TRIAL_FOLDS
    row_folds = _row_folds(known[0], chosen_trials) if has_rows else [np.zeros(1, dtype=np.int64)] * len(shared)
    picks = _picked(known, trial_folds, row_folds, choose)
    (usual, _), *others = Counter(picks.ravel().tolist()).most_common()
    if usual == chosen and not others:
        return chosen_trials.level(metric)
    mixed: dict[object, RowsOfTrial] = {}
    for place, trial in enumerate(shared):
        model_values = np.stack([model_rows[place].values for model_rows in known])
        pick = picks[trial_folds[place], row_folds[place]]
        mixed[trial] = replace(known[usual][place], values=model_values[pick, np.arange(len(pick))])
    values = {trial: float(rows.values.mean()) for trial, rows in mixed.items()}
    return replace(chosen_trials, values=values, rows=mixed if has_rows else {}).level(metric)


def _picked(
    known: Sequence[Sequence[RowsOfTrial]], trial_folds: Integers, row_folds: Sequence[Integers], choose: Choose
) -> Integers:
    """The model that is chosen without a fold of trials and without a fold of rows, ``(trial folds, row folds)``."""
    n_folds = int(trial_folds.max()) + 1, int(max(folds.max() for folds in row_folds)) + 1
    sums, counts = np.zeros((len(known), *n_folds)), np.zeros(n_folds)
    for place, folds in enumerate(row_folds):
        fold = trial_folds[place]
        counts[fold] += np.bincount(folds, minlength=n_folds[1])
        for model, model_rows in enumerate(known):
            sums[model, fold] += np.bincount(folds, model_rows[place].values, minlength=n_folds[1])
    left, left_counts = (_without_each(each, crossed=n_folds[1] > 1) for each in (sums, counts))
    picks = np.zeros(n_folds, dtype=np.int64)
    for fold in np.ndindex(n_folds):
        picks[fold] = choose(left[(slice(None), *fold)] / left_counts[fold])
    return picks


def _without_each(sums: Floats, *, crossed: bool) -> Floats:
    """Sums over all folds but one of trials and, if ``crossed``, one of rows, ``(..., trial folds, row folds)``."""
    other_sums = sums.sum(axis=-2, keepdims=True) - sums
    if not crossed:
        return np.asarray(other_sums)
    return np.asarray(other_sums.sum(axis=-1, keepdims=True) - other_sums)


def _row_folds(trials: Sequence[RowsOfTrial], model: Trials) -> list[Integers]:
    """The fold of each row, by trial. Rows that depend on each other are in one."""
    units = units_of_trials(trials, model.split)
    numbers, places = np.unique(np.concatenate(units), return_inverse=True)
    # The seed is fixed, so that a report that is made again says the same.
    fold_of = np.random.default_rng(0).permutation(len(numbers)) % ROW_FOLDS
    ends = np.cumsum([len(each) for each in units])[:-1]
    return np.split(np.asarray(fold_of[places], dtype=np.int64), ends)


def _as_one_row(value: float, number: int) -> RowsOfTrial:
    """A trial of which the metric alone is known."""
    row = np.array([number])
    return RowsOfTrial(row, np.array([value]), np.full((1, 2), np.nan), row)


def _are_of_same_rows(known: Sequence[Sequence[RowsOfTrial]]) -> bool:
    """True if all models were tested on the same rows in the same order, trial by trial."""
    first, *others = known
    pairs = [pair for other in others for pair in zip(first, other, strict=True)]
    return all(np.array_equal(one.rows, other.rows) for one, other in pairs)
