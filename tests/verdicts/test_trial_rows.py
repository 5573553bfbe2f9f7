"""Levels from the trials of one table."""

import math

import numpy as np
import pytest

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.trial_rows import RowsOfTrial, level_of_trials, rows_of_trial

N = 60


def trials(name: str, n: int, of_one_class: int) -> list[RowsOfTrial]:
    """Trials of a table with a class of one row in six, the first ones of which predict the other class for all."""
    random = np.random.default_rng(1)
    labels = (np.arange(N) % 6 == 0).astype(np.int64)
    found = []
    for trial in range(n):
        positive = random.uniform(0.1, 0.4, N) if trial < of_one_class else random.uniform(0.1, 0.9, N)
        its = rows_of_trial(metric_named(name), np.column_stack([1 - positive, positive]), labels, np.arange(N))
        assert its is not None
        found.append(its)
    return found


@pytest.mark.parametrize(
    ("name", "n", "of_one_class", "has_interval"),
    [
        ("balanced_accuracy", 3, 3, False), ("balanced_accuracy", 3, 1, False), ("f1", 5, 2, False),
        ("balanced_accuracy", 3, 0, True), ("balanced_accuracy", 4, 1, True), ("balanced_accuracy", 10, 10, True),
        ("accuracy", 3, 3, True), ("auroc", 3, 3, True),
    ],
)  # fmt: skip
def test_few_trials_of_one_class_have_no_interval_of_a_metric_that_weighs_classes(
    name: str, n: int, of_one_class: int, has_interval: bool
) -> None:
    """Three trials of which all, or one, predicted one class held the truth in 58 to 90 % on real tables."""
    found = level_of_trials(trials(name, n, of_one_class), metric_named(name))

    # In one of the trials AUROC happens to be that of the predicted classes, a half.
    assert math.isnan(found.low) is not has_interval
    assert math.isfinite(found.mean)


@pytest.mark.parametrize(("first", "is_of_one"), [(0.6, True), (0.2, False)])
def test_a_trial_is_of_one_class_if_all_of_its_rows_are_given_it(first: float, is_of_one: bool) -> None:
    predictions = np.array([[0.6, 0.3, 0.1], [first, 0.1, 0.9 - first]])

    its = rows_of_trial(metric_named("balanced_accuracy"), predictions, np.array([0, 2]), np.arange(2))

    assert its is not None
    assert its.one_class is is_of_one
    assert rows_of_trial(metric_named("auroc"), predictions, np.array([0, 0]), np.arange(2)) is None, "not defined"
