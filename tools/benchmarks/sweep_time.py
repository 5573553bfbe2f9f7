"""A sweep's pace, and epochs that are computed for nobody: `python -m tools.benchmarks.sweep_time [--turns N]`.

The pace is that of whole commands, start included, with one worker, with two, and with two jobs of joblib:
`sweeps=quick`, and sixty small cells. Epochs are counted trial by trial, of thirty trials on the bundled table: those
that a stack's numbers are computed for, over those that the trials train until each stops; and what they would be if a
trial stayed until the last one stops.
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

from tests.composing import ROOT

SWEEPS = {
    "`sweeps=quick`": ("sweeps=quick",),
    "sixty cells of two trials": ("-m", "pretrain=none,scarf", f"seed={','.join(map(str, range(30)))}", "trials=2"),
}
"""Arguments by name."""
WAYS = {
    "one worker": ("workers=1",),
    "two workers": ("workers=2",),
    "two jobs of joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
}
"""Options by name; the first one is what the others are compared with."""
GOAL = 0.58


def epochs() -> dict[str, tuple[float, float]]:
    """By phase: trial epochs computed over those needed, and the same of stacks that nobody leaves."""
    import scarf_lightning
    from scarf_lightning.engine import fit as fitting

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


def time_of(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Seconds by the wall and of the processor that a command with these arguments takes in an empty folder."""
    command = [sys.executable, str(ROOT / "train.py"), *arguments]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(turns: int, openml: Path | None = None) -> Iterator[str]:
    """Markdown tables, a line at a time."""
    for sweep, arguments in SWEEPS.items():
        # The ways take turns, so that none has the machine's best minutes for itself.
        measured: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(turns):
            for way, options in WAYS.items():
                measured[way].append(time_of((*arguments, *options)))
        yield f"| {sweep} | wall, s | over one worker (goal) | of the processor, s |"
        yield "|---|--:|--:|--:|"
        alone = 0.0
        for way, of_turns in measured.items():
            wall, used = (statistics.median(each) for each in zip(*of_turns, strict=True))
            alone = alone or wall
            goal = f" ({GOAL:g})" if way == "two workers" else ""
            yield f"| {way} | {wall:.1f} | {wall / alone:.2f}{goal} | {used:.1f} |"
        yield ""
    yield "| trial epochs, 30 trials | computed over needed | if nobody left |"
    yield "|---|--:|--:|"
    for phase, (here, stayed) in epochs().items():
        yield f"| {phase} | {here:.2f} | {stayed:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1, help="sweeps of each kind (default 1)")
    for line in rows(parser.parse_args().turns):
        print(line, flush=True)


if __name__ == "__main__":
    main()
