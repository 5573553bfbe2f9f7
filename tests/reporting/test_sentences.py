"""Competitors over the number of labels: the sentences and the curve."""

import re

import numpy as np

from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.questions import answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts.words import TOGETHER, effect_in_words
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


def test_the_answer_is_a_sentence_for_each_competitor_and_one_on_the_interaction_with_labels() -> None:
    results = curve({("none", "xgboost"): (0.1, 0.1, 0.1), **SCARF, ("vime", "control"): (-0.05, -0.04, 0.0)})

    sentences = answers_of(results, OPTIONS).in_words

    points = r"points of accuracy \(95 %: .*?\)"
    name = "pretrain=scarf, method=control"
    (scarf,) = [each for each in sentences if each.startswith(f"{name} on iris, beside pretrain=none: ")]
    assert re.fullmatch(
        rf"{name} on iris, beside pretrain=none: helps with 20 labels, \+[45]\.\d\d {points}; makes no practical "
        rf"difference with 100 labels, [+−]0\.\d\d {points}; makes no practical difference with all labels, "
        rf"[+−]0\.\d\d {points}; 20 trials\.",
        scarf,
    )
    (trees,) = [each for each in sentences if each.startswith("pretrain=none, method=xgboost on iris")]
    assert trees.count("is ahead with") == trees.count("(95 %: +") == 3, "each number of labels has its own interval"
    (both,) = [each for each in sentences if each.startswith("Interaction of pretrain, method and labels: ")]
    assert (
        "with 100 labels instead of 20 labels, pretrain=scarf, method=control gains less, −5.04 points of accuracy ("
        in both
    )


def test_each_number_of_labels_keeps_its_own_estimate_and_interval() -> None:
    results = curve({("scarf", "control"): (0.0, 0.0, 0.05)})
    noisy = results.trials.assign(accuracy=np.random.default_rng(1).uniform(size=len(results.trials)))
    answers = answers_of(CellResults(results.cells, noisy), OPTIONS)

    scarf, *_ = answers.in_words

    assert scarf.startswith("pretrain=scarf on iris, beside pretrain=none: undecided with 20 labels, ")
    for each in answers.effects:
        assert each.kind == "interaction" or effect_in_words(each, OPTIONS.measure) in scarf
    # Where the time of a sweep is over: of three numbers of labels, SCARF has finished one, and says which.
    cut = CellResults(results.cells[results.cells.index.isin([0, 2, 4, 5])], results.trials)
    scarf, *_ = answers_of(cut, OPTIONS).in_words
    assert scarf.startswith("pretrain=scarf on iris, beside pretrain=none: helps with all labels, +")


def test_the_page_opens_with_the_curve() -> None:
    blocks = answer_of(curve(SCARF))

    picture = picture_named(blocks, "label-curve")
    assert len(said(blocks[: blocks.index(picture)])) == blocks.index(picture), "sentences alone come before"
    (axes,) = picture.figure.axes
    assert axes.get_xticks().tolist() == [20, 100, 400]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["pretrain=none", "pretrain=scarf"]
    assert TOGETHER in said(blocks)


def test_all_of_the_page_shows_the_answer_that_is_claimed_together() -> None:
    """One budget's gain is found by itself, at 3 %, and not after the correction over four budgets."""
    cells = []
    for labels, level in ((20, 0.03), (50, 1.0), (100, 1.0), (500, 1.0)):
        for pretrain, gains in (("none", np.zeros(N_TRIALS)), ("scarf", gains_at(level, N_TRIALS))):
            cells.append(a_cell((0.7 + gains).tolist(), pretrain=pretrain, regime="few", regime__labels=labels))
    results = results_of(cells)
    effects = [each for each in answers_of(results, OPTIONS).effects if each.kind == "competitor"]
    assert {each.claimed for each in effects} == {"undecided"} != {each.verdict.answer for each in effects}

    blocks = answer_of(results)

    table = tables(blocks)[0]
    shown = {row[-1].text for row in table.rows if "×" not in row[0].text}
    assert shown == {"reference", "undecided", "undecided (4 comparisons)"}
