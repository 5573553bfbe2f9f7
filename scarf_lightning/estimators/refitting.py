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
        found = super().predicted_by(model, train, train)
        self.fitted.append((model, found))
        return found


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
    if reason := why_not_kept(config):
        raise UsageError(f"No model is kept: {reason}.")
    if method_of(config).name in FORMS:
        return _rival(config, table, expected)
    model, _, _ = train(replace(config, trials=n_networks, keep_weights=True), table)
    return Model(replace(model.description, expected=dict(expected)), model.preprocessing, model.weights)


def _rival(config: Config, table: Table, expected: Mapping[str, Any]) -> RivalModel:
    with process_of(config) as hardware:
        training = CellTraining.prepare(replace(config, trials=1), table, hardware, splitting=EveryRowTrains)
        stack = training.stack([0])
    method = training.parts.method
    assert isinstance(method, Rival)
    weights = stack.row_weights(training.config.finetune.class_weight)
    seed = stack.streams.seed_of(0, method.stream) % 2**31
    lesson = KeepingLesson(stack, stack.data.labels[0], None if weights is None else weights[0], seed)
    method.predict(lesson)
    (fitted, expectation) = lesson.fitted[0]
    learnt = FORMS[method.name](fitted)
    target = table.target.plain()
    columns = stack.table.columns
    reader = replace(table.rows_reader, columns=columns)
    description = RivalDescription(
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
    model = RivalModel(description, replace(stack.data.preprocessing, target=np.empty((1, 0))), learnt.arrays)
    model.check()
    # The arrays must say what the library says, whatever its version.
    own = model.of_values(stack.table.values[stack.data.labelled[0]])
    scale = max(1.0, float(np.abs(expectation).max()))
    if not np.allclose(own, expectation, atol=CLOSE * scale):
        raise RuntimeError(f"The arrays of {description.label} do not predict what its library predicts.")
    return model


def _linear(fitted: Any) -> Learnt:
    """Scikit-learn's logistic or ridge regression."""
    coefficients = np.atleast_2d(fitted.coef_).T
    offset = np.atleast_1d(fitted.intercept_)
    is_classifier = hasattr(fitted, "classes_")
    link = "identity"
    if is_classifier:
        link = "logistic" if coefficients.shape[1] == 1 else "softmax"
    arrays = {"coefficients": coefficients.astype(np.float64), "offset": offset.astype(np.float64)}
    return Learnt("linear", link, arrays)


def _forest(fitted: Any) -> Learnt:
    """Scikit-learn's random forest: each tree has an equal part in the mean."""
    trees = [each.tree_ for each in fitted.estimators_]
    values = [tree.value[:, 0, :] for tree in trees]
    if hasattr(fitted, "classes_"):
        values = [value / value.sum(axis=1, keepdims=True) for value in values]
    found = _joined(
        left=[tree.children_left for tree in trees],
        right=[tree.children_right for tree in trees],
        feature=[tree.feature for tree in trees],
        threshold=[tree.threshold for tree in trees],
        missing_left=[tree.missing_go_to_left for tree in trees],
        value=[value / len(trees) for value in values],
    )
    return Learnt("trees", "identity", found | {"offset": np.zeros(values[0].shape[1])})


def _xgboost(fitted: Any) -> Learnt:
    """XGBoost's trees. A row goes left below the threshold, so up to the number before it."""
    booster = fitted.get_booster()
    content = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    model = content["gradient_booster"]["model"]
    n_classes = len(getattr(fitted, "classes_", ()))
    n_scores = n_classes if n_classes > 2 else 1
    trees: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("left", "right", "feature", "threshold", "missing_left", "value")
    }
    for tree, group in zip(model["trees"], model["tree_info"], strict=True):
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        left = np.array(tree["left_children"])
        value = np.zeros((len(left), n_scores))
        value[:, group] = np.where(left == LEAF, conditions, 0)
        trees["left"].append(left)
        trees["right"].append(np.array(tree["right_children"]))
        trees["feature"].append(np.array(tree["split_indices"]))
        trees["threshold"].append(np.nextafter(conditions, np.float32(-np.inf)))
        trees["missing_left"].append(np.array(tree["default_left"]))
        trees["value"].append(value)
    base = str(content["learner_model_param"]["base_score"]).strip("[]")
    offset = np.array([float(number) for number in base.split(",")], dtype=np.float64)
    link = "identity"
    if n_classes == 2:
        # The base score is a probability, and scores are its log-odds.
        link, offset = "logistic", np.log(offset / (1 - offset))
    elif n_classes:
        link = "softmax"
    return Learnt("trees", link, _joined(**trees) | {"offset": np.broadcast_to(offset, (n_scores,)).copy()})


def _joined(**trees: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The nodes of all trees in one array each, with the number of the first node of each tree."""
    sizes = [len(each) for each in trees["left"]]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    found: dict[str, NDArray[Any]] = {"roots": roots.astype(np.int64)}
    for name in ("left", "right"):
        moved = []
        for children, root in zip(trees[name], roots, strict=True):
            moved.append(np.where(children == LEAF, LEAF, children + root))
        found[name] = np.concatenate(moved).astype(np.int64)
    is_leaf = found["left"] == LEAF
    # What a leaf asks for means nothing.
    found["feature"] = np.where(is_leaf, 0, np.concatenate(trees["feature"])).astype(np.int64)
    found["threshold"] = np.where(is_leaf, 0.0, np.concatenate(trees["threshold"])).astype(np.float64)
    found["missing_left"] = np.concatenate(trees["missing_left"]).astype(np.uint8)
    found["value"] = np.concatenate(trees["value"]).astype(np.float64)
    return found


FORMS: dict[str, Callable[[Any], Learnt]] = {
    "logistic": _linear,
    "ridge": _linear,
    "random_forest": _forest,
    "xgboost": _xgboost,
}
"""The functions that make arrays of a fitted model, by method."""
