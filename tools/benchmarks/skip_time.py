"""Processor time and memory to plan and to skip a sweep: `python -m tools.benchmarks.skip_time [--turns N]`.

Writes results folders of made-up finished cells of thirty trials: all 69 datasets of the paper by so many seeds. Then
starts `train.py` on the sweep file, with ``plan=true`` and without, and with ``plan=true`` on an empty folder of
results. Nothing is trained, and times are of whole processes.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from scarf_lightning.results import KnownData
from scarf_lightning.sweeping.cell import Cell
from tests.cells import finish
from tests.composing import ROOT, request_of

SWEEP = """
title: Made up, to be skipped
trials: 30
cells:
  - dataset: glob(cc18-*)
    seed: [{seeds}]
"""
CACHE = "paths.openml=openml"
SEEDS = (10, 30)
"""Settings of each dataset: 690 and 2,070 cells."""
COMMANDS = {
    "skipped": ((), "{n} of {n} cells were finished"),
    "planned, all finished": (("plan=true",), "{n:,} cells: {n:,} finished"),
    "planned, nothing finished": (("plan=true", "paths.results=empty"), "{n:,} cells: {n:,} waiting"),
}
"""Arguments, and what the command prints."""


def rows(turns: int) -> Iterator[str]:
    """A Markdown table, as it comes."""
    yield "| cells of 30 trials | cells | whole process, s | MB |"
    yield "|---|--:|--:|--:|"
    with tempfile.TemporaryDirectory() as folder:
        sweeps = [finished_sweep(Path(folder) / str(n), n) for n in SEEDS]
        for name, (arguments, shown) in COMMANDS.items():
            for sweep, n in sweeps:
                ran = [run(sweep, shown.format(n=n), *arguments) for _ in range(turns)]
                seconds, size = (statistics.median(each) for each in zip(*ran, strict=True))
                yield f"| {name} | {n:,} | {seconds:.1f} | {size:.0f} |"


def finished_sweep(folder: Path, n_seeds: int) -> tuple[Path, int]:
    """Finish all cells of a sweep file in ``folder/results``; the file, and how many cells they are."""
    folder.mkdir(parents=True)
    sweep = folder / "finished.yaml"
    sweep.write_text(SWEEP.replace("{seeds}", ", ".join(map(str, range(n_seeds)))), encoding="utf-8")
    # No crash is waited for.
    with contextlib.chdir(folder), patch("os.fsync"):
        cells = request_of(f"sweeps={sweep}", CACHE).cells
        for cell in cells:
            pretend_to_be_cached(cell)
            finish(cell, data=KnownData(f"{cell.config.dataset.id:064}", n_rows=1000, n_columns=20))
    return sweep, len(cells)


def pretend_to_be_cached(cell: Cell) -> None:
    """Files as the OpenML client leaves them, which nobody reads."""
    folder = Path("openml", "org", "openml", "www", "datasets", str(cell.config.dataset.id))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "description.xml").write_text("</oml:data_set_description>", encoding="utf-8")
    (folder / "dataset.arff").write_text("@data", encoding="utf-8")


def run(sweep: Path, expected: str, *arguments: str) -> tuple[float, float]:
    """Processor seconds of a process that prints what is expected, and MB at most."""
    command = [sys.executable, str(ROOT / "train.py"), f"sweeps={sweep}", CACHE, *arguments]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=sweep.parent, stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        shown = output.read()
    assert expected in shown, shown
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="runs of each kind (default 3)")
    for line in rows(parser.parse_args().turns):
        print(line, flush=True)
