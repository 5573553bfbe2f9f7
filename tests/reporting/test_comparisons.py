"""Which comparisons are answered together."""

import numpy as np
import pytest

from scarf_lightning.reporting.comparisons import compare_all
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import a_cell, gains_at, results_of

TRIALS, BUDGETS = 12, (20, 50, 100)


def over_labels(level: float, competitors: tuple[str, ...]) -> list:
    """The comparisons with no pre-training at three numbers of labels, each found at this level."""
    cells = []
    for n in BUDGETS:
        for name in ("none", *competitors):
            gains = 0.0 if name == "none" else gains_at(level, TRIALS)
            cells.append(a_cell((np.full(TRIALS, 0.6) + gains).tolist(), regime="few", regime__labels=n, pretrain=name))
    return compare_all(results_of(cells), ReportOptions())


@pytest.mark.parametrize(
    ("level", "competitors", "claims"), [(0.03, ("scarf",), False), (0.012, ("scarf", "vime"), True)]
)
def test_numbers_of_labels_are_a_family_and_competitors_over_them_are_not(
    level: float, competitors: tuple[str, ...], claims: bool
) -> None:
    """Three levels of 3 % claim nothing together. Three of 1.2 % do, and two families of three are not one of six."""
    found = over_labels(level, competitors)

    assert len(found) == 3 * len(competitors)
    for each in found:
        assert each.verdict.levels.direction == pytest.approx(level, rel=1e-6)
        assert each.verdict.answer.startswith("helps")
        assert each.claimed.startswith("helps") is claims


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
    gains = {"none": np.zeros(TRIALS)} | dict.fromkeys(pretrains, gains_at(level, TRIALS))
    cells = [a_cell((0.6 + its).tolist(), pretrain=name) for name, its in gains.items()]
    if has_baseline:  # which differs from the reference by chance alone
        cells.append(a_cell((0.6 + gains_at(1.0, TRIALS)).tolist(), method="constant"))
    found = compare_all(results_of(cells), ReportOptions())

    assert len(found) == len(pretrains) + has_baseline
    for each in found:
        if not each.is_baseline:
            assert each.verdict.levels.direction == pytest.approx(level, rel=1e-6)
            assert each.verdict.answer.startswith("helps")
            assert each.claimed.startswith("helps") is claims


@pytest.mark.parametrize(
    ("method", "reference", "is_rival"),
    [("xgboost", "logistic", True), ("xgboost", "control", True), ("control", "logistic", False)],
)
def test_a_model_of_another_library_is_ahead_of_a_network_and_of_another_such_model(
    method: str, reference: str, is_rival: bool
) -> None:
    cells = []
    for name, values in ((reference, [0.5] * 6), (method, [0.7] * 6)):
        network = "mlp" if name == "control" else None
        cells.append(a_cell(values, method=name, network=network, pretrain="none"))
    (found,) = compare_all(results_of(cells), ReportOptions(reference=reference))
    assert found.is_rival is is_rival
