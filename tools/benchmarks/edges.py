"""Levels near the bound of a metric: how often their intervals hold the truth, and how wide they are.

Rows of two classes have a score, rows with a number have a prediction; both have a luck that lasts for four fifths of
its variance from trial to trial. The truth is the mean of the metric over test sets of new rows, of the same size.
"""

import numpy as np
from numpy.typing import NDArray

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts.trials import Split, level_of_trials, rows_of_trial

from .calibration_page import Line

LASTING = 0.8
NEW_SETS = 2000
"""Test sets of new rows, of which the truth is the mean."""
RARE = 0.1
APART = {"balanced": 2.0, "rare": 1.8}
"""Half of the distance between the scores of the classes in standard deviations: accuracies of 0.977 and 0.982."""
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
    truth = _truth(metric, kind, n_test)
    for _ in range(draws):
        labels, luck = _labels(random, kind, rows), _luck(random, kind, rows)
        found = []
        for _ in range(trials):
            tested = random.permutation(rows)[:n_test]
            mixed = np.sqrt(LASTING) * luck[tested] + np.sqrt(1 - LASTING) * _luck(random, kind, n_test)
            trial = rows_of_trial(metric, _predictions(kind, labels[tested], mixed), labels[tested], tested)
            # A test set without a row of the rare class has no AUROC.
            if trial is not None:
                found.append(trial)
        line.count_interval(level_of_trials(found, metric, Split(n_trained=rows - n_test)), truth)
    return line


def _truth(metric: Metric, kind: str, n_test: int) -> float:
    random = np.random.default_rng(5)
    values = []
    for _ in range(NEW_SETS):
        labels = _labels(random, kind, n_test)
        values.append(metric.function(_predictions(kind, labels, _luck(random, kind, n_test)), labels))
    return float(np.nanmean(values))


def _labels(random: Random, kind: str, n: int) -> NDArray[np.generic]:
    if kind == "numbers":
        return random.normal(size=n)
    return (random.random(n) < (RARE if kind == "rare" else 0.5)).astype(np.int64)


def _luck(random: Random, kind: str, n: int) -> Floats:
    if kind == "numbers":
        return ERROR * random.standard_t(FREEDOM, size=n) / np.sqrt(FREEDOM / (FREEDOM - 2))
    return random.normal(size=n)


def _predictions(kind: str, labels: NDArray[np.generic], luck: Floats) -> Floats:
    if kind == "numbers":
        return labels.astype(np.float64) + luck
    scores = APART[kind] * (2 * labels.astype(np.float64) - 1) + luck
    positive = 1 / (1 + np.exp(-2 * APART[kind] * scores))
    return np.column_stack([1 - positive, positive])
