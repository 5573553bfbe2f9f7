"""Time that a logger adds to a cell: `logger=none` and each other one in turns, in one process.

    python -m tools.benchmarks.logger_time [--pairs N] [--trials N] [--epochs N]

Cells of tiny networks are trained as `train.py` trains them, all to the same number of epochs, so that there are long
curves to show; the loggers take turns, so that the machine's other work meets all of them alike. The first turn starts
W&B's service and imports what the loggers need; it is shown by itself. Processor time is that of this process, without
W&B's service. A logger whose package is not installed is left out.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from scarf_lightning import UsageError
from scarf_lightning.options.logger_classes import check_loggers
from scarf_lightning.screen import Screen
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.training.cell_loop import CellLoop, show_cell
from tests.composing import config_of, names

SMALL = ("network.encoder.width=16", "network.encoder.depth=2", "network.pretrain_head.width=16")


def seconds(logger: str, seed: int, results: Path, trials: int, epochs: int, loop: CellLoop) -> list[float]:
    """Wall time of a cell with its views, wall time of the views alone, and their processor time."""
    overrides = (
        f"logger={logger}",
        f"seed={seed}",
        f"trials={trials}",
        f"paths.results={results / logger}",  # the same cell is trained for each
        "trainer=cpu",
        "pretrain.patience=null",
        "finetune.patience=null",
        f"pretrain.max_epochs={epochs}",
        f"finetune.max_epochs={epochs}",
        *SMALL,
    )
    cell = Cell(overrides, config_of(*overrides))
    started = time.perf_counter()
    loop.train_cell(cell)
    trained, processor = time.perf_counter(), time.process_time()
    show_cell(cell, Screen(quiet=True))
    ended = time.perf_counter()
    return [ended - started, ended - trained, time.process_time() - processor]


def installed() -> list[str]:
    """The loggers of `conf/` that can be written here, ``none`` the first."""
    found = []
    for name in names("logger"):
        with suppress(UsageError):
            check_loggers(config_of(f"logger={name}").logger)
            found.append(name)
    return sorted(found, key=lambda name: name != "none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="turns to take after the first (default 5)")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=30, help="of each phase (default 30)")
    given = parser.parse_args()
    loggers, loop = installed(), CellLoop(shown=Screen(quiet=True))
    with tempfile.TemporaryDirectory() as folder:
        turns = [
            {name: seconds(name, seed, Path(folder), given.trials, given.epochs, loop) for name in loggers}
            for seed in range(given.pairs + 1)
        ]
    first, later = turns[0], turns[1:]
    print(f"{given.trials} trials, {given.epochs} epochs of each phase; {given.pairs} turns after the first")
    for name in loggers:
        added = [turn[name][0] - turn["none"][0] for turn in later]
        views, processor = [turn[name][1] for turn in later], [turn[name][2] for turn in later]
        print(
            f"logger={name:12} {statistics.median(turn[name][0] for turn in later):5.2f} s a cell, over none: median "
            f"{statistics.median(added):+.2f}, {min(added):+.2f} to {max(added):+.2f}; in writing views: median "
            f"{statistics.median(views):.2f}, at most {max(views):.2f} (the first in the process "
            f"{first[name][1]:.2f}), of processor time median {statistics.median(processor):.3f} "
            f"(the first {first[name][2]:.2f})"
        )


if __name__ == "__main__":
    main()
