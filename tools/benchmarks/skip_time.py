"""Processor time and memory to plan and to skip a sweep, of the whole process.

    python -m tools.benchmarks.skip_time [--turns N] [--largest] [--profile]

Writes results folders of made-up finished cells, thirty trials each in the three stacks that a processor trains: all 69
datasets of the paper by so many settings. Then starts `train.py` on the sweep file, with ``plan=true`` and without, and
with ``plan=true`` on an empty folder of results. Nothing is trained. Two numbers of settings tell what a cell costs
from what the process does.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from scarf_lightning.data.targets import Classes
from scarf_lightning.options.combinations import labels
from scarf_lightning.results import CellStore, KnownData, StackRecord, columns, identity, note_data
from scarf_lightning.results.records import sealed, table_of
from scarf_lightning.sweeping.cell import Cell
from tests.composing import ROOT, names, request_of

SWEEP = """
title: Made up, to be skipped
trials: 30
cells:
  - dataset: glob(cc18-*)
    seed: [{seeds}]
"""
CACHE = "paths.openml=openml"
FEW, MANY, LARGEST = 10, 30, 290
"""Settings of each dataset: 690, 2,070 and 20,010 cells."""
STACKS = [range(start, start + 10) for start in (0, 10, 20)]
GOALS = {"skipped": (1.0, 10), "planned": (2.0, 10), "planned, nothing finished": (2.0, 10)}
"""Milliseconds of the processor and kB that a cell more is to take at most."""
ARGUMENTS = {
    "skipped": (),
    "planned": ("plan=true",),
    "planned, nothing finished": ("plan=true", "paths.results=empty"),
}


def rows(turns: int, openml: Path | None = None, *, largest: bool = False) -> Iterator[str]:
    """A Markdown table, as it comes."""
    settings = [FEW, MANY, *([LARGEST] if largest else [])]
    yield "| cells of 30 trials | cells | whole process, s | MB | ms a cell more (goal) | kB a cell more (goal) |"
    yield "|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        sweeps = [make(Path(folder) / str(n), n) for n in settings]
        for name, arguments in ARGUMENTS.items():
            before: tuple[int, float, float] | None = None
            for sweep, n_cells in sweeps:
                ran = [run(sweep, n_cells, *arguments) for _ in range(1 if n_cells > 10_000 else turns)]
                seconds, size = (statistics.median(each) for each in zip(*ran, strict=True))
                more = ["", ""]
                if before is not None:
                    time_goal, size_goal = GOALS[name]
                    n_more = n_cells - before[0]
                    more = [
                        f"{1e3 * (seconds - before[1]) / n_more:.2f} ({time_goal:g})",
                        f"{1e3 * (size - before[2]) / n_more:.0f} ({size_goal})",
                    ]
                yield f"| {name} | {n_cells:,} | {seconds:.1f} | {size:.0f} | {more[0]} | {more[1]} |"
                before = n_cells, seconds, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--largest", action="store_true", help=f"{69 * LARGEST:,} cells, too; once")
    parser.add_argument("--profile", action="store_true", help="say only where the time of skipping goes")
    options = parser.parse_args()
    if not options.profile:
        for line in rows(options.turns, largest=options.largest):
            print(line, flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        sweep, n_cells = make(Path(folder), MANY)
        run(sweep, n_cells, python_options=("-m", "cProfile", "-o", "profile"))
        show = "import pstats; pstats.Stats('profile').sort_stats('cumulative').print_stats(60)"
        subprocess.run([sys.executable, "-c", show], cwd=folder, check=True)


def make(folder: Path, n_settings: int) -> tuple[Path, int]:
    """Finish all cells of a sweep file in ``folder/results``; the file, and how many cells they are."""
    folder.mkdir(parents=True, exist_ok=True)
    sweep = folder / "finished.yaml"
    sweep.write_text(SWEEP.replace("{seeds}", ", ".join(map(str, range(n_settings)))), encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        cells = request_of(f"sweeps={sweep}", CACHE).cells
        with patch("os.fsync"):  # no crash is waited for
            for number, cell in enumerate(cells):
                pretend_to_be_cached(cell)
                finish(cell, np.random.default_rng(number))
    finally:
        os.chdir(here)
    n_datasets = sum(name.startswith("cc18-") for name in names("dataset"))
    assert len(list(folder.glob("results/*/cell.json"))) == len(cells) == n_datasets * n_settings
    return sweep, len(cells)


def finish(cell: Cell, random: np.random.Generator) -> None:
    """Leave in the store what training leaves: all columns of a row, a configuration, and twenty features."""
    data = KnownData(f"{cell.config.dataset.id:064}", n_rows=1000, n_columns=20, n_encoded=20, kind="classes")
    note_data(cell.results, cell.source, data, cell.source.stamps())
    store = CellStore(cell.results, identity(cell.config, data.hash))
    store.describe(
        dataset=str(cell.config.dataset.name),
        dataset_id=cell.config.dataset.id,
        source="somewhere",
        columns=[(f"V{number}", None) for number in range(20)],
        target=Classes(("1", "2")),
        overrides=cell.overrides,
        config=asdict(cell.config),
        options=columns(cell.config),
        labels=dict(labels(cell.config)),
    )
    for trials in STACKS:
        stack = store.folder / "stacks" / f"{trials[0]:04d}-{trials[-1]:04d}-00000000"
        files = _files_of_a_stack(trials)
        stack.mkdir(parents=True)
        for name, content in files.items():
            (stack / name).write_bytes(content)
        table = {
            **table_of([stack / name for name in files], store.fingerprint),
            "trials": [row(trial, random) for trial in trials],
        }
        (stack / "trials.json").write_text(sealed(table), encoding="utf-8")


@cache
def _files_of_a_stack(trials: range) -> dict[str, bytes]:
    """What the store writes of these trials, but for their rows."""
    curves = [
        {"phase": phase, "trial": trial, "epoch": epoch, "train_loss": 1 / epoch, "validation_loss": 1 / epoch}
        for phase in ("pretrain", "finetune")
        for trial in trials
        for epoch in range(1, 11)
    ]
    arrays = {name: np.zeros((len(trials), 20)) for name in ("fill", "shift", "scale")}
    rows = [{"trial": trial} for trial in trials]
    with tempfile.TemporaryDirectory() as folder:
        store = CellStore(Path(folder), {})
        store.add(StackRecord(rows, curves, arrays, {"python": "3.11", "packages": {"torch": "2"}}))
        return {
            path.name: path.read_bytes() for path in Path(folder).glob("*/stacks/*/*") if path.name != "trials.json"
        }


def row(trial: int, random: np.random.Generator) -> dict[str, object]:
    """What is kept of a trial."""
    measured = ("accuracy", "balanced_accuracy", "f1", "mcc", "auroc", "average_precision", "log_loss", "brier_score")
    phases = {
        f"{phase}_{name}": value
        for phase in ("pretrain", "finetune")
        for name, value in (
            ("epochs", int(random.integers(5, 20))),
            ("steps", int(random.integers(100, 200))),
            ("best_epoch", int(random.integers(2, 5))),
            ("seconds", float(random.random())),
        )
    }
    sizes = {"n_train": 700, "n_labelled": 700, "n_unlabelled": 0, "n_validation": 100, "n_test": 200}
    return (
        {"trial": trial, "diverged": None}
        | {name: float(random.random()) for name in (*measured, "calibration_error")}
        | phases
        | {"fits": 1, **sizes, "device": "cpu", "precision": "32-true", "threads": 1}
    )


def pretend_to_be_cached(cell: Cell) -> None:
    """Files as the OpenML client leaves them, which nobody reads."""
    folder = Path("openml", "org", "openml", "www", "datasets", str(cell.config.dataset.id))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "description.xml").write_text("</oml:data_set_description>", encoding="utf-8")
    (folder / "dataset.arff").write_text("@data", encoding="utf-8")


def run(sweep: Path, n_cells: int, *arguments: str, python_options: tuple[str, ...] = ()) -> tuple[float, float]:
    """Seconds of the processor that the whole process takes, and MB at most, which Linux gives as no fewer than this
    process holds."""
    command = [sys.executable, *python_options, str(ROOT / "train.py"), f"sweeps={sweep}", CACHE, *arguments]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=sweep.parent, stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)  # of this child alone
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        shown = output.read()
    assert process.returncode == 0, shown
    if "paths.results=empty" in arguments:
        said = f"{n_cells:,} cells: {n_cells:,} waiting"
    elif arguments:
        said = f"{n_cells:,} cells: {n_cells:,} finished"
    else:
        said = f"{n_cells} of {n_cells} cells were finished"
    assert said in shown, shown
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
