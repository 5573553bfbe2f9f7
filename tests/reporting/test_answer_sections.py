"""The answer of a page: its sentences, pairs, figure and tables, by hand."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scarf_lightning.metrics import METRICS
from scarf_lightning.reporting.answer_sections import answer_sections, effects_figure, effects_picture
from scarf_lightning.reporting.answers import answers_of, judged_effects
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Effect
from scarf_lightning.verdicts.answers import Basis
from tests.reporting.cell_results import a_cell, compared, results_of
from tests.reporting.shown import answer_of, entries, table_named, tables
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

    effects, _ = judged_effects(results, ReportOptions())

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
