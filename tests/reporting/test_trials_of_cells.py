"""Verdicts of cells, from predictions as training keeps them: each trial's test rows in an order of its own."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting import levels
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import Predictions
from scarf_lightning.verdicts import Verdict, error_parts, judge, judge_rows, judge_tables
from scarf_lightning.verdicts.trials import NOT_KEPT, verdict_on
from tests.reporting.cell_results import results_of

TRIALS, ROWS = 4, 60
MARGIN = 0.03
"""Another than the usual one."""
BINARY = Classes(("a", "b"))
PAIR = [(0, 1)]
ACCURACY = metric_named("accuracy")
OPTIONS = ReportOptions()

Keep = Callable[..., CellResults]


def right(seed: int) -> np.ndarray:
    """Which test rows two cells get right, ``(2, T, n)``; a row is easy or hard in all trials."""
    random = np.random.default_rng(seed)
    ease = random.uniform(0, 1, (2, 1, ROWS)) ** 0.3
    return random.random((2, TRIALS, ROWS)) < ease


def verdict_of(results: CellResults, pairs: list[tuple[int, int]], options: ReportOptions) -> Verdict:
    """The verdict on cells beside their references: a pair for each table."""
    metric = options.measure
    beside = [tuple(levels.trials_of(results, cell, metric) for cell in pair) for pair in pairs]
    return verdict_on(beside, metric, options.rope)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Results of two cells whose predictions have their rows in these orders, one a trial."""

    def kept(orders: list[np.ndarray], split: str = "column") -> CellResults:
        def predictions(_: CellResults, cell: int) -> dict[int, Predictions]:
            found = {}
            for trial, order in enumerate(orders):
                correct = right(0)[cell, trial][order]
                probabilities = np.column_stack([correct, ~correct]).astype(np.float64)
                found[trial] = Predictions(trial, 100 + order, np.zeros(ROWS, dtype=np.int64), probabilities, BINARY)
            return found

        monkeypatch.setattr(levels, "_predictions", predictions)
        cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
        return results_of([(cell, right(0)[n].mean(axis=1).tolist()) for n, cell in enumerate(cells)])

    return kept


def aligned(orders: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """The differences on the rows of each trial in its order, and their means."""
    rows = right(0)[0].astype(float) - right(0)[1]
    return [rows[trial][order] for trial, order in enumerate(orders)], rows.mean(axis=1)


def shuffled(seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.permutation(ROWS) for _ in range(TRIALS)]


@pytest.mark.parametrize("orders", [shuffled(), [np.arange(ROWS)] * TRIALS], ids=["shuffled", "sorted"])
def test_rows_are_compared_with_themselves_in_whatever_order_a_trial_has_them(keep: Keep, orders: list) -> None:
    results = keep(orders)
    values, _ = aligned(orders)

    found = verdict_of(results, PAIR, ReportOptions(rope=MARGIN))

    expected = judge_rows(values, orders, unseen=np.array([[1.0, -1.0]]), bounds=(-1.0, 1.0), margin=MARGIN)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.levels == pytest.approx(expected.levels)
    assert found.basis == "rows and fits"
    level = levels.level_of(results, 0, ACCURACY)
    assert level.high - level.low > 0.1, "an error of rows is not averaged away by more trials"


def test_rows_in_the_order_of_time_are_blocks_of_neighbours_and_groups_are_units(keep: Keep) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    values, _ = aligned([order] * TRIALS)
    found = verdict_of(keep([order] * TRIALS, "time"), PAIR, OPTIONS)
    blocks = np.repeat(np.arange(10), ROWS // 10)
    expected = error_parts(values, [blocks] * TRIALS, 0)
    assert found.parts == expected

    found = verdict_of(keep(shuffled(), "group"), PAIR, OPTIONS)
    assert found.parts is not None
    assert found.parts.n_tested == 1, "all rows are always tested together"


def without_predictions(split: str, *values: list[float], **sizes: int) -> CellResults:
    cells = [{"dataset": "a", "pretrain": name, "split": split} for name in ("scarf", "none")]
    results = results_of(list(zip(cells, values, strict=False)))
    return replace(results, trials=results.trials.assign(**sizes))


def test_without_predictions_the_resampled_test_stays_and_fixed_splits_have_no_verdict() -> None:
    """Where trials differ, the overlap of their rows decides; where they agree, the rows that none of them tested."""
    values = [0.91, 0.93, 0.94, 0.92], [0.90, 0.91, 0.90, 0.91]
    gains = np.array(values[0]) - np.array(values[1])
    options = ReportOptions(rope=MARGIN)

    found = verdict_of(without_predictions("random", *values), PAIR, options)
    fixed = verdict_of(without_predictions("column", *values), PAIR, options)

    assert found == judge(gains, bounds=(-1.0, 1.0), margin=MARGIN)
    assert found.basis == "resampled t-test"
    assert (fixed.basis, fixed.answer, fixed.reason) == ("none", "undecided", NOT_KEPT)
    for spread in (0.0, 0.01):
        values = 0.85 + spread * np.array([1.0, -1.0] * 2)
        gains = values - 0.8
        sized = without_predictions("random", values.tolist(), [0.8] * TRIALS, n_test=50, n_train=200, n_labelled=200)
        found = verdict_of(sized, PAIR, OPTIONS)
        assert found == judge(gains, test_to_train=50 / 200, n_test=50, bounds=(-1.0, 1.0))


def test_a_level_without_predictions_is_that_of_the_terminal() -> None:
    mean, low, high = levels.level_of(without_predictions("random", [0.9, 0.92, 0.95]), 0, ACCURACY)
    assert low < mean < high
    assert math.isnan(levels.level_of(without_predictions("time", [0.9, 0.92, 0.95]), 0, ACCURACY).low)
    for n_test in (None, 0, -5):  # a number of test rows that cannot be is unknown
        results = results_of([({"dataset": "wdbc", "pretrain": "none"}, [0.9] * 5)])
        results.trials["n_test"] = n_test
        assert levels.level_of(results, 0, ACCURACY) == (0.9, 0.9, 0.9)


def test_a_trial_without_predictions_takes_them_from_none(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    results = keep(shuffled(), "random")
    kept = levels._predictions
    monkeypatch.setattr(
        levels, "_predictions", lambda its, cell: {t: p for t, p in kept(its, cell).items() if t or cell}
    )
    found = verdict_of(results, PAIR, OPTIONS)

    assert (found.basis, found.trials) == ("resampled t-test", TRIALS)


def test_a_relative_difference_knows_the_error_of_the_reference(keep: Keep) -> None:
    """Log-loss in parts of the reference's: by the delta method the error of a ratio of two means."""
    orders = shuffled()
    results = keep(orders, "random")
    options = ReportOptions(metric="log_loss")
    # A row that is right has no loss, and one that is wrong has the largest.
    losses = np.where(right(0), 0.0, -math.log(np.finfo(float).eps))
    results.trials["log_loss"] = losses.mean(axis=2).ravel()
    first, second = (levels.trials_of(results, cell, options.measure).rows for cell in (0, 1))
    size = float(np.mean([each.values.mean() for each in second.values()]))

    found = verdict_of(results, PAIR, options)

    ratio = 1 - found.difference
    values = [(ratio * second[t].values - first[t].values) / size + found.difference for t in range(TRIALS)]
    assert found.parts is not None
    assert found.parts.error == pytest.approx(error_parts(values, orders).error)


def test_over_tables_each_table_brings_its_own_noise(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    results = keep(shuffled(), "random")
    _, its = aligned(shuffled())
    differences = np.tile(its, (7, 1))
    one = verdict_of(results, PAIR, OPTIONS)

    found = verdict_of(results, PAIR * 7, ReportOptions(rope=MARGIN))

    assert one.parts is not None
    assert found == judge_tables(differences, margin=MARGIN)
