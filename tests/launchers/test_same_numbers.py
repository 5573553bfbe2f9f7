"""One sweep by every launcher that works on one machine, and its cells one by one: the same numbers."""

from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.results import load
from tests.composing import ROOT
from tests.processes import TIMES, TINY, TINY_CONTROL, assert_equal_rows, in_the_way, train
from tests.storing import one_overflows

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

NARROWED = ["sweeps=quick", "trials=2", "regime=full,semi25", "method=control", "corruption.rate=0.4,0.6", *TINY]
"""Of `sweeps/quick.yaml`; pre-trainings are shared by the two regimes."""
CELLS = [
    ["pretrain=none"],
    *(["pretrain=scarf", f"corruption.rate={rate}"] for rate in (0.4, 0.6)),
    *(["pretrain=scarf_ae", f"corruption.rate={rate}"] for rate in (0.4, 0.6)),
]
N_CELLS = 2 * len(CELLS)


@pytest.fixture(scope="module")
def singly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run of `train.py` for each of four cells."""
    cwd = tmp_path_factory.mktemp("singly")
    for cell, tiny in ((CELLS[0], TINY_CONTROL), (CELLS[2], TINY)):
        for regime in ("full", "semi25"):
            ran = train("trials=2", f"regime={regime}", *cell, *tiny, cwd=cwd)
            assert (ran.returncode, ran.stderr) == (0, "")
    return cwd / "results"


@pytest.fixture(scope="module")
def basic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the sweep, without a launcher of its own."""
    cwd = tmp_path_factory.mktemp("basic")
    ran = train(*NARROWED, "workers=1", cwd=cwd, minutes=4)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"{N_CELLS} cells of ")
    assert in_the_way(cwd / "results") == []
    return cwd / "results"


def test_one_after_the_other_gives_what_each_gives_by_itself(basic: Path, singly: Path) -> None:
    found, expected = load(basic), load(singly)
    common = found[found["fingerprint"].isin(expected["fingerprint"])].reset_index(drop=True)

    assert found["fingerprint"].nunique() == N_CELLS
    assert expected["fingerprint"].nunique() == 4
    pd.testing.assert_frame_equal(
        common.drop(columns=TIMES), expected[list(common.columns)].drop(columns=TIMES), check_exact=True
    )


@pytest.mark.parametrize("option", ["workers=2", "hydra/launcher=joblib"])
def test_every_launcher_gives_the_same(option: str, basic: Path, tmp_path: Path) -> None:
    ran = train(*NARROWED, option, cwd=tmp_path, minutes=6)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{N_CELLS} cells of ")
    assert "not finished" not in ran.stdout
    assert_equal_rows(tmp_path / "results", basic)
    assert in_the_way(tmp_path / "results") == []
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_cell_that_fails_is_told_by_a_launcher_with_processes_of_its_own(tmp_path: Path) -> None:
    arguments = ["-m", *one_overflows(tmp_path), "pretrain=none", "trials=1", "hydra/launcher=joblib", *TINY_CONTROL]

    ran = train(*arguments, cwd=tmp_path, minutes=4)

    assert ran.returncode == 1
    assert ran.stderr.count("The numbers of column 'huge' are too large") == 1
    assert load(tmp_path / "results")["scaling"].tolist() == ["minmax"]


@pytest.mark.parametrize("launcher", ["basic", "joblib", "slurm"])
def test_planning_starts_no_job_and_needs_no_scheduler(launcher: str, tmp_path: Path) -> None:
    ran = train(*NARROWED, "plan=true", f"hydra/launcher={launcher}", cwd=tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"{N_CELLS} cells: {N_CELLS} waiting;" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_scheduler_slurm_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = train("trials=1", "pretrain=none", "hydra/launcher=slurm", *TINY_CONTROL, cwd=tmp_path)

    said = (
        "hydra/launcher=slurm needs Slurm's programs, and there is no squeue here; run this on a login node, or leave "
    )
    assert (ran.returncode, ran.stderr) == (2, f"{said}hydra/launcher out.\n")
    # The launchers of the presets are those that are tried here.
    presets = sorted(path.stem for path in (ROOT / "conf" / "hydra" / "launcher").glob("*.yaml"))
    assert presets == ["joblib", "slurm"]
