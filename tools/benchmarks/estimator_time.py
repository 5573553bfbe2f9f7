"""Processor time of `ScarfClassifier.fit` over a hand-written loop: `python -m tools.benchmarks.estimator_time`.

One trial on 20,000 x 50 numbers, some epochs of SCARF and of fine-tuning. The loop is that of `tests/reference.py`. It
trains the same networks on as many rows for as many epochs; both read, scale, train and validate. They take turns. With
the default of ``pretrain``, the classifier trains a network without pre-training too, and keeps the better one.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import torch

from scarf_lightning import ScarfClassifier
from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import prepare_process
from scarf_lightning.randomness import Streams
from tests.reference import ReferenceTrial

ROWS, COLUMNS = 20_000, 50
TRAINED = round(0.9 * ROWS)
"""Rows that train; the others stop training."""
GOAL = 1.1
"""The ratio that is aimed at where both do the same work."""


def processor_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def ratios(epochs: int, turns: int) -> dict[str, list[float]]:
    """By ``pretrain``, of each turn after one that warms up."""
    random = np.random.default_rng(0)
    x = pd.DataFrame(random.normal(size=(ROWS, COLUMNS)), columns=[f"x{m}" for m in range(COLUMNS)])
    y = np.where(x["x0"] + x["x1"] * x["x2"] > 0, "yes", "no")
    options = {f"{phase}.max_epochs": epochs for phase in ("pretrain", "finetune")} | {"finetune.min_steps": 0}

    def ours(pretrain: str) -> object:
        return ScarfClassifier(pretrain=pretrain, n_trials=1, device="cpu", options=options).fit(x, y)

    def loop() -> None:
        table = Table.from_frame(x, pd.Series(y), categorical=[False] * COLUMNS, name="noise", source="made up")
        rows = np.random.default_rng(0).permutation(ROWS)
        streams = Streams(0, table.n_labelled)
        trial = ReferenceTrial(table, rows[:TRAINED], rows[TRAINED:], streams, 0, torch.float32, fused=True)
        trial.pretrain(max_epochs=epochs)
        trial.finetune(max_epochs=epochs)

    found: dict[str, list[float]] = {"scarf": [], "auto": []}
    for _ in range(turns + 1):
        seconds = processor_seconds(loop)
        for pretrain, of_turns in found.items():
            of_turns.append(processor_seconds(lambda pretrain=pretrain: ours(pretrain)) / seconds)  # type: ignore[misc]
    return {pretrain: of_turns[1:] for pretrain, of_turns in found.items()}


def rows(epochs: int, turns: int) -> Iterator[str]:
    """A Markdown table."""
    yield f"| ScarfClassifier, one trial, 20,000 x 50, {epochs} epochs | over a hand-written loop (range) | goal |"
    yield "|---|---|---|"
    for pretrain, found in ratios(epochs, turns).items():
        between, goal = f"{min(found):.2f} to {max(found):.2f}", GOAL if pretrain == "scarf" else ""
        yield f"| pretrain={pretrain} | {statistics.median(found):.2f} ({between}) | {goal} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    asked = parser.parse_args()
    prepare_process(threads=1)
    for line in rows(asked.epochs, asked.turns):
        print(line, flush=True)


if __name__ == "__main__":
    main()
