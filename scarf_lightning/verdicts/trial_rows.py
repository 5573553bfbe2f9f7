"""Trials of one table with the values of their test rows: the verdict on two competitors, and the level of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..intervals import Interval
from ..metrics import Labels, Metric
from .answers import MARGIN
from .influence import added_values, row_values, shown_rows
from .rows_and_fits import Booleans, Integers, copies_of_rows, error_parts, groups_of_rows, unseen_values
from .scores import Floats
from .verdict import Verdict, judge_rows, rows_interval

BLOCKS = 10
"""Blocks of rows in the order of time: rows in one block may depend on each other. Ten to thirty suffice (Schmeiser
1982, DOI 10.1287/opre.30.3.556); ten are the longest, and allow most dependence."""
FEWEST_OF_ONE_CLASS = 10
"""Trials below which metrics that weigh classes have no interval if `SHARE_OF_ONE_CLASS` of the trials predict one
class for every row. Few trials do not show how often fits do so: of three, three in ten intervals missed the truth."""
SHARE_OF_ONE_CLASS = 1 / 3
FEWEST_FREEDOM = 1 / 3
"""The least part of a trial's spread that counts towards the degrees of freedom of a level, see
`rows_and_fits.FEWEST_FREEDOM`. With the two thirds of a difference, levels of three trials near the bound of a metric
were held in 97 to 99.7 %, with this third in 96 to 98.7 % (release 0.2)."""


@dataclass(frozen=True)
class RowsOfTrial:
    """The test rows of one trial.

    Attributes:
        rows: their numbers in the table, ``(n,)``.
        values: of the metric, see `influence.row_values`, ``(n,)``.
        added: of one more row of each class, see `influence.added_values`, ``(C, 2)``.
        codes: numbers that rows share whose predictions are equal, ``(n,)``.
        one_class: true if one class is predicted for all rows.
        shown: whether a row of each class is right, and whether one is wrong, ``(C, 2)``; none is if not given.
    """

    rows: Integers
    values: Floats
    added: Floats
    codes: Integers
    one_class: bool = False
    shown: Booleans | None = None


@dataclass(frozen=True)
class Split:
    """Split by which trials draw their rows.

    Attributes:
        name: ``time`` for rows in the order of time, ``group`` for groups of rows that stay together; others are alike.
        n_trained: rows that a trial trains on with their labels; infinite if unknown.
    """

    name: str | None = None
    n_trained: float = math.inf


def rows_of_trial(metric: Metric, predictions: Floats, labels: Labels, rows: Integers) -> RowsOfTrial | None:
    """A trial's test rows by their predictions; None if the metric is not defined on them.

    Args:
        metric, predictions, labels: as `influence.row_values` takes them.
        rows: numbers of the rows in the table, ``(n,)``.
    """
    return rows_by_metric([metric], predictions, labels, rows).get(metric.name)


def rows_by_metric(
    metrics: Sequence[Metric], predictions: Floats, labels: Labels, rows: Integers
) -> dict[str, RowsOfTrial]:
    """A trial's test rows for each metric that is defined on them, by its name.

    Args:
        metrics, predictions, labels, rows: as `rows_of_trial` takes them.
    """
    one_class, distinct = False, predictions
    shown = shown_rows(predictions, labels)
    if predictions.ndim == 2:
        # Copies in two mini-batches may differ in the last digits of a probability.
        distinct = predictions.astype(np.float16)
        one_class = len(np.unique(predictions.argmax(axis=1))) == 1
    # Equal codes are how copies are found later, without keeping the predictions.
    codes = np.unique(distinct, axis=0, return_inverse=True)[1].ravel()
    defined = {}
    for metric in metrics:
        values = row_values(metric, predictions, labels)
        if np.isfinite(values).all():
            added = added_values(metric, predictions, labels)
            defined[metric.name] = RowsOfTrial(rows, values, added, codes, one_class, shown)
    return defined


def judge_trials(
    first: Sequence[RowsOfTrial],
    second: Sequence[RowsOfTrial],
    metric: Metric,
    split: Split = Split(),
    *,
    size: float = 1.0,
    margin: float = MARGIN,
    bases: Sequence[RowsOfTrial] = (),
    reach: float = 1.0,
) -> Verdict:
    """The verdict on a competitor beside its reference, from trials that tested the same rows in the same order.

    Args:
        first, second: trials of the competitor and of the reference.
        metric: of the values.
        split: how trials draw their rows.
        size: the reference's mean for metrics whose differences are parts of it, else 1.
        margin: a difference no larger than this is of no practical consequence.
        bases: the trials whose mean is ``size``; those of the reference if not given.
        reach: the largest difference, in widths of the metric's bounds.
    """
    differences = []
    # Row by row: what both get right, or wrong, cancels, and the error is that of where they differ.
    for one, other in zip(first, second, strict=True):
        differences.append(metric.sign * (one.values - other.values) / size)
    # Before relative differences are changed below.
    measured = np.array([row_differences.mean() for row_differences in differences])
    if metric.is_relative:
        # The reference's mean has an error, too: by the part that it is too large, the difference is too small.
        mean = float(measured.mean())
        for row_differences, base in zip(differences, bases or second, strict=True):
            row_differences -= mean * (base.values / size - 1)
    added = _added(first, split), _added(second, split)
    verdict = judge_rows(
        differences,
        units_of_trials(first, split),
        n_trained=split.n_trained,
        unseen=metric.sign * unseen_values(*added) / size,
        margin=margin,
        width=reach * (metric.bounds[1] - metric.bounds[0]),
    )
    # Trials are won by what was measured, and not by what the error makes of it.
    return replace(verdict, won=int((measured > 0).sum()), lost=int((measured < 0).sum()))


def level_of_trials(trials: Sequence[RowsOfTrial], metric: Metric, split: Split = Split()) -> Interval:
    """The mean of a metric over trials, with its interval. Its ends are NaN for few trials of which a third
    predict one class, if the metric weighs classes.

    >>> from scarf_lightning.metrics import metric_named
    >>> accuracy, random = metric_named("accuracy"), np.random.default_rng(0)
    >>> trials = []
    >>> for _ in range(5):
    ...     right, rows = random.random(60) < 0.9, random.permutation(300)[:60]
    ...     trials.append(rows_of_trial(accuracy, np.column_stack([right, ~right]), np.zeros(60, dtype=int), rows))
    >>> mean, low, high = level_of_trials(trials, accuracy)
    >>> bool(low < 0.9 < high)
    True
    """
    values = [trial.values for trial in trials]
    added = _added(trials, split)
    kinds = unseen_values(added)
    # Classes have several effects where they are weighed, as in balanced accuracy, and one in accuracy.
    are_weighed = len(kinds) > 1
    shown = [trial.shown for trial in trials if trial.shown is not None]
    unseen = unseen_values(added, shown=np.any(shown, axis=0) if shown else None)
    units = units_of_trials(trials, split)
    parts = error_parts(values, units, split.n_trained, fewest_freedom=FEWEST_FREEDOM).with_unseen_rows(unseen)
    # A fit that predicts one class is no better than guesses, and few trials do not show how often that happens.
    one_class_share = float(np.mean([trial.one_class for trial in trials]))
    if are_weighed and len(trials) < FEWEST_OF_ONE_CLASS and one_class_share >= SHARE_OF_ONE_CLASS:
        return Interval(parts.mean, math.nan, math.nan)
    # A row that is added widens the interval, as Wilson's for the value that is tried does; both would do it twice.
    return rows_interval(parts, metric.bounds, is_share=len(kinds) == 1, is_widened=len(unseen) > 0)


def _added(trials: Sequence[RowsOfTrial], split: Split) -> list[Floats]:
    """The values of one more row of each class, by trial; none where units are groups or blocks of many rows."""
    # The rule of three counts rows of which each is as likely as another; a block or a group is no such row.
    if split.name in ("time", "group"):
        return [np.full_like(trial.added, np.nan) for trial in trials]
    return [trial.added for trial in trials]


def units_of_trials(trials: Sequence[RowsOfTrial], split: Split) -> list[Integers]:
    """The units that rows belong to, by trial: a row with its copies, a block of neighbours in time, or a group."""
    rows = [trial.rows for trial in trials]
    # Rows that depend on each other are one unit; counted one by one, they would make the error too small.
    if split.name == "time":
        return _blocks(rows)
    if split.name == "group":
        return groups_of_rows(rows)
    return copies_of_rows(rows, [trial.codes for trial in trials])


def _blocks(rows: Sequence[Integers]) -> list[Integers]:
    """Blocks of neighbours in time. The order of time is that of the trials if all have one, and else the table's."""
    is_shared = all(np.array_equal(each, rows[0]) for each in rows)
    ordered = rows[0] if is_shared else np.sort(rows[0])
    block_of: dict[int, int] = {}
    for block, members in enumerate(np.array_split(ordered, min(BLOCKS, len(ordered)))):
        block_of |= dict.fromkeys(members.tolist(), block)
    blocks = []
    for trial_rows in rows:
        blocks.append(np.array([block_of[row] for row in trial_rows.tolist()]))
    return blocks
