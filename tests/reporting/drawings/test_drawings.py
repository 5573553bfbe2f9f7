"""Drawings from results: that each kind is drawn, of any metric, and what their tables and sentences say."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from sklearn.metrics import roc_auc_score

from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.options.axes import registered
from scarf_lightning.reporting.blocks import Block, Paragraph, Picture
from scarf_lightning.reporting.cell_results import CellResults, cells_of_folder, read_results
from scarf_lightning.reporting.drawings import draw_all, read_drawings
from scarf_lightning.reporting.drawings.curves import relative_to_best
from scarf_lightning.reporting.drawings.drawing import BASE
from scarf_lightning.reporting.drawings.predicted import ConfusionMatrix, RocCurves, predicted_cells
from scarf_lightning.reporting.making import default_drawings
from scarf_lightning.reporting.report_options import ReportOptions
from tests.composing import ROOT
from tests.reporting.cell_results import a_cell, compared, results_of
from tests.reporting.shown import entries, pictures, said, table_named, tables
from tests.reporting.store import fill_store

OF_DATASET = {"where": {"dataset": "dataset-6"}}
GRID = {"rows": ["regime", "method"], "columns": "pretrain", "reference": "none"}
SMALLEST: dict[str, dict[str, Any]] = {
    "win_matrix": {"compare": "pretrain"},
    "wins_over_reference": GRID,
    "box_plot": {"compare": "pretrain", "reference": "none", "panels": "method"},
    "gain_table": GRID,
    "metric_table": {"columns": ["pretrain", "method"]},
    "epochs_table": {"columns": "pretrain"},
    "loss_curves": OF_DATASET,
    "sensitivity": {"x": "corruption.rate"},
    "roc_curves": OF_DATASET,
    "calibration_curves": OF_DATASET,
    "confusion_matrix": OF_DATASET,
}
"""The least that each kind needs."""
MATRIX, CURVES = {"draw": "win_matrix", "title": "t"}, {"draw": "loss_curves", "title": "t"}


def blocks_of(results: CellResults, kind: str, options: ReportOptions | None = None, **keys: Any) -> list[Block]:
    drawings = read_drawings([{"draw": kind, "title": "A title", **keys}], "a file")
    (section,) = draw_all(results, drawings, options or ReportOptions())
    return section.blocks


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[CellResults, pd.DataFrame]:
    """Three datasets, three pre-trainings, four trials, in a store; and the accuracies in it."""
    results = tmp_path_factory.mktemp("results")
    values = fill_store(results, datasets=3, trials=4, pretrains=("none", "scarf", "scarf_ae"))
    return read_results(cells_of_folder(results)[0]), values


@pytest.mark.parametrize("kind", sorted(set(registered(BASE)) - {"sensitivity", "predicted_against_true"}))
@pytest.mark.slow
def test_every_kind_is_drawn(kind: str, stored: tuple[CellResults, pd.DataFrame]) -> None:
    blocks = blocks_of(stored[0], kind, **SMALLEST[kind])

    assert [text for text in said(blocks) if "Not drawn" in text] == []
    names = [(type(block).__name__, block.name) for block in blocks if not isinstance(block, Paragraph)]
    assert len(set(names)) == len(names) > 0
    assert all(name.startswith(f"01-{kind}") for _, name in names)
    assert all(picture.caption for picture in pictures(blocks))


def test_the_drawings_of_every_sweep_can_be_understood() -> None:
    for file in sorted((ROOT / "sweeps").glob("*.yaml")):
        report = yaml.safe_load(file.read_text(encoding="utf-8")).get("report", [])

        assert report or file.stem in ("answer", "columns", "textbook"), "these have a page of their own"
        drawings = read_drawings(report, file.name)
        assert len(drawings) == len(report)


@pytest.mark.parametrize(
    ("drawing", "sentence"),
    [
        ("win_matrix", r"must say what to draw; the drawings are: box_plot, .*\."),
        ({"draw": "pie", "title": "t"}, r": pie is not a drawing. The drawings are: .*\."),
        (MATRIX, ": compare is missing."),
        (CURVES | {"x": "loss"}, ": x is not an option. The options are: title, where, metric."),
        (MATRIX | {"compare": []}, ": compare names no column."),
        (CURVES | {"where": "full"}, r": where=full: it takes options by name, .*\."),
        (MATRIX | {"compare": "prtrain"}, r": prtrain is no column of results\. Did you mean pretrain\? .*"),
        (CURVES | {"where": {"trials": 3}}, r": trials is no column of results\. .*"),
        (CURVES | {"metric": "gini"}, r": metric=gini is unknown\. The metrics are: .*"),
    ],
)
def test_a_drawing_that_cannot_be_understood_is_named(drawing: Any, sentence: str) -> None:
    right = CURVES | {"where": {"pretrain": ["none", "scarf"], "corruption": None, "dataset": "mine", "finetune.x": 1}}
    with pytest.raises(UsageError) as refused:
        read_drawings([right, drawing], "sweeps/mine.yaml")
    assert re.fullmatch(r"sweeps/mine\.yaml, drawing 2 of report ?" + sentence, str(refused.value))


def test_one_that_cannot_be_drawn_yet_says_why_and_stops_no_other(stored: tuple[CellResults, pd.DataFrame]) -> None:
    wrong = {"draw": "win_matrix", "title": "Wrong", "compare": "loss.temp"}
    right = {"draw": "win_matrix", "title": "Right", "compare": "pretrain"}

    first, second = draw_all(stored[0], read_drawings([wrong, right], "a file"), ReportOptions())

    assert first.blocks == [Paragraph(first.blocks[0].text, warns=True)]  # type: ignore[union-attr]
    assert said(first.blocks)[0].startswith("Not drawn: No cell uses loss.temp. Did you mean loss.temperature? ")
    assert isinstance(second.blocks[0], Picture)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_of_a_loss_the_lower_mean_is_the_best(metric: Metric) -> None:
    better, worse = ([0.80, 0.81, 0.79], [0.50, 0.51, 0.49])[:: metric.sign]
    results = results_of([a_cell(worse), a_cell(better, pretrain="scarf")], metric=metric.name)

    kinds, options = ("metric_table", "gain_table"), ReportOptions(metric.name)
    table, gains = (tables(blocks_of(results, kind, options, **SMALLEST[kind]))[0] for kind in kinds)

    assert [entry.best for entry in table.rows[0]] == [False, False, True]
    assert table.rows[0][2].sort == pytest.approx(metric.scale * np.mean(better))
    gain = 100 * metric.sign * (np.mean(better) / np.mean(worse) - 1)
    assert entries(gains)[0][-1] == f"{gain:+.2f} (1)"


@pytest.mark.parametrize("kind", ["win_matrix", "wins_over_reference"])
@pytest.mark.parametrize("gain", [0.0, 3.0])
def test_a_matrix_of_nothing_but_ties_is_a_sentence(kind: str, gain: float) -> None:
    values = np.array([0.80, 0.50, 0.65, 0.71])
    cells = []
    for place, pretrain in enumerate(("none", "scarf", "vime")):
        cells.append(a_cell(np.roll(values, place) + gain * (place == 2), pretrain=pretrain))

    blocks = blocks_of(results_of(cells), kind, ReportOptions(), **SMALLEST[kind])

    sentence = "No pair of competitors differs on any dataset (corrected resampled t-test, p < 0.05)."
    is_said = [text.startswith(sentence) for text in said(blocks)]
    assert any(is_said) == (not gain)
    assert bool(pictures(blocks)) == bool(gain)


def test_a_drawing_may_have_a_metric_of_its_own(stored: tuple[CellResults, pd.DataFrame]) -> None:
    blocks = blocks_of(stored[0], "metric_table", columns="pretrain", metric="log_loss")

    assert table_named(blocks, "metric_table").caption.startswith("Mean log-loss, ± standard error")


def test_tables_have_standard_errors_and_the_best_is_bold() -> None:
    results = compared(
        {"iris": {"none": [0.5, 0.7], "scarf": [0.8]}, "wine": {"none": [0.9, 0.9], "scarf": [0.6, 0.5]}}
    )

    table = table_named(blocks_of(results, "metric_table", columns="pretrain"), "metric_table")
    epochs = table_named(blocks_of(results, "epochs_table", columns="pretrain"), "epochs_table")

    assert table.columns == ("dataset", "pretrain=none", "pretrain=scarf")
    assert entries(table) == [["iris", "60.00 ± 10.00", "80.00"], ["wine", "90.00 ± 0.00", "55.00 ± 5.00"]]
    assert [[entry.best for entry in row] for row in table.rows] == [[False, False, True], [False, True, False]]
    assert table.data.loc[0, ["mean", "standard_error"]].tolist() == pytest.approx([60, 10])
    assert entries(epochs)[0] == ["iris", "10.50 ± 0.50", "10.00"]
    assert not any(entry.best for row in epochs.rows for entry in row)


def test_gains_are_shown_filtered_beside_all() -> None:
    results = compared(
        {
            "sure": {"none": [0.50, 0.51, 0.49], "scarf": [0.60, 0.61, 0.59]},  # + 20 %
            "unsure": {"none": [0.40, 0.60, 0.50], "scarf": [0.50, 0.65, 0.35]},  # 0 %
        }
    )

    table = table_named(blocks_of(results, "gain_table", **GRID), "gain_table")

    assert table.columns == ("regime, method", "pretrain=scarf, p < 0.20", "pretrain=scarf, all")
    assert entries(table) == [["regime=full, method=control", "+20.00 (1)", "+10.00 (2)"]]


def test_what_cannot_be_drawn_says_why() -> None:
    two_settings = [a_cell([0.5], pretrain="scarf", corruption__rate=rate) for rate in (0.3, 0.6)]
    (sentence,) = said(blocks_of(results_of([*two_settings, a_cell([0.5])]), "win_matrix", compare="pretrain"))
    assert sentence.startswith("Not drawn: pretrain=scarf has a trial twice on iris; ")

    without_predictions = compared({"a": {"none": [0.5, 0.6], "scarf": [0.6, 0.7]}})
    for kind in ("roc_curves", "confusion_matrix"):
        (sentence,) = said(blocks_of(without_predictions, kind))
        assert "have kept no predictions; keep_predictions_mb=80 force=true" in sentence


def test_sensitivity_is_relative_to_each_datasets_best() -> None:
    means = pd.DataFrame({0.3: [0.8, 0.5], 0.6: [1.0, 0.4]}, index=["iris", "wine"])

    relative = relative_to_best(means)

    assert relative["x"].tolist() == [0.3, 0.6]
    assert relative["mean"].tolist() == pytest.approx([90, 90])
    low, high = stats.t.interval(0.95, 1, 90, stats.sem([80, 100]))
    assert relative.loc[0, ["low", "high"]].tolist() == pytest.approx([low, high])
    assert relative_to_best(means.iloc[:1])[["low", "high"]].isna().all(axis=None)


def test_several_tables_have_a_matrix_and_a_table_and_the_first_one_its_losses_and_predictions(
    stored: tuple[CellResults, pd.DataFrame],
) -> None:
    drawings = {drawing.name: drawing.where for drawing in default_drawings(stored[0])}

    of_first = {name: {"dataset": "dataset-54"} for name in ("loss_curves", "roc_curves", "confusion_matrix")}
    assert drawings == {"win_matrix": {}, "metric_table": {}} | of_first


def test_the_confusion_matrix_and_the_roc_curve_are_of_the_rows_of_all_trials(
    stored: tuple[CellResults, pd.DataFrame],
) -> None:
    results, _ = stored
    (cell,) = predicted_cells(results, results.cells.iloc[:1], Classes)
    assert len(cell.labels) == 4 * 30
    right = (cell.values.argmax(axis=1) == cell.labels)[cell.labels == 0].mean()

    (matrix,) = ConfusionMatrix(title="t").figure([cell]).axes
    (curve,) = RocCurves(title="t").figure([cell]).axes

    assert matrix.texts[0].get_text() == f"{right:.0%}"
    area = roc_auc_score(cell.labels, cell.values[:, 1])
    assert f"AUC = {area:.2f}" in curve.get_legend().get_texts()[0].get_text()
