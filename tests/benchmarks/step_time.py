"""Processor time of one pre-training step: a hand-written loop over one network, a stack of one, a stack of ten.

    python -m tests.benchmarks.step_time [--pairs N]

One CPU thread; encoder 4 x 256, head 2 x 256, batch 128, 30 features. The three take turns, so that the machine's other
work meets all of them alike; what is reported is the ratio within each turn. The hand-written loop is the one that the
tests hold the stack to (`tests/reference.py`), with PyTorch's fused Adam.
"""

import argparse
import statistics
import time
from typing import Any

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch

from scarf_lightning.data.regimes import Full
from scarf_lightning.data.scaling import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import prepare_trials
from scarf_lightning.engine.hardware import Hardware, prepare_process
from scarf_lightning.engine.stack import Stack
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.randomness import Streams
from scarf_lightning.settings import NetworkSettings, PretrainSettings
from tests.reference import ReferenceTrial
from tests.stacks import task

STEPS = 60


class Clock(pl.Callback):
    """Seconds that the training batches of the epoch took, without validation."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on_train_epoch_start(self, *_: Any) -> None:
        self._started = time.thread_time()

    def on_train_batch_end(self, *_: Any) -> None:
        self.seconds = time.thread_time() - self._started


def make_table() -> Table:
    random = np.random.default_rng(0)
    n = round(STEPS * 128 / 0.7)
    frame = pd.DataFrame(random.normal(size=(n, 30)))
    target = pd.Series(random.integers(2, size=n))
    return Table.from_frame(frame, target, categorical=[False] * 30, name="noise", source="made up")


def time_stack(table: Table, n_trials: int) -> float:
    """Seconds a step and trial."""
    streams, clock = Streams(0, table.hash), Clock()
    data = prepare_trials(table, range(n_trials), streams, regime=Full(), scaling=ZScore(), fit_on="all")
    hardware = Hardware(torch.device("cpu"))
    stack = Stack.make(table, data, streams, MLP(), NetworkSettings(), hardware, watch=lambda *_: [clock])
    stack.pretrain(PretrainSettings(max_epochs=1, validation_passes=1), task())
    return clock.seconds / STEPS / n_trials


def time_loop(table: Table) -> float:
    """Seconds a step."""
    streams = Streams(0, table.hash)
    data = prepare_trials(table, [0], streams, regime=Full(), scaling=ZScore(), fit_on="all")
    loop = ReferenceTrial(table, data.train[0], data.validation[0], streams, 0, dtype=torch.float32, fused=True)
    started = time.thread_time()
    loop.pretrain(max_epochs=1, max_steps=STEPS)
    return (time.thread_time() - started) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9, help="turns to take (default 9)")
    turns = parser.parse_args().pairs
    prepare_process(threads=1)
    table = make_table()
    time_loop(table)  # warm up
    time_stack(table, 1)
    rows = [(time_loop(table), time_stack(table, 1), time_stack(table, 10)) for _ in range(turns)]
    for name, position in (("hand-written loop", 0), ("stack of one", 1), ("stack of ten", 2)):
        times = [1e3 * row[position] for row in rows]
        ratios = [row[position] / row[0] for row in rows]
        print(
            f"{name:18} {statistics.median(times):6.2f} ms a step and trial; ratio to the loop: "
            f"median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f} over {turns} turns"
        )


if __name__ == "__main__":
    main()
