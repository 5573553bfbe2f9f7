"""A long frame of metrics or of predictions as cells.

A frame has the columns ``dataset``, ``trial`` and ``competitor``, or several that stand in its place; one with numbers
of labels, if they vary; and one of these:

- **metrics**, a row a trial: a column of the metric's name, empty where a trial has no value;
- **predictions**, a row a test row of a trial: ``row``, its number in the table, by which it has one ``label`` in all
  trials, and ``prediction``, a class or a number, or a column ``probability_CLASS`` for each class.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError
from ..intervals import FEWEST_TABLES, UNBOUNDED
from ..metrics import FRACTION, Labels, Metric
from .answers import Floats
from .effects import ON, Cell
from .pairs import NOT_USED
from .trials import RowsOfTrial, Trials, rows_by_metric

KEYS = ["dataset", "trial", "competitor"]
PROBABILITY = "probability_"
"""Columns that begin with it hold the probability of the class that follows."""
ROUNDING = 1e-6
"""The part by which float32 may change a number."""
ROUNDED = 0.005
"""The most by which a probability of two decimals is rounded."""

N_LABELS = "number of labels"
"""The column of the numbers of labels, by a name that no user's column has."""

ByName = dict[str, tuple[dict[Hashable, float], dict[Hashable, RowsOfTrial]]]
"""By competitor, the values and the test rows of its trials."""


def cells_of(
    frame: Any,
    metric: Metric,
    factors: Sequence[str] = (),
    labels: str | None = None,
    *,
    test_to_train: float,
    n_trained: float = math.inf,
) -> list[Cell]:
    """The cells of a frame, ascending in their numbers of labels.

    Args:
        frame: as above.
        metric: that it holds, or that its predictions are measured by.
        factors: columns in place of ``competitor``.
        labels: the column with the numbers of labels.
        test_to_train, n_trained: as `Trials` has them.

    Raises:
        UsageError: a column is missing or holds an impossible value, or a trial occurs twice.

    >>> from scarf_lightning.metrics import metric_named
    >>> frame = pd.DataFrame({"dataset": ["wine"], "trial": [0], "competitor": ["tree"], "accuracy": [0.9]})
    >>> (cell,) = cells_of(frame, metric_named("accuracy"), test_to_train=0.25)
    >>> cell.table, cell.name, cell.trials.values
    ('wine', 'tree', {0: 0.9})
    """
    if not isinstance(frame, pd.DataFrame) or not frame.columns.is_unique:
        raise UsageError("compare needs a DataFrame of pandas whose columns have names of their own.")
    is_measured = metric.name in frame.columns
    columns = [metric.name] if is_measured else _predicted_columns(frame, metric)
    for column in (*KEYS[:2], *(factors or KEYS[2:]), *filter(None, [labels]), *columns):
        if column not in frame.columns:
            raise UsageError(
                f"The frame lacks the column {column}; it needs {', '.join(KEYS)}, and {metric.name} for each trial or "
                "row, label and prediction for each test row."
            )
    frame, options = _with_competitors(frame, factors) if factors else (frame, {})
    whole = KEYS if is_measured else [*KEYS, *columns]
    if frame[whole].isna().any(axis=None):
        raise UsageError(f"The frame has rows without a value of {', '.join(whole)}; fill or drop these rows.")
    numbers = _numbers(frame, labels) if labels else np.zeros(len(frame))
    if labels and not (numbers > 0).all():
        raise UsageError(f"The column {labels} holds a number of labels that is not above zero.")
    # Names may be numbers in one part of a frame and texts in another.
    frame = frame.assign(**{key: frame[key].astype(str) for key in ("dataset", "competitor")}, **{N_LABELS: numbers})
    twice = frame.duplicated([N_LABELS, *KEYS, *([] if is_measured else ["row"])])
    if twice.any():
        raise UsageError(f"{_place(frame[twice])} has a row twice; keep one of the two.")
    # A claim over tables needs six, so each of fewer is a context of its own.
    are_few = 1 < frame["dataset"].nunique() < FEWEST_TABLES
    cells = []
    for (n, table), its in frame.sort_values(N_LABELS, kind="stable").groupby([N_LABELS, "dataset"], sort=False):
        in_words = f"{n:,g} labels" if labels else ""
        context = " with ".join(filter(None, (f"{ON}{table}", in_words))) if are_few else in_words
        by_name = _measured(its, metric) if is_measured else _predicted(its, metric, columns[2:])
        for name, (values, rows) in by_name.items():
            trials = Trials(values, rows, None, n_trained, test_to_train)
            cells.append(Cell(table, name, trials, options.get(name, {}), context, n if labels else None, n))
    return cells


def _predicted_columns(frame: pd.DataFrame, metric: Metric) -> list[str]:
    """The columns of predictions: probabilities of the classes stand in place of a prediction."""
    probabilities = [str(column) for column in frame.columns if str(column).startswith(PROBABILITY)]
    if not probabilities or "number" in metric.targets:
        probabilities = ["prediction"]
    return ["row", "label", *probabilities]


def _with_competitors(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[pd.DataFrame, dict[str, dict[str, str]]]:
    """The frame with a competitor for each setting of the factors, and the options of each."""
    if isinstance(factors, str) or len(set(factors)) < max(2, len(factors)):
        raise UsageError("factors needs two columns or more, each once; one is a competitor.")
    names, options = [], {}
    for setting in frame[list(factors)].itertuples(index=False, name=None):
        used = {axis: value for axis, value in zip(factors, setting, strict=True) if pd.notna(value)}
        # As the command line has it: 1.0 is 1.
        its = {axis: str(value).removesuffix(".0") for axis, value in used.items()}
        names.append(", ".join(its.get(axis, NOT_USED) for axis in factors))
        options[names[-1]] = its
    return frame.assign(competitor=names), options


def _measured(frame: pd.DataFrame, metric: Metric) -> ByName:
    """The trials of one table with a row a trial."""
    found: ByName = {}
    values = _numbers(frame, metric.name, metric.bounds)
    for name, trial, value in zip(frame["competitor"], frame["trial"], values.tolist(), strict=True):
        if not math.isnan(value):
            found.setdefault(name, ({}, {}))[0][trial] = value
    return found


def _predicted(frame: pd.DataFrame, metric: Metric, columns: Sequence[str]) -> ByName:
    """The trials of one table with a row a test row."""
    found: ByName = {}
    # Rows may be called by any names, so their ranks within the table stand for them.
    numbers = pd.factorize(frame["row"], sort=True)[0]
    predictions, labels = _predictions_and_labels(frame, metric, columns)
    by_row = pd.Series(labels).groupby(numbers)
    spread, largest = by_row.max() - by_row.min(), pd.Series(np.abs(labels)).groupby(numbers).max()
    if (spread > ROUNDING * largest).any():
        row = frame["row"].to_numpy()[numbers == int(np.argmax(spread > ROUNDING * largest))][0]
        raise UsageError(
            f"Row {row} of {frame['dataset'].iloc[0]} has two labels; the column row needs the number of the row in "
            "the table, and label one value for each."
        )
    for (name, trial), own in frame.reset_index(drop=True).groupby(["competitor", "trial"], sort=False):
        positions = own.index.to_numpy()
        # Two competitors may list their rows in different orders, and are compared row by row.
        its = positions[np.argsort(numbers[positions])]
        rows = rows_by_metric([metric], predictions[its], labels[its], numbers[its]).get(metric.name)
        # A metric may be undefined on a trial's test rows, such as the AUROC of one class.
        if rows is not None:
            values, tested = found.setdefault(str(name), ({}, {}))
            values[trial], tested[trial] = float(rows.values.mean()), rows
    return found


def _predictions_and_labels(frame: pd.DataFrame, metric: Metric, columns: Sequence[str]) -> tuple[Floats, Labels]:
    """Predictions and labels of one table as metrics take them."""
    if "number" in metric.targets:
        return _numbers(frame, "prediction"), _numbers(frame, "label")
    labels, classes = frame["label"].astype(str), [column.removeprefix(PROBABILITY) for column in columns]
    if columns == ["prediction"]:
        predicted = frame["prediction"].astype(str)
        for name, own in predicted.groupby(frame["competitor"], sort=False):
            if not own.isin(labels.unique()).any():
                raise UsageError(
                    f"The column prediction of competitor {name} on {frame['dataset'].iloc[0]} holds no class of the "
                    f"column label, but {own.iloc[0]}; name the classes alike."
                )
        # Classes that only predictions have count as classes too.
        classes = sorted({*labels, *predicted})
        # A predicted class is a certain one: probability 1 for it, 0 for the others.
        predictions = np.eye(len(classes))[pd.Categorical(predicted, categories=classes).codes]
    else:
        predictions = np.column_stack([_numbers(frame, column, FRACTION) for column in columns])
        # Each class may have been rounded.
        is_off = np.abs(predictions.sum(axis=1) - 1) > ROUNDED * len(columns)
        if is_off.any():
            raise UsageError(
                f"Probabilities of {_place(frame[is_off])} sum to {predictions[is_off][0].sum():.4g}, not to 1; give a "
                f"column {PROBABILITY}CLASS for every class."
            )
    if unknown := sorted({*labels} - {*classes}):
        raise UsageError(f"The label {unknown[0]} has no column {PROBABILITY}{unknown[0]}; add it.")
    return predictions, np.asarray(pd.Categorical(labels, categories=classes).codes, dtype=np.int64)


def _numbers(frame: pd.DataFrame, column: str, bounds: tuple[float, float] = UNBOUNDED) -> Floats:
    """The numbers in a column, ``(N,)``, NaN where it is empty, cut at the bounds that rounding alone may leave."""
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    is_wrong = frame[column].notna().to_numpy() & ~np.isfinite(values)
    if is_wrong.any():
        raise UsageError(f"The column {column} needs finite numbers, and holds {frame[column][is_wrong].iloc[0]}.")
    lowest, highest = bounds
    is_outside = (values < lowest - ROUNDING) | (values > highest + ROUNDING)
    if is_outside.any():
        raise UsageError(
            f"{column} lies between {lowest:g} and {highest:g}, and {_place(frame[is_outside])} has "
            f"{values[is_outside][0]:.10g}; divide percentages by 100, and turn the sign of a loss."
        )
    return np.asarray(np.clip(values, lowest, highest))


def _place(rows: pd.DataFrame) -> str:
    """The competitor and trial of the first of some rows."""
    first = rows.iloc[0]
    return f"competitor {first['competitor']} in trial {first['trial']} of {first['dataset']}"
