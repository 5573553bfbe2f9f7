"""How long a user waits: `python -m tools.benchmarks.start_time [--turns N]`.

Processor time and the time by the wall, as medians of fresh processes on a terminal and in a pipe: the first sign of
life of a run, a refused name and value, the help, the plan of the largest sweep, a finished cell, and a report of
nothing.
"""

import argparse
import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.composing import ROOT

REPORT = "report.py without arguments"
COMMANDS = {
    "a run, to its first sign of life": ("pretrain.max_epochs=1", "finetune.max_epochs=1", "trials=1"),
    "a name that does not exist": ("corruption=margnal",),
    "a value out of range": ("pretrain.learning_rate=-1",),
    "a value out of a part's range": ("corruption.rate=1.5",),
    "a file that does not exist": ("dataset=csv", "dataset.path=nowhere.csv", "dataset.target=kind"),
    "--help": ("--help",),
    "the plan of 2,070 cells": ("sweeps=pretraining_full", "plan=true"),
    "a finished cell, shown again": ("pretrain=none", "trials=1", "finetune.max_epochs=1"),
    "two finished cells": ("pretrain=none,scarf", "trials=1", "pretrain.max_epochs=1", "finetune.max_epochs=1"),
    REPORT: (),
}
"""Finished cells are trained before they are measured."""
GOAL = 1.0
"""Seconds until the first sign of life."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="processes of each kind (default 3)")
    turns = parser.parse_args().turns
    print(f"{'':48}first sign, s    whole process, s    of the processor, s")
    for name, arguments in COMMANDS.items():
        for pipe in (False, True):
            first, whole, used = medians(name, arguments, turns, pipe=pipe)
            place = "in a pipe" if pipe else "terminal"
            print(f"{name:34}{place:14}{first:13.2f}    {whole:16.2f}    {used:19.2f}", flush=True)


def medians(name: str, arguments: tuple[str, ...], turns: int, *, pipe: bool) -> tuple[float, float, float]:
    """The medians of `measured` over fresh processes."""
    program = "report.py" if name == REPORT else "train.py"
    times = []
    for _ in range(turns):
        # In a folder of its own, or the second run would find its cell finished.
        with tempfile.TemporaryDirectory() as folder:
            if "finished" in name:
                measured(program, arguments, Path(folder), pipe=pipe)
            times.append(measured(program, arguments, Path(folder), pipe=pipe))
    first, whole, used = (statistics.median(each) for each in zip(*times, strict=True))
    return first, whole, used


def measured(program: str, arguments: tuple[str, ...], folder: Path, *, pipe: bool) -> tuple[float, float, float]:
    """Seconds until a terminal or a pipe shows something, until the process ends, and of the processor."""
    ours, theirs = os.pipe() if pipe else pty.openpty()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / program), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "OMP_NUM_THREADS": "1"},
    )
    os.close(theirs)
    first = None
    while process.poll() is None:
        if select.select([ours], [], [], 0.05)[0]:
            first = first or time.perf_counter() - started
            with suppress(OSError):  # the process has closed its end
                os.read(ours, 65536)
    whole = time.perf_counter() - started
    os.close(ours)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return first or whole, whole, used


if __name__ == "__main__":
    main()
