"""Which cells are compared: competitors, contexts, budgets and references."""

from functools import partial
from typing import Any

import pytest

from scarf_lightning.reporting.answers import answers_of, judged_effects
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import a_cell, over_labels, results_of

VALUES = [0.80, 0.82, 0.79, 0.81]
BETTER = [0.90, 0.92, 0.89, 0.91]
cell = partial(a_cell, VALUES)


def compared(results: CellResults, reference: str | None = None) -> list[tuple[str, str, str]]:
    effects, _ = judged_effects(results, ReportOptions(reference=reference))
    return [(each.what, each.reference, each.context) for each in effects if each.kind != "interaction"]


def few(labels: int, **columns: Any) -> Any:
    return a_cell(BETTER if labels == 100 else VALUES, regime="few", regime__labels=labels, **columns)


def curve_of(*methods: str) -> CellResults:
    """Cells with 20 and 100 labels that train no network of ours, but for control."""
    networks = {"control": "mlp"}
    cells = [few(n, method=method, network=networks.get(method)) for n in (20, 100) for method in methods]
    return over_labels(results_of(cells))


def test_two_methods_meet_at_each_number_of_labels() -> None:
    """More labels are not a competitor, however much they help."""
    results = curve_of("logistic", "random_forest")

    assert compared(results) == [
        ("method=random_forest", "method=logistic", "20 labels"),
        ("method=random_forest", "method=logistic", "100 labels"),
    ]
    effects = answers_of(results, ReportOptions()).effects
    assert [each.labels for each in effects] == [20, 100, None]
    assert [each.verdict.difference for each in effects] == pytest.approx([0, 0, 0])


def test_numbers_of_labels_that_are_all_that_was_varied_are_compared() -> None:
    results = results_of([few(n, network="mlp") for n in (20, 100)])

    assert compared(results) == [("regime.labels=100", "regime.labels=20", "")]


def test_what_makes_a_curve_over_the_number_of_labels() -> None:
    """A share of labels is a budget; a seed beside labels and redrawn labels are none."""
    results = results_of([few(n, seed=seed, method=m) for n in (20, 100) for seed in (0, 1) for m in ("a", "b")])
    assert results.competition.budgets is None
    contexts = {context for *_, context in compared(results)}
    assert contexts == {f"regime.labels={n}, seed={seed}" for n in (20, 100) for seed in (0, 1)}
    assert results_of([few(20), few(20, method="a")]).competition.budgets is None, "one number of labels"

    budgets = [cell(), cell(pretrain="scarf"), cell(regime="semi25", regime__labelled=0.25)]
    assert results_of(budgets).competition.budgets == {0: float("inf"), 1: float("inf"), 2: 0.25}
    assert results_of([*budgets, cell(regime="noise30")]).competition.budgets is None
    # Regimes alone are compared with the usual one.
    regimes = results_of([cell(), cell(regime="noise30")], usual={"regime": "full"})
    assert compared(regimes) == [("regime=noise30", "regime=full", "")]


def test_a_method_that_is_never_pretrained_is_compared_with_the_network() -> None:
    """Each pre-training meets its own network, and the forest the one without any."""
    cells = [
        cell(network=network, pretrain=pretrain, method=method)
        for network in ("mlp", "resnet")
        for method in ("control", "mixup")
        for pretrain in ("none", "scarf")
    ]
    results = results_of([*cells, cell(network=None, method="random_forest")], usual={"network": "mlp"})

    effects, _ = judged_effects(results, ReportOptions())

    assert {one.ones[0].key: one.others[0].key for one in effects} == {1: 0, 3: 2, 5: 4, 7: 6, 8: 0}
