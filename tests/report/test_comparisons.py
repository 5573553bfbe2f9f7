"""Which comparisons are answered together."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.report.advice import ComparedRun
from scarf_lightning.report.comparisons import compare_all
from scarf_lightning.report.report_options import ReportOptions
from tests.report.cell_results import results_of

TRIALS, BUDGETS = 12, (20, 50, 100)


def differences(level: float) -> np.ndarray:
    """Of trials, whose direction is found at this level by the corrected resampled t-test."""
    spread = np.tile([0.01, -0.01], TRIALS // 2)
    error = spread.std(ddof=1) * math.sqrt(1 / TRIALS + TEST_TO_TRAIN)
    return spread + float(stats.t(TRIALS - 1).isf(level / 2)) * error


def over_labels(level: float, competitors: tuple[str, ...]) -> list:
    """The comparisons with no pre-training at three numbers of labels, each found at this level."""
    usual = {"dataset": "iris", "regime": "few", "method": "control"}
    better = 0.6 + differences(level)
    cells = [
        (usual | {"regime.labels": n, "pretrain": name}, ([0.6] * TRIALS if name == "none" else better.tolist()))
        for n in BUDGETS
        for name in ("none", *competitors)
    ]
    return compare_all(results_of(cells), ReportOptions())


@pytest.mark.parametrize(
    ("level", "competitors", "claims", "is_sure"),
    [
        (0.03, ("scarf",), False, False),
        (0.012, ("scarf", "vime"), True, False),
        (0.002, ("scarf", "vime"), True, True),
    ],
)
def test_numbers_of_labels_are_a_family_and_competitors_over_them_are_not(
    level: float, competitors: tuple[str, ...], claims: bool, is_sure: bool
) -> None:
    """Three levels of 3 % claim nothing together. Three of 1.2 % do, and two families of three are not one of six."""
    found = over_labels(level, competitors)

    assert len(found) == 3 * len(competitors)
    for each in found:
        assert each.verdict.levels.direction == pytest.approx(level, rel=1e-6)
        assert each.verdict.answer.startswith("helps")
        assert each.claimed.startswith("helps") is claims
        assert each.is_sure is is_sure


@pytest.mark.parametrize(
    ("pretrains", "has_baseline", "level", "claims"),
    [
        (("scarf",), False, 0.04, True),
        (("scarf", "vime"), False, 0.04, False),
        (("scarf", "vime"), False, 0.02, True),
        (("scarf", "vime", "scarf_ae"), False, 0.02, False),
        (("scarf", "vime"), True, 0.02, True),
    ],
)
def test_the_competitors_of_a_page_are_one_family_without_its_baseline(
    pretrains: tuple[str, ...], has_baseline: bool, level: float, claims: bool
) -> None:
    """Holm's correction asks for 5 % over the number of competitors; nobody asks whether a baseline helps."""
    usual = {"dataset": "iris", "regime": "full", "method": "control"}
    # The baseline differs from the reference by chance alone.
    gains = {"none": np.zeros(TRIALS)} | dict.fromkeys(pretrains, differences(level))
    cells: list[Any] = [(usual | {"pretrain": name}, (0.6 + its).tolist()) for name, its in gains.items()]
    if has_baseline:
        constant = usual | {"pretrain": "none", "method": "constant"}
        cells.append((constant, (0.6 + differences(1.0)).tolist()))
    found = compare_all(results_of(cells), ReportOptions())

    assert len(found) == len(pretrains) + has_baseline
    for each in found:
        if not each.is_baseline:
            assert each.verdict.levels.direction == pytest.approx(level, rel=1e-6)
            assert each.verdict.answer.startswith("helps")
            assert each.claimed.startswith("helps") is claims


@pytest.mark.parametrize(("level", "n_left"), [(0.012, 6), (0.002, 0)])
def test_a_comparison_gets_trials_until_its_answer_is_sure(level: float, n_left: int) -> None:
    """An answer at 5 % is claimed, but is no reason to stop: who stops there makes too many false claims."""
    comparisons = over_labels(level, ("scarf",))
    cells: Any = [SimpleNamespace(cell=SimpleNamespace(key=str(label))) for label in range(2 * len(BUDGETS))]
    results: Any = None

    assert all(each.claimed.startswith("helps") for each in comparisons)
    assert len(ComparedRun(cells, results, comparisons).undecided) == n_left
