"""Where the wall time of one cell goes, in a process that is warm: `python -m tests.benchmarks.cell_time [--turns N]`.

A cell of five trials on the embedded table, pre-trained and fine-tuned for the usual number of epochs. The first cell
warms the process up; each of the others has a seed of its own. Peak memory is that of a fresh process: thirty trials
for one epoch each, where a folder of the OpenML client is named.
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


def cell_seconds(turns: int) -> tuple[float, dict[str, float]]:
    """Seconds to import what training needs, and medians of a warm cell's parts and ``whole``."""
    started = time.perf_counter()
    from scarf_lightning import run
    from scarf_lightning.data.sources import LastTable
    from scarf_lightning.engine.stack import Stack
    from scarf_lightning.results import CellStore
    from scarf_lightning.training import phases, stack

    imported = time.perf_counter() - started
    timed = {
        "data": [(LastTable, "load"), (phases, "prepare_trials")],
        "pre-training": [(Stack, "pretrain")],
        "fine-tuning": [(Stack, "finetune")],
        "evaluation": [(Stack, "predict"), (stack, "classification_metrics")],
        "store": [(CellStore, "describe"), (CellStore, "add"), (CellStore, "mend")],
    }
    turned = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), timing(timed) as seconds:
        for seed in range(turns + 1):
            seconds.clear()
            started = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run([f"seed={seed}", f"trials={TRIALS}"])
            whole = time.perf_counter() - started
            turned.append({**seconds, "all else": whole - sum(seconds.values()), "whole": whole})
    return imported, {part: statistics.median(turn[part] for turn in turned[1:]) for part in (*PARTS, "whole")}


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
    command = f"import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); \
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    arguments = ("pretrain.max_epochs=1", "finetune.max_epochs=1", "trials=30", "trainer.trials_per_stack=10")
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, "-c", command, sys.executable, str(ROOT / "train.py"), f"dataset={dataset}", *arguments]
            + [f"paths.openml={openml.resolve()}"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    return int(ran.stdout.split()[-1]) / 2**20


def rows(turns: int, openml: Path | None) -> list[str]:
    """A Markdown table."""
    imported, parts = cell_seconds(turns)
    lines = [
        f"| a warm cell of {TRIALS} trials, by part | s |",
        "|---|---|",
        f"| import, once a process | {imported:.2f} |",
        *(f"| {part} | {seconds:.3f} |" for part, seconds in parts.items()),
        f"| whole, beyond training | {parts['whole'] - parts['pre-training'] - parts['fine-tuning']:.3f} |",
        "",
        "| peak memory | GB |",
        "|---|---|",
    ]
    for dataset, name in LARGE.items():
        found = "no `--openml` named" if openml is None else f"{peak_memory(dataset, openml):.2f}"
        lines.append(f"| {name} | {found} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="cells after the first (default 3)")
    parser.add_argument("--openml", type=Path, help="a cache of the OpenML client, for peak memory")
    asked = parser.parse_args()
    print("\n".join(rows(asked.turns, asked.openml)))


if __name__ == "__main__":
    main()
