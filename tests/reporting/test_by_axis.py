"""Answers by axis: which cells are a product, what is the reference of an axis, and how the answers read."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.questions import Answers, answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Levels
from tests.reporting.cell_results import a_cell, over_labels, results_of
from tests.reporting.shown import answer_of, entries, picture_named, said, table_named, tables

OPTIONS = ReportOptions(metric="accuracy")
USUAL = {"corruption": "marginal", "scaling": "zscore"}
NOISE = np.random.default_rng(0).normal(0, 0.002, (12, 12))


def values(level: float, place: int = 0) -> list[float]:
    return (level + NOISE[place])[:10].tolist()


def two_by_two(scaling: float = -0.1, corruption: float = 0.0, both: float = 0.0, **more: Any) -> CellResults:
    """The cells of ``corruption=mean,marginal scaling=zscore,minmax`` with these effects of mean and minmax."""
    cells = []
    for place, (c, s) in enumerate(itertools.product(("mean", "marginal"), ("zscore", "minmax"))):
        level = 0.8 + corruption * (c == "mean") + scaling * (s == "minmax") + both * ((c, s) == ("mean", "minmax"))
        cells.append(a_cell(values(level, place), pretrain="scarf", corruption=c, scaling=s, **more))
    return results_of(cells, usual=USUAL)


def sentences(results: CellResults, options: ReportOptions = OPTIONS) -> list[str]:
    return by_axis(results, options).in_words


def by_axis(results: CellResults, options: ReportOptions = OPTIONS) -> Answers:
    answers = answers_of(results, options)
    assert answers.product is not None
    return answers


def settings() -> list[tuple[str, str]]:
    return list(itertools.product(("mean", "marginal"), ("zscore", "minmax")))


def test_each_axis_has_a_sentence_and_so_has_the_interaction() -> None:
    corruption, scaling, both, *_ = sentences(two_by_two())

    assert scaling.startswith("Scaling, beside zscore: minmax hurts, −9.98")
    assert scaling.endswith("; mean of both corruptions, 10 trials.")
    assert corruption.startswith("Corruption, beside marginal: mean makes no practical difference, ")
    assert corruption.endswith("; mean of both scalings, 10 trials.")
    assert both.startswith("Interaction of ")
    assert ": none that matters, " in both


def test_an_interaction_says_which_value_gains_with_which() -> None:
    (both,) = [each for each in sentences(two_by_two(both=0.06)) if each.startswith("Interaction")]

    assert "instead of" in both
    assert " gains more, +" in both


def test_the_reference_of_an_axis_is_its_usual_value_or_the_one_that_is_named() -> None:
    results = two_by_two(corruption=0.05)

    for reference, gain in ((None, "+4."), ("marginal", "+4."), ("corruption=marginal", "+4."), ("mean", "−4.")):
        (sentence,) = [
            each
            for each in sentences(results, ReportOptions("accuracy", reference=reference))
            if each.startswith("Corruption")
        ]
        assert f", {gain}" in sentence or f", {gain.replace('4', '5')}" in sentence, reference
    cell = ReportOptions("accuracy", reference="corruption=marginal, scaling=zscore")
    assert answers_of(results, cell).product is None, "a competitor is compared cell by cell"


def test_one_axis_and_cells_that_do_not_use_one_are_no_product() -> None:
    axis = [a_cell(values(0.8, place), pretrain="scarf", corruption=c) for place, c in enumerate(("mean", "marginal"))]
    hole = [*axis, a_cell(values(0.7, 3), pretrain="none", corruption=None)]

    assert answers_of(results_of(axis, usual=USUAL), OPTIONS).product is None
    assert answers_of(results_of(hole, usual=USUAL), OPTIONS).product is None


def test_each_number_of_labels_has_its_effects_in_one_family() -> None:
    cells = []
    for place, (labels, (c, s)) in enumerate(itertools.product((20, 100), settings())):
        its = values(0.6 + labels / 1000 - 0.05 * (s == "minmax"), place)
        cells.append(a_cell(its, corruption=c, scaling=s, regime="few", regime__labels=labels))
    results = over_labels(results_of(cells, usual=USUAL))

    (scaling,) = [each for each in sentences(results) if each.startswith("Scaling")]
    answers = by_axis(results)

    assert "with 20 labels; minmax hurts" in scaling
    assert "with 100 labels; mean of both corruptions, 10 trials." in scaling
    for axis in ("scaling", "corruption"):
        its = [each for each in answers.effects if each.axes == (axis,)]
        assert len(its) == 2
        # Of two, Holm's correction asks the surer one for half of the level.
        smallest = min(its, key=lambda each: each.verdict.levels.direction)
        assert smallest.needed.direction == pytest.approx(0.025)


def test_several_datasets_have_one_effect_each_and_one_that_lacks_settings_is_left_out() -> None:
    cells = []
    for (place, dataset), (c, s) in itertools.product(enumerate("abcdefg"), settings()):
        if (dataset, c, s) != ("g", "mean", "minmax"):
            its = values(0.8 - 0.05 * (s == "minmax"), place)
            cells.append(a_cell(its, dataset=dataset, corruption=c, scaling=s))
    results = results_of(cells, usual=USUAL)

    answers = by_axis(results)

    (scaling,) = [each for each in answers.effects if each.axes == ("scaling",)]
    assert (scaling.verdict.datasets, scaling.claimed) == (6, "hurts")
    assert answers.product is not None
    assert answers.product.left_out == ["Left out of the answers by axis: g lacks 1 of 4 settings."]
    assert answers.product.left_out[0] in said(answer_of(results))


def test_the_page_has_the_answers_one_figure_and_one_table_first() -> None:
    results = two_by_two()
    blocks = answer_of(results, OPTIONS)

    kinds = [type(block).__name__ for block in blocks]
    assert picture_named(blocks, "effects") is blocks[kinds.index("Picture")]
    first_figure, first_table = kinds.index("Picture"), kinds.index("Table")
    assert first_figure < first_table
    assert kinds[:3] == ["Paragraph"] * 3
    means = table_named(blocks, "means")
    rows = entries(means)
    assert [row[0] for row in rows][-1] == means.columns[-1] == "average"
    flat = [entry for row in rows for entry in row]
    assert sum("(" in entry for entry in flat) == 4, "each setting has its interval"
    assert means.data["mean"].mean() == pytest.approx(0.75, abs=0.002)
    (effects,) = [table.data for table in tables(blocks) if table.name == "effects"]
    assert effects["what"].tolist()[-1].count("×") == 1


def test_effects_that_share_cells_remember_no_look_of_each_other(tmp_path: Path) -> None:
    """An interaction with one value has cells of that with another one."""

    def looked(trials: int) -> list[tuple[tuple[int, ...], Levels]]:
        cells = []
        for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax", "none"))):
            both = {("mean", "minmax"): 0.1, ("mean", "none"): 0.002}.get((c, s), 0.0)
            its = (0.8 + both + NOISE[place])[:trials].tolist()
            cells.append(a_cell(its, pretrain="scarf", corruption=c, scaling=s))
        results = results_of(cells, usual=USUAL)
        results = replace(results, folders={label: tmp_path / f"cell-{label}" for label in results.rows})
        for folder in results.folders.values():
            folder.mkdir(exist_ok=True)
        answers = by_axis(results)
        answers.remember()
        return [(each.looks, each.verdict.levels) for each in answers.effects]

    assert [looks for looks, _ in looked(5)] == [()] * (3 + 2)
    first = looked(10)
    assert looked(10) == first, "the same look again, and one at five trials claims nothing"
    later = looked(12)
    assert [looks for looks, _ in later] == [(10, 12)] * 5
    minmax, none = sorted(levels.direction for _, levels in later[3:5])
    assert minmax < 0.001 < 0.05 < none, "two interactions share cells, and one claims nothing for the other"
