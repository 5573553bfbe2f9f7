"""One way to an answer: cells of a report and a frame of the same trials are answered alike."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.questions import Answers, answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Effect, compare
from tests.reporting.cell_results import a_cell, compared, over_labels, results_of

OPTIONS = ReportOptions("accuracy")
TRIALS = 12


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


def evidence(found: Sequence[Effect]) -> list[tuple[Any, ...]]:
    return [(each.kind, each.claimed, each.needed, each.verdict.interval, each.verdict.levels) for each in found]


@pytest.mark.parametrize("tables", [1, 3, 7])
def test_competitors_are_answered_as_compare_answers_them(tables: int) -> None:
    cells = []
    for table in range(tables):
        for place, (name, gain) in enumerate((("none", 0.0), ("scarf", 0.03), ("vime", 0.005))):
            cells.append(a_cell(values(10 * table + place, 0.8 + gain), dataset=f"t{table}", pretrain=name))

    found = answers_of(results_of(cells), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain")
    expected = compare(frame, metric="accuracy", reference="none")
    assert evidence(found.effects) == evidence(expected.effects)
    assert len(found.effects) == (6 if tables == 3 else 2)


def test_numbers_of_labels_are_answered_and_valued_as_compare_does() -> None:
    cells = []
    for table, labels in itertools.product(range(6), (20, 40, 80)):
        for place, (name, factor) in enumerate((("none", 1.0), ("scarf", 1.5), ("vime", 1.1))):
            its = values(labels + place + table, 0.5 + 0.1 * np.log2(labels * factor / 20))
            cells.append(a_cell(its, dataset=f"t{table}", regime="few", regime__labels=labels, pretrain=name))

    found = answers_of(over_labels(results_of(cells)), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain", n="regime.labels")
    expected = compare(frame, metric="accuracy", reference="none", labels="n", test_to_train=120 / 400)
    assert sorted(evidence(found.effects)) == sorted(evidence(expected.effects))
    assert len(found.effects) == 6 + 4
    worths = {(effect.verdict.difference, worth.factor) for effect, worth in found.worths}
    assert worths == {(effect.verdict.difference, worth.factor) for effect, worth in expected.worths}


def test_a_product_is_answered_by_axis_as_compare_answers_factors() -> None:
    cells, seed = [], 0
    for corruption in ("marginal", "mean", "zero"):
        for scaling in ("zscore", "minmax"):
            seed += 1
            level = 0.8 - 0.04 * (scaling == "minmax") + 0.01 * (corruption == "mean")
            cells.append(a_cell(values(seed, level), pretrain="scarf", corruption=corruption, scaling=scaling))

    found = answers_of(results_of(cells), OPTIONS)

    assert found.product is not None
    frame = framed(cells, dataset="dataset", corruption="corruption", scaling="scaling")
    expected = compare(frame, metric="accuracy", factors=["corruption", "scaling"])
    assert evidence(found.effects) == evidence(expected.effects)
    assert len(expected.effects) == 2 + 1 + 2


def test_datasets_that_the_metric_does_not_measure_are_named() -> None:
    def note(results: CellResults, metric: str) -> str:
        return Answers(results, ReportOptions(metric), []).other_kind_note

    results = compared({"iris": {"none": [0.5], "scarf": [0.6]}, "diabetes": {"none": [0.5], "scarf": [0.6]}})
    kinds = {"iris": Classes(("a", "b")), "diabetes": Number("y")}
    both = replace(results, targets={n: kinds[name] for n, name in enumerate(results.cells["dataset"])})

    assert "does not measure diabetes, whose target is of another kind" in note(both, "accuracy")
    assert "does not measure iris" in note(both, "rmse")
    assert note(results, "rmse") == ""


@pytest.mark.parametrize("trials", [3, 5, 10, 30])
@pytest.mark.parametrize("gain", [0.003, 0.02])
def test_a_frame_and_a_store_have_one_answer(trials: int, gain: float, tmp_path: Path) -> None:
    """Also at the first look of a store, which keeps a part of the level for later ones."""
    cells = []
    for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax"))):
        its = 0.8 - gain * (s == "minmax") + np.random.default_rng(place).normal(0, 0.01, trials)
        cells.append(a_cell(its.tolist(), pretrain="scarf", corruption=c, scaling=s))
    results = results_of(cells)
    results = replace(results, folders={label: tmp_path / f"cell-{label}" for label in results.rows})
    for folder in results.folders.values():
        folder.mkdir()

    found = answers_of(results, OPTIONS)
    found.remember()

    frame = framed(cells, dataset="dataset", corruption="corruption", scaling="scaling")
    expected = compare(frame, metric="accuracy", factors=["corruption", "scaling"])
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert found.in_words == expected.sentences
    assert answers_of(results, OPTIONS).frame.equals(found.frame), "the same look again costs nothing"
