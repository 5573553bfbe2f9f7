"""One way to an answer: cells of a report and a frame of the same trials are answered alike."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.comparisons import Comparison
from scarf_lightning.reporting.questions import Answers, answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import ComparedResults, Judged, compare
from tests.reporting.cell_results import a_cell, compared, over_labels, results_of

OPTIONS = ReportOptions("accuracy")
TRIALS = 8


def values(seed: int, mean: float) -> list[float]:
    return (mean + np.random.default_rng(seed).normal(0, 0.01, TRIALS)).tolist()


def framed(cells: Sequence[tuple[dict[str, Any], Sequence[float]]], **columns: str) -> pd.DataFrame:
    """The trials of cells; ``columns`` name the frame's columns and say which option each is of."""
    rows = []
    for options, of_trials in cells:
        for trial, value in enumerate(of_trials):
            rows.append(
                {name: options[option] for name, option in columns.items()} | {"trial": trial, "accuracy": value}
            )
    return pd.DataFrame(rows)


def evidence(found: Sequence[Judged]) -> list[tuple[Any, ...]]:
    return [(each.claimed, each.needed, each.verdict.interval) for each in found]


def by_name(found: Sequence[Comparison] | ComparedResults) -> list[tuple[Any, ...]]:
    every = found.comparisons if isinstance(found, ComparedResults) else found
    return evidence(sorted(every, key=lambda each: (each.verdict.difference, each.name)))


@pytest.mark.parametrize("tables", [1, 7])
def test_competitors_are_answered_as_compare_answers_them(tables: int) -> None:
    cells = []
    for table in range(tables):
        for place, (name, gain) in enumerate((("none", 0.0), ("scarf", 0.03), ("vime", 0.005))):
            cells.append(a_cell(values(10 * table + place, 0.8 + gain), dataset=f"t{table}", pretrain=name))

    found = answers_of(results_of(cells), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain")
    expected = compare(frame, metric="accuracy", reference="none")
    assert by_name(found.comparisons) == by_name(expected)
    assert len(found.comparisons) == 2


def test_numbers_of_labels_are_answered_and_valued_as_compare_does() -> None:
    cells = []
    for labels in (20, 40, 80):
        for place, (name, factor) in enumerate((("none", 1.0), ("scarf", 1.5), ("vime", 1.1))):
            level = 0.5 + 0.1 * np.log2(labels * factor / 20)
            cells.append(a_cell(values(labels + place, level), regime="few", regime__labels=labels, pretrain=name))

    found = answers_of(over_labels(results_of(cells)), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain", n="regime.labels")
    expected = compare(frame, metric="accuracy", reference="none", labels="n", test_to_train=120 / 400)
    assert len(found.comparisons) == 6
    worths = {(comparison.verdict.difference, worth.factor) for comparison, worth in found.worths}
    assert worths == {
        (each.verdict.difference, worth.factor)
        for each, worth in zip(expected.comparisons, expected.worths, strict=True)
        if worth is not None
    }
    assert by_name(found.comparisons) == by_name(expected)


def test_a_product_is_answered_by_axis_as_compare_answers_factors() -> None:
    cells, seed = [], 0
    for corruption in ("marginal", "mean", "zero"):
        for scaling in ("zscore", "minmax"):
            seed += 1
            level = 0.8 - 0.04 * (scaling == "minmax") + 0.01 * (corruption == "mean")
            cells.append(a_cell(values(seed, level), pretrain="scarf", corruption=corruption, scaling=scaling))

    found = answers_of(results_of(cells), OPTIONS).by_axis

    assert found is not None
    frame = framed(cells, dataset="dataset", corruption="corruption", scaling="scaling")
    expected = compare(frame, metric="accuracy", factors=["corruption", "scaling"])
    assert evidence([*found.effects, *found.interactions]) == evidence(expected.effects)
    assert len(expected.effects) == 2 + 1 + 2


def test_datasets_that_the_metric_does_not_measure_are_named() -> None:
    def note(results: CellResults, metric: str) -> str:
        return Answers(results, ReportOptions(metric), []).other_kind_note

    results = compared({"iris": {"none": [0.5], "scarf": [0.6]}, "diabetes": {"none": [0.5], "scarf": [0.6]}})
    kinds = {"iris": Classes(("a", "b")), "diabetes": Number("y")}
    both = replace(results, targets={n: kinds[name] for n, name in enumerate(results.cells["dataset"])})

    assert note(both, "accuracy") == (
        "accuracy does not measure diabetes, whose target is of another kind: number. Name another metric=, or report "
        "these datasets by themselves."
    )
    assert "does not measure iris" in note(both, "rmse")
    assert note(results, "rmse") == ""
