"""Competitors over the number of labels: what is compared, the sentences and the curve."""

import math
import re

import numpy as np
from scipy import stats

from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.report.advice import by_sweep
from scarf_lightning.report.amounts import effect
from scarf_lightning.report.answer import answer_section
from scarf_lightning.report.blocks import Paragraph, Picture, Table
from scarf_lightning.report.comparisons import compare_all
from scarf_lightning.report.loading import CellResults
from scarf_lightning.report.pairing import label_budgets, pairs_of
from scarf_lightning.report.report_options import ReportOptions
from scarf_lightning.report.sentences import OVER_LABELS, answer_in_words
from tests.report.cell_results import results_of

N_TRIALS = 20
ALL = 400
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
            columns = {"dataset": "iris", "pretrain": pretrain, "method": method} | regime
            cells.append((columns, (base + of_labels[place] + noise).tolist()))
    results = results_of(cells)
    n_labelled = results.trials["cell"].map(lambda cell: LABELS[cell // (1 + len(gains))] or ALL)
    return CellResults(
        results.cells,
        results.trials.assign(n_labelled=n_labelled.astype(float), n_train=float(ALL), n_test=120.0),
        labels=results.labels,
    )


def test_each_competitor_is_compared_with_the_network_of_as_many_labels() -> None:
    pairs = pairs_of(curve(SCARF | {("none", "xgboost"): (0.1, 0.1, 0.1)}))

    budgets = (("20 labels", 20), ("100 labels", 100), ("all labels", math.inf))
    assert [(*pair[:5], pair.labels) for pair in pairs] == [
        (3 * place + competitor, 3 * place, context, name, "no pre-training", labels)
        for place, (context, labels) in enumerate(budgets)
        for competitor, name in ((1, "SCARF"), (2, "XGBoost"))
    ]


def test_cells_that_differ_in_more_than_the_number_of_labels_have_no_curve() -> None:
    results = curve(SCARF)
    assert label_budgets(CellResults(results.cells.iloc[:2], results.trials)) is None, "one number of labels"
    for regime in ("semi25", "noise30"):
        other = results.cells.assign(regime=results.cells["regime"].replace("full", regime))
        assert label_budgets(CellResults(other, results.trials)) is None
        assert all(each.labels is None for each in compare_all(CellResults(other, results.trials), OPTIONS))


def test_the_answer_is_a_sentence_for_each_competitor() -> None:
    results = curve(SCARF | {("vime", "control"): (-0.05, -0.04, 0.0), ("none", "xgboost"): (0.1, 0.1, 0.1)})

    first, scarf, vime, trees, *_ = answer_in_words(compare_all(results, OPTIONS), results, OPTIONS)

    assert first == "On iris, beside the network with no pre-training:"
    points = r"points of accuracy \(.*?\) with"
    assert re.fullmatch(
        rf"SCARF helps: \+[45]\.\d\d {points} 20 labels; it makes no practical difference: [+−]0\.\d\d {points} 100 "
        rf"labels, [+−]0\.\d\d {points} all labels\.",
        scarf,
    )
    assert re.match(rf"Vime hurts: −[45]\.\d\d {points} 20 labels, −[34]\.\d\d ", vime)
    assert vime.count(" with ") == 3
    assert trees.startswith("XGBoost helps: +")
    assert trees.count("(+") == 3, "each number of labels has its own interval"


def test_each_number_of_labels_keeps_its_own_estimate_and_interval() -> None:
    results = curve({("scarf", "control"): (0.0, 0.0, 0.05)})
    noisy = results.trials.assign(accuracy=np.random.default_rng(1).uniform(size=len(results.trials)))
    noisy = CellResults(results.cells, noisy, labels=results.labels)
    comparisons = compare_all(noisy, OPTIONS)

    _, scarf, *_ = answer_in_words(comparisons, noisy, OPTIONS)

    assert scarf.startswith("We cannot tell whether SCARF helps: ")
    for each in comparisons:
        assert f"{effect(each, OPTIONS.measure)} with {each.context}" in scarf
    # Where the time of a sweep is over: of three numbers of labels, SCARF has finished one, and says which.
    cut = CellResults(results.cells[results.cells.index.isin([0, 2, 4, 5])], results.trials, labels=results.labels)
    _, scarf, *_ = answer_in_words(compare_all(cut, OPTIONS), cut, OPTIONS)
    assert scarf.startswith("SCARF helps: +")
    assert scarf.endswith(" with all labels.")


def test_the_page_opens_with_the_curve() -> None:
    blocks = answer_section(curve(SCARF), OPTIONS, by_sweep([])).blocks

    kinds = [type(block) for block in blocks]
    assert set(kinds[: kinds.index(Picture)]) == {Paragraph}
    (picture,) = [block for block in blocks if isinstance(block, Picture) and block.name == "label-curve"]
    assert "SCARF: 74.99 with 20, 70.06 with 100, 70.00 with 400" in picture.alt
    (axes,) = picture.figure.axes
    assert axes.get_xticks().tolist() == [20, 100, ALL]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no pre-training", "SCARF"]
    assert OVER_LABELS in [block.text for block in blocks if isinstance(block, Paragraph)]


def test_all_of_the_page_shows_the_answer_that_is_claimed_together() -> None:
    """One budget's gain is found by itself, at 3 %, and not after the correction over four budgets."""
    noise = np.tile([0.01, -0.01], N_TRIALS // 2)
    error = noise.std(ddof=1) * math.sqrt(1 / N_TRIALS + TEST_TO_TRAIN)
    cells = []
    for labels in (20, 50, 100, 500):
        gain = noise + (stats.t(N_TRIALS - 1).isf(0.015) * error if labels == 20 else 0.0)
        for pretrain, values in (("none", np.full(N_TRIALS, 0.7)), ("scarf", 0.7 + gain)):
            columns = {"dataset": "iris", "pretrain": pretrain, "method": "control"}
            cells.append((columns | {"regime": "few", "regime.labels": labels}, values.tolist()))
    results = results_of(cells)
    comparisons = compare_all(results, OPTIONS)
    assert {each.claimed for each in comparisons} == {"cannot tell"} != {each.verdict.answer for each in comparisons}

    blocks = answer_section(results, OPTIONS, by_sweep(())).blocks

    table = next(block for block in blocks if isinstance(block, Table))
    assert {row[1].text for row in table.rows} == {"reference", "cannot tell"}
    assert set(table.data["answer"]) == {"reference", "cannot tell"}
    (picture,) = [block for block in blocks if isinstance(block, Picture) and block.name == "effects"]
    assert picture.alt.count("cannot tell") == 4
