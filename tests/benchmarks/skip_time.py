"""Processor time and memory to plan and to skip a sweep whose cells are all finished, of the whole process.

    python -m tests.benchmarks.skip_time [--settings N] [--turns N] [--profile]

Writes a results folder of made-up finished cells, thirty trials each: all 69 datasets of the paper by so many settings.
Then starts `train.py` on the sweep file, with ``plan=true`` and without. Nothing is trained. Two numbers of settings
tell what a cell costs from what the process does.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from scarf_lightning.results import KnownData
from scarf_lightning.sweeping.cell import Cell
from tests.cells import finish
from tests.composing import ROOT, names, request_of

SWEEP = """
title: Made up, to be skipped
trials: 30
cells:
  - dataset: glob(cc18-*)
    seed: [{seeds}]
"""
CACHE = "paths.openml=openml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", type=int, default=29, help="settings of each of the 69 datasets (default 29)")
    parser.add_argument("--turns", type=int, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--profile", action="store_true", help="say where the time goes, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sweep, n_cells = make(Path(folder), options.settings)
        for name, arguments in (("skipped", ()), ("planned", ("plan=true",))):
            times, sizes = zip(*(run(sweep, n_cells, *arguments) for _ in range(options.turns)), strict=True)
            print(
                f"{n_cells} finished cells {name}: the whole process {statistics.median(times):.1f} s of the processor "
                f"(median of {options.turns}, {min(times):.1f} to {max(times):.1f}), {max(sizes):.0f} MB"
            )
        if options.profile:
            run(sweep, n_cells, python_options=("-m", "cProfile", "-o", "profile"))
            show = "import pstats; pstats.Stats('profile').sort_stats('cumulative').print_stats(60)"
            subprocess.run([sys.executable, "-c", show], cwd=folder, check=True)


def make(folder: Path, n_settings: int) -> tuple[Path, int]:
    """Finish all cells of a sweep file in ``folder/results``; the file, and how many cells they are."""
    sweep = folder / "finished.yaml"
    sweep.write_text(SWEEP.replace("{seeds}", ", ".join(map(str, range(n_settings)))), encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        cells = request_of(f"sweeps={sweep}", CACHE).cells
        for cell in cells:
            pretend_to_be_cached(cell)
            number = cell.config.dataset.id
            finish(cell, data=KnownData(f"{number:064}", n_rows=1000, n_columns=20))
    finally:
        os.chdir(here)
    n_datasets = sum(name.startswith("cc18-") for name in names("dataset"))
    assert len(list(folder.glob("results/*/cell.json"))) == len(cells) == n_datasets * n_settings
    return sweep, len(cells)


def pretend_to_be_cached(cell: Cell) -> None:
    """Files as the OpenML client leaves them, which nobody reads."""
    folder = Path("openml", "org", "openml", "www", "datasets", str(cell.config.dataset.id))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "description.xml").write_text("</oml:data_set_description>", encoding="utf-8")
    (folder / "dataset.arff").write_text("@data", encoding="utf-8")


def run(sweep: Path, n_cells: int, *arguments: str, python_options: tuple[str, ...] = ()) -> tuple[float, float]:
    """Seconds of the processor that the whole process takes, and MB at most of this and the processes before it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, *python_options, str(ROOT / "train.py"), f"sweeps={sweep}", CACHE, *arguments],
        cwd=sweep.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = f"{n_cells:,} cells: {n_cells:,} finished" if arguments else f"{n_cells} of {n_cells} cells were finished"
    assert said in ran.stdout, ran.stdout
    return seconds, after.ru_maxrss / 1024


if __name__ == "__main__":
    main()
