"""Train the cells of an ablation: `python train.py -m corruption=mean,marginal scaling=zscore,minmax`.

The same as the command `scarf train` and, in Python, `scarf_lightning.run(["corruption=mean,marginal", ...])`. From top
to bottom:

1. `scarf_lightning.cli.commands.train` hands the command line to Hydra, which composes it with `conf/train.yaml`.
2. `hydra_plugins.scarf_sweeper` is Hydra's sweeper. `scarf_lightning.sweeping.expand` makes cells of the command line
   and checks all of them, `scarf_lightning.sweeping.run` deals out to jobs those that are not finished.
3. `scarf_lightning.cli.running.train_job` is a job, `scarf_lightning.training.cell_loop` its loop over cells.
4. `scarf_lightning.training.CellTraining` trains the trials of a cell, and `scarf_lightning.results` keeps them.
"""

import sys

from scarf_lightning.cli.commands import train

if __name__ == "__main__":
    sys.exit(train())
