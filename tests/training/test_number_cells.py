"""A cell of numbers through the command line: its stacks, what is added to it, and what a kill leaves of it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.cli import commands
from scarf_lightning.results import load
from tests.composing import ROOT
from tests.processes import TINY, environment, here, without_times
from tests.promises import is_exact

CELL = ["dataset=diabetes", "pretrain=scarf", *TINY, "finetune.min_steps=0"]


def train(folder: Path, *more: str) -> pd.DataFrame:
    ran = here(commands.train, *CELL, *more, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return without_times(load(folder / "results")).sort_values("trial", ignore_index=True)


@pytest.mark.slow
@pytest.mark.skipif(not is_exact(), reason="this processor's products depend on the size of a stack")
def test_a_killed_run_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
    command = [sys.executable, str(ROOT / "train.py"), *CELL, "trials=6", "trainer.trials_per_stack=1"]
    with subprocess.Popen(
        command, cwd=folders[1], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not list(folders[1].glob("results/*/stacks/*")):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    killed = train(folders[1], "trials=6", "trainer.trials_per_stack=1")

    pd.testing.assert_frame_equal(train(folders[0], "trials=6"), killed, check_exact=True)
