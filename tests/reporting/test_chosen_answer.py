"""The answer of a page: its sentences, advice, pairs, table and picture, by hand."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.metrics import METRICS
from scarf_lightning.reporting.advice import trials_sentence
from scarf_lightning.reporting.blocks import to_latex
from scarf_lightning.reporting.cell_results import CellResults, ReportedCell, read_results
from scarf_lightning.reporting.effects import effects_figure, effects_picture
from scarf_lightning.reporting.questions import answers_of, judged_effects
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Effect, ErrorParts
from scarf_lightning.verdicts.answers import ALONE, Levels
from scarf_lightning.verdicts.looks import Look
from scarf_lightning.verdicts.verdict import Basis
from scarf_lightning.verdicts.words import WITHOUT_PREDICTIONS
from tests.programs import compiled
from tests.reporting.cell_results import ALIKE, a_cell, compared, results_of
from tests.reporting.shown import answer_of, entries, pictures, table_named, tables
from tests.reporting.shown import said as texts_of

HIGH, LOW = [0.80, 0.81, 0.79, 0.80] * 3, [0.50, 0.51, 0.49, 0.51] * 3
SPREAD, OTHER = [0.40, 0.60, 0.50, 0.70] * 3, [0.50, 0.42, 0.60, 0.61] * 3
USUAL = {"regime": "full", "method": "control", "pretrain": "scarf", "corruption": "marginal", "corruption.rate": 0.6}
OPTIONS = ReportOptions()
ONE = compared({"iris": {"none": LOW, "scarf": HIGH}})
OPEN = compared({"iris": {"none": LOW, "scarf": OTHER}})


def said(results: CellResults) -> list[str]:
    """The sentences of an answer, and the one on trials."""
    answers = answers_of(results, OPTIONS)
    return [*answers.in_words, *trials_sentence(answers.asked, OPTIONS.rope)]


def gained(gain: Sequence[float] | float, base: Sequence[float] = LOW) -> list[float]:
    return (np.asarray(base) + gain).tolist()


def one_axis(values: Mapping[str, Sequence[float]]) -> CellResults:
    """SCARF with each corruption."""
    return results_of([a_cell(v, pretrain="scarf", corruption=c) for c, v in values.items()], usual=USUAL)


def over_tables(gains: Mapping[str, Sequence[float]]) -> CellResults:
    n = len(next(iter(gains.values())))
    return compared({f"d{i}": {"none": LOW} | {name: gained(its[i]) for name, its in gains.items()} for i in range(n)})


def by_name(results: CellResults, *options: str) -> CellResults:
    """The same, whose cells were asked for by the names of their datasets, and with these options."""
    overrides = [(f"dataset={name}", *options) for name in results.cells["dataset"]]
    return replace(results, cells=results.cells.assign(overrides=overrides))


def of_methods(*methods: tuple[str, list[float]]) -> CellResults:
    networks = {"control": "mlp"}
    return results_of([a_cell(its, method=name, network=networks.get(name)) for name, its in methods])


SMALL = np.random.default_rng(0).normal(0.007, 0.002, size=8) + np.linspace(0, 0.004, 8)
CONSTANT = ("constant", [0.1, 0.1, 0.2, 0.1] * 3)


@pytest.mark.parametrize(
    ("results", "start", "end", "last"),
    [
        (ONE, "On iris, beside pretrain=none: pretrain=scarf helps, +29.75 points of accuracy (95 %: +",
         "); better in 12 of 12 trials.",
         f"{WITHOUT_PREDICTIONS}\nHolds for iris; other tables may differ."),
        (compared({"iris": {"none": LOW, "scarf": gained([0.012, 0.010, 0.014, 0.011] * 3)}}),
         "On iris, beside pretrain=none: pretrain=scarf helps, size open, +1.18 points of accuracy (95 %: +", "", ""),
        (OPEN, "On iris, beside pretrain=none: pretrain=scarf undecided, +3.00 points of accuracy (95 %: −",
         "better in 6 of 12 trials.", "Holds for iris; other tables may differ."),
        (compared({"iris": {"none": LOW[:2], "scarf": HIGH[:2]}}),
         "On iris, beside pretrain=none: pretrain=scarf undecided, +30.00 points of accuracy; ",
         "better in 2 of 2 trials.", "10 trials answer: the same command with trials=10."),
        (compared({"iris": {"none": LOW[:5], "scarf": HIGH[:5]}}),
         "On iris, beside pretrain=none: pretrain=scarf undecided (5 trials), +29.80 points of accuracy (95 %: +",
         "better in 5 of 5 trials.", "10 trials answer: the same command with trials=10."),
        (compared({f"d{i}": {"none": LOW, "scarf": HIGH} for i in range(3)}),
         "On each of 3 datasets, beside pretrain=none: pretrain=scarf helps, +29.75 points of accuracy",
         "", "Holds for d0, d1, d2; other tables may differ."),
        (over_tables({"scarf": np.random.default_rng(0).normal(0.1, 0.01, size=8).tolist()}),
         "Over 8 datasets, beside pretrain=none: pretrain=scarf helps, +",
         "better on 8, worse on 0 of 8 datasets.", ""),
        (over_tables({"scarf": SMALL.tolist(), "scarf_ae": [0.0] * 8}),
         "Over 8 datasets, beside pretrain=none: pretrain=scarf helps, size open, +0.",
         "on the median dataset; 8 datasets.", ""),
        (one_axis({"mean": LOW, "marginal": HIGH, "none": HIGH}),
         "On iris, beside corruption=marginal: corruption=none makes no practical difference, +0.00", "", ""),
        (of_methods(("control", HIGH), ("constant", LOW)),
         "On iris, beside method=control: method=constant is ", "", ""),
    ],
    ids=["helps", "open", "unknown", "two", "five", "few tables", "tables", "open over tables", "an axis", "constant"],
)  # fmt: skip
def test_the_headline_says_the_answer_and_the_last_sentence_what_to_do(
    results: CellResults, start: str, end: str, last: str
) -> None:
    headline, *others = said(results)

    assert headline.startswith(start)
    assert headline.endswith(end)
    assert "\n".join(others).endswith(last)


def test_over_datasets_the_claim_is_about_the_median_one() -> None:
    texts = texts_of(answer_of(over_tables({"scarf": [0.0] * 5 + [0.30], "scarf_ae": [0.01] * 6})))

    assert "Holds for the median one of tables like these." in texts


def advice_on(*errors: tuple[str, float, float, float], needed: Levels = ALONE, looks: tuple[int, ...] = ()) -> str:
    """The sentence on open comparisons at ten trials, each with its name, difference and parts of the variance."""
    (effect,) = answers_of(OPEN, OPTIONS).effects
    effects = []
    for name, difference, rows, fits in errors:
        parts = ErrorParts(difference, rows, fits, 20.0, 10, 500, 120, 0.2, True)
        taken = tuple(Look(trials) for trials in looks)
        verdict = replace(effect.verdict, parts=parts, difference=difference, trials=10, looks=taken)
        effects.append(replace(effect, what=name, verdict=verdict, claimed="undecided", needed=needed))
    return " ".join(trials_sentence(effects))


def test_one_sentence_says_how_many_trials_would_decide_with_which_chance() -> None:
    """The fewest of 10, 20, 30, 50 and 100 trials that nearly have the best chance."""
    assert advice_on(("pretrain=scarf", 0.018, 1e-5, 9e-5)) == (
        "50 trials would decide pretrain=scarf with a chance of 82 %: the same command with trials=50."
    )
    both = advice_on(("pretrain=scarf", 0.015, 3e-5, 7e-5), ("VIME", 0.018, 1e-5, 9e-5))
    assert re.fullmatch(
        r"50 trials would decide VIME with a chance of 82 % and pretrain=scarf of \d\d %: "
        r"the same command with trials=50\.",
        both,
    )
    # Rows leave it open whatever the trials, and nothing is decided by chance alone.
    assert advice_on(("pretrain=scarf", 0.012, 9.7e-5, 3e-6)) == ""
    assert advice_on(("pretrain=scarf", 0.012, 9.7e-5, 3e-6), ("VIME", 0.018, 1e-5, 9e-5)) == advice_on(
        ("VIME", 0.018, 1e-5, 9e-5)
    )
    # Looks and other comparisons leave less of the level.
    alone = advice_on(("pretrain=scarf", 0.018, 0.0, 9e-5))
    for stricter in ({"needed": Levels(0.005, 0.005, 0.005)}, {"looks": (10,)}):
        assert advice_on(("pretrain=scarf", 0.018, 0.0, 9e-5), **stricter) != alone  # type: ignore[arg-type]


def test_undecided_comparisons_share_the_level_that_is_left() -> None:
    found = answers_of(compared({"iris": {"none": SPREAD, "scarf": OTHER, "scarf_ae": OTHER}}), OPTIONS).effects

    assert [each.claimed for each in found] == ["undecided", "undecided"]
    assert [each.needed for each in found] == [pytest.approx((0.025, 0.025, 0.025))] * 2


def test_competitors_that_share_the_level_need_more_datasets() -> None:
    """Six datasets that all gain have a two-sided level of 3.1 %, and each of two competitors is left 2.5 %."""
    gains = {"scarf": [0.3 + place / 100 for place in range(6)], "scarf_ae": [-0.2, 0.3, 0.1, -0.1, 0.2, 0.1]}

    first, *_ = said(over_tables(gains))

    assert "pretrain=scarf undecided (2 comparisons), +32.50 points of accuracy on average, +32.50 points of" in first
    seven = {name: [*its, 0.2] for name, its in gains.items()}
    assert said(over_tables(seven))[0].startswith("Over 7 datasets, beside pretrain=none: pretrain=scarf helps, +")
    # Alone it has all of the level.
    alone = said(over_tables({"scarf": gains["scarf"]}))[0]
    assert alone.startswith("Over 6 datasets, beside pretrain=none: pretrain=scarf helps, +")


def test_a_rival_is_ahead_or_behind_and_does_not_hurt_the_network() -> None:
    results = of_methods(("control", HIGH), ("xgboost", LOW), ("logistic", gained(0.1, HIGH)))

    headline = said(results)[0]

    assert "logistic is ahead, +10.00 points" in headline
    assert "method=xgboost is behind, −" in headline
    assert "helps" not in headline
    assert "hurts" not in headline
    (table, *_) = tables(answer_of(results))
    assert {row[0]: row[-1] for row in entries(table)} == {
        "method=logistic": "ahead",
        "method=control": "reference",
        "method=xgboost": "behind",
    }
    assert table.data["answer"].tolist() == ["reference", "helps", "hurts"]


def of_recipes(*cells: tuple[str, Mapping[str, Any]]) -> CellResults:
    """Cells that a recipe asks for, by their columns; the first has the usual ones."""
    wanted = []
    for recipe, columns in cells:
        asked = ("pretrain=none", f"recipe={recipe}")
        rows = [{"trial": 0, "accuracy": 0.5}]
        wanted.append(ReportedCell(ALIKE | dict(columns), None, None, 1, asked, rows=rows))
    return read_results(wanted, usual=dict(cells[0][1]))


PAPER, PRACTICAL = {"fit_on": "all", "finetune.patience": 3}, {"fit_on": "train", "finetune.patience": 10}
OF_SEMI25 = {"regime": "semi25", "corruption": "marginal"}
PRETRAINED = OF_SEMI25 | {"pretrain": "scarf"}


@pytest.mark.parametrize(
    ("results", "pairs"),
    [
        # Along one axis the usual option is the reference.
        (one_axis({"mean": LOW, "marginal": HIGH, "none": HIGH}),
         [(0, 1, "corruption=mean", "corruption=marginal"), (2, 1, "corruption=none", "corruption=marginal")]),
        # Recipes that differ in several options are called by their names.
        (of_recipes(("paper", PAPER), ("practical", PRACTICAL)),
         [(1, 0, "recipe=practical", "recipe=paper")]),
        # An option beside a recipe is named by its value.
        (of_recipes(("paper", {"fit_on": "all"}), ("paper", {"fit_on": "train"})),
         [(1, 0, "fit_on=train", "fit_on=all")]),
        # A pre-training is paired with what lacks it alone, and mixup with the nearest network without one.
        (results_of([a_cell(LOW, regime="semi25"), a_cell(HIGH, corruption__rate=0.3, **PRETRAINED),
                     a_cell(HIGH, corruption__rate=0.6, **PRETRAINED),
                     a_cell(HIGH, corruption__rate=0.6, method="mixup", **PRETRAINED),
                     a_cell(HIGH, method="scarf_augment", **OF_SEMI25)]),
         [(1, 0, "pretrain=scarf, method=control, corruption.rate=0.3", "pretrain=none, method=control"),
          (2, 0, "pretrain=scarf, method=control, corruption.rate=0.6", "pretrain=none, method=control"),
          (3, 0, "pretrain=scarf, method=mixup, corruption.rate=0.6", "pretrain=none, method=control"),
          (4, 0, "pretrain=none, method=scarf_augment", "pretrain=none, method=control")]),
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
    assert level == "pretrain=scarf, method=control on iris: accuracy 80.00 % (79.01 to 80.99) in 12 trials."
    assert "such as pretrain=none" in advice
    assert entries(tables(blocks)[0])[0][1:] == ["accuracy, %", "80.00", "79.01 to 80.99", "12"]


def test_every_metric_is_answered_in_its_own_direction() -> None:
    for metric in METRICS:
        better, worse = (HIGH, LOW)[:: metric.sign]
        cells = [a_cell(worse), a_cell(better, pretrain="scarf")]
        results, options = results_of(cells, metric=metric.name), ReportOptions(metric=metric.name)

        (only,) = answers_of(results, options).effects

        width = metric.bounds[1] - metric.bounds[0]
        assert -width <= only.verdict.low < only.verdict.difference < only.verdict.high <= width, metric.name
        better_by = "+" if metric.higher_is_better else f"{metric.label} "
        start = f"On iris, beside pretrain=none: pretrain=scarf helps, {better_by}"
        assert answers_of(results, options).in_words[0].startswith(start)
        if metric.name in ("log_loss", "r2"):
            first, second = entries(tables(answer_of(results, options))[0])
            assert (first[0], second[0]) == ("pretrain=none", "pretrain=scarf")
            assert (second[1].split()[0], second[-1]) == (metric.shown(float(np.mean(better))), "helps")


def test_trials_without_the_metric_do_not_count() -> None:
    results = compared({"iris": {"none": LOW, "scarf": HIGH}})
    results.trials.loc[results.trials["trial"] == 3, "accuracy"] = math.nan

    (only,) = answers_of(results, OPTIONS).effects

    assert only.verdict.trials == 11


@pytest.fixture(scope="module")
def only() -> Effect:
    (effect,) = answers_of(ONE, OPTIONS).effects
    return effect


def test_the_caption_says_how_its_interval_was_made(only: Effect) -> None:
    sayings: dict[Basis, str] = {
        "resampled t-test": "interval of the corrected resampled t-test, which is wider",
        "rows and fits": "interval of test rows and trials",
        "sign test": "interval of the sign test over datasets, for the median dataset",
        "none": "over pretrain=none. Grey band",
    }
    for basis, said_so in sayings.items():
        verdict = replace(only.verdict, basis=basis)
        assert said_so in effects_picture([replace(only, verdict=verdict)], OPTIONS).caption


def test_other_metrics_stand_beside_the_leading_one_without_claims() -> None:
    results = compared({"iris": {"none": SPREAD, "scarf": OTHER}})
    is_scarf = results.trials["cell"] == 1
    results.trials["log_loss"] = np.where(is_scarf, 0.3, 0.6) + results.trials["trial"] / 100

    metrics = table_named(answer_of(results), "metrics")

    assert metrics.columns == ("effect", "accuracy, points", "log-loss, times")
    (row,) = entries(metrics)
    assert row[1].startswith("−1.75 (−")
    assert row[2].startswith("0.5")
    assert " (0." in row[2]
    assert "answer" not in metrics.data


def test_a_pretraining_has_another_sentence_than_rivals() -> None:
    cells = [a_cell(LOW), a_cell(HIGH, pretrain="scarf"), a_cell(gained(0.4, LOW), method="xgboost", network=None)]

    first, second, *_ = said(results_of(cells))

    assert first.startswith("On iris, beside pretrain=none: pretrain=none, method=xgboost is ahead, +")
    assert second.startswith("On iris, beside pretrain=none: pretrain=scarf, method=control helps, +")
    assert second.endswith("; better in 12 of 12 trials.")


def test_the_constant_is_in_the_table_alone_and_costs_no_level() -> None:
    methods = (("control", SPREAD), ("logistic", OTHER))
    results = of_methods(*methods, CONSTANT)

    blocks = answer_of(results)

    words = [picture.alt for picture in pictures(blocks)]
    assert words != []
    assert "constant" not in " ".join([*words, *texts_of(blocks), *said(results)])
    assert [row[0] for row in entries(tables(blocks)[0])] == ["method=control", "method=logistic", "method=constant"]
    alone, beside = answers_of(of_methods(*methods), OPTIONS).effects, answers_of(results, OPTIONS).effects
    assert alone[0].needed == next(each for each in beside if not each.is_baseline).needed


def test_a_constant_that_beats_the_network_is_named() -> None:
    results = of_methods(("control", LOW), ("logistic", HIGH), ("constant", gained(0.2)))

    (sentence,) = [text for text in texts_of(answer_of(results)) if "constant" in text]

    assert sentence.startswith("The constant answer beats method=control: +20.00 points of accuracy (95 %: +")
    assert not [text for text in texts_of(answer_of(of_methods(("control", HIGH), CONSTANT, ("logistic", LOW))))
                if "beats" in text]  # fmt: skip


def test_an_open_size_has_a_hollow_point(only: Effect) -> None:
    faces = []
    for answer in ("helps", "helps, size open"):
        (axes, _) = effects_figure([replace(only, claimed=answer)], OPTIONS.measure).axes
        faces.append(next(line for line in axes.lines if line.get_marker() == "o").get_markerfacecolor())
    assert faces[1] == "white" != faces[0]


def test_the_latex_table_of_an_answer_fits_a_column_with_sure_answers_in_bold(tmp_path: Path) -> None:
    shown = tables(answer_of(ONE))[0]

    text = to_latex(shown)

    assert r"effect & accuracy, \% & difference, points & answer \\" in text
    assert r"pretrain=scarf & 80.00 (79.01 to 80.99) & \textbf{+29.75 (+29." in text
    assert re.search(r"pretrain=none & 50.25 \(.*\) & -- & reference ", text)
    assert r"\resizebox" in text
    document = r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx,longtable}\begin{document}"
    assert "Overfull" not in compiled([document, text, r"\end{document}"], tmp_path)
