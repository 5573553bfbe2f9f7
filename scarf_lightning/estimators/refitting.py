"""The model of a cell, trained again on all labels of its table, to be kept and used.

Networks train as those of the estimators do. Rivals train on every label, and are kept by skops, see `rival_models`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..data.splits import Split, Splitting
from ..data.table import Table
from ..engine.stack import Stack
from ..errors import UsageError
from ..importing import installing
from ..methods.rivals import Floats, Lesson, Rival
from ..options import Config
from ..training import CellTraining
from .fitting import process_of, train
from .model import Model, why_no_model
from .predictor import OF_A_FILE
from .rival_models import KEPT, RivalDescription, RivalModel


class EveryRowTrains(Splitting):
    """A rule without validation and test rows."""

    def __init__(self, rule: Splitting) -> None:
        self._rule = rule

    def copies_note(self, table: Table, random: np.random.Generator) -> None:
        """Nothing: no row is tested."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        none = np.empty(0, dtype=np.int64)
        return Split(np.arange(table.n_rows), none, none)


@dataclass(frozen=True)
class KeepingLesson(Lesson):
    """A lesson that keeps the model that was fitted.

    Attributes:
        fitted: the model, once there is one.
    """

    fitted: list[Any] = field(default_factory=list)

    def predicted_by(self, model: Any, train: Any, predicted: Any) -> Floats:
        """Fit a model, keep it, and predict the rows that it learnt from."""
        train_predictions = super().predicted_by(model, train, train)
        self.fitted.append(model)
        return train_predictions


def why_not_kept(config: Config) -> str | None:
    """The reason why the model of a cell cannot be kept; None if it can."""
    method = config.part("method")
    if config.finetune.temperature:
        return "a kept model would predict without its temperature; train with finetune.temperature=false"
    if method.name in KEPT:
        return None if find_spec("skops") else f"skops is not installed: {installing('skops')}"
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
    if config.part("method").name in KEPT:
        return _rival(config, table, expected)
    # Not the cell's own trials: each of them has held a fifth of the rows back as test rows.
    model, _, _ = train(replace(config, trials=n_networks, keep_weights=True), table)
    return Model(replace(model.description, expected=dict(expected)), model.preprocessing, model.weights)


def _rival(config: Config, table: Table, expected: Mapping[str, Any]) -> RivalModel:
    """A model of another library, fitted to every label of the table."""
    with process_of(config) as hardware:
        training = CellTraining.prepare(replace(config, trials=1), table, hardware, splitting=EveryRowTrains)
        stack = training.stack([0])
    method = training.parts.method
    assert isinstance(method, Rival)
    weights = stack.row_weights(training.config.finetune.class_weight)
    # There is one trial, so all arrays of the stack have one entry.
    row_weights = None if weights is None else weights[0]
    seed = stack.streams.seed_of(0, method.stream) % 2**31
    # A rival fits and predicts in one call, and drops its model; this lesson keeps it.
    lesson = KeepingLesson(stack, stack.data.labels[0], row_weights, seed)
    method.predict(lesson)
    # A rival's numbers are in the unit of the target, so nothing of the target is fitted.
    preprocessing = replace(stack.data.preprocessing, target=np.empty((1, 0)))
    model = RivalModel(_described(config, table, stack, method, expected), preprocessing, lesson.fitted[0])
    model.check()
    return model


def _described(
    config: Config, table: Table, stack: Stack, method: Rival, expected: Mapping[str, Any]
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
        method=method.name,  # type: ignore[arg-type]
        label=getattr(method, "label", method.name),
        encoding=getattr(method, "encoding", "onehot"),
        order=getattr(method, "order", "declared"),
    )
