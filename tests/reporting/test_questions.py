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
from scarf_lightning.reporting.answers import Answers, answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Effect, compare
from tests.reporting.cell_results import a_cell, compared, over_labels, results_of

OPTIONS = ReportOptions("accuracy")
GAINS = (("none", 0.0), ("scarf", 0.03), ("vime", 0.005))
Cells = list[tuple[dict[str, Any], Sequence[float]]]


def values(seed: int, mean: float, trials: int = 12) -> list[float]:
    return (mean + np.random.default_rng(seed).normal(0, 0.01, trials)).tolist()


def framed(cells: Cells, **columns: str) -> pd.DataFrame:
    """The trials of cells; ``columns`` name the frame's columns and say which option each is of."""
    rows = []
    for options, of_trials in cells:
        named = {name: options[option] for name, option in columns.items()}
        rows += [named | {"trial": trial, "accuracy": value} for trial, value in enumerate(of_trials)]
    return pd.DataFrame(rows)


def evidence(found: Sequence[Effect]) -> list[tuple[Any, ...]]:
    return sorted((each.kind, each.claimed, each.needed, each.verdict.interval, each.verdict.levels) for each in found)


@pytest.mark.parametrize(("tables", "n_effects"), [(1, 2), (3, 6), (7, 2)])
def test_competitors_are_answered_as_compare_answers_them(tables: int, n_effects: int) -> None:
    cells: Cells = []
    for table, (place, (name, gain)) in itertools.product(range(tables), enumerate(GAINS)):
        cells.append(a_cell(values(10 * table + place, 0.8 + gain), dataset=f"t{table}", pretrain=name))

    found = answers_of(results_of(cells), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain")
    assert evidence(found.effects) == evidence(compare(frame, metric="accuracy", reference="none").effects)
    assert len(found.effects) == n_effects


def test_numbers_of_labels_are_answered_and_valued_as_compare_does() -> None:
    cells: Cells = []
    for table, labels, (name, gain) in itertools.product(range(6), (20, 40, 80), GAINS):
        its = values(labels + table, 0.5 + 0.1 * np.log2(labels * (1 + 10 * gain) / 20))
        cells.append(a_cell(its, dataset=f"t{table}", regime="few", regime__labels=labels, pretrain=name))

    found = answers_of(over_labels(results_of(cells)), OPTIONS)

    frame = framed(cells, dataset="dataset", competitor="pretrain", n="regime.labels")
    expected = compare(frame, metric="accuracy", reference="none", labels="n", test_to_train=120 / 400)
    assert evidence(found.effects) == evidence(expected.effects)
    assert {worth.worth for _, worth in found.worths} == {*expected.worth_frame["worth"]} != set()


@pytest.mark.parametrize("trials", [3, 5, 10, 30])
@pytest.mark.parametrize("gain", [0.003, 0.02])
def test_a_frame_and_a_store_have_one_answer(trials: int, gain: float, tmp_path: Path) -> None:
    """Also at the first look of a store, which keeps a part of the level for later ones."""
    cells: Cells = []
    for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax"))):
        its = values(place, 0.8 - gain * (s == "minmax"), trials)
        cells.append(a_cell(its, pretrain="scarf", corruption=c, scaling=s))
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


@pytest.mark.parametrize(("metric", "other"), [("accuracy", "diabetes"), ("rmse", "iris")])
def test_datasets_that_the_metric_does_not_measure_are_named(metric: str, other: str) -> None:
    results = compared({"iris": {"none": [0.5], "scarf": [0.6]}, "diabetes": {"none": [0.5], "scarf": [0.6]}})
    kinds = {"iris": Classes(("a", "b")), "diabetes": Number("y")}
    both = replace(results, targets={n: kinds[name] for n, name in enumerate(results.cells["dataset"])})

    assert f"does not measure {other}, " in Answers(both, ReportOptions(metric), []).other_kind_note
    assert Answers(results, ReportOptions(metric), []).other_kind_note == ""
