"""The columns of a table that carry a model: each of them alone is nearly as good as the model with all columns.

Such a column may be one that is known only once the target is. It is measured on the rows that the model was tested on,
by a small tree that learns from the other rows, so it needs no fit of the model, and two columns that carry the same
are both found, where shuffling one of them would show nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ..data.columns import Advice, Floats, Ints
from ..data.filled import IF_LATE
from ..data.table import Table
from ..data.targets import Labels
from ..data.untyped import tree_input
from ..metrics import Metric

CARRIES = 0.9
"""The share of what a model gains over one answer for all rows that a column has to gain alone. Of 21 tables of
OpenML-CC18 without a known leak one has such a column beside a random forest by accuracy, two by balanced accuracy."""
MOST_ROWS, MOST_TRIALS, MOST_COLUMNS = 5000, 5, 3
"""Rows that a tree learns from, trials that are looked at, and columns that are measured in all of them."""
LEAVES = 4
"""Leaves of a tree for each class; a number has ten times as many."""
ROWS_IN_LEAF = 5


@dataclass(frozen=True)
class ModelTrial:
    """The test rows of one trial of a model.

    Attributes:
        rows: their numbers in the table, ``(n,)``.
        predictions: of the model, as its target has them.
    """

    rows: Ints
    predictions: Floats


@dataclass(frozen=True)
class Carrier:
    """A column that carries a model.

    Attributes:
        column: its name in the file.
        level: the metric of the column alone, its mean over trials.
        without: the metric of one answer for all rows, likewise.
        share: the part of the model's gain over that answer that the column has alone.
    """

    column: str
    level: float
    without: float
    share: float

    def to_drop(self, said: str) -> str:
        """A sentence about the column, with the option that leaves it out."""
        return str(Advice(said, "dataset.drop", [self.column], IF_LATE))


def carriers(table: Table, trials: Sequence[ModelTrial], metric: Metric, least: float) -> list[Carrier]:
    """The columns of a table that carry a model, the best first.

    Args:
        table: that the model was trained on.
        trials: of the model, at least one.
        metric: that the model is recommended by.
        least: the gain over one answer for all rows below which there is nothing to carry; a part of that answer's
            metric if the metric's differences are relative.
    """
    trials = trials[:MOST_TRIALS]
    columns = table.features_of
    # An only column carries every model.
    if len(columns) < 2:
        return []
    # Most columns carry nothing, and one trial shows it.
    by_first = {name: metric.sign * _levels(table, trials[:1], metric, of)[0] for name, of in columns.items()}
    best = sorted(by_first, key=lambda name: -by_first[name])[:MOST_COLUMNS]
    without = float(np.mean(_levels(table, trials, metric, [])))
    of_model = float(np.mean([_measured(table, each, each.predictions, metric) for each in trials]))
    gain = metric.sign * (of_model - without)
    size = abs(without) if metric.is_relative and without else 1.0
    # A metric that a trial does not define is NaN, and is above nothing.
    if not gain > least * size:
        return []
    found = []
    for name in best:
        level = float(np.mean(_levels(table, trials, metric, columns[name])))
        share = metric.sign * (level - without) / gain
        if share >= CARRIES:
            found.append(Carrier(name, level, without, share))
    return sorted(found, key=lambda each: -each.share)


def _levels(table: Table, trials: Sequence[ModelTrial], metric: Metric, features: Sequence[int]) -> list[float]:
    """The metric by trial of a tree on these features of the table; without any it gives one answer for all rows."""
    values = np.zeros((table.n_rows, 1))
    if features:
        values = np.concatenate(
            [tree_input(table.values[:, place], table.columns[place]) for place in features], axis=1
        )
    levels = []
    for trial in trials:
        predicted = _predicted(table, trial, values)
        levels.append(_measured(table, trial, predicted, metric))
    return levels


def _predicted(table: Table, trial: ModelTrial, values: Floats) -> NDArray[np.float64]:
    """Predictions for the test rows by a tree on the labelled rows that are not tested, from ``(n, F)`` values."""
    is_tested = np.zeros(table.n_rows, dtype=bool)
    is_tested[trial.rows] = True
    rows = np.flatnonzero(table.is_labelled & ~is_tested)
    # The seed is fixed, so that a recommendation that is made again says the same.
    rows = np.random.default_rng(0).permutation(rows)[:MOST_ROWS]
    target = table.target

    def learn(labels: Labels) -> Floats:
        n_classes = target.n_classes_among(labels)
        options = {
            "max_leaf_nodes": LEAVES * (n_classes or 10),
            "min_samples_leaf": min(ROWS_IN_LEAF, len(rows)),
            "random_state": 0,
        }
        tree = target.choose(classifier=DecisionTreeClassifier, regressor=DecisionTreeRegressor)(**options)
        return target.predicted_by(tree.fit(values[rows], labels), values[trial.rows])

    return np.asarray(target.taught(table.labels[rows], len(trial.rows), learn), dtype=np.float64)


def _measured(table: Table, trial: ModelTrial, predictions: Floats, metric: Metric) -> float:
    return metric.function(predictions, table.labels[trial.rows])
