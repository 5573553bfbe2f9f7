"""Views of made-up cells, written in this process."""

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util.tensor_util import make_ndarray

from scarf_lightning.intervals import mean_interval
from scarf_lightning.loggers import CellView, cell_view, upload_sweep, write_views
from scarf_lightning.loggers.view import mean_curves, run_name
from scarf_lightning.loggers.wandb_runs import open_run
from scarf_lightning.options.settings import LoggerSettings, PretrainSettings, WandbSettings
from scarf_lightning.results import load_cell
from tests.cells import finish, results_in, some_cell, some_record
from tests.loggers.wandb_files import runs, table

BOTH = LoggerSettings(name="both")
WANDB = LoggerSettings(name="wandb")


@pytest.fixture
def fingerprint(results: Path) -> str:
    """Of a made-up cell of two trials."""
    return finish(some_cell("trials=2", "corruption.rate=0.6", paths=results_in(results.parent))).fingerprint


@pytest.fixture
def view(fingerprint: str, results: Path) -> CellView:
    return cell_view(fingerprint, results, group="quick")


def test_a_view_says_what_the_cell_is(view: CellView, fingerprint: str) -> None:
    assert (view.id, view.group, view.name) == (fingerprint, "quick", "wdbc defaults")
    assert {"dataset=wdbc", "regime=semi25", "pretrain=scarf", "corruption=marginal", "method=control"} <= set(
        view.tags
    )
    assert not any(tag.startswith(("finetune", "cotrain")) for tag in view.tags)


def test_a_control_is_not_named_after_a_corruption(results: Path) -> None:
    control = PretrainSettings(name="none")
    store = finish(some_cell("pretrain=none", pretrain=control, paths=results_in(results.parent)))

    view = cell_view(store.fingerprint, results, group="quick", name="pretrain=none corruption=mean")

    assert view.name == "wdbc pretrain=none"
    assert not any(tag.startswith("corruption") for tag in view.tags)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (["dataset=csv", "dataset.path=a.csv", "sweeps=quick", "trials=5", "paths.results=elsewhere"], "mine defaults"),
        (["regime=full", "corruption.rate=0.3", "logger=wandb"], "mine regime=full corruption.rate=0.3"),
        (["pretrain=none", "corruption=mean", "loss.temperature=2", "seed=3"], "mine pretrain=none seed=3"),
        (["method=cotrain", "cotrain=scarf", "pretrain=none"], "mine method=cotrain cotrain=scarf pretrain=none"),
    ],
)
def test_a_name_has_what_was_asked_and_is_used(asked: list[str], name: str) -> None:
    options = ["regime", "pretrain", "seed", "method"]
    if "pretrain=none" not in asked:
        options += ["corruption", "corruption.rate"]
    if "method=cotrain" in asked:
        options += ["cotrain.task"]

    assert run_name("mine", asked, options) == name


def test_the_summary_is_the_mean_over_trials_and_leaves_out_what_is_not_defined(results: Path) -> None:
    cell = some_cell(paths=results_in(results.parent), trials=3)
    view = cell_view(finish(cell, auroc=float("nan"), finetune_best_epoch=2).fingerprint, results, group="cells")

    assert view.summary["accuracy"] == pytest.approx(0.51)
    _, low, high = mean_interval([0.5, 0.51, 0.52])
    assert (view.summary["accuracy_low"], view.summary["accuracy_high"]) == pytest.approx((low, high))
    assert view.summary["accuracy_std"] == pytest.approx(0.01)
    assert view.summary["log_loss_std"] == pytest.approx(0)
    assert view.summary["finetune_seconds"] == pytest.approx(3 * 0.25)
    assert view.summary["trials"] == 3
    assert "auroc" not in view.summary
    assert "validation_error" not in view.summary  # these curves have none


def test_the_validation_error_is_that_of_the_kept_weights(results: Path) -> None:
    cell = some_cell(paths=results_in(results.parent))
    store = finish(cell, trials=[])
    record = some_record([0, 1], finetune_best_epoch=1)
    curves = [curve | {"validation_error": curve["trial"] + curve["epoch"] / 10} for curve in record.curves]
    store.add(replace(record, curves=curves))

    assert cell_view(store.fingerprint, results, group="g").summary["validation_error"] == pytest.approx(0.6)


@pytest.mark.parametrize("per_trial", [pytest.param(False, marks=pytest.mark.slow), True])
def test_wandb_holds_what_the_view_says(per_trial: bool, view: CellView, results: Path) -> None:
    assert write_views(view, results, LoggerSettings(name="wandb", per_trial=per_trial)) == []

    (run,) = runs(results)
    assert (run.id, run.name, run.group, run.tags) == (view.id, view.name, view.group, view.tags)
    assert run.exit_code == 0
    assert {key: run.summary[key] for key in view.summary} == pytest.approx(view.summary)
    for phase, curves in mean_curves(view.curves, per_trial=per_trial).items():
        for curve in curves:
            assert run.curve(f"{phase}/{curve}") == pytest.approx(curves[curve].dropna().tolist())
    shown = table(results, run, "trials_table")
    assert shown["columns"] == list(view.trials.columns)
    assert [row[shown["columns"].index("accuracy")] for row in shown["data"]] == view.trials["accuracy"].tolist()


def test_event_files_hold_the_stores_own_values(view: CellView, results: Path) -> None:
    assert write_views(view, results, LoggerSettings(name="tensorboard", per_trial=True)) == []

    (folder,) = (results / "tensorboard" / "quick").iterdir()
    assert folder.name == f"wdbc_defaults_{view.id}"
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    read = {
        tag: {event.step: make_ndarray(event.tensor_proto).item() for event in events.Tensors(tag)}
        for tag in events.Tags()["tensors"]
        if not tag.endswith("text_summary")
    }
    stored = load_cell(view.config["fingerprint"], results)
    curves = stored.curves.set_index(["phase", "trial", "epoch"])["validation_loss"].sort_index()
    for phase in ("pretrain", "finetune"):
        for trial in (0, 1):
            assert read[f"{phase}/validation_loss_trial_{trial}"] == curves[phase, trial].to_dict()
        mean = curves[phase].groupby("epoch").mean()
        assert read[f"{phase}/validation_loss_mean"] == mean.to_dict()
    assert read["trials/accuracy"] == stored.trials.set_index("trial")["accuracy"].to_dict()
    assert read["summary/accuracy"] == {0: stored.trials["accuracy"].mean()}
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    given = HParamsPluginData.FromString(content).session_start_info.hparams
    assert given["seed"].number_value == 0
    assert given["fingerprint"].string_value == view.id


@pytest.mark.slow
def test_runs_of_one_process_never_merge_even_within_a_run_that_is_open(results: Path) -> None:
    cells = [some_cell(paths=results_in(results.parent), seed=seed) for seed in range(3)]
    views = [cell_view(finish(cell).fingerprint, results, group="cells") for cell in cells]

    with open_run(WandbSettings(), results, "outer", {"name": "outer", "group": "other"}) as outer:
        for view in views:
            write_views(view, results, WANDB)
        outer.log({"own": 1})

    found = {run.id: run for run in runs(results)}
    assert set(found) == {"outer", *(view.id for view in views)}
    assert found["outer"].history == [{"own": 1}]
    assert all(len(found[view.id].curve("pretrain/epoch")) == 2 for view in views)


@pytest.mark.slow
def test_a_view_that_is_written_again_replaces_the_old_one(view: CellView, results: Path) -> None:
    for _ in range(2):
        write_views(view, results, BOTH)

    assert [run.id for run in runs(results)] == [view.id]
    assert len(list((results / "tensorboard").glob("*/*/events*"))) == 1


def test_a_cell_that_has_grown_is_the_same_run(results: Path) -> None:
    cell = some_cell(paths=results_in(results.parent))
    for trials, day in (([0], "2026-01-01"), ([0, 1], "2026-01-02")):
        store = finish(cell, trials=trials)
        write_views(cell_view(store.fingerprint, results, group=f"cells {day}"), results, BOTH)

    (run,) = runs(results)
    assert (run.id, run.summary["trials"]) == (store.fingerprint, 2)
    assert [folder.parent.name for folder in (results / "tensorboard").glob("*/*")] == ["cells_2026-01-02"]


class FakeRun:
    """A run as `open_run` gives it; ``shown`` is what the server has of it."""

    def __init__(self, shown: dict[str, Any] | None = None) -> None:
        self.resumed, self.summary, self.logged = shown is not None, dict(shown or {}), list[dict[str, Any]]()

    def define_metric(self, *_: object, **__: object) -> None: ...

    def log(self, values: dict[str, Any]) -> None:
        self.logged.append(values)


@pytest.mark.parametrize(
    ("shown", "curve"),
    [(None, "finetune/epoch"), ({"trials": 2}, None), ({"trials": 1}, "finetune, 2 trials/epoch")],
)
def test_a_run_that_the_server_has_keeps_its_curves(
    shown: dict[str, Any] | None, curve: str | None, view: CellView, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = FakeRun(shown)
    monkeypatch.setattr("scarf_lightning.loggers.wandb_runs.open_run", lambda *_, **__: nullcontext(run))

    assert write_views(view, results, LoggerSettings(name="wandb", wandb=WandbSettings(mode="online"))) == []

    steps = [key for values in run.logged for key in values if key.startswith("finetune") and key.endswith("/epoch")]
    assert steps == ([] if curve is None else [curve] * 2)
    assert run.summary["accuracy"] == view.summary["accuracy"]


def test_a_failed_cell_is_a_failed_run_that_says_why(fingerprint: str, results: Path) -> None:
    view = cell_view(fingerprint, results, group="cells", failure="Traceback: diverged")

    assert write_views(view, results, BOTH) == []

    (run,) = runs(results)
    assert (run.exit_code, run.notes) == (1, "Traceback: diverged")


@pytest.mark.slow
def test_a_run_whose_block_raises_is_finished_and_failed(results: Path) -> None:
    with (
        pytest.raises(OSError, match="disk"),
        open_run(WandbSettings(), results, "broken", {"name": "broken", "group": "g"}),
    ):
        raise OSError("disk")

    assert [(run.id, run.exit_code) for run in runs(results)] == [("broken", 1)]


@pytest.mark.parametrize("logger", [LoggerSettings(), LoggerSettings(name="wandb", wandb=WandbSettings("disabled"))])
def test_what_is_turned_off_writes_nothing(logger: LoggerSettings, view: CellView, results: Path) -> None:
    before = sorted(results.rglob("*"))

    assert write_views(view, results, logger) == []

    assert sorted(results.rglob("*")) == before


def test_online_without_a_login_asks_nobody_and_is_named(view: CellView, results: Path) -> None:
    online = LoggerSettings(name="both", wandb=WandbSettings("online"))

    (problem,) = write_views(view, results, online)

    assert problem == (
        f"wdbc defaults ({view.id}) is not in W&B: nobody is logged in; run `wandb login`, or use "
        "logger.wandb.mode=offline."
    )
    assert runs(results) == []
    assert list((results / "tensorboard").glob("*/*/events*"))


def test_a_folder_that_cannot_be_written_is_named(view: CellView, results: Path) -> None:
    (results / "tensorboard").touch()
    (results / "wandb").touch()

    problems = write_views(view, results, BOTH)

    assert [problem.partition(":")[0] for problem in problems] == [
        f"{view.name} ({view.id}) is not in W&B",
        f"{view.name} ({view.id}) is not in TensorBoard",
    ]


def test_the_environment_is_left_as_it_was_but_for_the_address_of_wandbs_service(view: CellView, results: Path) -> None:
    before = dict(os.environ)

    write_views(view, results, WANDB)

    assert {name for name, value in os.environ.items() if before.get(name) != value} <= {"WANDB_SERVICE"}


class TestUpload:
    @pytest.fixture
    def report(self, tmp_path: Path) -> Path:
        folder = tmp_path / "report"
        (folder / "figures").mkdir(parents=True)
        figure = Figure()
        figure.subplots().plot([0, 1])
        figure.savefig(folder / "figures" / "wins.png")
        (folder / "gains.csv").write_text("method,gain\ncontrol,0.5\n")
        (folder / "index.html").write_text("<p>SCARF wins</p>")
        return folder

    def test_a_sweep_is_a_run_a_cell_and_one_of_its_report(self, report: Path, fingerprint: str, results: Path) -> None:
        cells = [fingerprint, "0" * 16]  # the other is not trained yet

        said: list[str] = []

        assert upload_sweep(results, cells, "my sweep", report, WANDB, {"metric": "auroc"}, said.append) == []

        assert said[:2] == ["1 of 1 cells: defaults", "the report"]
        assert said[2].endswith(f"send them by: wandb sync {results / 'wandb'}/offline-run-*")

        found = {run.id: run for run in runs(results)}
        assert set(found) == {fingerprint, "report-my-sweep"}
        assert {run.group for run in found.values()} == {"my sweep"}
        of_report: Any = found["report-my-sweep"]
        assert table(results, of_report, "tables/gains")["data"] == [["control", 0.5]]
        trials = table(results, of_report, "tables/trials")
        assert [row[trials["columns"].index("trial")] for row in trials["data"]] == [0, 1]
        assert of_report.config == {"metric": "auroc", "cells": [fingerprint]}
        (media,) = (results / "wandb").glob("offline-run-*-report-my-sweep/files/media")
        assert {path.suffix for path in media.rglob("*") if path.is_file()} == {".png", ".json", ".html"}
        assert of_report.exit_code == 0

    @pytest.mark.slow
    def test_a_report_that_cannot_be_written_is_named(self, report: Path, fingerprint: str, results: Path) -> None:
        (report / "gains.csv").write_bytes(b"\xff\xfe\x00")

        (problem,) = upload_sweep(results, [fingerprint], "quick", report, WANDB)

        assert problem.startswith("The report of quick is not in W&B: ")
        assert {run.id: run.exit_code for run in runs(results)} == {fingerprint: 0, "report-quick": 1}

    def test_what_is_turned_off_uploads_nothing(self, report: Path, fingerprint: str, results: Path) -> None:
        assert upload_sweep(results, [fingerprint], "quick", report, LoggerSettings()) == []

        assert not (results / "wandb").exists()


def test_numbers_of_numpy_do_not_keep_a_view_from_being_written(results: Path) -> None:
    store = finish(some_cell(paths=results_in(results.parent)), extra=np.float32(0.5))

    assert write_views(cell_view(store.fingerprint, results, group="g"), results, BOTH) == []
