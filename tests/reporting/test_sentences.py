"""Competitors over the number of labels: the sentences and the curve."""

import re

import numpy as np

from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.comparisons import compare_all
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.reporting.sentences import OVER_LABELS, answer_in_words
from scarf_lightning.verdicts.amounts import effect
from tests.reporting.cell_results import a_cell, gains_at, over_labels, results_of
from tests.reporting.shown import answer_of, picture_named, said, tables

N_TRIALS = 20
LABELS = (20, 100, None)
SCARF = {("scarf", "control"): (0.05, 0.0, 0.0)}
OPTIONS = ReportOptions()


def curve(gains: dict[tuple[str, str], tuple[float, ...]]) -> CellResults:
    """Cells with 20, 100 and all labels; by pre-training and method the gains over the network without either."""
    random = np.random.default_rng(0)
    cells = []
    for place, labels in enumerate(LABELS):
        regime = {"regime": "full"} if labels is None else {"regime": "few", "regime.labels": labels}
        base = 0.7 + 0.001 * random.normal(size=N_TRIALS)
        for (pretrain, method), of_labels in {("none", "control"): (0.0,) * 3, **gains}.items():
            noise = 0.0 if (pretrain, method) == ("none", "control") else 0.001 * random.normal(size=N_TRIALS)
            network = "mlp" if method == "control" else None
            columns = {"pretrain": pretrain, "method": method, "network": network} | regime
            cells.append(a_cell((base + of_labels[place] + noise).tolist(), **columns))
    return over_labels(results_of(cells))


def test_the_answer_is_a_sentence_for_each_competitor_networks_first() -> None:
    results = curve({("none", "xgboost"): (0.1, 0.1, 0.1), **SCARF, ("vime", "control"): (-0.05, -0.04, 0.0)})

    first, scarf, vime, trees, *_ = answer_in_words(compare_all(results, OPTIONS), OPTIONS)

    assert first == "On iris, beside the network with no pre-training:"
    points = r"points of accuracy \(95 %: .*?\) with"
    assert re.fullmatch(
        rf"SCARF helps: \+[45]\.\d\d {points} 20 labels; makes no practical difference: [+−]0\.\d\d {points} 100 "
        rf"labels, [+−]0\.\d\d {points} all labels\.",
        scarf,
    )
    assert re.match(rf"Vime hurts: −[45]\.\d\d {points} 20 labels, −[34]\.\d\d ", vime)
    assert vime.count(" with ") == 3
    assert trees.startswith("XGBoost is ahead: +")
    assert trees.count("(95 %: +") == 3, "each number of labels has its own interval"


def test_each_number_of_labels_keeps_its_own_estimate_and_interval() -> None:
    results = curve({("scarf", "control"): (0.0, 0.0, 0.05)})
    noisy = results.trials.assign(accuracy=np.random.default_rng(1).uniform(size=len(results.trials)))
    noisy = CellResults(results.cells, noisy, labels=results.labels)
    comparisons = compare_all(noisy, OPTIONS)

    _, scarf, *_ = answer_in_words(comparisons, OPTIONS)

    assert scarf.startswith("SCARF undecided: ")
    for each in comparisons:
        assert f"{effect(each, OPTIONS.measure)} with {each.context}" in scarf
    # Where the time of a sweep is over: of three numbers of labels, SCARF has finished one, and says which.
    cut = CellResults(results.cells[results.cells.index.isin([0, 2, 4, 5])], results.trials, labels=results.labels)
    _, scarf, *_ = answer_in_words(compare_all(cut, OPTIONS), OPTIONS)
    assert scarf.startswith("SCARF helps: +")
    assert scarf.endswith(" with all labels.")


def test_the_page_opens_with_the_curve() -> None:
    blocks = answer_of(curve(SCARF))

    picture = picture_named(blocks, "label-curve")
    assert len(said(blocks[: blocks.index(picture)])) == blocks.index(picture), "sentences alone come before"
    assert "SCARF: 74.99 with 20, 70.06 with 100, 70.00 with 400" in picture.alt
    (axes,) = picture.figure.axes
    assert axes.get_xticks().tolist() == [20, 100, 400]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no pre-training", "SCARF"]
    assert OVER_LABELS in said(blocks)


def test_all_of_the_page_shows_the_answer_that_is_claimed_together() -> None:
    """One budget's gain is found by itself, at 3 %, and not after the correction over four budgets."""
    cells = []
    for labels, level in ((20, 0.03), (50, 1.0), (100, 1.0), (500, 1.0)):
        for pretrain, gains in (("none", np.zeros(N_TRIALS)), ("scarf", gains_at(level, N_TRIALS))):
            cells.append(a_cell((0.7 + gains).tolist(), pretrain=pretrain, regime="few", regime__labels=labels))
    results = results_of(cells)
    comparisons = compare_all(results, OPTIONS)
    assert {each.claimed for each in comparisons} == {"undecided"} != {each.verdict.answer for each in comparisons}

    blocks = answer_of(results)

    table = tables(blocks)[0]
    assert {row[1].text for row in table.rows} == {"reference", "undecided", "undecided (4 comparisons)"}
    assert set(table.data["answer"]) == {"reference", "undecided"}
    assert picture_named(blocks, "effects").alt.count("undecided") == 4
