"""The columns of a table that carry a model: each of them alone is nearly as good as the model with all columns.

Such a column may be one that is known only once the target is. It is measured on the rows that the model was tested on,
by a small tree that learns from the other rows, so it needs no fit of the model, and two columns that carry the same
are both found, where shuffling one of them would show nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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
"""Rows that a tree learns from and is measured on, trials, and columns that are measured in all of these."""
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
    first_scores = {
        name: metric.sign * _levels(table, trials[:1], metric, features)[0] for name, features in columns.items()
    }
    best = sorted(first_scores, key=lambda name: -first_scores[name])[:MOST_COLUMNS]
    without = float(np.mean(_levels(table, trials, metric, [])))
    model_level = float(
        np.mean([_measured(table, each.rows, each.predictions, metric) for each in map(_some_rows, trials)])
    )
    gain = metric.sign * (model_level - without)
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


def _some_rows(trial: ModelTrial) -> ModelTrial:
    """A trial with some of its rows, so that a column of many categories fits into memory."""
    if len(trial.rows) <= MOST_ROWS:
        return trial
    chosen = np.random.default_rng(0).permutation(len(trial.rows))[:MOST_ROWS]
    return ModelTrial(trial.rows[chosen], trial.predictions[chosen])


def _levels(table: Table, trials: Sequence[ModelTrial], metric: Metric, features: Sequence[int]) -> list[float]:
    """The metric by trial of a tree on these features of the table; without any it gives one answer for all rows."""
    levels = []
    for trial in trials:
        measured = _some_rows(trial).rows
        predicted = _predicted(table, trial.rows, measured, features)
        levels.append(_measured(table, measured, predicted, metric))
    return levels


def _predicted(table: Table, tested: Ints, predicted: Ints, features: Sequence[int]) -> Floats:
    """Predictions for some rows by a tree on these features of the labelled rows that are not tested."""
    is_tested = np.zeros(table.n_rows, dtype=bool)
    is_tested[tested] = True
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
        fitted = tree.fit(_encoded(table, rows, features), labels)
        return target.predicted_by(fitted, _encoded(table, predicted, features))

    return np.asarray(target.taught(table.labels[rows], len(predicted), learn), dtype=np.float64)


def _encoded(table: Table, rows: Ints, features: Sequence[int]) -> Floats:
    """Features of some rows as a tree takes them, ``(n, F)``; a constant without any."""
    encoded = [tree_input(table.values[rows, place], table.columns[place]) for place in features]
    return np.concatenate(encoded, axis=1) if encoded else np.zeros((len(rows), 1))


def _measured(table: Table, rows: Ints, predictions: Floats, metric: Metric) -> float:
    return metric.function(predictions, table.labels[rows])
