"""One number for one thing: every way of showing a cell's metric shows one value and one interval."""

import csv
import html
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.cli.as_json import report_as_json
from scarf_lightning.cli.report_command import write
from scarf_lightning.cli.scarf import run
from scarf_lightning.cli.show import _with_levels
from scarf_lightning.cli.tables import cell_table, full_table, result_in_words, sweep_table
from scarf_lightning.data.targets import Classes, Number, Target
from scarf_lightning.loggers.view import cell_view
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.options import labels
from scarf_lightning.reporting import default_drawings as defaults
from scarf_lightning.reporting.answer import answer_sections
from scarf_lightning.reporting.blocks import Table
from scarf_lightning.reporting.cell_results import cells_of_folder, read_results
from scarf_lightning.reporting.questions import answers_of
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import (
    CellStore,
    Predictions,
    columns,
    identity,
    load,
    load_cell,
    load_predictions,
    note_data,
)
from scarf_lightning.screen import Screen
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.verdicts import compare
from tests.cells import WDBC, described, results_in, some_cell, some_record
from tests.results.test_predictions import of

TRIALS, TABLE, ROWS = 5, 300, 60
NUMBERS = Number("price")
MADE_UP = ("accuracy", "balanced_accuracy", "log_loss", "auroc")


def imbalanced(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = (random.random(ROWS) < 0.1).astype(np.int64)
    labels[0] = 1
    positive = np.clip(0.2 + 0.3 * labels + random.normal(0, 0.1, ROWS), 0, 1)
    return labels, np.column_stack([1 - positive, positive])


def ties(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities about a half that are equal when they are rounded to three digits."""
    labels = random.integers(2, size=ROWS)
    positive = 0.5 + random.choice([-4e-5, 4e-5], ROWS)
    return labels, np.column_stack([1 - positive, positive])


def numbers(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = random.normal(100, 10, ROWS)
    return labels, labels + random.normal(0, 3, ROWS)


def one_class(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = random.integers(2, size=ROWS)
    return labels, np.column_stack([np.full(ROWS, 0.9), np.full(ROWS, 0.1)])


KINDS = {
    "imbalanced": (imbalanced, of(2), "balanced_accuracy"),
    "ties": (ties, of(2), "accuracy"),
    "numbers": (numbers, NUMBERS, "rmse"),
    "one class": (one_class, of(2), "accuracy"),
    "diverged": (ties, of(2), "accuracy"),
}


@pytest.fixture(params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> tuple:
    """A cell as training leaves it, with float32 probabilities; and its metric and target."""
    _, target, name = KINDS[request.param]
    cell = some_cell(trials=TRIALS, paths=results_in(tmp_path))
    return cell, left_by_training(cell, request.param), metric_named(name), target


def left_by_training(cell: Cell, kind: str, *, shift: float = 0.0) -> CellStore:
    """The store of a cell with trials of a kind, whose predictions are shifted by noise of this size."""
    draw, target, _ = KINDS[kind]
    note_data(cell.results, cell.source, WDBC, cell.source.stamps())
    store = CellStore(cell.results, identity(cell.config, WDBC.hash))
    described(store, options=columns(cell.config), labels=dict(labels(cell.config)), target=target)
    random, noise = np.random.default_rng(0), np.random.default_rng(1)
    # A row of the table has one label, whichever trials test it.
    table_labels, table_values = map(np.concatenate, zip(*(draw(random) for _ in range(TABLE // ROWS)), strict=True))
    rows, predictions = [], []
    for trial, row in enumerate(some_record(range(TRIALS)).rows):
        tested = random.permutation(TABLE)[:ROWS]
        truth, values = table_labels[tested], table_values[tested]
        if isinstance(target, Classes):
            positive = np.clip(values[:, 1] + shift * noise.normal(size=ROWS), 0, 1)
            values = np.column_stack([1 - positive, positive]) if shift else values
            values = values.astype(np.float32).astype(np.float64)
        else:
            values = values + 10 * shift * noise.normal(size=ROWS)
        known = target.measured(values, truth)
        own = {key: value for key, value in row.items() if key not in MADE_UP}
        sizes = {"n_test": ROWS, "n_labelled": 200, "n_train": 200, "diverged": None}
        if kind == "diverged" and trial == 2:
            rows.append(own | sizes | dict.fromkeys(known) | {"diverged": "finetune"})
            continue
        rows.append(own | known | sizes | {"one_class": target.is_one_class(values)})
        predictions.append(Predictions(trial, tested, truth, values, target))
    store.add(replace(some_record(range(TRIALS)), rows=rows, predictions=predictions))
    return store


def shown_in(text: str, values: list[str]) -> bool:
    """True if a text has all of these."""
    return all(value in text for value in values)


def printed(table: object) -> str:
    screen = Screen(width=160, file=io.StringIO(), force_terminal=False)
    screen.print(table)
    return screen.file.getvalue()  # type: ignore[attr-defined]


def printed_by(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """The output of ``scarf results`` with these arguments."""
    capsys.readouterr()
    run(["results", *arguments])
    return capsys.readouterr().out


@pytest.mark.slow
def test_every_way_of_showing_a_number_shows_one(trained: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    cell, store, metric, target = trained
    (surveyed,) = survey([cell])
    rows = _with_levels(surveyed)
    results = read_results(cells_of_folder(Path(cell.results))[0])
    options = ReportOptions(metric=metric.name)
    (section,) = answer_sections(answers_of(results, options))

    # The page's table of levels, which has all digits in its file.
    (levels,) = [block.data for block in section.blocks if isinstance(block, Table)]
    (level,) = levels[levels["metric"] == metric.name].to_dict("records")
    mean, low, high = level["mean"], level["mean_low"], level["mean_high"]
    expected = [metric.plain(each) for each in (mean, low, high)]

    # The mean over trials is that of the records, and of the metric that is made again from the predictions.
    frame = load(cell.results)
    assert frame[metric.name].mean() == pytest.approx(mean, abs=1e-15)
    again = []
    for _, part in load_predictions(store.fingerprint, cell.results).groupby("trial"):
        again.append(_again(part, metric, target))
    assert np.mean(again) == mean
    # The table of a run, the table of a sweep and the CSV file beside the results.
    assert shown_in(printed(cell_table(surveyed.axes, rows, metric)), expected)
    assert shown_in(printed(sweep_table([(surveyed.axes, rows), (surveyed.axes, rows)], 160, metric)), expected)
    (line,) = csv.DictReader(io.StringIO(full_table([(surveyed.axes, rows)])))
    ends = [line[name] for name in (metric.name, f"{metric.name}_low", f"{metric.name}_high")]
    assert [float(each) for each in ends] == [mean, low, high]
    # The line of a sweep in progress: the mean, and no other interval.
    assert result_in_words(surveyed.rows, metric) == f"{metric.label} {metric.plain(mean)}"
    # What W&B, MLflow and TensorBoard are given.
    view = cell_view(store.fingerprint, cell.results, group="g").summary
    assert [view[metric.name], view[f"{metric.name}_low"], view[f"{metric.name}_high"]] == [mean, low, high]
    # The browser of results, as text and as JSON; it leads with the metric of the target.
    folder = f"results={cell.results}"
    (leading,) = levels[levels["metric"] == target.metric]["mean"]
    leads = metric_named(target.metric).plain(leading)
    assert leads in printed_by(capsys, ["ls", folder])
    (listed,) = json.loads(printed_by(capsys, ["ls", folder, "--json"]))["cells"]
    assert (listed["metric"], listed["value"]) == (target.metric, leading)
    # A notebook: the frames of a cell, and what a cell of the notebook shows of the page's table.
    assert load_cell(store.fingerprint, cell.results).trials[metric.name].mean() == pytest.approx(mean, abs=1e-15)
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    line = next(row for row in table._repr_html_().split("<tr>") if f">{metric.heading}<" in row)
    assert shown_in(line, [metric.shown(each) for each in (mean, low, high)])
    # The door for results of any library, from the same predictions.
    found = compare(_as_of_others(store, cell, target), metric=metric.name, reference="again").levels
    assert found["mean"].tolist() == pytest.approx([mean, mean], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_of_showing_a_difference_shows_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, name = KINDS[kind]
    metric = metric_named(name)
    paths = results_in(tmp_path)
    cells = [
        some_cell("pretrain=none", trials=TRIALS, paths=paths, pretrain="none"),
        some_cell(trials=TRIALS, paths=paths, pretrain="scarf"),
    ]
    folder = Path(cells[0].results)
    stores = [left_by_training(cell, kind, shift=shift) for cell, shift in zip(cells, (0.0, 0.02), strict=True)]

    # They take seconds, and the answer has a picture of its own.
    monkeypatch.setattr(defaults, "default_drawings", lambda results: [])
    written = write([], results=folder, out=tmp_path / "page", metric=name)

    # The page, its file and JSON.
    (row,) = [each for each in report_as_json(written)["competitors"] if each["answer"] != "reference"]
    shown = [metric.signed(row[end]) for end in ("difference", "difference_low", "difference_high")]
    file = io.StringIO((tmp_path / "page/tables/summary.csv").read_text(encoding="utf-8"))
    (line,) = [each for each in csv.DictReader(file) if each["answer"] != "reference"]
    for end in ("difference", "difference_low", "difference_high"):
        assert line[end] == ("" if math.isnan(row[end]) else repr(float(row[end])))
    known = [each for each in shown if "nan" not in each]
    page = html.unescape((tmp_path / "page/index.html").read_text(encoding="utf-8"))
    assert shown_in(page, known)
    # A notebook, and the sentences of the screen.
    assert shown_in(html.unescape(written._repr_html_()), known)
    assert shown_in(str(written), [each.lstrip("+−") for each in known])
    # The door for results of any library, from the same predictions.
    frames = []
    for store, competitor in zip(stores, ("none", "scarf"), strict=True):
        frames.append(_renamed(store, folder).assign(dataset="t", competitor=competitor))
    found = compare(pd.concat(frames), metric=name, reference="none").frame
    assert found["difference"].tolist() == pytest.approx([row["difference"]], abs=1e-12)


def _again(part, metric: Metric, target: Target) -> float:  # type: ignore[no-untyped-def]
    """The metric of a trial from its predictions as a user loads them."""
    if isinstance(target, Classes):
        probabilities = np.ascontiguousarray(part.filter(like="probability_").to_numpy())
        labels = part["class"].map({name: place for place, name in enumerate(target.names)}).to_numpy()
        return metric.function(probabilities, labels)
    return metric.function(part["predicted"].to_numpy(), part["number"].to_numpy())


def _as_of_others(store: CellStore, cell, target: Target):  # type: ignore[no-untyped-def]
    """The predictions of a cell twice, as the frame that `compare` takes."""
    frame = _renamed(store, cell.results)
    return pd.concat([frame.assign(dataset="t", competitor=name) for name in ("once", "again")])


def _renamed(store: CellStore, results: str | Path) -> pd.DataFrame:
    """The predictions of a cell with the columns that `compare` takes."""
    frame = load_predictions(store.fingerprint, results)
    return frame.rename(columns={"class": "label", "number": "label", "predicted": "prediction"})
