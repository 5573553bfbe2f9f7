"""What training, waiting and planning cost, as Markdown: `python -m tools.benchmarks.table [--parts PART ...]`.

Its parts, each a module of this folder that also runs by itself: ``step`` (a training step over its products, over a
hand-written loop and over ts3l), ``cell`` (the wall time of a cell by part, and peak memory), ``sweep`` (cells a
minute, and epochs computed over those needed), ``plan`` (planning and skipping finished cells) and ``start`` (what a
user waits for). Steps are in processor time of one thread; ratios are taken within a turn, and medians over turns.
"""

import argparse
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from scarf_lightning.engine.hardware import prepare_process
from tools.benchmarks import cell_time, skip_time, start_time, step_time, sweep_time
from tools.benchmarks.step_time import PHASES, Case

CASES = [("mlp", 10, 30), ("mlp", 60, 30), ("mlp", 800, 30), ("ft_transformer", 10, 10)]
"""Networks, features, and how many steps are timed at once."""


def step(turns: int, openml: Path | None) -> Iterator[str]:
    return step_time.rows([Case(*case[:2], phase, case[2]) for case in CASES for phase in PHASES], turns)


def start(turns: int, openml: Path | None) -> Iterator[str]:
    yield f"| started | shown | first sign, s ({start_time.GOAL:g}) | whole process, s | of the processor, s |"
    yield "|---|---|---|---|---|"
    for name, arguments in start_time.COMMANDS.items():
        for pipe in (False, True):
            medians = start_time.medians(name, arguments, turns, pipe=pipe)
            shown = "in a pipe" if pipe else "on a terminal"
            yield "| " + " | ".join([name, shown, *(f"{seconds:.2f}" for seconds in medians)]) + " |"


PARTS: dict[str, Callable[[int, Path | None], Iterator[str]]] = {
    "step": step,
    "cell": cell_time.rows,
    "sweep": sweep_time.rows,
    "plan": skip_time.rows,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--turns", type=int, default=5, help="of each measurement (default 5)")
    parser.add_argument("--openml", type=Path, help="a cache of the OpenML client, for peak memory")
    asked = parser.parse_args()
    prepare_process(threads=1)
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {torch.backends.cpu.get_cpu_capability()}\n")
    for part in asked.parts:
        for line in PARTS[part](asked.turns, asked.openml):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
