"""Permutation importance of trained networks: of the model that votes, and of the trials of a finished cell.

- **A model** is judged as it predicts, on rows that it has not seen. The claim is about this very model on new rows
  like these, so the error is that of the rows alone. The differences are those of
  `sklearn.inspection.permutation_importance`, with the same permutations.
- **A cell** is judged on the test rows of its trials, each by its own network. The claim is about the table: training
  sets drawn from its rows. All trials and permutations pass through the stack at once, a column at a time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from ..data.reading import Reader
from ..data.reading.frames import frame_of, plain_column
from ..data.targets import Classes, Number
from ..engine.hardware import torch_threads
from ..errors import UsageError, counted
from ..forks import side_by_side
from ..importance.judging import ColumnVerdict, Importance, judge_column
from ..importance.permuting import Floats, permutations, permuted, permuted_rows
from ..intervals import FEWEST
from ..metrics import Metric, metric_named
from ..verdicts.answers import MARGIN
from ..verdicts.trials import RowsOfTrial, Split, rows_of_trial
from .jobs import n_processes
from .labels import GivenLabels, labels_of_classes, labels_of_numbers, one_a_row
from .looking import TrialRows, load_rows
from .model import Model
from .opening import load_model
from .predictor import Predictor

Groups = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]
"""Columns that are permuted together, as lists, or as lists by name."""
REPEATS = 5
"""Permutations of each column. Their mean has the error of the rows, and little of the permutations."""
TRAINED_ON_ALL = Split("random", np.inf)


def importance(
    model: Predictor,
    X: Any,
    y: Any,
    *,
    metric: str | None = None,
    groups: Groups | None = None,
    n_repeats: int = REPEATS,
    random_state: int = 0,
    margin: float = MARGIN,
    unlabelled: Any = None,
    n_jobs: int | None = None,
) -> Importance:
    """The importance of each column to a model: by how much its metric is better than with the column permuted.

    Args:
        X: n rows that the model has not seen, as `Model.predict` takes them.
        y: their classes or numbers, ``(n,)``; rows without one are left out.
        metric: one of `scarf_lightning.metrics`; accuracy, or R2 of numbers, if not given.
        groups: columns to permute together, beside each column alone.
        n_repeats: permutations of each column.
        random_state: their seed, as `sklearn.inspection.permutation_importance` takes it.
        margin: a difference no larger than this is of no practical consequence.
        unlabelled: marks of rows without a label, as `ScarfClassifier` has them.
        n_jobs: processes that permute columns side by side, as of `ScarfClassifier`; numbers are the same.

    Returns:
        Verdicts on the columns, most important first; Holm's correction is over all of them.

    Raises:
        UsageError: the model predicts nothing, a label is unknown to it, a group names no column, or the metric is of
            another kind of target.
    """
    measure = _metric(model, metric)
    if n_repeats < 1:
        raise UsageError(f"n_repeats must be at least 1, not {n_repeats}.")
    y = one_a_row(y)
    of_rows = _labels_of(model, y, unlabelled)
    frame = _frame(model, X)
    check_consistent_length(frame, y)
    labels = _plain_labels(model, of_rows.known)
    numbers = np.flatnonzero(of_rows.is_known)
    values = model.values(frame)[numbers]
    blocks = _with_groups(_blocks(model, frame), groups)
    # One set of orders for all columns, as in `sklearn.inspection.permutation_importance`.
    orders = permutations(len(values), n_repeats, random_state)

    # A thread a process: two of them wait for each other for longer than they compute.
    with torch_threads(1):
        intact = rows_of_trial(measure, _voted(model, values), labels, numbers)
        if intact is None:
            raise UsageError(
                f"{measure.label} is not defined on these {counted(len(numbers), 'row')}; pass more of them."
            )
        known_rows = KnownRows(values, labels, numbers, intact, orders)
        calls = []
        for names, places in blocks.items():
            calls.append(partial(_permuted, model, known_rows, names, places, measure, margin))
        judged = side_by_side(calls, n_processes(n_jobs))
    verdicts = [verdict for verdict in judged if verdict is not None]
    claim = "this model on new rows like these"
    return Importance(_best_first(verdicts), measure, margin, claim=claim)


@dataclass(frozen=True)
class KnownRows:
    """n rows with a label, and what a model makes of them.

    Attributes:
        values: of the features, ``(n, M)``.
        labels: class numbers or numbers, ``(n,)``.
        numbers: of the rows, ``(n,)``.
        intact: what the metric needs of the predictions.
        orders: permutations of the rows, one for each repeat.
    """

    values: Floats
    labels: NDArray[Any]
    numbers: NDArray[np.int64]
    intact: RowsOfTrial
    orders: NDArray[np.int64]


def _permuted(
    model: Predictor, rows: KnownRows, names: tuple[str, ...], places: Sequence[int], measure: Metric, margin: float
) -> ColumnVerdict | None:
    """The verdict on columns that are permuted together; None where the metric is undefined without them."""
    # All permutations pass through the model at once, one after the other.
    predictions = _voted(model, permuted(rows.values, places, rows.orders))
    shape = (len(rows.orders), len(rows.values), *predictions.shape[1:])
    changed = permuted_rows(measure, predictions.reshape(shape), rows.labels, rows.numbers)
    if changed is None:
        return None
    # The claim is about this very model, so one trial is enough.
    return judge_column(
        names, "permuted", "this model", [rows.intact], [changed], measure, TRAINED_ON_ALL, margin=margin, fewest=1
    )


def importance_of_cell(
    folder: str | Path,
    *,
    metric: str | None = None,
    groups: Groups | None = None,
    n_repeats: int = REPEATS,
    random_state: int = 0,
    margin: float = MARGIN,
    plugins: Collection[str] = (),
) -> Importance:
    """The importance of each column to the networks of a finished cell, on the test rows of its trials.

    Args:
        folder: of the cell in the store, which was trained with ``keep_weights=true``.
        metric, groups, n_repeats, random_state, margin: as in `importance`; columns are those that networks see.
        plugins: modules to import first.

    Raises:
        UsageError: the cell kept no weights, its data have changed, or as `importance` says.
    """
    model = load_model(folder, plugins=plugins)
    if not isinstance(model, Model):
        raise UsageError(f"{folder} holds no networks; importance of its model needs rows: importance(model, X, y).")
    measure = _metric(model, metric)
    trials = [load_rows(folder, trial, plugins) for trial in model.trials]
    columns = list(trials[0].features.columns)
    places: dict[tuple[str, ...], list[int]] = {(name,): [place] for place, name in enumerate(columns)}
    blocks = _with_groups(places, groups)

    split = Split(_split_of(model), _n_trained(trials[0].part))
    tested = _test_rows(model, trials, n_repeats, random_state)
    intact = []
    for rows, predictions in zip(tested, _of_each(model, [rows.values for rows in tested]), strict=True):
        intact.append(rows_of_trial(measure, predictions, rows.labels, rows.numbers))
    verdicts = []
    for names, at in blocks.items():
        changed = _changed(model, tested, at, measure)
        # Test rows of one class, for instance, have no AUROC.
        both: list[tuple[RowsOfTrial, RowsOfTrial]] = []
        for one, other in zip(intact, changed, strict=True):
            if one is not None and other is not None:
                both.append((one, other))
        if not both:
            continue
        verdict = judge_column(
            names,
            "permuted",
            model.description.name,
            [one for one, _ in both],
            [other for _, other in both],
            measure,
            split,
            margin=margin,
            fewest=FEWEST,
        )
        verdicts.append(verdict)
    return Importance(_best_first(verdicts), measure, margin)


@dataclass(frozen=True)
class TestedRows:
    """The n_t test rows of one trial of a cell.

    Attributes:
        values: of the features, ``(n_t, M)``.
        labels: class numbers or numbers, ``(n_t,)``.
        numbers: of the rows, ``(n_t,)``.
        orders: permutations of the rows, one for each repeat.
    """

    values: Floats
    labels: NDArray[Any]
    numbers: NDArray[np.int64]
    orders: NDArray[np.int64]


def _test_rows(model: Model, trials: Sequence[TrialRows], n_repeats: int, random_state: int) -> list[TestedRows]:
    """The test rows of each trial."""
    tested = []
    for place, trial in enumerate(trials):
        numbers = np.flatnonzero((trial.part == "test").to_numpy())
        # Another seed for each trial: equal orders would give the trials a noise in common.
        orders = permutations(len(numbers), n_repeats, random_state + place)
        rows = TestedRows(
            values=model.values(trial.features.iloc[numbers]),
            labels=_labels(model, trial.target.iloc[numbers]),
            numbers=numbers,
            orders=orders,
        )
        tested.append(rows)
    return tested


def _changed(
    model: Model, tested: Sequence[TestedRows], places: Sequence[int], measure: Metric
) -> list[RowsOfTrial | None]:
    """The test rows of each trial with columns permuted; None where the metric is undefined without them."""
    moved = [permuted(rows.values, places, rows.orders) for rows in tested]
    changed = []
    for rows, predictions in zip(tested, _of_each(model, moved), strict=True):
        shape = (len(rows.orders), len(rows.numbers), *predictions.shape[1:])
        by_repeat = predictions.reshape(shape)
        changed.append(permuted_rows(measure, by_repeat, rows.labels, rows.numbers))
    return changed


def _metric(model: Predictor, name: str | None) -> Metric:
    """The metric of this name, or the one that scikit-learn scores such a model by."""
    is_number = isinstance(model.target, Number)
    metric = metric_named(name or ("r2" if is_number else "accuracy"))
    if model.target.name not in metric.targets:
        raise UsageError(f"{metric.name} measures {', '.join(metric.targets)}, and the model predicts another target.")
    return metric


def _frame(model: Predictor, X: Any) -> pd.DataFrame:
    """Rows as a frame with the names of the model's columns."""
    frame = frame_of(X)
    if frame is None:
        return model.frame_of_array(X)
    inputs = model.description.inputs
    if not model.description.is_named and len(inputs) == frame.shape[1]:
        frame = frame.set_axis(list(inputs), axis=1)
    return frame.reset_index(drop=True)


def _blocks(model: Predictor, frame: pd.DataFrame) -> dict[tuple[str, ...], list[int]]:
    """For each column of the rows, the places of the features that are made of it."""
    reader = model.description.reader
    # Rows of `load_rows` have the features already, and each is its own column.
    if not set(frame.columns).issuperset(reader.names):
        reader = Reader.plain(reader.columns)
    blocks: dict[tuple[str, ...], list[int]] = {}
    start = 0
    for name, rule in reader.rules:
        # A date or a text becomes several features, which are permuted as one.
        n_features = len(rule.features(plain_column(frame[name])))
        blocks[name,] = list(range(start, start + n_features))
        start += n_features
    return blocks


def _with_groups(blocks: dict[tuple[str, ...], list[int]], groups: Groups | None) -> dict[tuple[str, ...], list[int]]:
    """The columns, and beside them the groups."""
    with_groups = dict(blocks)
    lists = groups.values() if isinstance(groups, Mapping) else groups or ()
    for group in lists:
        places = []
        for name in group:
            if (name,) not in blocks:
                known = ", ".join(each for (each,) in blocks)
                raise UsageError(f"groups names {name!r}, which is no column of the model; they are: {known}.")
            places += blocks[name,]
        with_groups[tuple(group)] = places
    return with_groups


def _labels_of(model: Predictor, y: NDArray[Any], unlabelled: Any) -> GivenLabels:
    """The labels of rows, by the kind of the model's target."""
    if isinstance(model.target, Classes):
        return labels_of_classes(y, unlabelled)
    return labels_of_numbers(y)


def _plain_labels(model: Predictor, labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as metrics take them: numbers, or their places among the classes of the model, sorted."""
    if not isinstance(model.target, Classes):
        return np.asarray(labels, dtype=np.float64)
    classes = model.classes_
    unknown = set(np.unique(labels).tolist()) - set(classes.tolist())
    if unknown:
        raise UsageError(f"y holds {sorted(unknown, key=str)[0]!r}, which is no class of the model.")
    return np.searchsorted(classes, labels)


def _labels(model: Model, target: "pd.Series[Any]") -> NDArray[Any]:
    """The labels of a cell's rows in the order of `_of_each`."""
    if not isinstance(model.target, Classes):
        return target.to_numpy(dtype=np.float64)
    names = list(model.description.classes)
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[str(name)] for name in target], dtype=np.int64)


def _voted(model: Predictor, values: Floats) -> Floats:
    """The predictions of the model: probabilities of the classes in their order ``(n, C)``, or numbers ``(n,)``."""
    predictions = model.of_values(values)
    if isinstance(model.target, Classes):
        return predictions[:, model.order]
    return predictions


def _of_each(model: Model, values: Sequence[Floats]) -> list[Floats]:
    """The predictions of each trial for its own rows, ``(n_t, ...)``."""
    sizes = [len(of_trial) for of_trial in values]
    starts = np.cumsum([0, *sizes[:-1]])
    index = []
    for start, size in zip(starts, sizes, strict=True):
        # Trials are equally long in a stack, so shorter ones repeat their last row.
        index.append(start + np.minimum(np.arange(max(sizes)), size - 1))
    predictions = model.predictions(np.concatenate(values), np.array(index))
    own_rows = []
    for of_trial, size in zip(predictions, sizes, strict=True):
        own_rows.append(np.asarray(of_trial[:size]))
    return own_rows


def _split_of(model: Model) -> str | None:
    return None if model.config is None else str(model.config.split["name"])


def _n_trained(part: "pd.Series[str]") -> float:
    return float((part == "train").sum())


def _best_first(verdicts: list[ColumnVerdict]) -> list[ColumnVerdict]:
    """The verdicts by their differences; one that is not known comes last."""

    def rank(column: ColumnVerdict) -> float:
        return -float(np.nan_to_num(column.verdict.difference, nan=-np.inf))

    return sorted(verdicts, key=rank)
