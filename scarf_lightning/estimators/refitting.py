"""The model of a cell, trained again on all labels of its table, to be kept and used.

Networks train as those of the estimators do. Rivals train on every label, and are kept as arrays, see `rival_models`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.splits import Split, Splitting
from ..data.table import Table
from ..engine.stack import Stack
from ..errors import UsageError
from ..methods.rivals import Floats, Lesson, Rival
from ..options import Config
from ..options.combinations import method_of
from ..training import CellTraining
from .fitting import process_of, train
from .model import Model, why_no_model
from .predictor import OF_A_FILE
from .rival_models import LEAF, RivalDescription, RivalModel

CLOSE = 1e-4
"""The largest difference between a prediction of the arrays and one of the library, which rounds to 32 bits."""


class EveryRowTrains(Splitting):
    """A rule without validation and test rows."""

    def __init__(self, rule: Splitting) -> None:
        self._rule = rule

    def on_copies(self, table: Table, random: np.random.Generator) -> None:
        """Nothing: no row is tested."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        none = np.empty(0, dtype=np.int64)
        return Split(np.arange(table.n_rows), none, none)


@dataclass(frozen=True)
class Learnt:
    """A fitted model of another library as arrays, see `RivalModel`."""

    learner: str
    link: str
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class KeepingLesson(Lesson):
    """A lesson that keeps the model that was fitted, and what it predicts of the rows that it learnt from.

    Attributes:
        fitted: the model and these predictions, once there are any.
    """

    fitted: list[tuple[Any, Floats]] = field(default_factory=list)

    def predicted_by(self, model: Any, train: Any, predicted: Any) -> Floats:
        """Fit a model, keep it, and predict the rows that it learnt from."""
        of_train = super().predicted_by(model, train, train)
        self.fitted.append((model, of_train))
        return of_train


def why_not_kept(config: Config) -> str | None:
    """The reason why the model of a cell cannot be kept; None if it can."""
    method = method_of(config)
    if method.name in FORMS:
        return None
    return why_no_model(config)


def refitted(config: Config, table: Table, expected: Mapping[str, Any], *, n_networks: int = 3) -> Model | RivalModel:
    """Train the model of a cell on a table.

    Args:
        config: of the cell. Labels that its regime hides are shown.
        table: with the labels to learn from.
        expected: see `TableDescription.expected`.
        n_networks: that vote, if it is a network.

    Raises:
        UsageError: a model of this kind cannot be kept.
    """
    reason = why_not_kept(config)
    if reason is not None:
        raise UsageError(f"No model is kept: {reason}.")
    if method_of(config).name in FORMS:
        return _rival(config, table, expected)
    # Not the cell's own trials: each of them has held a fifth of the rows back as test rows.
    model, _, _ = train(replace(config, trials=n_networks, keep_weights=True), table)
    return Model(replace(model.description, expected=dict(expected)), model.preprocessing, model.weights)


def _rival(config: Config, table: Table, expected: Mapping[str, Any]) -> RivalModel:
    """A model of another library, fitted to every label of the table and turned into arrays."""
    with process_of(config) as hardware:
        training = CellTraining.prepare(replace(config, trials=1), table, hardware, splitting=EveryRowTrains)
        stack = training.stack([0])
    method = training.parts.method
    assert isinstance(method, Rival)
    weights = stack.row_weights(training.config.finetune.class_weight)
    # There is one trial, so all arrays of the stack have one entry.
    of_rows = None if weights is None else weights[0]
    seed = stack.streams.seed_of(0, method.stream) % 2**31
    # A rival fits and predicts in one call, and drops its model; this lesson keeps it.
    lesson = KeepingLesson(stack, stack.data.labels[0], of_rows, seed)
    method.predict(lesson)
    fitted, expectation = lesson.fitted[0]

    learnt = FORMS[method.name](fitted)
    description = _described(config, table, stack, method, learnt, expected)
    # A rival's numbers are in the unit of the target, so nothing of the target is fitted.
    preprocessing = replace(stack.data.preprocessing, target=np.empty((1, 0)))
    model = RivalModel(description, preprocessing, learnt.arrays)
    model.check()
    # The arrays must say what the library says, whatever its version.
    own = model.of_values(stack.table.values[stack.data.labelled[0]])
    scale = max(1.0, float(np.abs(expectation).max()))
    if not np.allclose(own, expectation, atol=CLOSE * scale):
        raise RuntimeError(f"The arrays of {description.label} do not predict what its library predicts.")
    return model


def _described(
    config: Config, table: Table, stack: Stack, method: Rival, learnt: Learnt, expected: Mapping[str, Any]
) -> RivalDescription:
    """The description of a rival that was fitted to a table."""
    columns = stack.table.columns
    reader = replace(table.rows_reader, columns=columns)
    target = table.target.plain()
    return RivalDescription(
        name=table.name,
        rules=tuple(reader.plain_rules),
        columns=columns,
        classes=tuple(target["classes"]),
        is_shared=config.fit_on == "all",
        file={option: getattr(config.dataset, option) for option in OF_A_FILE},
        target=target["target"],
        expected=dict(expected),
        method=method.name,
        label=getattr(method, "label", method.name),
        learner=learnt.learner,  # type: ignore[arg-type]
        link=learnt.link,  # type: ignore[arg-type]
        encoding=getattr(method, "encoding", "onehot"),
        order=getattr(method, "order", "declared"),
    )


def _linear(fitted: Any) -> Learnt:
    """Scikit-learn's logistic or ridge regression."""
    # Scikit-learn has a row of coefficients for each score; here a score is a column.
    coefficients = np.atleast_2d(fitted.coef_).T
    offset = np.atleast_1d(fitted.intercept_)
    link = "identity"
    if hasattr(fitted, "classes_"):
        # Of two classes it fits the score of the second one alone.
        link = "logistic" if coefficients.shape[1] == 1 else "softmax"
    arrays = {"coefficients": coefficients.astype(np.float64), "offset": offset.astype(np.float64)}
    return Learnt("linear", link, arrays)


def _forest(fitted: Any) -> Learnt:
    """Scikit-learn's random forest: each tree has an equal part in the mean."""
    nodes = Nodes()
    n_trees = len(fitted.estimators_)
    for each in fitted.estimators_:
        tree = each.tree_
        value = tree.value[:, 0, :]
        if hasattr(fitted, "classes_"):
            # Shares of the classes in a leaf, whatever its rows weigh.
            value = value / value.sum(axis=1, keepdims=True)
        nodes.add(
            left=tree.children_left,
            right=tree.children_right,
            feature=tree.feature,
            threshold=tree.threshold,
            missing_left=tree.missing_go_to_left,
            value=value / n_trees,
        )
    arrays = nodes.joined()
    arrays["offset"] = np.zeros(arrays["value"].shape[1])
    return Learnt("trees", "identity", arrays)


def _xgboost(fitted: Any) -> Learnt:
    """XGBoost's trees. A row goes left below the threshold, so up to the number before it."""
    booster = fitted.get_booster()
    content = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    model = content["gradient_booster"]["model"]
    n_classes = len(getattr(fitted, "classes_", ()))
    n_scores = n_classes if n_classes > 2 else 1
    nodes = Nodes()
    # The group of a tree is the score that it adds to.
    for tree, group in zip(model["trees"], model["tree_info"], strict=True):
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        left = np.array(tree["left_children"])
        # The condition of a leaf is its value.
        value = np.zeros((len(left), n_scores))
        value[:, group] = np.where(left == LEAF, conditions, 0)
        nodes.add(
            left=left,
            right=np.array(tree["right_children"]),
            feature=np.array(tree["split_indices"]),
            threshold=np.nextafter(conditions, np.float32(-np.inf)),
            missing_left=np.array(tree["default_left"]),
            value=value,
        )
    # Some versions of XGBoost write a list, with a base score for each class.
    base_scores = str(content["learner_model_param"]["base_score"]).strip("[]")
    offset = np.array([float(number) for number in base_scores.split(",")], dtype=np.float64)
    link = "identity"
    if n_classes == 2:
        # The base score is a probability, and scores are its log-odds.
        link, offset = "logistic", np.log(offset / (1 - offset))
    elif n_classes:
        link = "softmax"
    arrays = nodes.joined()
    arrays["offset"] = np.broadcast_to(offset, (n_scores,)).copy()
    return Learnt("trees", link, arrays)


class Nodes:
    """The nodes of trees, in the order in which the trees are added.

    Attributes:
        trees: by name of the array, that of each tree.
    """

    def __init__(self) -> None:
        names = ("left", "right", "feature", "threshold", "missing_left", "value")
        self.trees: dict[str, list[NDArray[Any]]] = {name: [] for name in names}

    def add(self, **arrays: NDArray[Any]) -> None:
        """Add a tree by the arrays of its nodes."""
        for name, array in arrays.items():
            self.trees[name].append(array)

    def joined(self) -> dict[str, NDArray[Any]]:
        """The nodes of all trees in one array each, with the number of the first node of each tree."""
        sizes = [len(left) for left in self.trees["left"]]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        arrays: dict[str, NDArray[Any]] = {"roots": roots.astype(np.int64)}
        for name in ("left", "right"):
            moved = []
            for children, root in zip(self.trees[name], roots, strict=True):
                # Children are counted from the first node of their tree.
                moved.append(np.where(children == LEAF, LEAF, children + root))
            arrays[name] = np.concatenate(moved).astype(np.int64)
        is_leaf = arrays["left"] == LEAF
        # What a leaf asks for means nothing.
        arrays["feature"] = np.where(is_leaf, 0, np.concatenate(self.trees["feature"])).astype(np.int64)
        arrays["threshold"] = np.where(is_leaf, 0.0, np.concatenate(self.trees["threshold"])).astype(np.float64)
        arrays["missing_left"] = np.concatenate(self.trees["missing_left"]).astype(np.uint8)
        arrays["value"] = np.concatenate(self.trees["value"]).astype(np.float64)
        return arrays


FORMS: dict[str, Callable[[Any], Learnt]] = {
    "logistic": _linear,
    "ridge": _linear,
    "random_forest": _forest,
    "xgboost": _xgboost,
}
"""The functions that make arrays of a fitted model, by method."""
