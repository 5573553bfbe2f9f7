"""MLflow's runs, read back by its own client. `make mlflow` installs it; other environments skip these tests."""

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.loggers import write_views
from scarf_lightning.loggers.view import mean_curves
from scarf_lightning.options.run_settings import LoggerSettings, MlflowSettings
from tests.loggers.made_up import view_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of MLflow's about itself

IN_MLFLOW = LoggerSettings(mlflow=MlflowSettings(write=True))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="make mlflow installs it")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def of_mlflow() -> tuple[dict[str, str], int]:
    """What MLflow has of the environment, and how much it tells."""
    return {k: v for k, v in os.environ.items() if k.startswith("MLFLOW")}, logging.getLogger("mlflow").level


def client_of(results: Path) -> Any:
    import mlflow

    return mlflow.MlflowClient(f"sqlite:///{results}/mlflow/mlflow.db")


def runs(client: Any, experiment: str = "scarf-lightning") -> list[Any]:
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id]))


def test_mlflow_holds_the_stores_values_and_a_cell_that_has_grown_has_one_run(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = of_mlflow()
    for trials in ([0], [0, 1]):
        view = view_of(results, trials)
        assert write_views(view, results, IN_MLFLOW) == []
    assert (of_mlflow(), capfd.readouterr()) == (before, ("", ""))
    client = client_of(results)
    (run,) = runs(client)
    assert (run.info.run_name, run.info.status) == (view.name, "FINISHED")
    assert run.data.tags.items() >= {"fingerprint": view.id, "group": "quick", "dataset": "wdbc"}.items()
    assert run.data.params["fingerprint"] == view.id
    for phase, curves in mean_curves(view.curves, per_trial=False).items():
        for curve in curves:
            points = client.get_metric_history(run.info.run_id, f"{phase}/{curve}")
            assert {point.step: point.value for point in points} == curves[curve].dropna().to_dict()
    trials = client.get_metric_history(run.info.run_id, "trials/accuracy")
    assert {point.step: point.value for point in trials} == view.trials.set_index("trial")["accuracy"].to_dict()
    assert {name: run.data.metrics[f"summary/{name}"] for name in view.summary} == view.summary
    assert not Path("mlruns").exists()


def test_mlflow_shows_why_a_cell_failed(results: Path) -> None:
    view = replace(view_of(results), failure="Traceback" + "." * 9000 + "diverged")
    settings = LoggerSettings(mlflow=MlflowSettings(experiment="mine", write=True))
    assert write_views(view, results, settings) == []
    (run,) = runs(client_of(results), "mine")
    assert run.info.status == "FAILED"
    assert run.data.tags["mlflow.note.content"].endswith(".diverged")


def test_mlflow_takes_the_address_that_is_given(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    for name, uri in (("option", f"sqlite:///{results}/a.db"), ("variable", f"sqlite:///{results}/b.db")):
        given = MlflowSettings(tracking_uri=uri if name == "option" else None, write=True)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri if name == "variable" else "sqlite:////nowhere/else.db")
        assert write_views(view_of(results), results, LoggerSettings(mlflow=given)) == []
        assert len(runs(mlflow.MlflowClient(uri))) == 1
    assert not (results / "mlflow").exists()


def write_cell(results: Path, seed: int) -> list[str]:
    return write_views(view_of(results, seed=seed), results, IN_MLFLOW)


def test_mlflow_takes_the_runs_of_several_processes_that_begin_with_its_database(results: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        problems = list(pool.map(write_cell, [results] * 4, range(4)))
    assert problems == [[]] * 4
    assert len(runs(client_of(results))) == 4
