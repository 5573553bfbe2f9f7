"""Worth in labels on a page: its sentences, its table, and what has none."""

import math

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.questions import answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.reporting.worth_table import worth_in_words
from tests.reporting.cell_results import a_cell, over_labels, results_of
from tests.reporting.shown import answer_of, entries, said, table_named, tables

OPTIONS = ReportOptions(metric="accuracy")
BUDGETS = (20, 40, 80)
FACTORS = {"none": 1.0, "scarf": 2.0, "vime": 0.5, "scarf_ae": 1.0, "binning": 8.0}
NOISE = np.random.default_rng(0).normal(0, 0.001, 6)


def swept(
    *pretrains: str, datasets: int = 6, metric: str = "accuracy", sign: int = 1, scale: float = 1.0
) -> CellResults:
    """Cells over numbers of labels that are worth `FACTORS`."""
    cells = []
    for dataset in range(datasets):
        for pretrain in ("none", *pretrains):
            for labels in BUDGETS:
                rise = 0.1 * math.log2(labels * FACTORS[pretrain] / 20)
                # Tables of numbers have scales of their own.
                values = scale**dataset * (0.3 + sign * (rise - 0.5 * (sign < 0)) + NOISE)
                named = {"dataset": f"d{dataset}", "pretrain": pretrain, "regime": "few"}
                cells.append(a_cell(values.tolist(), regime__labels=labels, **named))
    return over_labels(results_of(cells, metric=metric))


def sentences(results: CellResults, options: ReportOptions = OPTIONS) -> list[str]:
    return worth_in_words(answers_of(results, options).worths)


def test_a_sentence_says_the_worth_at_each_number_of_labels() -> None:
    assert sentences(swept("scarf", "vime")) == [
        "pretrain=scarf is worth 2.00 times the labels at 20, 2.00 times at 40, 2.00 times at 80.",
        "pretrain=vime is worth 0.50 times the labels at 20, 0.50 times at 40, 0.50 times at 80.",
    ]


def test_beyond_the_continued_curve_it_says_more_than() -> None:
    (sentence,) = sentences(swept("binning"))

    assert sentence == (
        "pretrain=binning is worth 8.00 times the labels at 20, more than 6.00 times at 40, more than 3.00 times at 80."
    )


def test_a_page_says_three_competitors_and_lists_all() -> None:
    results = swept("scarf", "vime", "scarf_ae", "binning")
    blocks = answer_of(results, OPTIONS)

    assert sum("times the labels" in text for text in said(blocks)) == 3
    found = table_named(blocks, "worth")
    assert len(found.rows) == 4 * len(BUDGETS)
    assert entries(found)[0][:3] == ["pretrain=binning", "20", "8.00"]
    assert [row[-1] for row in entries(found)[:3]] == ["continued", "continued", "continued"]
    data = found.data.set_index(["competitor", "labels"])
    assert data.loc[("pretrain=scarf", 40), "worth"] == pytest.approx(2)
    assert set(found.data["n"]) == {6}


@pytest.mark.parametrize("metric", ["rmse", "log_loss"])
def test_losses_of_tables_with_scales_of_their_own_are_worth_the_same(metric: str) -> None:
    scale = 1000.0 if metric == "rmse" else 1.0
    results = swept("scarf", datasets=7, metric=metric, sign=-1, scale=scale)
    (sentence,) = sentences(results, ReportOptions(metric=metric))

    assert sentence == "pretrain=scarf is worth 2.00 times the labels at 20, 2.00 times at 40, 2.00 times at 80."


def test_all_labels_of_tables_of_several_sizes_are_no_point_of_the_curve() -> None:
    cells = []
    for dataset, n_all in enumerate((100, 300) * 3):
        for pretrain in ("none", "scarf"):
            for labels in (*BUDGETS, None):
                few = {"regime": "full"} if labels is None else {"regime": "few", "regime__labels": labels}
                value = 0.1 * math.log2((labels or n_all) * FACTORS[pretrain])
                cells.append(a_cell([value] * 6, dataset=f"d{dataset}", pretrain=pretrain, **few))
    results = over_labels(results_of(cells))
    sizes = results.cells["dataset"].map({f"d{place}": 100.0 + 200.0 * (place % 2) for place in range(6)})
    is_full = results.trials["cell"].map(results.cells["regime"].eq("full"))
    results.trials.loc[is_full, "n_labelled"] = results.trials["cell"].map(sizes)[is_full]

    valued = answers_of(results, OPTIONS).worths

    assert [worth.labels for _, worth in valued] == list(BUDGETS)
    one = results_of([cell for cell in cells if cell[0]["dataset"] == "d0"])
    assert sentences(over_labels(one, every=100)) == [], "trials of one table hardly ever show a worth"


def test_a_page_without_numbers_of_labels_has_none() -> None:
    results = results_of([a_cell([0.5, 0.6, 0.7]), a_cell([0.6, 0.7, 0.8], pretrain="scarf")])

    assert not sentences(results)
    assert "worth" not in {table.name for table in tables(answer_of(results, OPTIONS))}


def test_an_interval_stands_behind_the_factor_over_many_tables() -> None:
    results = swept("scarf", datasets=25)
    random = np.random.default_rng(1)
    results.trials["accuracy"] += random.normal(0, 0.01, len(results.trials))
    (sentence,) = sentences(results)
    found = table_named(answer_of(results, OPTIONS), "worth").data

    low, high = found.loc[0, ["worth_low", "worth_high"]]
    assert f"({low:.2f} to {high:.2f}) at 20" in sentence
    assert pd.Series(found["worth"]).between(found["worth_low"], found["worth_high"]).all()
