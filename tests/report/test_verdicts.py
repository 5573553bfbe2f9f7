"""Verdicts on fixed splits, from predictions as training keeps them: each trial's test rows in an order of its own."""

from collections.abc import Callable

import numpy as np
import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.metrics import metric_named
from scarf_lightning.report import verdicts
from scarf_lightning.report.loading import CellResults
from scarf_lightning.report.report_options import ReportOptions
from scarf_lightning.report.statistics import fixed_error, judge_fixed
from scarf_lightning.results import Predictions
from tests.report.cell_results import results_of

TRIALS, ROWS = 4, 60
BINARY = Classes(("a", "b"))
PAIR = [(0, 1)]
ACCURACY = metric_named("accuracy")

Keep = Callable[[list[np.ndarray]], CellResults]


def right(seed: int) -> np.ndarray:
    """Which test rows two cells get right, ``(2, T, n)``; a row is easy or hard in all trials."""
    random = np.random.default_rng(seed)
    ease = random.uniform(0, 1, (2, 1, ROWS)) ** 0.3
    return random.random((2, TRIALS, ROWS)) < ease


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Results of two cells of ``split=column`` whose predictions have their rows in these orders, one a trial."""

    def kept(orders: list[np.ndarray]) -> CellResults:
        def predictions(_: CellResults, cell: int) -> dict[int, Predictions]:
            found = {}
            for trial, order in enumerate(orders):
                correct = right(0)[cell, trial][order]
                probabilities = np.column_stack([correct, ~correct]).astype(np.float64)
                found[trial] = Predictions(trial, 100 + order, np.zeros(ROWS, dtype=np.int64), probabilities, BINARY)
            return found

        monkeypatch.setattr(verdicts, "_predictions", predictions)
        cells = [{"dataset": "a", "pretrain": name, "split": "column"} for name in ("scarf", "none")]
        return results_of([(cell, right(0)[n].mean(axis=1).tolist()) for n, cell in enumerate(cells)])

    return kept


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_are_compared_with_themselves_in_whatever_order_a_trial_has_them(keep: Keep, shuffled: bool) -> None:
    random = np.random.default_rng(1)
    orders = [random.permutation(ROWS) if shuffled else np.arange(ROWS) for _ in range(TRIALS)]
    results, rows = keep(orders), right(0)[0].astype(float) - right(0)[1]
    differences = rows.mean(axis=1)

    found = verdicts.verdict_of(results, PAIR, differences[None], np.ones(1), ReportOptions())

    assert found == judge_fixed(differences, *fixed_error(rows), width=1.0)
    level = verdicts.level_of(results, 0, ACCURACY)
    assert level.high - level.low > 0.1, "an error of rows is not averaged away by more trials"


def test_rows_in_one_order_in_all_trials_keep_it(keep: Keep) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    results = keep([order] * TRIALS)
    assert all((each.rows == 100 + order).all() for each in verdicts._shared(results, 0, 1)[0])


@pytest.mark.parametrize("n_test", [None, 0, -5])
def test_a_number_of_test_rows_that_cannot_be_is_unknown(n_test: int | None) -> None:
    results = results_of([({"dataset": "wdbc", "pretrain": "none"}, [0.9] * 5)])
    results.trials["n_test"] = n_test

    assert verdicts.level_of(results, 0, metric_named("accuracy")) == (0.9, 0.9, 0.9)
