"""`train.py` under what is Hydra's and not ours: its mode RUN, its sweepers, a user's callback."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from scarf_lightning.results import load
from tests.processes import TINY, train

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

CALLBACK = """
import json
from pathlib import Path

from hydra.experimental.callback import Callback


class Notes(Callback):
    def on_job_start(self, config, **kwargs):
        note = {"corruption": config.corruption.name, "rate": config.corruption.rate, "trials": config.trials}
        Path("started.json").write_text(json.dumps(note))

    def on_job_end(self, config, job_return, **kwargs):
        Path("ended.json").write_text(json.dumps({"returned": job_return.return_value}))
"""


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [["hydra.mode=RUN"], ["hydra/sweeper=basic"]], ids=["run", "basic"])
def test_a_callback_sees_the_cell_that_its_job_trains(
    mode: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_callback.py").write_text(CALLBACK)
    arguments = [
        "+hydra.callbacks.notes._target_=my_callback.Notes",
        "corruption=mean",
        "corruption.rate=0.3",
        "trials=1",
    ]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    ran = train(*mode, *arguments, *TINY, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    (row,) = load(tmp_path / "results").to_dict("records")
    started = json.loads((tmp_path / "started.json").read_text())
    assert started == {"corruption": row["corruption"], "rate": row["corruption.rate"], "trials": 1}
    returned = json.loads((tmp_path / "ended.json").read_text())["returned"]
    assert 0 <= returned <= 1  # the validation error
    assert left(tmp_path) == sorted(["ended.json", "my_callback.py", "results", "started.json", *caches(tmp_path)])


def caches(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("__pycache__")]


def test_a_cell_that_fails_fails_the_job(tmp_path: Path) -> None:
    ran = train("hydra.mode=RUN", "dataset=csv", "dataset.path=none.csv", "dataset.target=a", *TINY, cwd=tmp_path)

    assert ran.returncode == 2
    assert "none.csv" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["hydra.mode=RUN", "objective=foo"],
            "objective=foo is unknown. The objectives are: validation_error, accuracy, ",
        ),
        (["hydra.mode=RUN", "sweeps=quick"], "This run has 2 cells or more, and max_cells=1;"),
        (
            ["hydra.mode=RUN", "corruption.rate=0.1", "pretrain=none"],
            "corruption.rate is set, but no cell of this run ",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    ran = train(*arguments, cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].startswith(sentence)
    assert left(tmp_path) in ([], ["a"])


def test_hydras_log_and_its_own_folder_are_where_it_is_told(tmp_path: Path) -> None:
    own = ("hydra/launcher=joblib", "hydra/job_logging=default", "hydra.sweep.dir=logs")
    ran = train(*own, "trials=1", *TINY, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert left(tmp_path) == ["logs", "results"]
    assert left(tmp_path / "logs") == ["train.log"]


def test_optuna_tries_cells_and_its_study_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    arguments = [
        "hydra/sweeper=optuna", "hydra.sweeper.n_trials=3", "hydra.sweeper.n_jobs=1", "hydra.sweeper.study_name=mine",
        "hydra.sweeper.storage=sqlite:///study.db", "corruption.rate=interval(0.1,0.9)", "trials=1",
    ]  # fmt: skip

    first = train(*arguments, *TINY, cwd=tmp_path)
    again = train(*arguments, *TINY, cwd=tmp_path)

    assert (first.returncode, again.returncode) == (0, 0), (first.stderr, again.stderr)
    rates = load(tmp_path / "results")["corruption.rate"]
    assert rates.nunique() == 6
    assert rates.between(0.1, 0.9).all()
    with closing(sqlite3.connect(tmp_path / "study.db")) as study:
        tried = dict(study.execute("SELECT param_value, value FROM trial_params JOIN trial_values USING (trial_id)"))
    assert set(tried) == set(rates)
    best = OmegaConf.load(tmp_path / "optimization_results.yaml")
    assert tried[best.best_params["corruption.rate"]] == best.best_value == min(tried.values())


def test_one_seed_asks_for_the_same_cells_and_a_metric_is_the_objective(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    arguments = [
        "hydra/sweeper=optuna", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1", "hydra.sweeper.sampler.seed=1",
        "hydra.sweeper.direction=maximize", "objective=auroc", "corruption.rate=interval(0.1,0.9)", "trials=1",
    ]  # fmt: skip

    train(*arguments, *TINY, cwd=tmp_path)
    again = train(*arguments, *TINY, cwd=tmp_path)

    assert again.returncode == 0, again.stderr
    trials = load(tmp_path / "results")
    assert len(trials) == 2
    assert OmegaConf.load(tmp_path / "optimization_results.yaml").best_value == trials["auroc"].max()


def test_another_sweeper_is_told_that_no_row_validates(tmp_path: Path) -> None:
    ran = train("hydra/sweeper=basic", "method=logistic", "pretrain=none", "trials=1", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].startswith("objective=validation_error has no value with method=logistic and ")
    assert left(tmp_path) == []
