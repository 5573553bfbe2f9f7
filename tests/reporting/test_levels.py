"""Trials of cells and their levels, from predictions as training keeps them: trials have their rows in any order."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.results import Predictions
from scarf_lightning.verdicts import Verdict, error_parts, judge
from scarf_lightning.verdicts.trials import NOT_KEPT, difference_of
from tests.reporting.cell_results import results_of
from tests.verdicts.worlds import judged

TRIALS, ROWS = 4, 60
ACCURACY = metric_named("accuracy")
Keep = Callable[..., CellResults]


def right(seed: int = 0) -> np.ndarray:
    """Which test rows two cells get right, ``(2, T, n)``; a row is easy or hard in all trials."""
    random = np.random.default_rng(seed)
    ease = random.uniform(0, 1, (2, 1, ROWS)) ** 0.3
    return random.random((2, TRIALS, ROWS)) < ease


def verdict_of(results: CellResults) -> Verdict:
    """The verdict on the first cell beside the second one."""
    sides = ([results.measured(cell, ACCURACY)] for cell in (0, 1))
    return judge([difference_of(*sides, ACCURACY)], ACCURACY)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Results of two cells whose predictions have their rows in these orders, one a trial."""

    def kept(orders: list[np.ndarray], split: str = "column", lost: int = 0) -> CellResults:
        def predictions(_: CellResults, cell: int) -> dict[int, Predictions]:
            found = {}
            for trial, order in list(enumerate(orders))[lost:]:
                correct = right()[cell, trial][order]
                probabilities = np.column_stack([correct, ~correct]).astype(np.float64)
                target = Classes(("a", "b"))
                found[trial] = Predictions(trial, 100 + order, np.zeros(ROWS, dtype=np.int64), probabilities, target)
            return found

        monkeypatch.setattr(CellResults, "predictions_of", predictions)
        cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
        return results_of([(cell, right()[n].mean(axis=1).tolist()) for n, cell in enumerate(cells)])

    return kept


def aligned(orders: list[np.ndarray]) -> list[np.ndarray]:
    """The differences on the rows of each trial in its order."""
    rows = right()[0].astype(float) - right()[1]
    return [rows[trial][order] for trial, order in enumerate(orders)]


def shuffled(seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.permutation(ROWS) for _ in range(TRIALS)]


@pytest.mark.parametrize("orders", [shuffled(), [np.arange(ROWS)] * TRIALS], ids=["shuffled", "sorted"])
def test_rows_are_compared_with_themselves_in_whatever_order_a_trial_has_them(keep: Keep, orders: list) -> None:
    results = keep(orders)
    found, level = verdict_of(results), results.level_of(0, ACCURACY)

    assert found.difference == pytest.approx(np.mean(aligned(orders)))
    assert found.basis == "rows and fits"
    assert level.high - level.low > 0.1, "an error of rows is not averaged away by more trials"


def test_rows_in_the_order_of_time_are_blocks_of_neighbours_and_groups_are_units(keep: Keep) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    blocks = np.repeat(np.arange(10), ROWS // 10)

    assert verdict_of(keep([order] * TRIALS, "time")).parts == error_parts(
        aligned([order] * TRIALS), [blocks] * TRIALS, 0
    )
    groups = verdict_of(keep(shuffled(), "group")).parts
    assert groups is not None
    assert groups.n_tested == 1, "all rows are always tested together"


def test_a_pair_of_which_a_trial_lacks_its_predictions_takes_them_from_none(keep: Keep) -> None:
    found = verdict_of(keep(shuffled(), "random", lost=1))
    assert (found.basis, found.trials) == ("resampled t-test", TRIALS)


def without_predictions(split: str, *values: list[float], **sizes: int) -> CellResults:
    cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
    results = results_of(list(zip(cells, values, strict=False)))
    return replace(results, trials=results.trials.assign(**sizes))


@pytest.mark.parametrize("sizes", [{}, {"n_test": 50, "n_train": 200, "n_labelled": 200}])
def test_without_predictions_the_resampled_test_stays_and_fixed_splits_have_no_verdict(sizes: dict[str, int]) -> None:
    values = [0.91, 0.93, 0.94, 0.92], [0.90, 0.91, 0.90, 0.91]
    known = {"test_to_train": 50 / 200, "n_test": 50} if sizes else {}

    found = verdict_of(without_predictions("random", *values, **sizes))
    fixed = verdict_of(without_predictions("column", *values, **sizes))

    assert found == judged(np.array(values[0]) - np.array(values[1]), **known)
    assert (fixed.basis, fixed.answer, fixed.reason) == ("none", "undecided", NOT_KEPT)
    assert math.isnan(without_predictions("time", [0.9, 0.92, 0.95]).level_of(0, ACCURACY).low)
