"""Questions whose measurements are known: no network is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import choose_hardware
from scarf_lightning.importance.asked import Measurement, Question, Task
from scarf_lightning.importance.competing import Competitor, Tested
from scarf_lightning.importance.kept import Kept
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.trials import RowsOfTrial
from tests.composing import config_of
from tests.processes import TINY

ROWS, TRIALS = 600, 6
NAMES = ("size", "copy", "noise")
ADDED = np.array([[1.0, 0.0]])

Losses = Mapping[tuple[str, str, tuple[str, ...]], float]
"""Shares of rows that a competitor gets wrong for a change: by way, competitor and columns. Others lose nothing."""


def a_question(metric: str = "accuracy", groups: Sequence[Sequence[int]] = ((0, 1),)) -> Question:
    """Three columns, of which two are a group, and a network without pre-training beside one with SCARF."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(ROWS, len(NAMES))), columns=list(NAMES))
    labels = pd.Series(np.where(frame["size"] > 0, "yes", "no"))
    table = Table.from_frame(frame, labels, categorical=[False] * len(NAMES), name="mine", source="mine")
    competitors = []
    for name, pretrain in (("no pre-training", "none"), ("SCARF", "scarf")):
        config = config_of(*TINY, f"trials={TRIALS}", f"pretrain={pretrain}")
        hardware = choose_hardware(config.trainer)
        competitors.append(Competitor(name, config, table, metric_named(metric), hardware))
    return Question(competitors, groups, margin=0.06)


@dataclass(frozen=True)
class Known(Kept):
    """Measurements of competitors that are right on nine rows in ten, and on fewer with a column changed.

    Attributes:
        losses: the shares of rows that changes cost.
        done: the tasks that have been launched.
    """

    losses: Losses = field(default_factory=dict)
    done: list[Task] = field(default_factory=list)

    @classmethod
    def of(cls, losses: Losses, question: Question | None = None) -> "Known":
        return cls(question or a_question(), Path("nowhere"), losses)

    def launch(self, tasks: Sequence[Task]) -> None:
        self.done.extend(tasks)

    def read(self, task: Task) -> Measurement | None:
        if task not in self.done:
            return None
        name = self.question.competitors[task.competitor].name
        labels = self.question.labels if task.unit is None else [self.question.labels[task.unit]]
        tested = [self._tested(self.losses.get((task.way, name, label), 0.0)) for label in labels]
        if task.unit is None:
            tested.insert(0, self._tested(0.0))
        return Measurement(tested, range(TRIALS), 1.0)

    @staticmethod
    def _tested(loss: float) -> Tested:
        """The test rows of all trials; every way tests the same rows, and the first ones in need get lost."""
        found: Tested = {}
        for trial in range(TRIALS):
            random = np.random.default_rng(trial)
            rows = np.sort(random.permutation(ROWS)[: ROWS // 5])
            is_right = np.random.default_rng(99).random(ROWS) < 0.9
            is_lost = np.random.default_rng(7).random(ROWS) < loss
            values = (is_right & ~is_lost)[rows].astype(np.float64)
            found[trial] = RowsOfTrial(rows, values, ADDED, rows)
        return found
