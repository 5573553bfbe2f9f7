import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.report.advice import by_cells, by_sweep, in_one_line
from scarf_lightning.report.answer import answer_section
from scarf_lightning.report.blocks import Command, Paragraph, Picture, Table
from scarf_lightning.report.comparisons import compare_all
from scarf_lightning.report.effects import effects_figure, effects_picture
from scarf_lightning.report.loading import CellResults, ReportedCell, read_results
from scarf_lightning.report.pairing import pairs_of
from scarf_lightning.report.report_options import ReportOptions
from scarf_lightning.report.style import as_inline, save
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
    (found,) = [block for block in blocks if isinstance(block, Table)]
    return found


def entries(table: Table) -> list[list[str]]:
    return [[entry.text for entry in row] for row in table.rows]


def one_axis(values: Mapping[str, Sequence[float]], **columns: Any) -> CellResults:
    """SCARF with each corruption."""
    cells = [(SHARED | {"pretrain": "scarf", "corruption": c} | columns, v) for c, v in values.items()]
    return results_of(cells, usual=USUAL)


def test_one_comparison_is_answered_in_one_sentence() -> None:
    (sentence,) = said(compared({"iris": {"none": LOW, "scarf": HIGH}}))

    assert sentence.startswith("SCARF helps on iris: +29.75 points of accuracy (+")
    assert sentence.endswith(") over no pre-training, better in 4 of 4 trials.")


def test_over_datasets_the_second_line_says_the_mean_and_the_typical_gains() -> None:
    """Few datasets that gain much lift the mean alone."""
    gains = {"scarf": [0.0, 0.0, 0.0, 0.0, 0.0, 0.30], "scarf_ae": [0.01] * 6}
    values = {
        f"d{n}": {"none": LOW} | {name: [value + gain[n] for value in LOW] for name, gain in gains.items()}
        for n in range(6)
    }

    _, second, *_ = said(compared(values))

    assert second == (
        "On average over datasets the gains go from +1.00 (SCARF AE) to +5.00 points (SCARF); on the typical dataset "
        "they go from +0.00 to +1.00 points."
    )


def test_what_cannot_be_told_says_what_would_settle_it() -> None:
    headline, settle = said(compared({"iris": {"none": [*SPREAD, 0.5], "scarf": [*OTHER, 0.5]}}))

    assert headline.startswith("It is open whether SCARF helps on iris: −1.40 points of accuracy (−")
    assert "better in 2 of 5 trials" in headline
    assert (
        settle == "SCARF: more trials will not settle this, because splits of one dataset overlap; try more datasets."
    )


def test_too_few_trials_ask_for_more_with_the_command() -> None:
    headline, settle = said(compared({"iris": {"none": LOW[:2], "scarf": HIGH[:2]}}))

    assert headline == (
        "It is open whether SCARF helps on iris: +30.00 points of accuracy over no pre-training, "
        "better in 2 of 2 trials."
    )
    assert settle == "SCARF: too few to say; go on to 10 trials: python train.py sweeps=mine trials=10"


def test_advice_says_what_it_costs() -> None:
    """Trials take as long as those before; datasets as long as these."""
    of_one = compared({"iris": {"none": LOW[:2], "scarf": HIGH[:2]}})
    of_one.trials["finetune_seconds"], of_one.trials["pretrain_seconds"] = 3.0, [np.nan] * 2 + [22.0] * 2
    of_two = compared({name: {"none": LOW[:2], "scarf": OTHER[:2]} for name in ("iris", "car")})
    of_two.trials["finetune_seconds"] = 150.0

    assert "go on to 10 trials (about 4 min on one core): python" in said(of_one)[-1]
    assert "datasets or more (about 40 min on one core, if they take as long as these): python" in said(of_two)[-1]


def test_many_comparisons_are_counted_and_the_best_come_first() -> None:
    results = compared({"iris": {"none": SPREAD, "scarf": [v + 0.3 for v in SPREAD], "scarf_ae": OTHER}})

    headline, *_ = said(results)

    assert headline == "Of 2 comparisons with no pre-training on iris, 1 helps (SCARF +30.00 points); 1 is open."
    assert [row[0] for row in entries(table_of(results))] == ["SCARF", "no pre-training", "SCARF AE"]


def test_over_datasets_it_says_on_how_many() -> None:
    spread = np.random.default_rng(0).normal(0.1, 0.01, size=8)
    results = compared({f"d{i}": {"none": LOW, "scarf": [v + d for v in LOW]} for i, d in enumerate(spread)})

    (headline,) = said(results)

    assert headline.startswith("SCARF helps over 8 datasets: +")
    assert headline.endswith("over no pre-training, better on 8 of 8 datasets.")
    row = entries(table_of(results))[0]
    assert row[-1] == "8–0"


def test_what_is_better_but_not_surely_by_much_is_said() -> None:
    differences = np.random.default_rng(0).normal(0.007, 0.002, size=(8, 1)) + np.linspace(0, 0.004, 8)[:, None]
    results = compared(
        {f"d{i}": {"none": LOW, "scarf": [v + d[0] for v in LOW], "scarf_ae": LOW} for i, d in enumerate(differences)}
    )

    headline, *_ = said(results)

    assert headline.startswith("None of 2 comparisons with no pre-training over 8 datasets has an answer yet; the best")
    assert headline.endswith("; 1 of them is better on the typical dataset, but not surely by more than 1 point.")


def test_few_datasets_ask_for_more_of_them() -> None:
    values = {f"d{i}": {"none": LOW, "scarf": HIGH} for i in range(3)}

    _, settle = said(compared(values))

    assert settle == (
        "SCARF: an answer needs 6 datasets or more: python train.py sweeps=mine trials=4 "
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
    save(effects_figure(comparisons, ReportOptions()), tmp_path, "effects")

    inline = as_inline((tmp_path / "effects.svg").read_text())

    assert inline.startswith("<svg")
    assert inline.count("<title>SCARF: +29.75 points of accuracy (") == 2
    assert ' id="axes_1"' not in inline
    (picture,) = [b for b in answer_section(results, ReportOptions(), by_sweep([])).blocks if isinstance(b, Picture)]
    assert "+29.75" in picture.alt


@pytest.mark.parametrize(
    ("datasets", "shares_rows", "said_so"),
    [
        (1, False, "interval of the corrected resampled t-test"),
        (1, True, "interval from the test rows that all trials share and from the trials' seeds"),
        (6, False, "interval of the signed-rank test over datasets"),
    ],
)
def test_the_caption_says_how_its_interval_was_made(datasets: int, shares_rows: bool, said_so: str) -> None:
    (comparison,) = compare_all(
        compared({f"table {n}": {"none": LOW, "scarf": HIGH} for n in range(datasets)}), ReportOptions()
    )
    verdict = replace(comparison.verdict, shares_rows=shares_rows)

    assert said_so in effects_picture([replace(comparison, verdict=verdict)], ReportOptions()).caption


def test_on_a_phone_names_and_answers_stand_above_the_lines() -> None:
    comparisons = compare_all(compared({"iris": {"none": LOW, "scarf": HIGH}}), ReportOptions())

    wide, narrow = (effects_figure(comparisons, ReportOptions(), is_narrow=is_narrow) for is_narrow in (False, True))

    assert narrow.get_size_inches()[0] * 96 < 380 < wide.get_size_inches()[0] * 96
    (axes,) = narrow.axes
    assert [text.get_text() for text in axes.texts] == [f"SCARF: {comparisons[0].verdict.answer}"]
    assert [list(line.get_xdata()) for line in axes.lines] == [list(line.get_xdata()) for line in wide.axes[0].lines]


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
