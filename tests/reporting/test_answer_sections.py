"""The answer of a page: its sentences and title, pairs, figures and tables; a textbook ablation; worths in labels."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.metrics import METRICS
from scarf_lightning.reporting.answer_sections import answer_sections, effects_figure, effects_picture
from scarf_lightning.reporting.answers import MOST_WORTHS, answers_of, effects_in
from scarf_lightning.reporting.blocks import to_latex
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.making import title_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Effect
from scarf_lightning.verdicts.answers import Basis
from scarf_lightning.verdicts.words import TOGETHER
from tests.programs import compiled
from tests.reporting.cell_results import a_cell, compared, over_labels, results_of
from tests.reporting.shown import answer_of, entries, picture_named, table_named, tables
from tests.reporting.shown import said as texts_of

HIGH, LOW = [0.80, 0.81, 0.79, 0.80] * 3, [0.50, 0.51, 0.49, 0.51] * 3
SPREAD, OTHER = [0.40, 0.60, 0.50, 0.70] * 3, [0.50, 0.42, 0.60, 0.61] * 3
USUAL = {"corruption": "marginal", "scaling": "zscore"}
OPTIONS = ReportOptions("accuracy")
NOISE = np.random.default_rng(0).normal(0, 0.002, (12, 12))
SETTINGS = list(itertools.product(("mean", "marginal"), ("zscore", "minmax")))


def one_table(scarf: Sequence[float], none: Sequence[float] = LOW) -> CellResults:
    return compared({"iris": {"none": none, "scarf": scarf}})


def one_axis(values: Mapping[str, Sequence[float]]) -> CellResults:
    """SCARF with each corruption."""
    return results_of([a_cell(v, pretrain="scarf", corruption=c) for c, v in values.items()], usual=USUAL)


def two_by_two(scaling: float = -0.1, corruption: float = 0.0) -> CellResults:
    """The cells of ``corruption=mean,marginal scaling=zscore,minmax`` with these effects of minmax and mean."""
    cells = []
    for place, (c, s) in enumerate(SETTINGS):
        level = 0.8 + corruption * (c == "mean") + scaling * (s == "minmax")
        cells.append(a_cell((level + NOISE[place]).tolist(), pretrain="scarf", corruption=c, scaling=s))
    return results_of(cells, usual=USUAL)


def of_methods(*methods: tuple[str, list[float]]) -> CellResults:
    return results_of([a_cell(v, method=name, network="mlp" if name == "control" else None) for name, v in methods])


@pytest.mark.parametrize(
    ("results", "start", "last"),
    [
        (one_table(HIGH), "On iris, beside pretrain=none: pretrain=scarf helps, +29.75 points of accuracy (95 %: +",
         "Holds for iris; other tables may differ."),
        (one_table(HIGH[:5], LOW[:5]), "On iris, beside pretrain=none: pretrain=scarf undecided (5 trials), +29.80 ",
         "10 trials answer: the same command with trials=10."),
        (compared({f"d{i}": {"none": LOW, "scarf": HIGH} for i in range(3)}),
         "On d0, beside pretrain=none: pretrain=scarf helps, +29.75 points of accuracy",
         "Holds for d0, d1, d2; other tables may differ."),
        (compared({f"d{i}": {"none": LOW, "scarf": HIGH} for i in range(8)}),
         "Over 8 datasets, beside pretrain=none: pretrain=scarf helps, median +", "Holds for the median one of tables"),
        (one_axis({"mean": LOW, "marginal": HIGH, "none": HIGH}),
         "On iris, beside corruption=marginal: corruption=none makes no practical difference, +0.00", ""),
        (of_methods(("control", HIGH), ("logistic", LOW)), "On iris, beside method=control: method=logistic hurts", ""),
        (two_by_two(), "On iris, beside corruption=marginal: corruption=mean makes no ", "Holds for iris; "),
    ],
    ids=["helps", "five trials", "few tables", "tables", "an axis", "a rival", "a product"],
)  # fmt: skip
def test_the_first_sentence_is_the_answer_and_the_last_its_validity_or_what_to_do(
    results: CellResults, start: str, last: str
) -> None:
    headline, *others = texts_of(answer_sections(answers_of(results, OPTIONS))[0].blocks)

    assert headline.startswith(start)
    assert others[-1].startswith(last)


@pytest.mark.parametrize(
    ("reference", "sign"), [(None, "+"), ("marginal", "+"), ("corruption=marginal", "+"), ("mean", "−")]
)
def test_the_reference_of_an_axis_is_its_usual_value_or_the_one_that_is_named(reference: str, sign: str) -> None:
    answers = answers_of(two_by_two(corruption=0.05), replace(OPTIONS, reference=reference))

    assert answers.product is not None
    (sentence,) = [each for each in answers.in_words if "beside corruption=" in each]
    assert f", {sign}" in sentence


def test_the_page_has_the_answers_one_figure_and_one_table_first() -> None:
    blocks = answer_of(two_by_two(), OPTIONS)

    kinds = [type(block).__name__ for block in blocks]
    first = kinds.index("Picture")
    assert set(kinds[:first]) == {"Paragraph"}
    assert kinds[first + 1] == "Table"
    means = table_named(blocks, "means")
    rows = entries(means)
    assert [row[0] for row in rows][-1] == means.columns[-1] == "average"
    assert sum("(" in entry for row in rows for entry in row) == 4, "each setting has its interval"
    assert means.data["mean"].mean() == pytest.approx(0.75, abs=0.002)
    assert table_named(blocks, "effects").data["what"].tolist()[-1].count("×") == 1


OF_SEMI25 = {"regime": "semi25", "corruption": "marginal"}
PRETRAINED = OF_SEMI25 | {"pretrain": "scarf"}


@pytest.mark.parametrize(
    ("results", "pairs"),
    [
        # Along one axis the usual option is the reference.
        (one_axis({"mean": LOW, "marginal": HIGH, "none": HIGH}),
         [(0, 1, "corruption=mean", "corruption=marginal"), (2, 1, "corruption=none", "corruption=marginal")]),
        # A pre-training is paired with what lacks it alone, and mixup with the nearest network without one.
        (results_of([a_cell(LOW, regime="semi25"), a_cell(HIGH, corruption__rate=0.3, **PRETRAINED),
                     a_cell(HIGH, corruption__rate=0.6, method="mixup", **PRETRAINED),
                     a_cell(HIGH, method="scarf_augment", **OF_SEMI25)]),
         [(1, 0, "pretrain=scarf, method=control", "pretrain=none, method=control"),
          (2, 0, "pretrain=scarf, method=mixup", "pretrain=none, method=control"),
          (3, 0, "pretrain=none, method=scarf_augment", "pretrain=none, method=control")]),
    ],
)  # fmt: skip
def test_cells_are_paired_with_their_reference(results: CellResults, pairs: list[tuple[int, int, str, str]]) -> None:
    names = results.competition.names

    effects, _ = effects_in(results, ReportOptions())

    found = sorted((one.key, other.key) for each in effects for one, other in zip(each.ones, each.others, strict=True))
    assert [(cell, reference, names[cell], names[reference]) for cell, reference in found] == pairs
    assert set(results.competition.contexts.values()) == {""}


def test_a_cell_alone_shows_every_metric() -> None:
    blocks = answer_of(results_of([a_cell(HIGH, pretrain="scarf")]))

    level, advice = texts_of(blocks)
    assert level == "pretrain=scarf, method=control on iris: accuracy 80.00 % (78.99 to 80.97) in 12 trials."
    assert "such as pretrain=none" in advice
    assert entries(tables(blocks)[0])[0][1:] == ["accuracy, %", "80.00", "78.99 to 80.97", "12"]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_answered_in_its_own_direction(metric: Any) -> None:
    better, worse = (HIGH, LOW)[:: metric.sign]
    results = results_of([a_cell(worse), a_cell(better, pretrain="scarf")], metric=metric.name)

    (only,) = answers_of(results, ReportOptions(metric=metric.name)).effects

    assert (only.claimed, only.verdict.difference > 0) == ("helps", True)
    _, line = entries(tables(answer_of(results, ReportOptions(metric=metric.name)))[0])
    assert (line[1].split()[0], line[-1]) == (metric.shown(float(np.mean(better))), "helps")


@pytest.fixture(scope="module")
def only() -> Effect:
    (effect,) = answers_of(one_table(HIGH), OPTIONS).effects
    return effect


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        ("resampled t-test", "of the corrected resampled t-test, which is wider"),
        ("rows and fits", "of test rows and trials"),
    ],
)
def test_the_caption_says_how_its_interval_was_made(basis: Basis, said: str, only: Effect) -> None:
    verdict = replace(only.verdict, basis=basis)
    assert f"interval {said}" in effects_picture([replace(only, verdict=verdict)]).caption


def test_an_open_size_has_a_hollow_point(only: Effect) -> None:
    faces = []
    for answer in ("helps", "helps, size open"):
        (axes, _) = effects_figure([replace(only, claimed=answer)]).axes
        faces.append(next(line for line in axes.lines if line.get_marker() == "o").get_markerfacecolor())
    assert faces[1] == "white" != faces[0]


def test_other_metrics_stand_beside_the_leading_one_without_claims() -> None:
    results = one_table(OTHER, SPREAD)
    is_scarf = results.trials["cell"] == 1
    results.trials["log_loss"] = np.where(is_scarf, 0.3, 0.6) + results.trials["trial"] / 100

    metrics = table_named(answer_of(results), "metrics")

    assert metrics.columns == ("effect", "accuracy, points", "log-loss, times")
    (row,) = entries(metrics)
    assert row[1].startswith("−1.75 (−")
    assert row[2].startswith("0.5")
    assert "answer" not in metrics.data


def test_the_constant_is_answered_like_another_competitor() -> None:
    methods = (("control", SPREAD), ("logistic", OTHER))
    results = of_methods(*methods, ("constant", [0.1, 0.1, 0.2, 0.1] * 3))

    alone, beside = answers_of(of_methods(*methods), OPTIONS), answers_of(results, OPTIONS)

    assert any("method=constant hurts, −" in text for text in beside.in_words)
    assert alone.effects[0].needed == beside.effects[0].needed, "a sure answer costs the others no level"


N_TRIALS = 20
OF_SCARF = {("none", "control"): (0.0, 0.0, 0.0), ("scarf", "control"): (0.05, 0.0, 0.0)}
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
    sentences = answers_of(curve(OF_SCARF), ReportOptions()).in_words

    for labels, answer in {"20": "helps, +", "100": "makes no practical", "all": "makes no practical"}.items():
        start = f"On iris with {labels} labels, beside pretrain=none: pretrain=scarf {answer}"
        assert len([each for each in sentences if each.startswith(start)]) == 1
    assert any(each.startswith("On iris: pretrain=scarf × 100 labels gain less together, −") for each in sentences)


def test_a_number_of_labels_that_has_not_finished_is_left_out() -> None:
    whole = curve(OF_SCARF)
    cut = CellResults(whole.cells[whole.cells.index.isin([0, 2, 4, 5])], whole.trials)
    scarf, *_ = answers_of(cut, ReportOptions()).in_words
    assert scarf.startswith(
        "On iris with all labels, beside pretrain=none: pretrain=scarf makes no practical difference"
    )


def test_the_page_opens_with_the_curve() -> None:
    blocks = answer_of(curve(OF_SCARF))

    picture = picture_named(blocks, "label-curve")
    assert len(texts_of(blocks[: blocks.index(picture)])) == blocks.index(picture), "sentences alone come before"
    (axes,) = picture.figure.axes
    assert axes.get_xticks().tolist() == [20, 100, 400]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["pretrain=none", "pretrain=scarf"]
    scarf = axes.containers[1].lines[0]
    assert np.asarray(scarf.get_ydata()) == pytest.approx([75, 70, 70], abs=0.1)
    assert TOGETHER in texts_of(blocks)


def of_column(**options: list[str]) -> CellResults:
    ((column, values),) = options.items()
    return results_of([a_cell([0.5], **{column: value}) for value in values])


@pytest.mark.parametrize(
    ("results", "reference", "title"),
    [
        (of_column(pretrain=["none", "scarf"]), None, "Does pretrain=scarf help on iris?"),
        (of_column(pretrain=["none", *"abcd"]), None, "Does pre-training help on iris?"),
        (of_column(pretrain=["none", "scarf"]), "scarf", "Is anything better than scarf on iris?"),
        (of_column(method=["a", "b"]), None, "Which method is best on iris?"),
        (curve(TREES), None, "Which regime and which regime.labels are best on iris?"),
        (of_column(dataset=list("abcd")), None, "Results on 4 datasets"),
    ],
)
def test_the_title_is_the_question(results: CellResults, reference: str | None, title: str) -> None:
    assert title_of(results, reference) == title


BASE = {"pretrain": "scarf", "corruption": "marginal", "scaling": "zscore"}
CHANGES: list[dict[str, Any]] = [{}, {"corruption": "mean"}, {"scaling": "minmax"}]
BASE_NAME = "pretrain=scarf, corruption=marginal, scaling=zscore"
OF_TEN = np.random.default_rng(0).normal(0, 0.002, (4, 10))


def star(*changes: dict[str, Any]) -> CellResults:
    """Cells that differ from the base in these columns, each ten points worse than the one before it."""
    cells = []
    for place, change in enumerate(changes):
        cells.append(a_cell((0.9 - 0.1 * place + OF_TEN[place]).tolist(), **BASE | change))
    return results_of(cells)


FOUR = star(*CHANGES, {"pretrain": "none", "corruption": None})


def test_each_change_is_answered_beside_the_base_pre_training_among_them() -> None:
    base, *changes = texts_of(answer_of(FOUR))[:4]

    assert base.startswith("Base: pretrain=scarf, corruption=marginal, scaling=zscore, accuracy ")
    assert [each.partition(": ")[2].split(",")[0] for each in changes] == [
        "corruption=mean hurts", "scaling=minmax hurts", "pretrain=none hurts",
    ]  # fmt: skip


def test_the_table_has_a_line_a_change_by_its_difference_and_one_of_the_base() -> None:
    table = table_named(answer_of(FOUR), "ablation")
    base, *changes = table.data["what"].tolist()

    assert (base, changes) == (BASE_NAME, ["corruption=mean", "scaling=minmax", "pretrain=none"])
    assert table.data["difference"].tolist()[1:] == pytest.approx([-0.1, -0.2, -0.3], abs=0.003)
    assert (table.data["low"] < table.data["difference"]).tolist()[1:] == [True] * 3
    assert [row[0] for row in entries(table)] == table.data["what"].tolist()
    assert entries(table)[0][-2:] == ["–", "reference"]


def test_in_latex_sure_answers_are_bold_and_it_fits_a_column(tmp_path: Path) -> None:
    text = to_latex(table_named(answer_of(FOUR), "ablation"))
    even = results_of([(row, [0.9, 0.91, 0.89]) for row in star(*CHANGES).rows.values()])
    document = [
        r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}\begin{document}",
        text,
        r"\end{document}",
    ]

    assert r"\toprule" in text
    assert text.count(r"\textbf{hurts}") == 3
    assert r"\textbf" not in to_latex(table_named(answer_of(even), "ablation"))
    assert "Overfull" not in compiled(document, tmp_path)


def test_another_reference_is_no_base() -> None:
    assert not answers_of(FOUR, ReportOptions(reference="corruption=mean")).is_star
    assert answers_of(FOUR, ReportOptions(reference=BASE_NAME)).is_star


BUDGETS = (20, 40, 80)
FACTORS = {"none": 1.0, "scarf": 2.0, "vime": 0.5, "scarf_ae": 1.0, "binning": 8.0}
SIX = np.random.default_rng(0).normal(0, 0.001, 6)


def swept(*pretrains: str, datasets: int = 6) -> CellResults:
    """Cells over numbers of labels that are worth `FACTORS`."""
    cells = []
    for dataset in range(datasets):
        for pretrain in ("none", *pretrains):
            for labels in BUDGETS:
                values = 0.3 + 0.1 * math.log2(labels * FACTORS[pretrain] / 20) + SIX
                named = {"dataset": f"d{dataset}", "pretrain": pretrain, "regime": "few"}
                cells.append(a_cell(values.tolist(), regime__labels=labels, **named))
    return over_labels(results_of(cells))


def worth_sentences(results: CellResults) -> list[str]:
    return answers_of(results, OPTIONS).worth_in_words


def test_a_sentence_says_the_worth_at_each_number_of_labels() -> None:
    *binning, first, _, _ = worth_sentences(swept("scarf", "binning"))
    assert first == "pretrain=scarf with 20 labels is worth 2.00 times the labels."
    assert [each.split(" is worth ")[1] for each in binning] == [
        "8.00 times the labels.", "more than 6.00 times the labels.", "more than 3.00 times the labels.",
    ]  # fmt: skip


def test_a_page_says_some_worths_and_lists_all() -> None:
    blocks = answer_of(swept("scarf", "vime", "scarf_ae", "binning"), OPTIONS)

    assert sum("times the labels" in text for text in texts_of(blocks)) == MOST_WORTHS
    found = table_named(blocks, "worth")
    assert len(found.rows) == 4 * len(BUDGETS)
    assert entries(found)[0][:3] == ["pretrain=binning", "20", "8.00"]
    assert set(found.data["n"]) == {6}


def test_a_page_without_numbers_of_labels_has_none() -> None:
    results = results_of([a_cell([0.5, 0.6, 0.7]), a_cell([0.6, 0.7, 0.8], pretrain="scarf")])

    assert not worth_sentences(results)
    assert "worth" not in {table.name for table in tables(answer_of(results, OPTIONS))}


def test_an_interval_stands_behind_the_factor_over_many_tables() -> None:
    results = swept("scarf", datasets=25)
    results.trials["accuracy"] += np.random.default_rng(1).normal(0, 0.01, len(results.trials))
    sentence, *_ = worth_sentences(results)
    found = table_named(answer_of(results, OPTIONS), "worth").data

    low, high = found.loc[0, ["worth_low", "worth_high"]]
    assert f"({low:.2f} to {high:.2f})." in sentence
    assert pd.Series(found["worth"]).between(found["worth_low"], found["worth_high"]).all()
