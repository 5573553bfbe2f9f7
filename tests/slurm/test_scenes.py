"""What happens to a sweep on a real Slurm. In every scene all records come to be, equal to those of a calm run."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import Process, assert_equal_rows, ended, in_the_way, n_records, soon, started, train
from tests.slurm import cluster as slurm
from tests.slurm.cluster import Cluster

pytestmark = pytest.mark.slurm

TRIALS, CELLS = 4, 3
N_RECORDS = TRIALS * CELLS
SWEEP = ["-m", "plugins=[paced]", "method=paced", "seed=0,1,2", "pretrain=none", f"trials={TRIALS}",
         "trainer.trials_per_stack=1", "trainer=cpu", "finetune.patience=null", "finetune.max_epochs=5"]  # fmt: skip
"""Three tasks of four stacks."""
PACED = """
import os
import time
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.methods import SingleFitMethod


@dataclass
class Paced(SingleFitMethod):
    name: ClassVar[str] = "paced"

    def make_batch(self, rows, targets, weights):
        time.sleep(float(os.environ.get("SECONDS_A_STEP", "0")))
        return rows.encoded, targets, weights
"""
"""Ordinary training that waits in each step: a stack takes as long as a scene needs, and leaves the cores to others."""
STEPS = 20
"""Of a stack: five epochs of four mini-batches."""
ON_SLURM = ["hydra/launcher=slurm", "hydra.launcher.mem_gb=null", "hydra.launcher.least_min=0"]
WITHIN = 600.0
MINUTES = 30
Begun = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    missing = slurm.missing_programs()
    if missing:
        pytest.skip(f"Slurm's programs {', '.join(missing)} are not installed; `make slurm` installs them on Debian")
    with slurm.started(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(autouse=True)
def on_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    yield
    cluster.end()


def write_plugin(folder: Path) -> None:
    (folder / "paced.py").write_text(PACED, encoding="utf-8")


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run in one process."""
    cwd = tmp_path_factory.mktemp("calm")
    write_plugin(cwd)
    ran = train(*SWEEP, "workers=1", cwd=cwd, minutes=MINUTES)
    assert ran.returncode == 0, ran.stderr
    return cwd / "results"


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    """Starts the sweep on Slurm, at a number of seconds a stack."""
    write_plugin(tmp_path)

    def begin(*options: str, seconds: float = 4.0) -> subprocess.Popen[str]:
        monkeypatch.setenv("SECONDS_A_STEP", str(seconds / STEPS))
        return started(*SWEEP, *ON_SLURM, *options, cwd=tmp_path)

    return begin


def assert_whole(ran: Process, tmp_path: Path, expected: Path, cluster: Cluster) -> None:
    results = tmp_path / "results"
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert n_records(results) == N_RECORDS
    assert_equal_rows(results, expected)
    assert in_the_way(results) == []
    assert not (results / "failures").exists() or not list((results / "failures").iterdir())
    assert not (results / "chunks").exists()
    assert cluster.alive() == []


def test_a_calm_sweep(cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path) -> None:
    with begun() as process:
        ran = ended(process, minutes=MINUTES)

    assert_whole(ran, tmp_path, calm, cluster)


def test_without_accounting_a_killed_task_is_trained_again(
    cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path
) -> None:
    with begun() as process:
        assert soon(lambda: n_records(tmp_path / "results") > 0, WITHIN)
        for pid in cluster.pids(cluster.tasks("running")[0]):
            os.kill(pid, signal.SIGKILL)
        ran = ended(process, minutes=MINUTES)

    assert_whole(ran, tmp_path, calm, cluster)


def test_a_requeued_task_goes_on(cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path) -> None:
    with begun() as process:
        assert soon(lambda: n_records(tmp_path / "results") > 0, WITHIN)
        cluster.run("scontrol", "requeue", cluster.tasks("running")[0])
        ran = ended(process, minutes=MINUTES)

    assert_whole(ran, tmp_path, calm, cluster)


@pytest.mark.parametrize("partition", ["low", "polite"])
def test_a_preempted_task_keeps_its_place(
    partition: str, cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path
) -> None:
    """Slurm kills a task of ``low`` at once, and tells one of ``polite`` five seconds before."""
    with begun(f"hydra.launcher.partition={partition}") as process:
        assert soon(lambda: n_records(tmp_path / "results") > 0, WITHIN)
        cluster.run("sbatch", "--partition=high", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 5")
        ran = ended(process, minutes=MINUTES)

    assert_whole(ran, tmp_path, calm, cluster)


def test_a_task_out_of_time_goes_on(cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path) -> None:
    """Slurm ends a task of a minute, in which four stacks do not end; what they left is in another array."""
    with begun("hydra.launcher.timeout_min=1", seconds=30.0) as process:
        ran = ended(process, minutes=MINUTES)

    assert ran.stderr.count("The job array has ") > 1
    assert_whole(ran, tmp_path, calm, cluster)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_the_command_takes_the_array_out_of_the_queue(
    number: signal.Signals, cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path
) -> None:
    with begun("hydra.launcher.array_parallelism=1") as process:
        assert soon(lambda: n_records(tmp_path / "results") > 0, WITHIN)
        assert cluster.alive()
        process.send_signal(number)
        interrupted = ended(process, minutes=MINUTES)

    assert interrupted.returncode == 128 + number
    assert cluster.alive() == []
    assert in_the_way(tmp_path / "results") == []
    assert 0 < n_records(tmp_path / "results") < N_RECORDS
    with begun() as process:
        ran = ended(process, minutes=MINUTES)
    assert_whole(ran, tmp_path, calm, cluster)


def test_a_detached_array_is_waited_for_by_the_same_command(
    cluster: Cluster, calm: Path, begun: Begun, tmp_path: Path
) -> None:
    with begun("hydra.launcher.detach=true") as process:
        left = ended(process, minutes=MINUTES)
    assert left.returncode == 0
    assert "is in the queue. The same command waits for it" in left.stderr
    assert len(cluster.alive()) == CELLS

    # Its own look at the part does not wait in each step, so that it is in time.
    with begun(seconds=0.0) as process:
        ran = ended(process, minutes=MINUTES)

    assert "Waiting for the job array" in ran.stderr
    assert "has 3 tasks" not in ran.stderr, "nothing is submitted twice"
    assert_whole(ran, tmp_path, calm, cluster)


def test_an_array_that_slurm_refuses_is_a_sentence(begun: Begun, tmp_path: Path) -> None:
    with begun("hydra.launcher.partition=nowhere") as process:
        ran = ended(process, minutes=MINUTES)

    assert ran.returncode == 2
    # The note on seeds comes first.
    assert ran.stderr.splitlines()[1].startswith("sbatch: ")
    assert "invalid partition specified: nowhere" in ran.stderr
    assert not (tmp_path / "results" / "chunks").exists()


def test_srun_on_the_path_disturbs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning warns of a program srun that did not start it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy("/bin/false", programs / "srun")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    write_plugin(tmp_path)

    ran = train(*SWEEP, "workers=1", cwd=tmp_path, minutes=MINUTES)

    assert ran.returncode == 0
    assert "srun" not in ran.stderr
    assert n_records(tmp_path / "results") == N_RECORDS
