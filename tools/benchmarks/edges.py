"""Levels near the bound of a metric: how often their intervals hold the truth, and how wide they are.

Rows of two classes have a score, rows with a number have a prediction; both have a luck that lasts for four fifths of
its variance from trial to trial. Each table of classes has a truth of its own, between 0.95 and 0.995, since how often
an interval holds *one* share of few rows jumps by whole rows (Brown, Cai and DasGupta 2001, DOI 10.1214/ss/1009213286).
The luck of a row is normal, so that the normal distribution says how far apart the classes are for a truth. The truth
of R2 is its mean over test sets of new rows, of the same size.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from scarf_lightning.intervals import FEWEST
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts.trial_rows import Split, level_of_trials, rows_of_trial

from .calibration_page import Line

LASTING = 0.8
NEW_SETS = 2000
"""Test sets of new rows, of which the truth of R2 is the mean."""
RARE = 0.1
LEAST, MOST = 0.95, 0.995
"""The truths of classes."""
ERROR = 0.6
"""Standard deviation of the error of numbers, whose own is 1: R2 is about 0.64."""
FREEDOM = 5
"""Degrees of freedom of Student's t, of which errors of numbers are."""
Random = np.random.Generator
Floats = NDArray[np.float64]


def edge(random: Random, draws: int, name: str, kind: str, rows: int, trials: int) -> Line:
    """The levels of a metric over trials that each test a fifth of the rows."""
    metric = metric_named(name)
    line = Line(f"{metric.label}, {kind}, {rows} rows, {trials} trials", draws=0)
    n_test = rows // 5
    truth, apart = math.nan, math.nan
    if kind == "numbers":
        truth = _truth(metric, n_test)
    for _ in range(draws):
        if kind != "numbers":
            truth = float(expit(random.uniform(logit(LEAST), logit(MOST))))
            # A row is right if its luck is less than the distance; of a pair, if the difference of two lucks is.
            apart = float(ndtri(truth)) / (math.sqrt(2) if name == "auroc" else 1)
        labels, luck = _labels(random, kind, rows), _luck(random, kind, rows)
        found = []
        for _ in range(trials):
            tested = random.permutation(rows)[:n_test]
            mixed = np.sqrt(LASTING) * luck[tested] + np.sqrt(1 - LASTING) * _luck(random, kind, n_test)
            trial = rows_of_trial(metric, _predictions(apart, labels[tested], mixed), labels[tested], tested)
            # A test set without a row of the rare class has no AUROC.
            if trial is not None:
                found.append(trial)
        # Nor has a mean of none, or of one trial, an interval.
        if len(found) < FEWEST:
            continue
        line.count_interval(level_of_trials(found, metric, Split(n_trained=rows - n_test)), truth)
    return line


def _truth(metric: Metric, n_test: int) -> float:
    random = np.random.default_rng(5)
    values = []
    for _ in range(NEW_SETS):
        labels = random.normal(size=n_test)
        values.append(metric.function(labels + _luck(random, "numbers", n_test), labels))
    return float(np.mean(values))


def _labels(random: Random, kind: str, n: int) -> NDArray[np.generic]:
    if kind == "numbers":
        return random.normal(size=n)
    return (random.random(n) < (RARE if kind == "rare" else 0.5)).astype(np.int64)


def _luck(random: Random, kind: str, n: int) -> Floats:
    if kind == "numbers":
        return ERROR * random.standard_t(FREEDOM, size=n) / np.sqrt(FREEDOM / (FREEDOM - 2))
    return random.normal(size=n)


def _predictions(apart: float, labels: NDArray[np.generic], luck: Floats) -> Floats:
    if np.issubdtype(labels.dtype, np.floating):
        return labels.astype(np.float64) + luck
    scores = apart * (2 * labels.astype(np.float64) - 1) + luck
    positive = expit(2 * apart * scores)
    return np.column_stack([1 - positive, positive])
