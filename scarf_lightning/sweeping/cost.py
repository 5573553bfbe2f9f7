"""What training is expected to cost: a rule of thumb, corrected by the times that finished cells have recorded.

The rule: the epochs that a phase takes hardly depend on the dataset, so its time grows with the rows and, more slowly,
with the columns; see `phases`. The correction is a ridge regression of log(recorded / rule) on the logarithms of rows
and columns, and on which pre-training or method, network and precision it was; with nothing recorded the rule stands
alone. Beyond the sizes that were recorded it is the rule that grows, and the correction stays what it is at their edge:
a slope that a few small tables suggest would be out by any factor on a large one.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..settings import DEFAULT_PRECISION
from .phases import DEFAULT_NETWORK, Phase, pretraining, supervised
from .survey import State, SurveyedCell

RIDGE = 0.5
BY_DEFAULT = {("network", DEFAULT_NETWORK), ("precision", DEFAULT_PRECISION)}
"""What the rule is of."""


class CostModel:
    """Seconds that a trial of a phase takes.

    Args:
        surveyed: cells; the finished ones among them correct the rule of thumb.
    """

    def __init__(self, surveyed: Sequence[SurveyedCell]) -> None:
        recorded = _recorded([each for each in surveyed if each.state is State.FINISHED])
        self._kinds = sorted({kind for phase, _ in recorded for kind in _kinds(phase)})
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
        own = _kinds(phase)
        kinds = [float(kind in own) for kind in self._kinds]
        return np.array([1.0, math.log(phase.n_rows / 1000), math.log(phase.n_columns / 30), *kinds])


def _kinds(phase: Phase) -> set[tuple[str, str]]:
    """What a phase shares with others, each of which may take longer or shorter than the rule has it."""
    kinds = {(phase.name, phase.kind)}
    if phase.network is not None:
        kinds |= {("network", phase.network), ("precision", phase.precision)} - BY_DEFAULT
    return kinds


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
