"""The trials of a long frame of metrics or of predictions."""

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..errors import UsageError
from ..intervals import TEST_TO_TRAIN
from ..metrics import FRACTION, Labels, Metric
from .frame import Trials
from .scores import Floats
from .trial_rows import RowsOfTrial, Split, rows_of_trial

KEYS = ("dataset", "trial", "competitor")
PREDICTED = ("row", "label", "prediction")
PROBABILITY = "probability_"
"""Columns that begin with it hold the probability of the class that follows."""
ROUNDING = 1e-6
"""The part by which float32 may change a number."""
ROUNDED = 0.005
"""The most by which a probability of two decimals is rounded."""

Tables = dict[tuple[str, str], Trials]
"""Trials by table and competitor."""


class Splits(NamedTuple):
    """The splits that trials draw: test rows over training rows, and the rows that train with their labels."""

    test_to_train: float = TEST_TO_TRAIN
    n_trained: float = math.inf


def check_frame(frame: Any) -> None:
    """Raise a UsageError for anything but a frame of pandas whose columns have names of their own."""
    if not isinstance(frame, pd.DataFrame):
        raise UsageError(f"compare needs a DataFrame of pandas, not a {type(frame).__name__}.")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise UsageError(f"The frame has two columns {twice}; rename or drop one.")


def tables_by_labels(frame: pd.DataFrame, labels: str | None, metric: Metric, splits: Splits) -> dict[float, Tables]:
    """The trials by number of labels, ascending; by NaN alone if no column holds it.

    >>> from scarf_lightning.metrics import metric_named
    >>> frame = pd.DataFrame({"dataset": ["wine"], "trial": [0], "competitor": ["tree"], "accuracy": [0.9]})
    >>> (tables,) = tables_by_labels(frame, None, metric_named("accuracy"), Splits()).values()
    >>> tables["wine", "tree"].values
    {0: 0.9}
    """
    if labels is None:
        return {math.nan: _tables(frame, metric, splits)}
    if labels not in frame.columns:
        raise UsageError(f"The frame lacks the column {labels}, which labels names.")
    numbers = pd.to_numeric(frame[labels], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    is_number = (numbers > 0) & np.isfinite(numbers)
    if not is_number.all():
        wrong = frame.loc[~is_number, labels].iloc[0]
        raise UsageError(f"The column {labels} holds {wrong}; a number of labels is above zero.")
    by_labels = {}
    for n in np.unique(numbers):
        by_labels[float(n)] = _tables(frame[numbers == n], metric, splits)
    return by_labels


def _tables(frame: pd.DataFrame, metric: Metric, splits: Splits) -> Tables:
    """The trials of each table and competitor."""
    for column in KEYS:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}; it needs {', '.join(KEYS)}.")
    if frame[list(KEYS)].isna().any(axis=None):
        raise UsageError("The frame has rows without a dataset, trial or competitor; fill or drop these rows.")
    # Names may be numbers in one part of a frame and texts in another.
    frame = frame.assign(dataset=frame["dataset"].astype(str), competitor=frame["competitor"].astype(str))
    if metric.name in frame.columns:
        return _metric_trials(frame, metric, splits)

    probabilities: list[str] = []
    if "number" not in metric.targets:
        probabilities = [str(column) for column in frame.columns if str(column).startswith(PROBABILITY)]
    for column in PREDICTED:
        # Probabilities of the classes stand in place of a prediction.
        is_needed = column != "prediction" or not probabilities
        if is_needed and column not in frame.columns:
            raise UsageError(
                f"The frame has neither the column {metric.name}, a row a trial, nor {column}; predictions need "
                f"{', '.join(PREDICTED)}, a row a test row."
            )
    return _prediction_trials(frame, metric, probabilities, splits)


def _metric_trials(frame: pd.DataFrame, metric: Metric, splits: Splits) -> Tables:
    """The trials of a frame with a row a trial."""
    is_repeated = frame.duplicated(list(KEYS))
    if is_repeated.any():
        twice = frame[is_repeated].iloc[0]
        raise UsageError(
            f"Competitor {twice['competitor']} has two rows for trial {twice['trial']} of {twice['dataset']}; "
            "a metric has one row a trial."
        )
    if np.isinf(_numbers(frame, metric.name)).any():
        raise UsageError(f"The column {metric.name} holds an infinite value; leave a trial without a value empty.")
    frame = frame.assign(**{metric.name: _numbers_within(frame, metric.name, metric.bounds)})
    values: dict[tuple[str, str], dict[Hashable, float]] = {}
    for row in frame.dropna(subset=[metric.name]).to_dict("records"):
        trial_values = values.setdefault((row["dataset"], row["competitor"]), {})
        trial_values[row["trial"]] = float(row[metric.name])
    return {key: Trials(trial_values, test_to_train=splits.test_to_train) for key, trial_values in values.items()}


def _prediction_trials(frame: pd.DataFrame, metric: Metric, probabilities: list[str], splits: Splits) -> Tables:
    """The trials of a frame with a row a test row of a trial."""
    columns = ["row", "label", *(probabilities or ["prediction"])]
    if frame[columns].isna().any(axis=None):
        raise UsageError(f"The frame has rows without a value of {', '.join(columns)}; fill or drop these rows.")
    is_repeated = frame.duplicated([*KEYS, "row"])
    if is_repeated.any():
        twice = frame[is_repeated].iloc[0]
        raise UsageError(
            f"Competitor {twice['competitor']} has two predictions for row {twice['row']} in trial {twice['trial']} of "
            f"{twice['dataset']}; keep one."
        )
    rows_of: dict[tuple[str, str], dict[Hashable, RowsOfTrial]] = {}
    for dataset, table_frame in frame.groupby("dataset", sort=False):
        # Rows may be called by any names, so their ranks within the table stand for them.
        numbers = pd.factorize(table_frame["row"], sort=True)[0]
        predictions, labels = _predictions_of(table_frame, metric, probabilities)
        _refuse_two_labels(table_frame, labels, numbers)
        for (competitor, trial), trial_frame in table_frame.reset_index(drop=True).groupby(
            ["competitor", "trial"], sort=False, observed=True
        ):
            positions = trial_frame.index.to_numpy()
            # Two competitors may list their rows in different orders, and are compared row by row.
            positions = positions[np.argsort(numbers[positions])]
            rows = rows_of_trial(metric, predictions[positions], labels[positions], numbers[positions])
            # A metric may be undefined on a trial's test rows, such as the AUROC of one class.
            if rows is None:
                continue
            rows_of.setdefault((str(dataset), str(competitor)), {})[trial] = rows
    tables: Tables = {}
    for key, by_trial in rows_of.items():
        values = {trial: float(rows.values.mean()) for trial, rows in by_trial.items()}
        tables[key] = Trials(values, by_trial, Split(None, splits.n_trained), splits.test_to_train)
    return tables


def _predictions_of(frame: pd.DataFrame, metric: Metric, probabilities: list[str]) -> tuple[Floats, Labels]:
    """Predictions and labels of one table as metrics take them."""
    if "number" in metric.targets:
        return _finite_numbers(frame, "prediction"), _finite_numbers(frame, "label")
    labels = frame["label"].astype(str)
    if probabilities:
        classes = [column.removeprefix(PROBABILITY) for column in probabilities]
        predictions = _class_probabilities(frame, probabilities)
    else:
        predicted = frame["prediction"].astype(str)
        _refuse_other_classes(frame, predicted, labels)
        # Classes that only predictions have count as classes too.
        classes = sorted(set(labels) | set(predicted))
        # A predicted class is a certain one: probability 1 for it, 0 for the others.
        predictions = np.eye(len(classes))[pd.Categorical(predicted, categories=classes).codes]
    if unknown := sorted(set(labels) - set(classes)):
        raise UsageError(f"The label {unknown[0]} has no column {PROBABILITY}{unknown[0]}; add it.")
    return predictions, np.asarray(pd.Categorical(labels, categories=classes).codes, dtype=np.int64)


def _class_probabilities(frame: pd.DataFrame, probabilities: list[str]) -> Floats:
    """The probabilities of the classes, ``(N, C)``.

    Raises:
        UsageError: one lies outside of 0 to 1, or those of a row do not sum to 1.
    """
    predictions = np.column_stack([_numbers_within(frame, column, FRACTION) for column in probabilities])
    sums = predictions.sum(axis=1)
    # Each class may have been rounded.
    is_off = ~(np.abs(sums - 1) <= ROUNDED * len(probabilities))
    if is_off.any():
        row = frame[is_off].iloc[0]
        raise UsageError(
            f"The probabilities of row {row['row']} sum to {sums[is_off][0]:.4g} for competitor {row['competitor']} in "
            f"trial {row['trial']} of {row['dataset']}, not to 1; give a column {PROBABILITY}CLASS for every class."
        )
    return predictions


def _refuse_other_classes(frame: pd.DataFrame, predicted: "pd.Series[str]", labels: "pd.Series[str]") -> None:
    """Refuse a competitor that predicts no class of its table's labels: its classes have other names."""
    is_label = predicted.isin(labels.unique()).to_numpy()
    for competitor, positions in frame.groupby("competitor", sort=False).indices.items():
        if not is_label[positions].any():
            theirs, ours = (", ".join(sorted(names.unique())[:3]) for names in (predicted.iloc[positions], labels))
            raise UsageError(
                f"The column prediction of competitor {competitor} on {frame['dataset'].iloc[0]} holds {theirs}, which "
                f"the column label does not, with {ours}; name the classes alike."
            )


def _refuse_two_labels(frame: pd.DataFrame, labels: Labels, numbers: Labels) -> None:
    """Refuse a row of one table, by its number ``(N,)``, that has two labels."""
    by_row = pd.Series(labels).groupby(numbers)
    lowest, highest = (by_row.transform(end).to_numpy() for end in ("min", "max"))
    is_off = highest - lowest > ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
    if is_off.any():
        row, dataset = frame[["row", "dataset"]][is_off].iloc[0]
        one, other = frame.loc[frame["row"] == row, "label"].unique()[:2]
        raise UsageError(
            f"Row {row} of {dataset} has the labels {one} and {other}; the column row needs the number of the row in "
            "the table, and label one value for each."
        )


def _numbers(frame: pd.DataFrame, column: str) -> Floats:
    """The numbers in a column, ``(N,)``, NaN where it is empty.

    Raises:
        UsageError: the column holds something else.
    """
    try:
        return np.asarray(frame[column].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        is_none = pd.to_numeric(frame[column], errors="coerce").isna() & frame[column].notna()
        wrong = frame.loc[is_none, column].iloc[0]
        raise UsageError(f"The column {column} needs numbers, and holds {wrong}.") from error


def _finite_numbers(frame: pd.DataFrame, column: str) -> Floats:
    """The numbers in a column, ``(N,)``, all of them finite."""
    values = _numbers(frame, column)
    if not np.isfinite(values).all():
        wrong = frame.loc[~np.isfinite(values), column].iloc[0]
        raise UsageError(f"The column {column} needs finite numbers, and holds {wrong}; mend or drop its rows.")
    return values


def _numbers_within(frame: pd.DataFrame, column: str, bounds: tuple[float, float]) -> Floats:
    """The numbers in a column, ``(N,)``, NaN where it is empty, cut at the bounds that rounding alone may leave."""
    values = _numbers(frame, column)
    lowest, highest = bounds
    is_outside = (values < lowest - ROUNDING) | (values > highest + ROUNDING)
    if is_outside.any():
        row, value = frame[is_outside].iloc[0], values[is_outside][0]
        limits = f"is {lowest:g} or more" if math.isinf(highest) else f"is {highest:g} or less"
        if math.isfinite(highest - lowest):
            limits = f"lies between {lowest:g} and {highest:g}"
        advice = "divide percentages by 100" if value > highest else "turn its sign, or drop the row"
        raise UsageError(
            f"{column} {limits}, and competitor {row['competitor']} has {value:.10g} in trial {row['trial']} of "
            f"{row['dataset']}; {advice}."
        )
    return np.clip(values, lowest, highest)


def levels_of_tables(by_labels: Mapping[float, Tables], metric: Metric, *, with_labels: bool) -> pd.DataFrame:
    """Each competitor's metric on each table with its interval."""
    rows = []
    for n, tables in by_labels.items():
        for (dataset, competitor), trials in tables.items():
            rows.append((dataset, competitor, n, *trials.level(metric), len(trials.values)))
    levels = pd.DataFrame(rows, columns=["dataset", "competitor", "labels", "mean", "low", "high", "trials"])
    return levels if with_labels else levels.drop(columns="labels")
