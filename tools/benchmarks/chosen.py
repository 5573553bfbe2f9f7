"""Lines of calibration on the metric that is said of a recommended model: the best of several that are equal.

The tables are those of `products`: rows of an ease and of a luck of their own that models share in seven rows of ten.
A fifth of the rows with a label is tested in each trial. *said − worth* is the accuracy that is said of the chosen
model, less the one that it has on new rows.
"""

import numpy as np

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.choice import level_of_choice
from scarf_lightning.verdicts.frame import Trials
from scarf_lightning.verdicts.trial_rows import RowsOfTrial, Split

from .calibration import BY_SEED, LASTING, SHARED, Random
from .calibration_page import Line

ACCURACY = metric_named("accuracy")
WORTH = 0.8
"""The accuracy of every model on new rows: the mean of their eases."""


def chosen(random: Random, draws: int, models: int, labels: int, trials: int) -> list[Line]:
    """What is said of the best of equal models, by the rows that chose it and by others."""
    world = f"best of {models}, {labels} labels, {trials} trials"
    by_itself, by_others = Line(f"{world}, by the rows that chose it"), Line(f"{world}, by other rows")
    for _ in range(draws):
        candidates = equal_models(random, models, labels, trials)
        best = _best(np.array([each.mean for each in candidates]))
        for line, said in (
            (by_itself, candidates[best].level(ACCURACY)),
            (by_others, level_of_choice(candidates, best, _best, ACCURACY)),
        ):
            line.count_interval(said, WORTH)
            line.count_error(said.mean - WORTH)
    return [by_itself, by_others]


def _best(means: "np.ndarray") -> int:
    return int(np.argmax(means))


def equal_models(random: Random, models: int, labels: int, trials: int) -> list[Trials]:
    """The trials of models that differ in their luck alone, on one table."""
    n_test = labels // 5
    ease = random.uniform(WORTH - 0.2, WORTH + 0.2, labels)
    lasting = _lucks(random, models, labels)
    rows: list[dict[object, RowsOfTrial]] = [{} for _ in range(models)]
    for trial in range(trials):
        test = random.permutation(labels)[:n_test]
        level = random.normal(0.0, BY_SEED, (models, 1))
        luck = np.where(random.random(labels) < LASTING, lasting, _lucks(random, models, labels))[:, test]
        right = (luck < ease[test] + level).astype(np.float64)
        for model in range(models):
            rows[model][trial] = RowsOfTrial(test, right[model], np.array([[1.0, 0.0]]), test)
    split = Split("random", labels - n_test)
    return [Trials({trial: float(its.values.mean()) for trial, its in each.items()}, each, split) for each in rows]


def _lucks(random: Random, models: int, n: int) -> "np.ndarray":
    """The luck of each model on each row; two models share it in `SHARED` of the rows."""
    is_shared = random.random((models, n)) < np.sqrt(SHARED)
    return np.where(is_shared, random.random(n), random.random((models, n)))
