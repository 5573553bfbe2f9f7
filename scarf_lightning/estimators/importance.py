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
from ..report.statistics.answers import MARGIN
from ..report.statistics.trials import RowsOfTrial, Split, rows_of_trial
from .jobs import n_processes
from .labels import labels_of_classes, labels_of_numbers, one_a_row
from .looking import load_rows
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
    labels = one_a_row(y)
    is_classes = isinstance(model.target, Classes)
    given = (
        labels_of_classes(labels, unlabelled)
        if is_classes
        else labels_of_numbers(labels)
    )
    frame = _frame(model, X)
    check_consistent_length(frame, labels)
    kept = np.flatnonzero(given.is_known)
    known = (
        _codes(model, given.known)
        if is_classes
        else np.asarray(given.known, dtype=np.float64)
    )
    values = model.values(frame)[kept]
    blocks = _with_groups(_blocks(model, frame), groups)
    # One set of orders for all columns, as in `sklearn.inspection.permutation_importance`.
    orders = permutations(len(values), n_repeats, random_state)

    # A thread a process: two of them wait for each other for longer than they compute.
    with torch_threads(1):
        intact = rows_of_trial(measure, _voted(model, values), known, kept)
        if intact is None:
            raise UsageError(
                f"{measure.label} is not defined on these {counted(len(kept), 'row')}; pass more of them."
            )
        known_rows = KnownRows(values, known, kept, intact, orders)
        calls = []
        for names, places in blocks.items():
            calls.append(
                partial(_permuted, model, known_rows, names, places, measure, margin)
            )
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
    model: Predictor,
    rows: KnownRows,
    names: tuple[str, ...],
    places: Sequence[int],
    measure: Metric,
    margin: float,
) -> ColumnVerdict | None:
    """The verdict on columns that are permuted together; None where the metric is undefined without them."""
    # All permutations pass through the model at once, one after the other.
    predictions = _voted(model, permuted(rows.values, places, rows.orders))
    shape = (len(rows.orders), len(rows.values), *predictions.shape[1:])
    changed = permuted_rows(
        measure, predictions.reshape(shape), rows.labels, rows.numbers
    )
    if changed is None:
        return None
    # The claim is about this very model, so one trial is enough.
    return judge_column(
        names,
        "permuted",
        "this model",
        [rows.intact],
        [changed],
        measure,
        TRAINED_ON_ALL,
        margin=margin,
        fewest=1,
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
        raise UsageError(
            f"{folder} holds no networks; importance of its model needs rows: importance(model, X, y)."
        )
    measure = _metric(model, metric)
    trials = [load_rows(folder, trial, plugins) for trial in model.trials]
    columns = list(trials[0].features.columns)
    places: dict[tuple[str, ...], list[int]] = {
        (name,): [place] for place, name in enumerate(columns)
    }
    blocks = _with_groups(places, groups)

    # The test rows of each trial, one after the other.
    values, labels, rows = [], [], []
    for its in trials:
        tested = np.flatnonzero((its.part == "test").to_numpy())
        values.append(model.values(its.features.iloc[tested]))
        labels.append(_labels(model, its.target.iloc[tested]))
        rows.append(tested)
    intact: list[RowsOfTrial | None] = []
    for predictions, known, tested in zip(
        _of_each(model, values), labels, rows, strict=True
    ):
        intact.append(rows_of_trial(measure, predictions, known, tested))

    split = Split(_split_of(model), _n_trained(trials[0].part))
    # Another seed for each trial: equal orders would give the trials a noise in common.
    orders = []
    for t, tested in enumerate(rows):
        orders.append(permutations(len(tested), n_repeats, random_state + t))
    verdicts = []
    for names, at in blocks.items():
        moved = []
        for of_trial, order in zip(values, orders, strict=True):
            moved.append(permuted(of_trial, at, order))
        changed: list[RowsOfTrial | None] = []
        for predictions, known, tested in zip(
            _of_each(model, moved), labels, rows, strict=True
        ):
            by_repeat = predictions.reshape(
                n_repeats, len(tested), *predictions.shape[1:]
            )
            changed.append(permuted_rows(measure, by_repeat, known, tested))
        ones: list[RowsOfTrial] = []
        others: list[RowsOfTrial] = []
        for one, other in zip(intact, changed, strict=True):
            # Test rows of one class, for instance, have no AUROC.
            if one is not None and other is not None:
                ones.append(one)
                others.append(other)
        if not ones:
            continue
        verdict = judge_column(
            names,
            "permuted",
            model.description.name,
            ones,
            others,
            measure,
            split,
            margin=margin,
            fewest=FEWEST,
        )
        verdicts.append(verdict)
    return Importance(_best_first(verdicts), measure, margin)


def _metric(model: Predictor, name: str | None) -> Metric:
    """The metric of this name, or the one that scikit-learn scores such a model by."""
    is_number = isinstance(model.target, Number)
    metric = metric_named(name or ("r2" if is_number else "accuracy"))
    if model.target.name not in metric.targets:
        raise UsageError(
            f"{metric.name} measures {', '.join(metric.targets)}, and the model predicts another target."
        )
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


def _with_groups(
    blocks: dict[tuple[str, ...], list[int]], groups: Groups | None
) -> dict[tuple[str, ...], list[int]]:
    """The columns, and beside them the groups."""
    with_groups = dict(blocks)
    lists = groups.values() if isinstance(groups, Mapping) else groups or ()
    for group in lists:
        places = []
        for name in group:
            if (name,) not in blocks:
                known = ", ".join(each for (each,) in blocks)
                raise UsageError(
                    f"groups names {name!r}, which is no column of the model; they are: {known}."
                )
            places += blocks[name,]
        with_groups[tuple(group)] = places
    return with_groups


def _codes(model: Predictor, known: NDArray[Any]) -> NDArray[np.int64]:
    """The places of labels among the classes of the model, sorted."""
    classes = model.classes_
    unknown = set(np.unique(known).tolist()) - set(classes.tolist())
    if unknown:
        raise UsageError(
            f"y holds {sorted(unknown, key=str)[0]!r}, which is no class of the model."
        )
    return np.searchsorted(classes, known)


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
    sizes = [len(its) for its in values]
    starts = np.cumsum([0, *sizes[:-1]])
    index = []
    for start, size in zip(starts, sizes, strict=True):
        # Trials are equally long in a stack, so shorter ones repeat their last row.
        index.append(start + np.minimum(np.arange(max(sizes)), size - 1))
    together = model.predictions(np.concatenate(values), np.array(index))
    return [np.asarray(its[:size]) for its, size in zip(together, sizes, strict=True)]


def _split_of(model: Model) -> str | None:
    return None if model.config is None else str(model.config.split["name"])


def _n_trained(part: "pd.Series[str]") -> float:
    return float((part == "train").sum())


def _best_first(verdicts: list[ColumnVerdict]) -> list[ColumnVerdict]:
    """The verdicts by their differences; one that is not known comes last."""

    def rank(column: ColumnVerdict) -> float:
        return -float(np.nan_to_num(column.verdict.difference, nan=-np.inf))

    return sorted(verdicts, key=rank)
