"""How time and memory grow with a table: `python -m tools.benchmarks.growth [--turns N] [--largest]`.

Each measurement is a process of its own. Reading is the processor time from a file to the hashed table, beside that of
pandas' own reader; training is that of one epoch of each phase of a stack, with the table. Memory is the process's peak
beyond what its imports take. The exponent is the slope of a line through the logarithms: 1 is linear. Fixed costs pull
it down, so it is fitted to the larger half of the sizes.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tests.composing import ROOT

TARGET = "y"
GOAL = 1.1
"""Of an exponent."""
LEAST_SECONDS, LEAST_MB = 0.1, 20.0
"""Below these a process's own beginnings hide how it grows."""


@dataclass(frozen=True)
class Size:
    """Of a made-up table and of what is trained on it. A fifth of the columns holds categories if there are any."""

    rows: int = 1_000
    columns: int = 30
    classes: int = 3
    categories: int = 0
    trials: int = 1

    def frame(self) -> pd.DataFrame:
        random = np.random.default_rng(0)
        columns = {f"x{m}": random.normal(size=self.rows) for m in range(self.columns)}
        if self.categories:
            names = np.array([f"c{code}" for code in range(self.categories)])
            columns |= {
                f"x{m}": names[random.integers(self.categories, size=self.rows)] for m in range(0, self.columns, 5)
            }
        return pd.DataFrame(
            columns | {TARGET: np.char.add("k", random.integers(self.classes, size=self.rows).astype(str))}
        )


ROWS, COLUMNS = "read, by rows of 30 columns", "read, by columns of 300 rows"
SERIES: dict[str, tuple[str, list[Size]]] = {
    ROWS: ("read", [Size(rows=n) for n in (30_000, 100_000, 300_000)]),
    COLUMNS: ("read", [Size(300, n) for n in (1_250, 2_500, 5_000)]),
    "read Parquet, by rows of 30 columns": ("read parquet", [Size(rows=n) for n in (100_000, 300_000, 1_000_000)]),
    "read, by categories of six columns": ("read", [Size(100_000, categories=n) for n in (25, 50, 100)]),
    "read, by classes": ("read", [Size(100_000, classes=n) for n in (10, 100, 1_000)]),
    "train, by rows": ("train", [Size(rows=n) for n in (5_000, 10_000, 20_000)]),
    "train, by columns of 1,000 rows": ("train", [Size(1_000, n) for n in (500, 1_000, 2_000)]),
    "train, by classes": ("train", [Size(5_000, classes=n) for n in (10, 50, 250)]),
    "train, by trials in one stack": ("train", [Size(2_000, trials=n) for n in (5, 10, 20)]),
}
LARGEST = {ROWS: Size(rows=1_000_000), COLUMNS: Size(300, 20_000)}
"""Sizes that `--largest` adds; they take minutes."""


def read(file: Path) -> list[float]:
    """MB, seconds of our reader, and of pandas' own."""
    from scarf_lightning.data.sources import FileSource
    from scarf_lightning.data.sources.formats import open_file

    source = FileSource(path=file, target=TARGET)
    open_file(file)  # imports what reads files
    before = peak()
    ours = seconds(lambda: source.load().hash)
    held = peak() - before
    return [held, ours, seconds(lambda: pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file))]


def train(file: Path, trials: int) -> list[float]:
    """MB and seconds of reading, and of one epoch of pre-training and of fine-tuning."""
    from scarf_lightning.data.sources import FileSource
    from scarf_lightning.engine.hardware import Hardware, choose_device, prepare_process
    from scarf_lightning.training import CellTraining
    from tests.composing import config_of

    prepare_process(threads=1)
    config = config_of("trainer.accelerator=cpu", f"trainer.trials_per_stack={trials}")
    for phase in (config.pretrain, config.finetune):
        phase.max_epochs, phase.min_steps = 1, 0
    before = peak()

    def work() -> None:
        table = FileSource(path=file, target=TARGET).load()
        training = CellTraining.prepare(config, table, Hardware(choose_device("cpu")))
        every = range(trials)
        replace(training, pretrained=None).run(every).record(every)

    return [seconds(work), peak() - before][::-1]


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def peak() -> float:
    """MB that this process held at most. `resource` would also count what its parent held before it."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def measured(kind: str, file: Path, size: Size) -> list[float]:
    """MB and seconds of a process of its own."""
    ours = [sys.executable, "-m", "tools.benchmarks.growth", "--measure", kind, str(file), str(size.trials)]
    ran = subprocess.run(ours, cwd=ROOT, capture_output=True, text=True, check=True)
    return [float(number) for number in ran.stdout.splitlines()[-1].split()]


def exponent(sizes: list[int], values: list[float], least: float) -> str:
    """The slope of the logarithms over the larger half of the sizes; empty if a value there is below ``least``."""
    half = len(sizes) // 2
    if min(values[half:]) < least:
        return ""
    return f"{np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0]:.2f}"


def grows_by(sizes: list[Size]) -> str:
    """The field in which sizes differ."""
    return next(name for name in vars(sizes[0]) if len({getattr(size, name) for size in sizes}) > 1)


def row(name: str, kind: str, sizes: list[Size], turns: int) -> str:
    by = grows_by(sizes)
    xs = [getattr(size, by) for size in sizes]
    times, beside, memory = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = Path(folder, "table.parquet" if kind == "read parquet" else "table.csv")
            frame = size.frame()
            frame.to_parquet(file) if file.suffix == ".parquet" else frame.to_csv(file, index=False)
            del frame
            numbers = [measured(kind.partition(" ")[0], file, size) for _ in range(turns)]
            held, took, *theirs = (statistics.median(each) for each in zip(*numbers, strict=True))
            times.append(took)
            memory.append(held)
            beside += [f"{took / theirs[0]:.1f}"] if theirs else []
    shown = [
        " / ".join(f"{x:,}" for x in xs),
        " / ".join(f"{t:.2f}" for t in times),
        exponent(xs, times, LEAST_SECONDS),
    ]
    shown += [" / ".join(f"{m:,.0f}" for m in memory), exponent(xs, memory, LEAST_MB), " / ".join(beside)]
    return f"| {name} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1, help="processes of each size (default 1)")
    parser.add_argument("--largest", action="store_true", help="also a million rows and 20,000 columns")
    parser.add_argument("--only", default="", help="series whose name contains this")
    parser.add_argument("--measure", nargs=3, metavar=("KIND", "FILE", "TRIALS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        kind, file, trials = asked.measure
        print(*(read(Path(file)) if kind == "read" else train(Path(file), int(trials))))
        return
    goal = f"exponent (goal: at most {GOAL})"
    print(f"| | sizes | seconds of the processor | {goal} | peak MB | {goal} | seconds over pandas' own |")
    print("|---|---|---|---|---|---|---|")
    for name, (kind, sizes) in SERIES.items():
        if asked.only in name:
            more = [LARGEST[name]] if asked.largest and name in LARGEST else []
            print(row(name, kind, [*sizes, *more], asked.turns), flush=True)


if __name__ == "__main__":
    main()
