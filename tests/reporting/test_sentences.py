"""Competitors over the number of labels: their sentences and the curve."""

import numpy as np
import pytest

from scarf_lightning.reporting.answers import answers_of
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.making import title_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts.words import TOGETHER
from tests.reporting.cell_results import a_cell, over_labels, results_of
from tests.reporting.shown import answer_of, picture_named, said

N_TRIALS = 20
GAINS = {("none", "control"): (0.0, 0.0, 0.0), ("scarf", "control"): (0.05, 0.0, 0.0)}
TREES = {("none", "xgboost"): (0.1, 0.1, 0.1)}


def curve(gains: dict[tuple[str, str], tuple[float, ...]]) -> CellResults:
    """Cells with 20, 100 and all labels, by pre-training and method with their gains."""
    random = np.random.default_rng(0)
    cells = []
    for place, labels in enumerate((20, 100, None)):
        regime = {"regime": "full"} if labels is None else {"regime": "few", "regime.labels": labels}
        base = 0.7 + 0.001 * random.normal(size=N_TRIALS)
        for (pretrain, method), of_labels in gains.items():
            noise = 0.001 * random.normal(size=N_TRIALS)
            columns = {"pretrain": pretrain, "method": method, "network": "mlp" if method == "control" else None}
            cells.append(a_cell((base + of_labels[place] + noise).tolist(), **columns | regime))
    return over_labels(results_of(cells))


def test_each_number_of_labels_has_a_sentence_and_so_has_the_interaction() -> None:
    sentences = answers_of(curve(GAINS), ReportOptions()).in_words

    for labels, answer in {"20": "helps, +", "100": "makes no practical", "all": "makes no practical"}.items():
        start = f"On iris with {labels} labels, beside pretrain=none: pretrain=scarf {answer}"
        assert len([each for each in sentences if each.startswith(start)]) == 1
    assert any(each.startswith("On iris: pretrain=scarf × 100 labels gain less together, −") for each in sentences)


def test_a_number_of_labels_that_has_not_finished_is_left_out() -> None:
    whole = curve(GAINS)
    cut = CellResults(whole.cells[whole.cells.index.isin([0, 2, 4, 5])], whole.trials)
    scarf, *_ = answers_of(cut, ReportOptions()).in_words
    assert scarf.startswith(
        "On iris with all labels, beside pretrain=none: pretrain=scarf makes no practical difference"
    )


def test_the_page_opens_with_the_curve() -> None:
    blocks = answer_of(curve(GAINS))

    picture = picture_named(blocks, "label-curve")
    assert len(said(blocks[: blocks.index(picture)])) == blocks.index(picture), "sentences alone come before"
    (axes,) = picture.figure.axes
    assert axes.get_xticks().tolist() == [20, 100, 400]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["pretrain=none", "pretrain=scarf"]
    scarf = axes.containers[1].lines[0]
    assert np.asarray(scarf.get_ydata()) == pytest.approx([75, 70, 70], abs=0.1)
    assert TOGETHER in said(blocks)


def cells_of(**options: list[str]) -> CellResults:
    ((column, values),) = options.items()
    return results_of([a_cell([0.5], **{column: value}) for value in values])


@pytest.mark.parametrize(
    ("results", "reference", "title"),
    [
        (cells_of(pretrain=["none", "scarf"]), None, "Does pretrain=scarf help on iris?"),
        (cells_of(pretrain=["none", *"abcd"]), None, "Does pre-training help on iris?"),
        (cells_of(pretrain=["none", "scarf"]), "scarf", "Is anything better than scarf on iris?"),
        (cells_of(method=["a", "b"]), None, "Which method is best on iris?"),
        (curve(TREES), None, "Which regime and which regime.labels are best on iris?"),
        (cells_of(dataset=list("abcd")), None, "Results on 4 datasets"),
    ],
)
def test_the_title_is_the_question(results: CellResults, reference: str | None, title: str) -> None:
    assert title_of(results, reference) == title
