"""How long a report takes, and its largest memory: `python -m tests.benchmarks.report_time`.

A process of its own makes it, of 69 datasets x 6 pre-trainings x 30 trials of made-up results.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.composing import ROOT
from tests.report.store import PRETRAINS, fill_store

DATASETS, TRIALS = 69, 30


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        fill_store(results, datasets=DATASETS, trials=TRIALS)
        started = time.perf_counter()
        command = [sys.executable, str(ROOT / "report.py"), f"results={results}", f"out={folder}/report"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
        seconds = time.perf_counter() - started
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        size = (Path(folder) / "report" / "index.html").stat().st_size / 1e6
    print(f"{DATASETS} datasets x {len(PRETRAINS)} pre-trainings x {TRIALS} trials")
    print(f"{seconds:.1f} s, {largest:.2f} GB at most, a page of {size:.1f} MB")


if __name__ == "__main__":
    main()
