"""What training is expected to cost: a rule of thumb, corrected by the times that finished cells have recorded.

The rule: a phase takes a number of epochs that hardly depends on the dataset, so its time grows with the rows and, more
slowly, with the columns. The correction is a ridge regression of log(recorded / rule) on the logarithms of rows and
columns and on which pre-training or method it was; with nothing recorded the rule stands alone. Beyond the sizes that
were recorded it is the rule that grows, and the correction stays what it is at their edge: a slope that a few small
tables suggest would be out by any factor on a large one.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config.combinations import is_pretrained, method_facts
from .cell import Cell
from .survey import State, SurveyedCell

TYPICAL_SIZE = (1000, 20)
"""Rows and columns of data that were never loaded and are none of the paper's."""

PRETRAIN_SECONDS = 1.0
FINETUNE_SECONDS = 0.2
"""A trial on 1,000 rows of 30 columns, on one core: the scale of the rule, which the first finished cells correct."""

RIDGE = 0.5


@dataclass(frozen=True)
class Phase:
    """One phase of a cell: what decides its time. ``kind`` is the pre-training or the method, ``fits`` how many."""

    name: str
    kind: str
    n_rows: int
    n_columns: int
    fits: int = 1

    @property
    def rule(self) -> float:
        """Seconds a trial by the rule of thumb."""
        scale = PRETRAIN_SECONDS if self.name == "pretrain" else FINETUNE_SECONDS
        return scale * self.fits * (0.05 + self.n_rows / 1000) * (1 + self.n_columns / 1000)


class CostModel:
    """Seconds that a trial of a phase takes.

    Args:
        surveyed: cells; the finished ones among them correct the rule of thumb.
    """

    def __init__(self, surveyed: Sequence[SurveyedCell]) -> None:
        recorded = _recorded([each for each in surveyed if each.state is State.FINISHED])
        self._kinds = sorted({(phase.name, phase.kind) for phase, _ in recorded})
        self._weights = np.zeros(3 + len(self._kinds))
        self._sizes = np.zeros((2, 2))
        self.errors: NDArray[np.float64] = np.array([])
        if recorded:
            features = np.array([self._features(phase) for phase, _ in recorded])
            self._sizes = np.array([features[:, 1:3].min(axis=0), features[:, 1:3].max(axis=0)])
            residual = np.array([math.log(max(seconds, 1e-3) / phase.rule) for phase, seconds in recorded])
            inverse = np.linalg.inv(features.T @ features + RIDGE * np.eye(features.shape[1]))
            self._weights = inverse @ features.T @ residual
            # Each as if it had been left out of the regression, in closed form, so that the error is not flattered.
            leverage = np.einsum("ij,jk,ik->i", features, inverse, features)
            self.errors = (residual - features @ self._weights) / (1 - leverage)

    def seconds(self, phase: Phase) -> float:
        """Expected seconds of one trial."""
        features = self._features(phase)
        features[1:3] = features[1:3].clip(*self._sizes)
        return float(phase.rule * np.exp(features @ self._weights))

    def error_factor(self, quantile: float) -> float:
        """The factor within which this share of the recorded phases is met, each estimated from the others."""
        return float(np.exp(np.quantile(np.abs(self.errors), quantile))) if len(self.errors) else math.nan

    def _features(self, phase: Phase) -> NDArray[np.float64]:
        kinds = [float((phase.name, phase.kind) == kind) for kind in self._kinds]
        return np.array([1.0, math.log(phase.n_rows / 1000), math.log(phase.n_columns / 30), *kinds])


def supervised(cell: Cell) -> Phase:
    """The supervised phase of a cell."""
    fits = method_facts(cell.config).variables["typical_fits"]
    return Phase("finetune", cell.config.method["name"], *size(cell), fits * max(1, cell.config.tune))


def pretraining(cell: Cell) -> Phase | None:
    """The pre-training of a cell, if it has one."""
    if not is_pretrained(cell.config):
        return None
    return Phase("pretrain", cell.config.pretrain.name, *size(cell), max(1, cell.config.tune))


def size(cell: Cell) -> tuple[int, int]:
    """Rows and columns of a cell's data, without loading them."""
    known = cell.data()
    if known is not None:
        return known.n_rows, known.n_columns
    return _published_sizes().get(cell.config.dataset.id or 0, TYPICAL_SIZE)


def _recorded(finished: Sequence[SurveyedCell]) -> list[tuple[Phase, float]]:
    """Phases with the mean seconds of their trials: the method of each cell, and each pre-training once, for its
    seconds are in the rows of all cells that start from it."""
    methods = [(supervised(each.cell), _mean(each.rows, "finetune_seconds")) for each in finished]
    shared: dict[str, tuple[Phase, float]] = {}
    for each in finished:
        phase, key = pretraining(each.cell), each.cell.pretraining_key
        if phase is not None and key is not None and key not in shared:
            shared[key] = (phase, _mean(each.rows, "pretrain_seconds"))
    return methods + list(shared.values())


def _mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


@cache
def _published_sizes() -> dict[int, tuple[int, int]]:
    """Rows and columns of the paper's 69 datasets, as OpenML lists them."""
    with Path(__file__).with_name("cc18_sizes.csv").open(encoding="utf-8") as file:
        return {int(row["dataset_id"]): (int(row["n_rows"]), int(row["n_columns"])) for row in csv.DictReader(file)}
