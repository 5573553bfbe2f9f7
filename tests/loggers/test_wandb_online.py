"""`logger.wandb.mode=online` against a server on the loopback, through W&B's own client."""

import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli import commands
from scarf_lightning.loggers import live, wandb_runs
from scarf_lightning.results import load, load_cell
from tests.loggers.wandb_files import Run, said
from tests.loggers.wandb_server import WandbServer, wandb_server
from tests.processes import TINY, Process, here

pytestmark = pytest.mark.slow

ONLINE = (*TINY, "logger=wandb", "logger.wandb.mode=online")


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A client of its own that has a key and does not keep rows for long; its process ends with the test."""
    import wandb  # here, since all tests of the module are slow ones, and the fast ones are collected with it

    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB__FILE_STREAM_TRANSMIT_INTERVAL", "1")
    wandb.teardown()
    yield
    wandb.teardown()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        yield server
        assert server.unknown == []


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Process]:
    return lambda *overrides: here(commands.train, *ONLINE, *overrides, cwd=tmp_path)


def only(server: WandbServer) -> Run:
    (run,) = server.runs.values()
    return run


def axes(run: Run) -> dict[str, str]:
    """What curves are drawn over, as W&B writes it in the configuration."""
    metrics = run.config["_wandb"]["m"]
    return {metric["2"]: metrics[metric["5"] - 1]["1"] for metric in metrics if "2" in metric}


def test_a_cell_is_one_run_whose_curves_come_while_it_trains(
    server: WandbServer, train: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell, came = live.tell, list[Any]()

    def tell_and_wait(logger: Any, *epoch: Any) -> None:
        tell(logger, *epoch)
        came.append(epoch)
        server.wait_for(lambda: bool(server.runs) and len(only(server).history) == len(came))
        assert only(server).exit_code is None

    monkeypatch.setattr(live, "tell", tell_and_wait)
    ran = train("trials=2", "corruption=mean")
    assert ran.returncode == 0
    run, rows = only(server), load(tmp_path / "results")
    cell = load_cell(run.id, tmp_path / "results")
    assert [phase for phase, _ in came] == ["pretrain", "pretrain", "finetune", "finetune"]
    for phase in ("pretrain", "finetune"):
        means = cell.curves[cell.curves["phase"] == phase].groupby("epoch")["validation_loss"].mean()
        assert run.curve(f"live/{phase}/validation_loss") == pytest.approx(means.tolist(), rel=1e-15)
        assert run.curve(f"{phase}/validation_loss_mean") == pytest.approx(means.tolist(), rel=1e-15)
    assert run.curve("epoch") == [1, 2] * 4
    assert axes(run) == {"*": "epoch"}
    assert rows["fingerprint"].unique().tolist() == [run.id]
    assert (run.exit_code, run.group) == (0, f"cells {date.today().isoformat()}")
    assert run.name.startswith("wdbc ")
    assert len(run.name) <= wandb_runs.LONGEST_NAME
    for section in ("dataset", "network", "corruption", "finetune"):
        # W&B keeps no empty dictionary.
        assert run.config[section] == {name: value for name, value in cell.config[section].items() if value != {}}
    for metric in ("accuracy", "auroc", "log_loss"):
        assert run.summary[metric] == pytest.approx(rows[metric].mean(), rel=1e-15)


def test_more_trials_of_a_cell_go_on_in_its_run(
    server: WandbServer, train: Callable[..., Process], tmp_path: Path
) -> None:
    train("trials=2")
    before = list(only(server).history)
    ran = train("trials=3")
    assert (ran.returncode, said(ran)) == (0, [])
    run, rows = only(server), load(tmp_path / "results")
    assert server.opened == [run.id] * 4  # while it trains and when it has ended, twice
    assert run.history[: len(before)] == before
    assert run.curve("_step") == list(range(len(run.history)))
    assert run.curve("live/pretrain/trials_training") == [2, 2, 1, 1]
    assert run.curve("pretrain/trials_training") == [2, 2]
    assert run.curve("3 trials/pretrain/trials_training") == [3, 3]
    assert axes(run) == {"*": "epoch"}
    assert (run.summary["trials"], run.config["trials"]) == (3, 3)
    assert run.summary["accuracy"] == pytest.approx(rows["accuracy"].mean(), rel=1e-15)


@pytest.mark.parametrize("status", [401, 500, None], ids=["refuses the key", "fails", "is gone"])
def test_training_is_kept_and_one_sentence_said_where_the_server(
    status: int | None,
    server: WandbServer,
    train: Callable[..., Process],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WANDB_HTTP_TIMEOUT", "1")
    if status is None:
        server.shutdown()
        server.server_close()
    else:
        server.refuses = (status, "/")
    ran = train("trials=1")
    assert ran.returncode == 0
    assert said(ran)[0].startswith(f"wdbc {' '.join(TINY[:-1])} (")
    assert " is not in W&B: Failed to authenticate with " in ran.stderr
    assert ran.stderr.endswith(" has all that it shows.\n")
    assert len(said(ran)) == 1
    assert (len(load(tmp_path / "results")), server.runs) == (1, {})


def test_a_sweep_has_one_workspace_with_panels_by_axis(
    server: WandbServer, train: Callable[..., Process], tmp_path: Path
) -> None:
    """Its panels are those of the client's own format, and more trials change the workspace that is there."""
    for trials in (3, 4):
        ran = train(f"trials={trials}", "corruption=mean,marginal", "pretrain.max_epochs=1,2")
        assert ran.returncode == 0, ran.stderr
    (view,) = server.views.values()
    (group,) = {run.group for run in server.runs.values()}
    assert view["displayName"] == group
    section = json.loads(view["spec"])["section"]
    (shown,) = section["runSets"]
    (wanted,) = shown["filters"]["filters"]
    assert (wanted["key"]["name"], wanted["op"], wanted["value"]) == ("group", "=", group)
    sections = {each["name"]: each["panels"] for each in section["panelBankConfig"]["sections"]}
    assert list(sections) == ["The answer", "By corruption", "By pretrain.max_epochs"]
    cells = [run for run in server.runs.values() if server.jobs[run.id] == "cell"]
    assert len(cells) == 4
    for panel in [*sections["By corruption"], *sections["By pretrain.max_epochs"]]:
        config = panel["config"]
        assert (config["groupAgg"], config["groupArea"]) == ("mean", "stddev")
        for run in cells:
            of_axis, _, option = config["groupBy"].partition(".value.")
            assert option in run.config[of_axis], "panels are grouped by what runs do not have"
            logged = {key for row in run.history for key in row} | set(run.summary)
            assert {*config["metrics"], config.get("xAxis", "accuracy")} <= logged
    assert [panel["viewType"] for panel in sections["The answer"]] == ["Weave", "Weave", "Media Browser"]
