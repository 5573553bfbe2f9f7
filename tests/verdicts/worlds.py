"""Small worlds that tests of verdicts share: cells, and trials with the values of their rows."""

from typing import Any

import numpy as np

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Cell, Trials, Verdict, judge
from scarf_lightning.verdicts.rows_and_fits import RowsOfTrial

ACCURACY = metric_named("accuracy")
TRIALS, ROWS = 6, 80


def verdict_of(values: Any, rows: Any = (), added: Any = ((np.nan, np.nan),), **known: Any) -> Verdict:
    """The verdict on differences of accuracy: a value a trial, or the values of the rows that each tested."""
    margin, tested = known.pop("margin", 0.01), {}
    for trial, (its, each) in enumerate(zip(rows, values, strict=False)):
        tested[trial] = RowsOfTrial(its, each, np.array(added), its)
    means = {trial: float(np.mean(each)) for trial, each in enumerate(values)}
    return judge([Trials(means, tested, **known)], ACCURACY, margin)


def cell(name: str, values: Any, table: str = "iris", **known: Any) -> Cell:
    """A cell with these values of its trials."""
    return Cell(table, name, Trials(dict(enumerate(np.asarray(values).tolist())), test_to_train=1 / 9), **known)


def right_in_rows(seed: int, level: float) -> tuple[Trials, np.ndarray]:
    """Trials that test half of the rows, and which of all rows are right in each trial ``(TRIALS, ROWS)``."""
    split, random = np.random.default_rng(0), np.random.default_rng(seed)
    right = random.random((TRIALS, ROWS)) < level + random.uniform(-0.2, 0.2, ROWS)
    rows = {}
    for trial in range(TRIALS):
        test = np.sort(split.permutation(ROWS)[: ROWS // 2])
        rows[trial] = RowsOfTrial(test, right[trial, test].astype(float), np.array([[1.0, 0.0]]), test)
    values = {trial: float(each.values.mean()) for trial, each in rows.items()}
    return Trials(values, rows, "random", 40.0), right


def normal(seed: int, n: int, mean: float = 0.03, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=n)
