"""The trials of a frame: of metrics or of predictions, in our columns or in those of bencheval and skore."""

import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError, unknown_name
from ..metrics import FRACTION, Labels, Metric
from .frame import Trials
from .scores import Floats
from .trial_rows import RowsOfTrial, rows_of_trial

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
OF_BENCHEVAL = ("method", "task", "metric_error")
OF_SKORE = ("estimator", "name", "score")
"""Columns by which the frames of other libraries are recognised."""
THEIR_NAMES = {"roc_auc": "auroc", "log_loss": "log_loss", "brier_score": "brier_score", "mean_absolute_error": "mae",
               "root_mean_squared_error": "rmse"}  # fmt: skip
"""Names of metrics that other libraries call otherwise."""


def pandas_frame(frame: Any) -> pd.DataFrame:
    """A frame of a library that has ``to_pandas``, such as polars or Arrow, as one of pandas.

    Raises:
        UsageError: it is no such frame, or two columns have one name.
    """
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame).__name__
        raise UsageError(f"compare needs a frame of pandas, polars or Arrow, and this is a {kind}; make a frame of it.")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise UsageError(f"The frame has two columns {twice}; rename or drop one.")
    return frame


def known_columns(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """A frame of bencheval or of skore with our columns; any other one as it is.

    >>> from scarf_lightning.metrics import metric_named
    >>> theirs = pd.DataFrame([{"method": "forest", "task": "wine", "seed": 0, "metric_error": 0.25}])
    >>> known_columns(theirs, metric_named("accuracy")).to_dict("records")
    [{'dataset': 'wine', 'trial': 0, 'competitor': 'forest', 'accuracy': 0.75}]
    """
    columns = set(map(str, frame.columns))
    if columns >= set(OF_BENCHEVAL):
        return _bencheval_frame(frame, metric)
    if columns >= set(OF_SKORE):
        return _skore_frame(frame, metric)
    return frame


def _bencheval_frame(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """A frame with a row a method, task and seed, and an error: 1 - metric for metrics whose higher values are
    better."""
    if "metric" in frame.columns:
        # A benchmark may lead with another metric on each kind of task.
        frame = frame[frame["metric"].map(lambda name: THEIR_NAMES.get(name, name)) == metric.name]
        if frame.empty:
            raise UsageError(f"No task of this frame has the metric {metric.name}; name one of its column metric.")
    if metric.higher_is_better and metric.bounds[1] != 1.0:
        raise UsageError(f"metric_error of {metric.name} is not known; give a frame with a column {metric.name}.")
    trial = frame["seed"] if "seed" in frame.columns else frame.get("fold", 0)
    ours = pd.DataFrame({"dataset": frame["task"], "trial": trial, "competitor": frame["method"]})
    ours["metric_error"] = frame["metric_error"]
    lowest, highest = metric.bounds
    if metric.higher_is_better:
        values = 1 - _numbers_within(ours, "metric_error", (1 - highest, 1 - lowest))
    else:
        values = _numbers_within(ours, "metric_error", metric.bounds)
    return ours[list(KEYS)].assign(**{metric.name: values})


def _skore_frame(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The summary of a report of skore: a row an estimator, split and metric. Its table has no name."""
    names = frame["name"].map(lambda name: THEIR_NAMES.get(name, name))
    chosen = frame[names == metric.name]
    if "data_source" in frame.columns:
        chosen = chosen[chosen["data_source"].fillna("test") == "test"]
    # A metric may have a row for each class, beside or in the place of one for all.
    if "label" in frame.columns:
        chosen = chosen[chosen["label"].isna()]
    if chosen.empty:
        fault = f"The summary has no value of {metric.name} over all classes"
        raise UsageError(unknown_name(fault, metric.name, map(str, frame["name"]), "its metrics"))
    trial = chosen["split"] if "split" in chosen.columns else 0
    scores = _numbers(chosen, "score")
    return pd.DataFrame(
        {"dataset": "the table", "trial": trial, "competitor": chosen["estimator"], metric.name: scores}
    )


def tables_by_labels(
    frame: pd.DataFrame, labels: str | None, metric: Metric, test_to_train: float
) -> dict[float, Tables]:
    """The trials by number of labels, ascending; by NaN alone if no column holds it."""
    if labels is None:
        return {math.nan: _tables(frame, metric, test_to_train)}
    if labels not in frame.columns:
        raise UsageError(f"The frame lacks the column {labels}, which labels names.")
    numbers = pd.to_numeric(frame[labels], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    is_number = (numbers > 0) & np.isfinite(numbers)
    if not is_number.all():
        wrong = frame.loc[~is_number, labels].iloc[0]
        raise UsageError(f"The column {labels} holds {wrong}; a number of labels is above zero.")
    by_labels = {}
    for n in np.unique(numbers):
        by_labels[float(n)] = _tables(frame[numbers == n], metric, test_to_train)
    return by_labels


def _tables(frame: pd.DataFrame, metric: Metric, test_to_train: float) -> Tables:
    """The trials of each table and competitor."""
    for column in KEYS:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}; it needs {', '.join(KEYS)}.")
    if frame[list(KEYS)].isna().any(axis=None):
        raise UsageError("The frame has rows without a dataset, trial or competitor; fill or drop these rows.")
    # Names may be numbers in one part of a frame and texts in another.
    frame = frame.assign(dataset=frame["dataset"].astype(str), competitor=frame["competitor"].astype(str))
    if metric.name in frame.columns:
        return _metric_trials(frame, metric, test_to_train)

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
    return _prediction_trials(frame, metric, probabilities, test_to_train)


def _metric_trials(frame: pd.DataFrame, metric: Metric, test_to_train: float) -> Tables:
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
    return {key: Trials(trial_values, test_to_train=test_to_train) for key, trial_values in values.items()}


def _prediction_trials(frame: pd.DataFrame, metric: Metric, probabilities: list[str], test_to_train: float) -> Tables:
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
        tables[key] = Trials(values, by_trial, test_to_train=test_to_train)
    return tables


def _predictions_of(frame: pd.DataFrame, metric: Metric, probabilities: list[str]) -> tuple[Floats, Labels]:
    """Predictions and labels of one table as metrics take them."""
    if "number" in metric.targets:
        return _finite_numbers(frame, "prediction"), _finite_numbers(frame, "label")
    labels = _class_names(frame["label"])
    if probabilities:
        classes = _classes_of_columns(probabilities)
        predictions = _class_probabilities(frame, probabilities)
    else:
        predicted = _class_names(frame["prediction"])
        _refuse_other_classes(frame, predicted, labels)
        # Classes that only predictions have count as classes too.
        classes = sorted(set(labels) | set(predicted))
        # A predicted class is a certain one: probability 1 for it, 0 for the others.
        predictions = np.eye(len(classes))[pd.Categorical(predicted, categories=classes).codes]
    if unknown := sorted(set(labels) - set(classes)):
        raise UsageError(f"The label {unknown[0]} has no column {PROBABILITY}{unknown[0]}; add it.")
    return predictions, np.asarray(pd.Categorical(labels, categories=classes).codes, dtype=np.int64)


def _class_names(values: "pd.Series[Any]") -> "pd.Series[str]":
    """The names of classes that are numbers, truth values or texts."""
    names = values.astype(str)
    return names.map({name: _class_name(name) for name in names.unique()})


def _class_name(text: str) -> str:
    """The name of a class: 1, 1.0 and True are one class, whatever type a library gives its predictions.

    >>> [_class_name(text) for text in ("1", "1.0", "True", "-0.0", "1.5", "01")]
    ['1', '1', '1', '0', '1.5', '01']
    """
    name = re.sub(r"^(-?\d+)\.0$", r"\1", text)
    return {"True": "1", "False": "0", "-0": "0"}.get(name, name)


def _classes_of_columns(probabilities: list[str]) -> list[str]:
    """The class of each column of probabilities."""
    columns: dict[str, str] = {}
    for column in probabilities:
        other = columns.setdefault(_class_name(column.removeprefix(PROBABILITY)), column)
        if other != column:
            raise UsageError(f"The columns {other} and {column} are of one class; drop one.")
    return list(columns)


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
