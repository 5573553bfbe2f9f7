"""What happens to a sweep on a real Slurm. In every scene all records come to be, equal to those of a calm run."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import Process, assert_equal_rows, ended, environment, in_the_way, n_records, started, train
from tests.slurm import cluster as slurm
from tests.slurm.cluster import Cluster

pytestmark = pytest.mark.slurm

TRIALS, CELLS = 4, 3
N_RECORDS = TRIALS * CELLS
SWEEP = ["-m", "seed=0,1,2", "pretrain=none", f"trials={TRIALS}", "trainer.trials_per_stack=1", "trainer=cpu",
         "finetune.patience=null", "chunk.minutes=0"]  # fmt: skip
"""Three tasks of four stacks."""
QUICK, SLOW = "finetune.max_epochs=40", "finetune.max_epochs=200"
ON_SLURM = ["hydra/launcher=slurm", "hydra.launcher.poll_seconds=0.5", "hydra.launcher.mem_gb=null"]
WITHIN = 240.0


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


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The results of a run in one process, for each number of epochs."""
    known: dict[str, Path] = {}

    def results(epochs: str) -> Path:
        if epochs not in known:
            cwd = tmp_path_factory.mktemp("calm")
            ran = train(*SWEEP, epochs, "workers=1", cwd=cwd, minutes=8)
            assert ran.returncode == 0, ran.stderr
            known[epochs] = cwd / "results"
        return known[epochs]

    return results


def soon(condition: Callable[[], object]) -> None:
    """Wait until this comes true."""
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def begun(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    return started(*SWEEP, *ON_SLURM, *options, cwd=tmp_path)


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


def test_a_calm_sweep(cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path) -> None:
    with begun(tmp_path, QUICK) as process:
        ran = ended(process, minutes=4)

    assert_whole(ran, tmp_path, calm(QUICK), cluster)


def test_without_accounting_a_killed_task_is_trained_again(
    cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path
) -> None:
    with begun(tmp_path, SLOW) as process:
        soon(lambda: n_records(tmp_path / "results") > 0)
        for pid in cluster.pids(cluster.tasks("running")[0]):
            os.kill(pid, signal.SIGKILL)
        ran = ended(process, minutes=8)

    assert_whole(ran, tmp_path, calm(SLOW), cluster)


def test_a_requeued_task_goes_on(cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path) -> None:
    with begun(tmp_path, SLOW) as process:
        soon(lambda: n_records(tmp_path / "results") > 0)
        cluster.run("scontrol", "requeue", cluster.tasks("running")[0])
        ran = ended(process, minutes=8)

    assert_whole(ran, tmp_path, calm(SLOW), cluster)


@pytest.mark.parametrize("partition", ["low", "polite"])
def test_a_preempted_task_keeps_its_place(
    partition: str, cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path
) -> None:
    """Slurm kills a task of ``low`` at once, and tells one of ``polite`` five seconds before."""
    with begun(tmp_path, SLOW, f"hydra.launcher.partition={partition}") as process:
        soon(lambda: n_records(tmp_path / "results") > 0)
        cluster.run("sbatch", "--partition=high", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 5")
        ran = ended(process, minutes=8)

    assert_whole(ran, tmp_path, calm(SLOW), cluster)


def test_a_task_out_of_time_goes_on(cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path) -> None:
    """A minute is the shortest limit of Slurm, and less than the four stacks of a task take."""
    epochs = "finetune.max_epochs=1500"
    with begun(tmp_path, epochs, "hydra.launcher.timeout_min=1") as process:
        soon(
            lambda: "in the queue again" in "".join(log.read_text() for log in tmp_path.glob("results/chunks/*/*.log"))
        )
        ran = ended(process, minutes=15)

    assert_whole(ran, tmp_path, calm(epochs), cluster)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_the_command_takes_the_array_out_of_the_queue(
    number: signal.Signals, cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path
) -> None:
    with begun(tmp_path, SLOW, "hydra.launcher.array_parallelism=1") as process:
        soon(lambda: n_records(tmp_path / "results") > 0)
        assert len(cluster.alive()) == CELLS
        process.send_signal(number)
        interrupted = ended(process, minutes=2)

    assert interrupted.returncode == 128 + number
    assert cluster.alive() == []
    assert in_the_way(tmp_path / "results") == []
    assert 0 < n_records(tmp_path / "results") < N_RECORDS
    with begun(tmp_path, SLOW) as process:
        ran = ended(process, minutes=8)
    assert_whole(ran, tmp_path, calm(SLOW), cluster)


def test_a_detached_array_is_waited_for_by_the_same_command(
    cluster: Cluster, calm: Callable[[str], Path], tmp_path: Path
) -> None:
    with begun(tmp_path, SLOW, "hydra.launcher.detach=true") as process:
        left = ended(process, minutes=2)
    assert left.returncode == 0
    assert "is in the queue with 3 cells. The same command waits for it" in left.stderr
    assert len(cluster.alive()) == CELLS

    with begun(tmp_path, SLOW) as process:
        ran = ended(process, minutes=8)

    assert "Waiting for the job array" in ran.stderr
    assert "has 3 tasks" not in ran.stderr, "nothing is submitted twice"
    assert_whole(ran, tmp_path, calm(SLOW), cluster)


def test_an_array_that_slurm_refuses_is_a_sentence(cluster: Cluster, tmp_path: Path) -> None:
    with begun(tmp_path, QUICK, "hydra.launcher.partition=nowhere") as process:
        ran = ended(process, minutes=2)

    assert ran.returncode == 2
    assert ran.stderr.startswith("sbatch: ")
    assert "invalid partition specified: nowhere" in ran.stderr
    assert not (tmp_path / "results" / "chunks").exists()


def test_srun_on_the_path_disturbs_nobody(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy("/bin/false", programs / "srun")

    ran = train(*SWEEP, QUICK, "workers=1", cwd=tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert environment()["PATH"]
