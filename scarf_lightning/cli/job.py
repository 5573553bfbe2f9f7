"""A task of a Slurm array: ``python -m scarf_lightning.cli.job FOLDER`` trains the job of its number in a folder.

Slurm sends SIGTERM when its time is over, when a job of higher priority needs the node, and by ``scancel``: the task
then gives its claims back, so that its cells can be trained at once by others.
"""

import os
import sys
from pathlib import Path

from .process import ended_by_signals


def main() -> None:
    """Train the job of this task."""
    with ended_by_signals():
        # Imported when signals are answered: the imports take seconds, and a task may be ended in them.
        from ..sweeping.launchers import read_job
        from .running import load_training

        cells = read_job(Path(sys.argv[1]) / f"{int(os.environ['SLURM_ARRAY_TASK_ID']):05d}.json")
        load_training()(cells, None)


if __name__ == "__main__":
    main()
