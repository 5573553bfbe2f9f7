"""How long a report takes, and its largest memory: `python -m tools.benchmarks.report_time`.

A process of its own makes it, of made-up results: the paper's datasets x 6 pre-trainings x 30 trials in one regime, and
in three.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from scarf_lightning.metrics import METRICS
from tests.composing import ROOT
from tests.reporting.store import PRETRAINS, fill_store

DATASETS, TRIALS = 69, 30
REGIMES = [("full",), ("full", "semi25", "noise30")]
GOAL = 15.0
"""Milliseconds of the processor a cell more."""


def main() -> None:
    print("| cells | s of the processor | GB | page, MB | ms a cell more (goal) |")
    print("|---|---|---|---|---|")
    before: tuple[int, float] | None = None
    for regimes in REGIMES:
        n_cells = DATASETS * len(PRETRAINS) * len(regimes)
        seconds, memory, page = measured(regimes)
        more = "" if before is None else f"{1e3 * (seconds - before[1]) / (n_cells - before[0]):.1f} ({GOAL:g})"
        print(f"| {n_cells:,} | {seconds:.1f} | {memory:.2f} | {page:.1f} | {more} |", flush=True)
        before = n_cells, seconds


def measured(regimes: tuple[str, ...]) -> tuple[float, float, float]:
    """Seconds of the processor and GB that a report takes, and MB of its page."""
    late = {metric.name: 0.5 for metric in METRICS if metric.name not in ("accuracy", "r2", "rmse", "mae")}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        with patch("os.fsync"):  # no crash is waited for
            fill_store(results, datasets=DATASETS, trials=TRIALS, regimes=regimes, **late)
        command = [sys.executable, str(ROOT / "report.py"), f"results={results}", f"out={folder}/report"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        size = (Path(folder) / "report" / "index.html").stat().st_size / 1e6
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, size


if __name__ == "__main__":
    main()
