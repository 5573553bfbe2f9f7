"""Views of made-up cells, written in this process."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.loggers import CellView, cell_view, write_views
from scarf_lightning.loggers.view import mean_curves, run_name
from scarf_lightning.loggers.wandb_runs import open_run
from scarf_lightning.options.settings import LoggerSettings, PretrainSettings, WandbSettings
from tests.cells import some_record
from tests.loggers.made_up import OPEN_RUN, FakeRun, finished, view_of
from tests.loggers.wandb_files import runs, table

CSV = {"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}}
WRITTEN, ONLINE = WandbSettings(write=True), WandbSettings("online", write=True)
BOTH, WANDB = LoggerSettings(wandb=WRITTEN, others=CSV), LoggerSettings(wandb=WRITTEN)


@pytest.fixture
def view(results: Path) -> CellView:
    return view_of(results)


def test_a_view_says_what_the_cell_is(view: CellView, results: Path) -> None:
    assert (view.id, view.group, view.name) == (view.config["fingerprint"], "quick", "wdbc defaults")
    control = finished(results, "pretrain=none", pretrain=PretrainSettings(name="none")).fingerprint
    assert cell_view(control, results, group="quick", name="pretrain=none").name == "wdbc pretrain=none"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["dataset=csv", "dataset.path=a.csv", "sweeps=quick", "trials=5", "paths.results=elsewhere"], "mine defaults"),
        (["regime=full", "corruption.rate=0.3", "logger=wandb"], "mine regime=full corruption.rate=0.3"),
        (["method=cotrain", "cotrain=scarf", "pretrain=none"], "mine method=cotrain cotrain=scarf pretrain=none"),
    ],
)
def test_a_name_has_the_command_line(arguments: list[str], name: str) -> None:
    assert run_name("mine", arguments) == name


def test_the_validation_error_is_that_of_the_kept_weights(results: Path) -> None:
    store, record = finished(results, trials=[]), some_record([0, 1], finetune_best_epoch=1)
    curves = [curve | {"validation_error": curve["trial"] + curve["epoch"] / 10} for curve in record.curves]
    store.add(replace(record, curves=curves))
    assert cell_view(store.fingerprint, results, group="g").summary["validation_error"] == pytest.approx(0.6)


@pytest.mark.slow
def test_wandb_holds_what_the_view_says_also_of_a_cell_that_has_grown(results: Path) -> None:
    """It is the same run; numbers of NumPy do not keep it from being written, and the environment is left alone."""
    before = dict(os.environ)
    for trials, day in (([0], "2026-01-01"), ([0, 1], "2026-01-02")):
        store = finished(results, trials=trials, values={"extra": np.float32(0.5)})
        view = cell_view(store.fingerprint, results, group=f"cells {day}")
        assert write_views(view, results, BOTH) == []
    changed = {name for name, value in os.environ.items() if before.get(name) != value}
    assert changed <= {"WANDB_SERVICE", "WANDB_ERROR_REPORTING"}, "the address of W&B's own process"
    (run,) = runs(results)
    assert (run.id, run.name, run.group) == (view.id, view.name, view.group)
    assert (run.exit_code, run.summary["trials"]) == (0, 2)
    assert {key: run.summary[key] for key in view.summary} == pytest.approx(view.summary)
    for phase, curves in mean_curves(view.curves).items():
        for curve in curves:
            assert run.curve(f"{phase}/{curve}") == pytest.approx(curves[curve].dropna().tolist())
    shown = table(results, run, "trials_table")
    assert shown["columns"] == list(view.trials.columns)
    assert [row[shown["columns"].index("accuracy")] for row in shown["data"]] == view.trials["accuracy"].tolist()


@pytest.mark.slow
def test_runs_of_one_process_never_merge_even_within_a_run_that_is_open_or_fails(results: Path) -> None:
    views = [cell_view(finished(results, seed=seed).fingerprint, results, group="cells") for seed in range(2)]
    views[1] = replace(views[1], failure="Traceback: diverged")
    with open_run(WandbSettings(), results, "outer", {"name": "outer", "group": "other"}) as outer:
        for view in (*views, views[0]):  # the later view replaces the earlier one
            assert write_views(view, results, WANDB) == []
        outer.experiment.log({"own": 1})
    with (
        pytest.raises(OSError, match="disk"),
        open_run(WandbSettings(), results, "broken", {"name": "b", "group": "g"}),
    ):
        raise OSError("disk")
    found = {run.id: run for run in runs(results)}
    assert len(found) == len(runs(results)) == 4
    assert found["outer"].history == [{"own": 1}]
    assert all(len(found[view.id].curve("pretrain/validation_loss_mean")) == 2 for view in views)
    assert [found[id].exit_code for id in ("outer", views[0].id, views[1].id, "broken")] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("shown", "failure", "place"),
    [
        ({"trials": 2}, None, None),
        ({"trials": 1}, None, "2 trials/finetune/"),
        (None, "Traceback: diverged", "finetune/"),
    ],
)
@pytest.mark.slow
def test_a_run_that_the_server_has_keeps_its_curves_and_a_failed_one_says_why(
    shown: Any, failure: str | None, place: str | None, view: CellView, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = FakeRun(shown)
    monkeypatch.setattr(OPEN_RUN, run.opened)
    online = LoggerSettings(wandb=ONLINE)
    assert write_views(replace(view, failure=failure), results, online) == []
    described = (run.fields["id"], run.fields["name"], run.fields["group"], run.config)
    assert described == (view.id, view.name, view.group, view.config)
    drawn = [each for each in run.logged if any("finetune/" in key for key in each)]
    losses = mean_curves(view.curves)["finetune"]["validation_loss_mean"].tolist()
    expected = [] if place is None else losses
    assert [each[f"{place}validation_loss_mean"] for each in drawn] == pytest.approx(expected)
    assert {name: run.summary[name] for name in view.summary} == view.summary
    assert (run.fields["failed"], run.fields.get("notes")) == (failure is not None, failure)


@pytest.mark.parametrize("logger", [LoggerSettings(), LoggerSettings(wandb=WandbSettings("disabled", write=True))])
def test_what_is_turned_off_writes_nothing(logger: LoggerSettings, view: CellView, results: Path) -> None:
    before = sorted(results.rglob("*"))
    assert write_views(view, results, logger) == []
    assert sorted(results.rglob("*")) == before


@pytest.mark.slow
def test_online_without_a_login_is_named_and_keeps_no_other_from_being_written(view: CellView, results: Path) -> None:
    (problem,) = write_views(view, results, replace(BOTH, wandb=ONLINE))
    assert problem.startswith(f"wdbc defaults ({view.id}) is not in wandb: nobody is logged in; run `wandb login`")
    assert runs(results) == []
    assert list((results / "csv").glob("*/*/metrics.csv"))
