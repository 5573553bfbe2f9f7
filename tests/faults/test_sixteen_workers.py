"""Sixteen processes on one store: each stack and each pre-training is trained once, whoever trains it."""

import os
import runpy
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import pytest

from scarf_lightning.engine.stack import Stack
from scarf_lightning.machine import end_openmp_threads
from scarf_lightning.results import load
from scarf_lightning.training import CellTraining
from tests.composing import ROOT
from tests.processes import TINY, in_the_way, n_records

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

N_WORKERS, N_SEEDS, N_TRIALS = 16, 8, 2
SWEEP = (
    "-m", f"seed={','.join(map(str, range(N_SEEDS)))}", "method=control,dropout", "pretrain=none,scarf",
    f"trials={N_TRIALS}", "trainer.trials_per_stack=1", *TINY,
)  # fmt: skip
N_STACKS, N_PRETRAININGS = N_SEEDS * 2 * 2 * N_TRIALS, N_SEEDS * N_TRIALS
MINUTES = 8


@pytest.mark.parametrize(("n_runs", "n_workers"), [(1, N_WORKERS), (N_WORKERS, 1)], ids=["of one run", "of sixteen"])
def test_nothing_is_trained_twice(n_runs: int, n_workers: int, tmp_path: Path) -> None:
    # Forked from this process, which has imported all that is slow and has trained nothing in several threads.
    runs = [_started(tmp_path, f"workers={n_workers}") for _ in range(n_runs)]
    statuses = [_status(run) for run in runs]

    said = (tmp_path / "said").read_text(encoding="utf-8")
    assert statuses == [0] * n_runs, said
    begun = Counter((tmp_path / "begun").read_text(encoding="utf-8").splitlines())
    assert {each: times for each, times in begun.items() if times > 1} == {}
    kinds = Counter(line.split()[0] for line in begun)
    assert kinds == {"stack": N_STACKS, "pretraining": N_PRETRAININGS}
    assert n_records(tmp_path / "results") == N_STACKS == len(load(tmp_path / "results"))
    assert in_the_way(tmp_path / "results") == []
    workers = set((tmp_path / "workers").read_text(encoding="utf-8").split())
    assert len(workers) > N_WORKERS // 2, "most of them have trained"


def _started(folder: Path, *options: str) -> int:
    """The number of a process that runs the sweep in a folder."""
    # Earlier tests may have computed with several threads, which the fork would wait for.
    end_openmp_threads()
    child = os.fork()
    if child == 0:
        _run(folder, *options)
    return child


def _run(folder: Path, *options: str) -> NoReturn:
    status: Any = 1
    try:
        os.chdir(folder)
        output = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(output, stream)
        _note_what_begins(folder)
        sys.argv = [str(ROOT / "train.py"), *SWEEP, *options]
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


def _note_what_begins(folder: Path) -> None:
    """Let this process and its forks add a line for each stack and pre-training that they train."""
    run, pretrain = CellTraining.run, Stack.pretrain

    def note(*words: object) -> None:
        # A short line is written as a whole.
        for name, line in (("begun", " ".join(map(str, words))), ("workers", str(os.getpid()))):
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def noted_run(training: CellTraining, trials: list[int], *others: Any) -> Any:
        note("stack", training.store.fingerprint, *trials)
        return run(training, trials, *others)

    def noted_pretrain(stack: Stack, *settings: Any) -> Any:
        note("pretraining", stack.streams.seed, *stack.trials)
        return pretrain(stack, *settings)

    patch.object(CellTraining, "run", noted_run).start()
    patch.object(Stack, "pretrain", noted_pretrain).start()


def _status(process: int) -> int | None:
    """How a process ended; None where it is stuck."""
    deadline = time.monotonic() + 60 * MINUTES
    while time.monotonic() < deadline:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    return None
