"""A sweep's pace, and epochs that are computed for nobody: `python -m tools.benchmarks.sweep_time [--turns N]`.

The pace is of `sweeps=quick`, start of the process included: in one process, and in two by the launcher joblib. Epochs
are counted trial by trial, of thirty trials on the bundled table: those that a stack's numbers are computed for, over
those that the trials train until each stops; and what they would be if a trial stayed until the last one stops.
"""

import argparse
import contextlib
import io
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.composing import ROOT, request_of

PROCESSES = {"one process": (), "two processes": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")}

SIXTY = ("pretrain=none,scarf", f"seed={','.join(map(str, range(30)))}", "trials=2")
WAYS: dict[str, tuple[tuple[str, ...], int]] = {
    "one process": ((), 1),
    "two, started by hand": ((), 2),
    "two of joblib": (PROCESSES["two processes"], 1),
}
"""Options and the number of processes that are started."""
GOAL = 0.55


def cells_a_minute(options: tuple[str, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "train.py"), "sweeps=quick", *options]
        started = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return 60 * len(request_of("sweeps=quick").cells) / (time.perf_counter() - started)


def epochs() -> dict[str, tuple[float, float]]:
    """By phase: trial epochs computed over those needed, and the same of stacks that nobody leaves."""
    import scarf_lightning
    from scarf_lightning.engine import fitting

    computed: dict[str, list[int]] = {"pretrain": [], "finetune": []}
    needed: dict[str, list[np.ndarray[Any, Any]]] = {"pretrain": [], "finetune": []}
    start, fit = fitting.TrialStopping.on_train_epoch_start, fitting.fit

    def counted_start(self: Any, trainer: Any, module: Any) -> None:
        computed[phase].append(len(next(module.parameters())))
        start(self, trainer, module)

    def counted_fit(name: str, *args: Any, **options: Any) -> Any:
        nonlocal phase
        phase = name
        came = fit(name, *args, **options)
        needed[name].append(came.epochs)
        return came

    phase = ""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        patch.object(fitting.TrialStopping, "on_train_epoch_start", counted_start),
        patch("scarf_lightning.engine.stack.fit", counted_fit),
    ):
        scarf_lightning.run("trials=30")
    return {
        name: (
            sum(computed[name]) / sum(each.sum() for each in needed[name]),
            sum(each.max() * len(each) for each in needed[name]) / sum(each.sum() for each in needed[name]),
        )
        for name in computed
    }


def sixty_cells(way: str) -> tuple[float, float]:
    """Seconds by the wall and of the processor that sixty small cells take, started in one of the `WAYS`."""
    options, n = WAYS[way]
    command = [sys.executable, str(ROOT / "train.py"), "-m", *SIXTY, *options]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(n)
        ]
        assert not any(process.wait() for process in processes), way
        wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(turns: int, openml: Path | None) -> Iterator[str]:
    """A Markdown table, as it comes."""
    yield "| sixty cells of two trials | wall, s | over one process (goal) | of the processor, s |"
    yield "|---|---|---|---|"
    alone = 0.0
    for way in WAYS:
        wall, used = (statistics.median(each) for each in zip(*(sixty_cells(way) for _ in range(turns)), strict=True))
        alone = alone or wall
        goal = f" ({GOAL:g})" if way != "one process" else ""
        yield f"| {way} | {wall:.1f} | {wall / alone:.2f}{goal} | {used:.1f} |"
    yield ""
    yield "| `sweeps=quick` | cells a minute |"
    yield "|---|---|"
    for name, options in PROCESSES.items():
        yield f"| {name} | {statistics.median(cells_a_minute(options) for _ in range(turns)):.1f} |"
    yield ""
    yield "| trial epochs, 30 trials | computed over needed | if nobody left |"
    yield "|---|---|---|"
    yield from (f"| {name} | {here:.2f} | {stayed:.2f} |" for name, (here, stayed) in epochs().items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1, help="sweeps of each kind (default 1)")
    for line in rows(parser.parse_args().turns, None):
        print(line, flush=True)


if __name__ == "__main__":
    main()
