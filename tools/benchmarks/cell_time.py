"""Where the wall time of one cell goes, in a process that is warm: `python -m tools.benchmarks.cell_time [--turns N]`.

A cell of five trials on the embedded table, pre-trained and fine-tuned for the usual number of epochs. The cells of one
sweep are seeds; the first one warms the process up, and a cell lasts from the end of the one before it. Peak memory is
that of a fresh process: thirty trials for one epoch of each phase, where a folder of the OpenML client is named.
"""

import argparse
import contextlib
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.composing import ROOT

TRIALS = 5
PARTS = ("data", "pre-training", "fine-tuning", "evaluation", "store", "all else")
LARGE = {"cc18-cnae-9": "30 trials on 1468 (856 columns)", "cc18-connect-4": "30 trials on 40668 (67,557 rows)"}

WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command and says the most kilobytes that it held."""


def import_seconds(turns: int) -> float:
    """What a fresh process needs to import all that training needs."""
    imports = "started = time.perf_counter(); import scarf_lightning.training; print(time.perf_counter() - started)"
    ran = (
        subprocess.run([sys.executable, "-c", f"import time; {imports}"], capture_output=True, check=True)
        for _ in range(turns)
    )
    return statistics.median(float(each.stdout) for each in ran)


def cell_seconds(turns: int) -> dict[str, float]:
    """Medians of a warm cell's parts, and of the ``whole``."""
    from scarf_lightning.cli import api
    from scarf_lightning.data.sources import LastTable
    from scarf_lightning.data.targets import Classes
    from scarf_lightning.engine.stack import Stack
    from scarf_lightning.results import CellStore, PretrainingStore
    from scarf_lightning.training import cell_training
    from scarf_lightning.training.cell_loop import CellLoop

    timed = {
        "data": [(LastTable, "load"), (cell_training, "prepare_trials")],
        "pre-training": [(Stack, "pretrain")],
        "fine-tuning": [(Stack, "finetune")],
        "evaluation": [(Stack, "predict"), (Classes, "measured")],
        "store": [(CellStore, "describe"), (CellStore, "add"), (CellStore, "mend"), (PretrainingStore, "add")],
    }
    turned: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), timing(timed) as seconds:
        before, train_cell = time.perf_counter(), CellLoop.train_cell

        def timed_cell(*args: Any) -> Any:
            nonlocal before
            came = train_cell(*args)
            whole, before = time.perf_counter() - before, time.perf_counter()
            turned.append({**seconds, "all else": whole - sum(seconds.values()), "whole": whole})
            seconds.clear()
            return came

        seeds = ",".join(map(str, range(turns + 1)))
        silence, ours = io.StringIO(), patch.object(CellLoop, "train_cell", timed_cell)
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), ours:
            api.run([f"seed={seeds}", f"trials={TRIALS}"])
    return {part: statistics.median(turn[part] for turn in turned[1:]) for part in (*PARTS, "whole")}


@contextlib.contextmanager
def timing(timed: dict[str, list[tuple[Any, str]]]) -> Iterator[dict[str, float]]:
    """Add up the seconds in the functions of each part."""
    seconds: dict[str, float] = defaultdict(float)

    def clocked(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                seconds[part] += time.perf_counter() - started

        return call

    with contextlib.ExitStack() as patches:
        for part, functions in timed.items():
            for owner, name in functions:
                patches.enter_context(patch.object(owner, name, clocked(part, getattr(owner, name))))
        yield seconds


def peak_memory(dataset: str, openml: Path) -> float:
    """Gigabytes of a process that trains thirty trials for one epoch of each phase, in stacks of ten."""
    options = ("pretrain.max_epochs=1", "finetune.max_epochs=1", "trials=30", "trainer.trials_per_stack=10")
    train = [sys.executable, str(ROOT / "train.py"), f"dataset={dataset}", f"paths.openml={openml.resolve()}", *options]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, "-c", WATCH, *train],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    return int(ran.stdout) / 2**20


def rows(turns: int, openml: Path | None) -> Iterator[str]:
    """A Markdown table, as it comes."""
    yield f"| a warm cell of {TRIALS} trials, by part | s |"
    yield "|---|---|"
    yield f"| import, once a process | {import_seconds(turns):.2f} |"
    parts = cell_seconds(turns)
    yield from (f"| {part} | {seconds:.3f} |" for part, seconds in parts.items())
    yield f"| whole, beyond training | {parts['whole'] - parts['pre-training'] - parts['fine-tuning']:.3f} |"
    yield ""
    yield "| peak memory | GB |"
    yield "|---|---|"
    for dataset, name in LARGE.items():
        found = "no `--openml` named" if openml is None else f"{peak_memory(dataset, openml):.2f}"
        yield f"| {name} | {found} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="cells after the first (default 3)")
    parser.add_argument("--openml", type=Path, help="a cache of the OpenML client, for peak memory")
    asked = parser.parse_args()
    for line in rows(asked.turns, asked.openml):
        print(line, flush=True)


if __name__ == "__main__":
    main()
