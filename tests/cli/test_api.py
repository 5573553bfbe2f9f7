"""The front door in Python: what it trains, gives back and refuses, and what it leaves of Hydra."""

import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

import scarf_lightning
from scarf_lightning import UnfinishedError, UsageError
from scarf_lightning.cli import api as module
from scarf_lightning.cli import commands
from scarf_lightning.reporting import drawings
from scarf_lightning.sweeping.compose import OF_TODAY
from scarf_lightning.sweeping.expand import ExpandedSweep
from tests.composing import composer_once
from tests.processes import TINY, here
from tests.storing import one_overflows

Patch = pytest.MonkeyPatch
Shown = pytest.CaptureFixture[str]
Trained = tuple[Path, pd.DataFrame]

TWO = ("corruption=mean,marginal", "trials=2", *TINY)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A folder in which two cells were trained silently, and the frame of their trials. Nobody changes it."""
    cwd, said = tmp_path_factory.mktemp("trained"), StringIO()
    with chdir(cwd), redirect_stdout(said), redirect_stderr(said):
        trials = scarf_lightning.run(TWO, verbose=False)
    assert said.getvalue() == ""
    return cwd, trials


@pytest.mark.slow
def test_the_trials_come_back_a_row_each_and_are_not_trained_again(trained: Trained, monkeypatch: Patch) -> None:
    cwd, trials = trained
    rows = [[corruption, trial] for corruption in ("mean", "marginal") for trial in (0, 1)]
    assert trials[["corruption", "trial"]].values.tolist() == rows
    assert trials["accuracy"].between(0, 1).all()
    assert [path.name for path in cwd.iterdir()] == ["results"]
    monkeypatch.setattr("scarf_lightning.training.cell_loop.CellLoop.train_cell", None)

    # They are those that train.py leaves.
    ran = here(commands.train, "-m", *TWO, cwd=cwd)

    assert ran.returncode == 0, ran.stderr
    assert "2 of 2 cells were finished already." in ran.stdout
    order = ["fingerprint", "trial"]
    kept = scarf_lightning.load(cwd / "results").sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(kept, trials.sort_values(order, ignore_index=True), check_like=True)


def test_a_program_of_hydras_own_may_ask_for_some_of_them(
    trained: Trained, tmp_path: Path, monkeypatch: Patch, capsys: Shown
) -> None:
    monkeypatch.chdir(trained[0])
    monkeypatch.setattr("scarf_lightning.training.cell_loop.CellLoop.train_cell", None)
    (tmp_path / "theirs.yaml").write_text("answer: 42\n")

    with initialize_config_dir(str(tmp_path), **OF_TODAY):
        theirs = GlobalHydra.instance().hydra
        one_trial = scarf_lightning.run("corruption=mean", "trials=1", *TINY)
        assert GlobalHydra.instance().hydra is theirs
        assert compose("theirs").answer == 42

    assert one_trial[["corruption", "trial"]].values.tolist() == [["mean", 0]]
    assert "(finished already)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_plan_says_what_there_is_to_do(trained: Trained, monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "Composer", composer_once)
    monkeypatch.chdir(trained[0])

    plan = scarf_lightning.plan(["corruption=mean,zero", "method=control,mixup", "trials=2", *TINY])

    assert plan["state"].tolist() == ["finished", "waiting", "waiting", "waiting"]
    assert plan["missing"].tolist() == [0, 2, 2, 2]
    finished, pretrained, *others = plan["core_hours"]
    assert finished == 0
    assert others[0] == others[1] > 0, "two share a pre-training"
    assert pretrained > 0


@pytest.mark.slow
def test_the_report_is_written_and_says_what_it_says(trained: Trained, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    assert drawings  # importing a part of the package `report` leaves the function where it was

    written = scarf_lightning.report(results=trained[0] / "results", metric="auroc", out="page")

    assert written.index == Path("page/index.html")
    html = written.index.read_text(encoding="utf-8")
    assert f"python report.py results={trained[0] / 'results'} metric=auroc out=page" in html
    assert any("AUROC" in sentence for sentence in written.answer)
    assert str(written).splitlines()[-1] == f"The report is {tmp_path / 'page' / 'index.html'}"
    assert repr(written) == str(written), "a notebook shows it as a command prints it"


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """A folder with a table ``mine``, as ``--config-dir`` takes it."""
    file = tmp_path / "conf/dataset/mine.yaml"
    file.parent.mkdir(parents=True)
    table = tmp_path / "mine.csv"
    table.write_text("x,y\n" + "\n".join(f"{n % 9},{'ab'[n % 2]}" for n in range(60)))
    file.write_text(f"source: csv\npath: {table}\ntarget: y\nname: mine\n")
    return tmp_path / "conf"


@pytest.mark.slow
def test_a_folder_of_the_users_is_read(config_dir: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    """It may have the name of an option."""
    monkeypatch.chdir(tmp_path)
    (config_dir / "sweeps").mkdir()
    (config_dir / "sweeps/x.yaml").write_text("title: x\ncells:\n  - dataset: [mine, wdbc]\n    pretrain: none\n")

    begun: list[ExpandedSweep] = []
    monkeypatch.setattr("scarf_lightning.cli.show.Terminal.begin", lambda show, request: begun.append(request))

    plan = scarf_lightning.plan("sweeps=conf/sweeps/x.yaml", config_dir="conf")
    trials = scarf_lightning.run("dataset=mine", *TINY, "trials=1", verbose=False, config_dir=config_dir)

    assert plan["dataset"].tolist() == ["mine", "wdbc"]
    assert trials["dataset"].tolist() == ["mine"]
    assert begun[0].arguments[:2] == [f"--config-dir={config_dir}", "dataset=mine"], "the command finds its options"
    with pytest.raises(UsageError, match=r"^dataset=mine is not an option. "):
        scarf_lightning.plan("dataset=mine")


@pytest.mark.parametrize(
    ("sweep", "sentence"),
    [
        (["corruption=foo"], "corruption=foo is not an option. The options of corruption are: "),
        ("unheard", "sweeps=unheard: there is no such file. The sweeps are: "),
        ([2], "sweeps=2: there is no such file. "),
        (["plan=true"], "plan=true is not for scarf_lightning.run: use scarf_lightning.plan."),
        (["hydra.mode=RUN"], "hydra.mode=RUN is not for scarf_lightning.run: train.py takes it."),
        (["hydra/sweeper=basic"], "hydra/sweeper=basic is not for scarf_lightning.run: train.py takes it."),
    ],
)
def test_what_is_wrong_is_a_sentence(sweep: Any, sentence: str, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as caught:
        scarf_lightning.run(sweep)

    assert str(caught.value).startswith(sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_cell_that_fails_stops_no_other_and_is_raised_in_the_end(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "Composer", composer_once)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnfinishedError, match="scaling=zscore"):
        scarf_lightning.run(
            one_overflows(tmp_path), "method=logistic", "pretrain=none", "trials=1", "trainer.accelerator=cpu"
        )

    assert scarf_lightning.load()["scaling"].tolist() == ["minmax"]


def test_importing_the_package_imports_nothing_heavy_and_sets_the_rounding() -> None:
    code = "import sys, os, scarf_lightning; print(os.environ['MKL_CBWR'], *sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={})

    rounding, *imported = ran.stdout.split()
    assert rounding == "AUTO"
    assert not set(imported) & {"torch", "numpy", "pandas", "hydra", "omegaconf", "rich"}


@pytest.mark.slow
def test_help_and_refused_names_do_without_torch(tmp_path: Path) -> None:
    """It takes more than a second of processor time to import, and scipy.stats half a second."""
    code = (
        "import os, sys\n"
        "from scarf_lightning.cli import commands\n"
        "sys.argv[1:] = ['--help']\n"
        "assert commands.train() == 0\n"
        "os.environ.pop('HYDRA_FULL_ERROR', None)\n"  # the last command sets it
        "assert commands.report(['results=nowhere']) == 2\n"
        "assert not {'torch', 'pytorch_lightning', 'sklearn', 'scipy.stats'} & set(sys.modules)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
