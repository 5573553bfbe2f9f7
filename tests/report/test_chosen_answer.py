import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.report.advice import by_cells, by_sweep, in_one_line, what_would_settle
from scarf_lightning.report.answer import answer_section
from scarf_lightning.report.blocks import Command, Paragraph, Picture, Table, to_latex, to_markdown
from scarf_lightning.report.comparisons import compare_all
from scarf_lightning.report.effects import Effect, effects_figure, effects_picture
from scarf_lightning.report.loading import CellResults, ReportedCell, read_results
from scarf_lightning.report.pairing import pairs_of
from scarf_lightning.report.report_options import ReportOptions
from scarf_lightning.report.sentences import CLAIMS, WITHOUT_PREDICTIONS
from scarf_lightning.report.statistics import ErrorParts
from scarf_lightning.report.statistics.answers import Needed
from scarf_lightning.report.statistics.verdict import Basis
from scarf_lightning.report.style import as_inline, save
from tests.programs import compiled
from tests.report.cell_results import HOSTILE, compared, results_of

HIGH, LOW = [0.80, 0.81, 0.79, 0.80], [0.50, 0.51, 0.49, 0.51]
SPREAD, OTHER = [0.40, 0.60, 0.50, 0.70], [0.50, 0.42, 0.60, 0.61]
SHARED = {"dataset": "iris", "regime": "full", "method": "control"}
USUAL = {"regime": "full", "method": "control", "pretrain": "scarf", "corruption": "marginal", "corruption.rate": 0.6}


def said(results: CellResults, options: ReportOptions | None = None) -> list[str]:
    blocks = answer_section(results, options or ReportOptions(), by_sweep(["sweeps=mine", "trials=4"])).blocks
    shown = [block for block in blocks if isinstance(block, Paragraph | Command)]
    return [in_one_line(b.purpose, b.command) if isinstance(b, Command) else b.text for b in shown]


def table_of(results: CellResults, options: ReportOptions | None = None) -> Table:
    blocks = answer_section(results, options or ReportOptions(), by_sweep([])).blocks
    return next(block for block in blocks if isinstance(block, Table))


def entries(table: Table) -> list[list[str]]:
    return [[entry.text for entry in row] for row in table.rows]


def one_axis(values: Mapping[str, Sequence[float]], **columns: Any) -> CellResults:
    """SCARF with each corruption."""
    cells = [(SHARED | {"pretrain": "scarf", "corruption": c} | columns, v) for c, v in values.items()]
    return results_of(cells, usual=USUAL)


def test_one_comparison_is_answered_in_one_sentence() -> None:
    sentence, *others = said(compared({"iris": {"none": LOW, "scarf": HIGH}}))

    assert sentence.startswith("SCARF helps on iris: +29.75 points of accuracy (+")
    assert sentence.endswith(") over no pre-training, better in 4 of 4 trials.")
    assert others == [WITHOUT_PREDICTIONS, CLAIMS["this table"]]


def test_a_difference_that_may_be_small_helps_and_its_size_is_open() -> None:
    gained = [value + gain for value, gain in zip(LOW, (0.012, 0.010, 0.014, 0.011), strict=True)]

    sentence, *_ = said(compared({"iris": {"none": LOW, "scarf": gained}}))

    assert sentence.startswith("SCARF helps, size open, on iris: +1.18 points of accuracy (+")


def test_over_datasets_the_second_line_says_the_mean_and_the_typical_gains() -> None:
    """Few datasets that gain much lift the mean alone."""
    gains = {"scarf": [0.0, 0.0, 0.0, 0.0, 0.0, 0.30], "scarf_ae": [0.01] * 6}
    values = {
        f"d{n}": {"none": LOW} | {name: [value + gain[n] for value in LOW] for name, gain in gains.items()}
        for n in range(6)
    }

    texts = said(compared(values))

    assert (
        "On average over datasets the gains go from +1.00 (SCARF AE) to +5.00 points (SCARF); on the typical dataset "
        "they go from +0.00 to +1.00 points."
    ) in texts
    (expected,) = [text for text in texts if text.startswith("SCARF: a table like these")]
    assert expected.endswith(
        "Of these 6, 1 gain more, 5 differ by less, and 0 lose more, as far as noise lets one see."
    )
    assert CLAIMS["tables like these"] in texts


def test_of_what_cannot_be_told_it_says_so() -> None:
    headline, *_, settle = said(compared({"iris": {"none": [*SPREAD, 0.5], "scarf": [*OTHER, 0.5]}}))

    assert headline.startswith("We cannot tell whether SCARF helps on iris: −1.40 points of accuracy (−")
    assert "better in 2 of 5 trials" in headline
    assert settle == "SCARF: few trials; go on to 10: python train.py sweeps=mine trials=10"


def test_with_predictions_advice_says_whether_trials_or_rows_would_settle_it() -> None:
    """Most of the variance is of fits, or most of it is of rows, or nothing can be reached."""
    comparison = compare_all(compared({"iris": {"none": LOW, "scarf": OTHER}}), ReportOptions())[0]
    results = compared({"iris": {"none": LOW, "scarf": OTHER}})

    def advice(difference: float, of_rows: float, of_fits: float) -> str:
        parts = ErrorParts(difference, of_rows, of_fits, 20.0, 10, 500, 120, 0.2, True)
        verdict = replace(comparison.verdict, parts=parts, difference=difference, trials=10)
        other = replace(comparison, verdict=verdict, claimed="cannot tell")
        ((sentence, command),) = what_would_settle([other], by_sweep(["trials=10"]), results)
        return in_one_line(sentence, command)

    assert advice(0.018, 1e-5, 9e-5) == (
        "SCARF: 32 more trials will settle it in four cases of five: python train.py trials=42"
    )
    assert advice(0.012, 9e-5, 1e-5) == (
        "SCARF: more trials will hardly settle it, because 90 % of the error's variance comes from which rows the "
        "table has; about 3,000 labelled rows would, in four cases of five."
    )
    assert advice(0.01, 0.0, 1e-2).startswith("SCARF: neither trials nor labelled rows in reach will settle it")


def test_advice_on_a_page_of_many_comparisons_takes_more() -> None:
    """Trials that settle one comparison alone do not after Holm's correction over ten."""
    values = {"none": LOW, "scarf": OTHER}
    results = compared({"iris": values})
    comparison = compare_all(results, ReportOptions())[0]
    parts = ErrorParts(0.018, 0.0, 9e-5, 20.0, 10, 500, 120, 0.2, True)
    verdict = replace(comparison.verdict, parts=parts, difference=0.018, trials=10)

    def trials(needed: Needed) -> int:
        one = replace(comparison, verdict=verdict, claimed="cannot tell", needed=needed)
        ((_, command),) = what_would_settle([one], by_sweep([]), results)
        return int(command.split("trials=")[1])

    assert trials(Needed(0.005, 0.005)) > trials(Needed())


def test_comparisons_of_which_we_cannot_tell_share_the_level_that_is_left() -> None:
    found = compare_all(compared({"iris": {"none": SPREAD, "scarf": OTHER, "scarf_ae": OTHER}}), ReportOptions())

    assert [each.claimed for each in found] == ["cannot tell", "cannot tell"]
    assert [each.needed for each in found] == [pytest.approx((0.025, 0.025))] * 2


def test_no_advice_to_somebody_with_one_table_names_other_tables() -> None:
    for trials in (2, 4, 10):
        values = {"none": (SPREAD * 3)[:trials], "scarf": (OTHER * 3)[:trials]}
        assert "dataset" not in " ".join(said(compared({"iris": values})))


def test_too_few_trials_ask_for_more_with_the_command() -> None:
    headline, settle = said(compared({"iris": {"none": LOW[:2], "scarf": HIGH[:2]}}))

    assert headline == (
        "We cannot tell whether SCARF helps on iris: +30.00 points of accuracy over no pre-training, "
        "better in 2 of 2 trials."
    )
    assert settle == "SCARF: too few trials to tell; go on to 10: python train.py sweeps=mine trials=10"


def test_advice_says_what_it_costs() -> None:
    """Trials take as long as those before; datasets as long as these."""
    of_one = compared({"iris": {"none": LOW[:2], "scarf": HIGH[:2]}})
    of_one.trials["finetune_seconds"], of_one.trials["pretrain_seconds"] = 3.0, [np.nan] * 2 + [22.0] * 2
    of_two = compared({name: {"none": LOW[:2], "scarf": OTHER[:2]} for name in ("iris", "car")})
    of_two.trials["finetune_seconds"] = 150.0

    assert "go on to 10 (about 4 min on one core): python" in said(of_one)[-1]
    assert "needs 6 or more (about 40 min on one core, if they take as long as these): python" in said(of_two)[-1]


def test_many_comparisons_are_counted_and_the_best_come_first() -> None:
    results = compared({"iris": {"none": SPREAD, "scarf": [v + 0.3 for v in SPREAD], "scarf_ae": OTHER}})

    headline, *_ = said(results)

    assert (
        headline == "Of 2 comparisons with no pre-training on iris, 1 helps (SCARF +30.00 points); of 1 we cannot tell."
    )
    assert [row[0] for row in entries(table_of(results))] == ["SCARF", "no pre-training", "SCARF AE"]


def test_over_datasets_it_says_on_how_many() -> None:
    spread = np.random.default_rng(0).normal(0.1, 0.01, size=8)
    results = compared({f"d{i}": {"none": LOW, "scarf": [v + d for v in LOW]} for i, d in enumerate(spread)})

    headline, *_ = said(results)

    assert headline.startswith("SCARF helps over 8 datasets: +")
    assert headline.endswith("over no pre-training, better on 8 of 8 datasets.")


def test_a_gain_that_may_be_small_has_its_own_answer_among_others() -> None:
    differences = np.random.default_rng(0).normal(0.007, 0.002, size=(8, 1)) + np.linspace(0, 0.004, 8)[:, None]
    results = compared(
        {f"d{i}": {"none": LOW, "scarf": [v + d[0] for v in LOW], "scarf_ae": LOW} for i, d in enumerate(differences)}
    )

    headline, *_ = said(results)

    assert headline.startswith("Of 2 comparisons with no pre-training over 8 datasets, 1 helps, size open (SCARF +0.")
    assert headline.endswith("; of 1 we cannot tell.")


def test_few_datasets_ask_for_more_of_them() -> None:
    values = {f"d{i}": {"none": LOW, "scarf": HIGH} for i in range(3)}

    *_, settle = said(compared(values))

    assert settle == (
        "SCARF: an answer over datasets needs 6 or more: python train.py sweeps=mine trials=4 "
        "dataset=cc18-balance-scale,cc18-credit-approval,cc18-tic-tac-toe"
    )


def test_along_one_axis_the_usual_option_is_the_reference() -> None:
    results = one_axis({"mean": LOW, "marginal": HIGH, "none": HIGH})

    assert [pair[:5] for pair in pairs_of(results)] == [
        (0, 1, "", "mean corruption", "marginal corruption"),
        (2, 1, "", "no corruption", "marginal corruption"),
    ]
    assert said(results)[0].startswith(
        "Of 2 comparisons with marginal corruption on iris, 1 hurts (mean corruption −29.75 points)"
    )


def test_recipes_that_differ_in_several_options_are_called_by_their_names() -> None:
    settings = {"paper": ("all", "error", 3), "practical": ("train", "loss", 10)}
    cells = [
        (
            {"dataset": "iris", "fit_on": fit_on, "finetune.monitor": monitor, "finetune.patience": patience}
            | {"pretrain": "none", "overrides": ("pretrain=none", f"recipe={recipe}")},
            values,
        )
        for (recipe, (fit_on, monitor, patience)), values in zip(settings.items(), (LOW, HIGH), strict=True)
    ]
    usual = {"fit_on": "all", "finetune.monitor": "error", "finetune.patience": 3}

    wanted = []
    for columns, _ in cells:
        axes = {name: value for name, value in columns.items() if name != "overrides"}
        wanted.append(ReportedCell(axes | {"method": "control"}, None, None, 1, columns["overrides"]))
    pairs = pairs_of(read_results(wanted, usual=usual))

    assert [pair[:5] for pair in pairs] == [(1, 0, "", "recipe practical", "recipe paper")]


def test_an_option_beside_a_recipe_is_named_by_its_value() -> None:
    cells = [
        (
            {
                "dataset": "iris",
                "fit_on": fit_on,
                "pretrain": "none",
                "method": "control",
                "overrides": ("recipe=paper",),
            },
            values,
        )
        for fit_on, values in (("all", LOW), ("train", HIGH))
    ]

    pairs = pairs_of(results_of(cells, usual={"fit_on": "all"}))

    assert [pair[:5] for pair in pairs] == [(1, 0, "", "fitted on training rows", "fitted on all rows")]


def test_two_axes_are_named_by_what_is_unusual() -> None:
    cells = [
        (SHARED | {"pretrain": "scarf", "corruption": c, "corruption.rate": r}, HIGH)
        for c in ("marginal", "mean")
        for r in (0.3, 0.6)
    ]

    comparisons = compare_all(results_of(cells, usual=USUAL), ReportOptions())

    assert {each.reference for each in comparisons} == {"marginal corruption, rate 0.6"}
    assert sorted(each.label for each in comparisons) == [
        "marginal corruption, rate 0.3",
        "mean corruption, rate 0.3",
        "mean corruption, rate 0.6",
    ]


def test_a_cell_alone_shows_every_metric() -> None:
    results = results_of([(SHARED | {"pretrain": "scarf"}, HIGH)])

    assert said(results) == [
        "SCARF on iris: accuracy 80.00 % (78.10 to 81.90) in 4 trials. There is nothing to compare it with; "
        "train a reference on the same data, such as pretrain=none."
    ]
    assert entries(table_of(results))[0][1:] == ["accuracy, %", "80.00", "78.10 to 81.90", "4"]


def test_a_pretraining_is_paired_with_what_lacks_it_alone() -> None:
    shared = {"dataset": "iris", "regime": "semi25"}
    scarf = {"pretrain": "scarf", "corruption": "marginal"}
    results = results_of(
        [
            (shared | {"pretrain": "none", "method": "control"}, LOW),
            (shared | {"method": "control", "corruption.rate": 0.3} | scarf, HIGH),
            (shared | {"method": "control", "corruption.rate": 0.6} | scarf, HIGH),
            (shared | {"method": "mixup", "corruption.rate": 0.6} | scarf, HIGH),  # nothing to pair it with
            (shared | {"pretrain": "none", "method": "scarf_augment", "corruption": "marginal"}, HIGH),
        ]
    )

    pairs = pairs_of(results)

    assert [(pair.cell, pair.reference, pair.name) for pair in pairs] == [
        (1, 0, "SCARF, rate 0.3"),
        (2, 0, "SCARF, rate 0.6"),
        (4, 0, "scarf augment"),
    ]


def test_scalings_are_paired_with_themselves() -> None:
    cells = [
        (SHARED | {"scaling": scaling, "pretrain": pretrain}, HIGH if scaling == "zscore" else LOW)
        for scaling in ("zscore", "minmax")
        for pretrain in ("none", "scarf")
    ]

    comparisons = compare_all(results_of(cells), ReportOptions())

    assert [each.verdict.difference for each in comparisons] == [0, 0]
    assert {(each.label, each.reference_label) for each in comparisons} == {
        ("zscore scaling, SCARF", "zscore scaling, no pre-training"),
        ("minmax scaling, SCARF", "minmax scaling, no pre-training"),
    }
    assert {each.against for each in comparisons} == {"no pre-training"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_answered_in_its_own_direction(metric: Metric) -> None:
    better, worse = (HIGH, LOW)[:: metric.sign]
    cells = [(SHARED | {"pretrain": p}, v) for p, v in (("none", worse), ("scarf", better))]

    results, options = results_of(cells, metric=metric.name), ReportOptions(metric=metric.name)

    better_by = "+" if metric.higher_is_better else f"{metric.label} "
    assert said(results, options)[0].startswith(f"SCARF helps on iris: {better_by}")
    first, second = entries(table_of(results, options))
    assert (first[0], second[0]) == ("SCARF", "no pre-training")
    assert first[1:3] == ["helps", metric.shown(float(np.mean(better)))]
    (only,) = compare_all(results, options)
    width = metric.bounds[1] - metric.bounds[0]
    assert -width <= only.verdict.low < only.verdict.difference < only.verdict.high <= width


def test_trials_without_the_metric_do_not_count() -> None:
    results = compared({"iris": {"none": LOW, "scarf": HIGH}})
    results.trials.loc[results.trials["trial"] == 3, "accuracy"] = math.nan

    (only,) = compare_all(results, ReportOptions())

    assert only.verdict.trials == 3


def test_the_picture_says_what_it_shows_where_a_mouse_rests(tmp_path: Path) -> None:
    results = compared({HOSTILE: {"none": LOW, "scarf": HIGH}})
    comparisons = compare_all(results, ReportOptions())
    save(effects_picture(comparisons, ReportOptions()).figure, tmp_path, "effects")

    inline = as_inline((tmp_path / "effects.svg").read_text())

    assert inline.startswith("<svg")
    assert inline.count("<title>SCARF: +29.75 points of accuracy (") == 2
    assert ' id="axes_1"' not in inline
    (picture,) = [b for b in answer_section(results, ReportOptions(), by_sweep([])).blocks if isinstance(b, Picture)]
    assert "+29.75" in picture.alt


@pytest.mark.parametrize(
    ("basis", "said_so"),
    [
        ("resampled t-test", "interval of the corrected resampled t-test, which is wider"),
        ("rows and fits", "interval from the test rows and from the spread of trials beyond them"),
        ("normal scores", "interval of signed normal scores over datasets, for the typical dataset"),
        ("none", "over no pre-training. The grey band"),
    ],
)
def test_the_caption_says_how_its_interval_was_made(basis: Basis, said_so: str) -> None:
    (comparison,) = compare_all(compared({"iris": {"none": LOW, "scarf": HIGH}}), ReportOptions())
    verdict = replace(comparison.verdict, basis=basis)

    assert said_so in effects_picture([replace(comparison, verdict=verdict)], ReportOptions()).caption


def test_on_a_phone_names_and_answers_stand_above_the_lines() -> None:
    comparisons = compare_all(compared({"iris": {"none": LOW, "scarf": HIGH}}), ReportOptions())
    lines = [Effect(each.label, each.verdict, each.claimed) for each in comparisons]
    metric = ReportOptions().measure

    wide, narrow = (effects_figure(lines, metric, is_narrow=is_narrow) for is_narrow in (False, True))

    assert narrow.get_size_inches()[0] * 96 < 380 < wide.get_size_inches()[0] * 96
    (axes,) = narrow.axes
    assert [text.get_text() for text in axes.texts] == ["SCARF: helps"]
    assert [list(line.get_xdata()) for line in axes.lines] == [list(line.get_xdata()) for line in wide.axes[0].lines]


def test_an_answer_whose_size_is_open_has_a_hollow_point() -> None:
    (comparison,) = compare_all(compared({"iris": {"none": LOW, "scarf": HIGH}}), ReportOptions())
    metric = ReportOptions().measure
    faces = []
    for answer in ("helps", "helps, size open"):
        figure = effects_figure([Effect("SCARF", comparison.verdict, answer)], metric)
        points = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
        faces.append(points[0].get_markerfacecolor())
    assert faces[1] == "white" != faces[0]


def test_other_metrics_are_answered_beside_the_leading_one() -> None:
    """Accuracy cannot tell; log-loss can."""
    results = compared({"iris": {"none": SPREAD, "scarf": OTHER}})
    is_scarf = results.trials["cell"] == 1
    results.trials["log_loss"] = np.where(is_scarf, 0.3, 0.6) + results.trials["trial"] / 100

    tables = [b for b in answer_section(results, ReportOptions(), by_sweep([])).blocks if isinstance(b, Table)]

    (metrics,) = [each for each in tables if each.name.endswith("metrics")]
    assert metrics.columns == ("competitor", "accuracy", "log-loss")
    (row,) = entries(metrics)
    assert row[1].startswith("cannot tell; −")
    assert row[2].startswith("helps; log-loss 4")
    assert metrics.data["answer"].tolist() == ["cannot tell", "helps"]


def test_a_folder_asks_for_the_cells_of_a_comparison() -> None:
    results = compared({"iris": {"none": LOW, "scarf": HIGH}})
    asked = ["dataset=csv", "dataset.path=my data.csv", "trials=4", "paths.results=elsewhere"]
    results.cells["overrides"] = [(*asked, "pretrain=none"), tuple(asked)]
    (only,) = compare_all(results, ReportOptions())

    assert by_cells(results, Path("elsewhere"))(only, "trials=20") == (
        "python train.py dataset=csv 'dataset.path=my data.csv' pretrain=scarf,none trials=20 paths.results=elsewhere"
    )
    results.cells["overrides"] = [("method=mixup", "pretrain=none"), ("seed=1",)]
    assert by_cells(results, Path("results"))(only, "trials=20") == (
        "python train.py seed=1 trials=20 && python train.py method=mixup pretrain=none trials=20"
    )


def test_the_answer_that_needs_no_model_is_in_the_table_alone() -> None:
    shared = {"dataset": "iris", "regime": "full", "pretrain": "none"}
    cells = [
        (shared | {"method": "control", "network": "mlp"}, SPREAD),
        (shared | {"method": "logistic", "network": None}, OTHER),
        (shared | {"method": "constant", "network": None}, [0.1, 0.1, 0.2, 0.1]),
    ]
    results = results_of(cells)

    assert "constant" not in " ".join(said(results))
    assert [row[0] for row in entries(table_of(results))] == ["the network", "logistic", "constant"]
    pictures = [b for b in answer_section(results, ReportOptions(), by_sweep([])).blocks if isinstance(b, Picture)]
    assert pictures
    assert all("constant" not in picture.alt for picture in pictures)


def test_the_answer_that_needs_no_model_is_compared_where_nothing_else_is() -> None:
    shared = {"dataset": "iris", "regime": "full", "pretrain": "none"}
    network = (shared | {"method": "control", "network": "mlp"}, HIGH)
    constant = (shared | {"method": "constant", "network": None}, LOW)

    assert said(results_of([network, constant]))[0].startswith("Constant hurts on iris")


def test_the_answer_that_needs_no_model_takes_nothing_from_the_levels_of_others() -> None:
    shared = {"dataset": "iris", "regime": "full", "pretrain": "none"}
    cells = [
        (shared | {"method": "control", "network": "mlp"}, SPREAD),
        (shared | {"method": "logistic", "network": None}, OTHER),
    ]
    constant = (shared | {"method": "constant", "network": None}, [0.1, 0.1, 0.2, 0.1])

    alone = compare_all(results_of(cells), ReportOptions())
    beside = compare_all(results_of([*cells, constant]), ReportOptions())

    assert alone[0].needed == next(each for each in beside if not each.is_baseline).needed


def test_the_latex_table_of_an_answer_compiles_in_a_column_without_an_overfull_box(tmp_path: Path) -> None:
    text = to_latex(table_of(compared({"iris": {"none": LOW, "scarf": HIGH, "vime": OTHER}})))
    packages = r"\usepackage{booktabs,graphicx}"
    document = [rf"\documentclass[twocolumn]{{article}}{packages}\begin{{document}}", text, r"\end{document}"]

    assert "Overfull" not in compiled(document, tmp_path)


def test_the_latex_table_of_an_answer_fits_a_column_with_the_best_in_bold() -> None:
    shown = table_of(compared({"iris": {"none": LOW, "scarf": HIGH}}))

    text = to_latex(shown)

    assert r"competitor & accuracy, \% & improvement, points & answer \\" in text
    assert r"SCARF & \textbf{80.00 (78.10 to 81.90)} & +29.75 (+28.59 to +30.91) *** & helps \\" in text
    assert r"no pre-training & 50.25 (48.02 to 52.48) & -- & reference \\" in text
    assert r"\resizebox{\columnwidth}" in text
    assert r"\caption{Accuracy, \% and the improvement over no pre-training, with 95 \% intervals." in text
    assert r"over the comparisons: * p $\le$ 0.05, ** p $\le$ 0.01, *** p $\le$ 0.001.}" in text
    # The page and the other files have all columns.
    assert len(shown.columns) > 4
    assert "P(better)" in to_markdown(shown)
