"""Many cells in one process take no more memory than few."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.composing import ROOT

N_CELLS = int(os.environ.get("MEMORY_CELLS", "150"))
FIRST = 50
"""Cells after which caches are full."""
MOST_MB = 20.0


def resident_mb() -> float:
    """Memory that the process has, without what waits to be collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(results: str, n_cells: int) -> None:
    """Train cells of one launch; the memory after each of the first ones and at the end, as JSON."""
    from scarf_lightning.screen import Screen
    from scarf_lightning.training.cell_loop import CellLoop
    from tests.composing import cells_of
    from tests.processes import TINY

    seeds = ",".join(map(str, range(n_cells)))
    cells = cells_of(*TINY, "trials=1", f"paths.results={results}", f"seed={seeds}")
    loop, measured = CellLoop(shown=Screen(quiet=True)), []
    for number, cell in enumerate(cells, start=1):
        loop.train([cell])
        if number % FIRST == 0:
            measured.append(resident_mb())
    print(json.dumps(measured))


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path) -> None:
    code = f"from tests.faults.test_memory_of_cells import main; main({str(tmp_path / 'results')!r}, {N_CELLS})"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    first, *_, last = json.loads(ran.stdout.splitlines()[-1])
    assert last - first < MOST_MB * (N_CELLS - FIRST) / 450
