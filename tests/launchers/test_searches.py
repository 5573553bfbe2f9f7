"""`train.py hydra/sweeper=optuna`: a study that outlives killed processes, and that two processes share."""

import re
import signal
import time
from pathlib import Path

import pytest

from scarf_lightning.results import load
from scarf_lightning.results.files import UNFINISHED
from tests.processes import TINY, ended, in_the_way, started, train

optuna = pytest.importorskip("optuna", minversion="4")

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

SEARCH = (
    "hydra/sweeper=optuna",
    "hydra.sweeper.study_name=mine",
    "corruption.rate=interval(0.2,0.8)",
    "trials=2",
    *TINY,
)
DATABASE = "hydra.sweeper.storage=sqlite:///study.db"


def study_of(folder: Path) -> "optuna.Study":
    return optuna.load_study(study_name="mine", storage=f"sqlite:///{folder / 'study.db'}")


def test_a_killed_search_goes_on_and_finds_the_best_of_the_store(tmp_path: Path) -> None:
    asked = (*SEARCH, DATABASE, "hydra.sweeper.n_trials=4")
    with started(*asked, cwd=tmp_path) as killed:
        # The cell of its first try, which has its options by now.
        while not list(tmp_path.glob("results/*/claim")):
            assert killed.poll() is None
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        ended(killed)

    with started(*asked, cwd=tmp_path) as one, started(*asked, cwd=tmp_path) as other:
        ran = [ended(one), ended(other)]

    assert [each.returncode for each in ran] == [0, 0], ran
    study = study_of(tmp_path)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 4, "none is left running"
    tries = [set(re.findall(r"^Try (\d): ", each.stderr, re.MULTILINE)) for each in ran]
    assert set.union(*tries) == {"0", "1", "2", "3"}
    assert set.intersection(*tries) == set()
    errors = study.trials_dataframe().set_index("params_corruption.rate")["value"]
    assert set(errors.index) == set(load(tmp_path / "results")["corruption.rate"])
    best = errors.idxmin()
    for each in ran:
        lines = each.stdout.splitlines()
        assert lines[1].split() == [str(study.best_trial.number), f"{errors.min():.4f}", str(best)]
        assert lines[-3].endswith(f"trainer.accelerator=cpu corruption.rate={best}")
    # A process that is killed at once may leave what it was writing, which a run takes away after an hour.
    left = [name for name in in_the_way(tmp_path / "results") if UNFINISHED not in name]
    assert left == []
    assert not (tmp_path / "results" / "optuna").exists(), "claims of tries are taken away"


def test_the_command_of_the_best_shows_its_cell_which_is_finished(tmp_path: Path) -> None:
    ran = train(*SEARCH, "hydra.sweeper.n_trials=2", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    command = ran.stdout.splitlines()[-3].partition("train.py ")[2]

    shown = train(*command.split(), cwd=tmp_path)

    assert "(finished already)" in " ".join(shown.stdout.split())


@pytest.mark.parametrize("together", [["workers=2"], ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]])
def test_tries_train_together_by_workers_and_launchers(together: list[str], tmp_path: Path) -> None:
    batch = ["hydra.sweeper.n_jobs=2", "hydra.sweeper.n_trials=2", "objective=accuracy"]

    ran = train(*SEARCH, *batch, *together, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    accuracy = load(tmp_path / "results").groupby("corruption.rate")["accuracy"].mean()
    assert len(accuracy) == 2
    assert ran.stdout.splitlines()[1].split()[1] == f"{accuracy.max():.4f}"
