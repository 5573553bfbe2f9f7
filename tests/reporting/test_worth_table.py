"""Worth in labels on a page: its sentences, its table, and what has none."""

import math

import numpy as np
import pandas as pd

from scarf_lightning.reporting.answers import MOST_SAID, answers_of
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import a_cell, over_labels, results_of
from tests.reporting.shown import answer_of, entries, said, table_named, tables

OPTIONS = ReportOptions(metric="accuracy")
BUDGETS = (20, 40, 80)
FACTORS = {"none": 1.0, "scarf": 2.0, "vime": 0.5, "scarf_ae": 1.0, "binning": 8.0}
NOISE = np.random.default_rng(0).normal(0, 0.001, 6)


def swept(*pretrains: str, datasets: int = 6) -> CellResults:
    """Cells over numbers of labels that are worth `FACTORS`."""
    cells = []
    for dataset in range(datasets):
        for pretrain in ("none", *pretrains):
            for labels in BUDGETS:
                values = 0.3 + 0.1 * math.log2(labels * FACTORS[pretrain] / 20) + NOISE
                named = {"dataset": f"d{dataset}", "pretrain": pretrain, "regime": "few"}
                cells.append(a_cell(values.tolist(), regime__labels=labels, **named))
    return over_labels(results_of(cells))


def sentences(results: CellResults) -> list[str]:
    return answers_of(results, OPTIONS).worth_in_words


def test_a_sentence_says_the_worth_at_each_number_of_labels() -> None:
    *binning, first, _, _ = sentences(swept("scarf", "binning"))
    assert first == "pretrain=scarf with 20 labels is worth 2.00 times the labels."
    assert [each.split(" is worth ")[1] for each in binning] == [
        "8.00 times the labels.", "more than 6.00 times the labels.", "more than 3.00 times the labels.",
    ]  # fmt: skip


def test_a_page_says_some_worths_and_lists_all() -> None:
    blocks = answer_of(swept("scarf", "vime", "scarf_ae", "binning"), OPTIONS)

    assert sum("times the labels" in text for text in said(blocks)) == MOST_SAID
    found = table_named(blocks, "worth")
    assert len(found.rows) == 4 * len(BUDGETS)
    assert entries(found)[0][:3] == ["pretrain=binning", "20", "8.00"]
    assert set(found.data["n"]) == {6}


def test_a_page_without_numbers_of_labels_has_none() -> None:
    results = results_of([a_cell([0.5, 0.6, 0.7]), a_cell([0.6, 0.7, 0.8], pretrain="scarf")])

    assert not sentences(results)
    assert "worth" not in {table.name for table in tables(answer_of(results, OPTIONS))}


def test_an_interval_stands_behind_the_factor_over_many_tables() -> None:
    results = swept("scarf", datasets=25)
    results.trials["accuracy"] += np.random.default_rng(1).normal(0, 0.01, len(results.trials))
    sentence, *_ = sentences(results)
    found = table_named(answer_of(results, OPTIONS), "worth").data

    low, high = found.loc[0, ["worth_low", "worth_high"]]
    assert f"({low:.2f} to {high:.2f})." in sentence
    assert pd.Series(found["worth"]).between(found["worth_low"], found["worth_high"]).all()
