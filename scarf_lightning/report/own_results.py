"""Verdicts on results of any library, from a frame of metrics or of predictions."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import UsageError, counted
from ..importing import require
from ..intervals import FEWEST, TEST_TO_TRAIN, mean_interval
from ..metrics import Labels, Metric, metric_named
from ..verdicts.answers import MARGIN, Answer
from ..verdicts.scores import Floats
from ..verdicts.trials import RowsOfTrial, judge_trials, level_of_trials, rows_of_trial
from ..verdicts.verdict import Verdict, answers_together, error_of, judge, judge_tables
from .blocks import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS = ("dataset", "trial", "competitor")
PREDICTED = ("row", "label", "prediction")
PROBABILITY = "probability_"
"""Columns that begin with it hold the probability of the class that follows."""


@dataclass(frozen=True)
class Trials:
    """The trials of one competitor on one table.

    Attributes:
        values: of the metric, by trial.
        rows: the test rows with their values, by trial; empty without predictions.
    """

    values: dict[Hashable, float]
    rows: dict[Hashable, RowsOfTrial]


Tables = dict[tuple[str, str], Trials]
"""Trials by table and competitor."""


@dataclass(frozen=True)
class ComparedResults:
    """Verdicts on all competitors beside one reference.

    Attributes:
        reference: the competitor that the others are compared with.
        metric: what they are compared by.
        competitors: the others, best first.
        verdicts: on each of them.
        answers: that may be claimed together, after Holm's correction over all competitors.
        levels: a row a table and competitor: ``dataset, competitor, mean, low, high, trials``.
    """

    reference: str
    metric: Metric
    margin: float
    competitors: Sequence[str]
    verdicts: Sequence[Verdict]
    answers: Sequence[Answer]
    levels: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """A row a competitor: ``competitor, reference, answer, claim, difference, low, high, p, basis, better, won,
        lost, trials, datasets``; over several tables ``mean, mean_low, mean_high`` and the probabilities that the next
        one ``gains``, is the ``same`` or ``loses``."""
        rows = []
        for name, verdict, answer in zip(self.competitors, self.verdicts, self.answers, strict=True):
            row: dict[str, Any] = {
                "competitor": name,
                "reference": self.reference,
                "answer": answer,
                "claim": verdict.claim,
                "difference": verdict.difference,
                "low": verdict.low,
                "high": verdict.high,
                "p": verdict.levels.direction,
                "basis": verdict.basis,
                "better": verdict.better,
                "won": verdict.won,
                "lost": verdict.lost,
                "trials": verdict.trials,
                "datasets": verdict.datasets,
            }
            if verdict.datasets > 1:
                row["mean"], row["mean_low"], row["mean_high"] = verdict.average
            expected = verdict.next_table
            if expected is not None:
                row |= {"gains": expected.gains, "same": expected.same, "loses": expected.loses}
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def sentences(self) -> list[str]:
        """The answer on each competitor."""
        compared = zip(self.competitors, self.verdicts, self.answers, strict=True)
        return [self._sentence(*each) for each in compared]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _sentence(self, name: str, verdict: Verdict, answer: Answer) -> str:
        """The answer on one competitor, its effect and the claim."""
        datasets = list(dict.fromkeys(self.levels["dataset"]))
        where = f"on {datasets[0]}" if len(datasets) == 1 else f"on {counted(verdict.datasets, 'table')}"
        unit = f" {self.metric.unit}" if self.metric.unit else ""
        # "points of accuracy", but "% in RMSE".
        size = f"{self._signed(verdict.difference)}{unit} of {self.metric.label}".replace("% of", "% in")
        if not math.isnan(verdict.low):
            size += f" ({self._signed(verdict.low)} to {self._signed(verdict.high)})"
        if verdict.datasets > 1:
            size += " on the typical one"
        return f"{name} beside {self.reference} {where}: {answer}; {size}. The claim is about {verdict.claim}."

    def _signed(self, value: float) -> str:
        return number(self.metric.difference_scale * value, f"+{self.metric.difference_digits}")

    def figure(self) -> "Figure":
        """The differences with their intervals, best first."""
        require("matplotlib", "A figure")
        from .effects import Effect, effects_figure

        lines = []
        for name, verdict, answer in zip(self.competitors, self.verdicts, self.answers, strict=True):
            lines.append(Effect(name, verdict, answer))
        return effects_figure(lines, self.metric, self.margin)


def compare(
    frame: pd.DataFrame, *, metric: str, reference: str, margin: float = MARGIN, test_to_train: float = TEST_TO_TRAIN
) -> ComparedResults:
    """Compare results of any library: who helps, by how much, and how sure is that?

    Give a metric a trial or, better, the predictions on each test row: intervals from predictions are about a third
    narrower. Trials of one number should have the same split for all competitors.

    Args:
        frame: with the columns ``dataset, trial, competitor``, and either the metric's own column, a row a trial; or
            ``row, label, prediction``, a row a test row of a trial. ``row`` is its number in the table. In place of
            ``prediction`` there may be a column ``probability_CLASS`` for each class, which metrics such as ``auroc``
            and ``log_loss`` need.
        metric: one of `scarf_lightning.metrics`, such as ``accuracy`` or ``rmse``.
        reference: the competitor that the others are compared with.
        margin: a difference no larger than this is of no practical consequence; a part of the reference's value for
            metrics without a largest value, such as ``rmse``.
        test_to_train: test rows over training rows of the splits; used without predictions.

    Raises:
        UsageError: a column is missing, a trial occurs twice, the metric or the reference is unknown, or nothing can be
            compared with the reference.

    >>> import pandas as pd
    >>> trials = [("wine", trial, "forest", 0.97 + trial / 500) for trial in range(5)]
    >>> trials += [("wine", trial, "tree", 0.89 + trial / 400) for trial in range(5)]
    >>> frame = pd.DataFrame(trials, columns=["dataset", "trial", "competitor", "accuracy"])
    >>> print(compare(frame, metric="accuracy", reference="tree"))
    forest beside tree on wine: helps; +7.90 points of accuracy (+7.75 to +8.05). The claim is about this table.
    """
    measure = metric_named(metric)
    tables = _tables(frame, measure)
    names = list(dict.fromkeys(name for _, name in tables))
    if reference not in names:
        raise UsageError(f"reference={reference} is no competitor of this frame; they are: {', '.join(names)}.")
    by_name = {}
    for name in names:
        if name == reference:
            continue
        verdict = _verdict(tables, name, reference, measure, margin, test_to_train)
        if verdict is not None:
            by_name[name] = verdict
    if not by_name:
        raise UsageError(f"No other competitor shares a table and a trial with {reference}; name another reference.")
    best_first = sorted(by_name, key=lambda name: -by_name[name].difference)
    verdicts = [by_name[name] for name in best_first]
    # The answers of all competitors are read together, so they are corrected together.
    answers = answers_together(verdicts, margin)
    return ComparedResults(
        reference, measure, margin, best_first, verdicts, answers, _levels(tables, measure, test_to_train)
    )


def _tables(frame: pd.DataFrame, metric: Metric) -> Tables:
    """The trials of each table and competitor."""
    for column in KEYS:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}; it needs {', '.join(KEYS)}.")
    if frame[list(KEYS)].isna().any(axis=None):
        raise UsageError("The frame has rows without a dataset, trial or competitor; fill or drop these rows.")
    if metric.name in frame.columns:
        return _of_metrics(frame, metric)

    probabilities = [str(column) for column in frame.columns if str(column).startswith(PROBABILITY)]
    for column in PREDICTED:
        # Probabilities of the classes stand in place of a prediction.
        is_needed = column != "prediction" or not probabilities
        if is_needed and column not in frame.columns:
            raise UsageError(
                f"The frame has neither the column {metric.name}, a row a trial, nor {column}; predictions need "
                f"{', '.join(PREDICTED)}, a row a test row."
            )
    return _of_predictions(frame, metric, probabilities)


def _of_metrics(frame: pd.DataFrame, metric: Metric) -> Tables:
    """The trials of a frame with a row a trial."""
    is_repeated = frame.duplicated(list(KEYS))
    if is_repeated.any():
        twice = frame[is_repeated].iloc[0]
        raise UsageError(
            f"Competitor {twice['competitor']} has two rows for trial {twice['trial']} of {twice['dataset']}; "
            "a metric has one row a trial."
        )
    values = frame[metric.name].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise UsageError(f"The column {metric.name} holds an infinite value; leave a trial without a value empty.")
    tables: Tables = {}
    for row in frame.dropna(subset=[metric.name]).to_dict("records"):
        key = (str(row["dataset"]), str(row["competitor"]))
        trials = tables.setdefault(key, Trials({}, {}))
        trials.values[row["trial"]] = float(row[metric.name])
    return tables


def _of_predictions(frame: pd.DataFrame, metric: Metric, probabilities: list[str]) -> Tables:
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
    tables: Tables = {}
    for dataset, of_table in frame.groupby("dataset", sort=False):
        # Rows may be called by any names, so their ranks within the table stand for them.
        numbers = pd.factorize(of_table["row"], sort=True)[0]
        predictions, labels = _predictions_of(of_table, metric, probabilities)
        for (competitor, trial), of_trial in of_table.reset_index(drop=True).groupby(
            ["competitor", "trial"], sort=False
        ):
            positions = of_trial.index.to_numpy()
            # Two competitors may list their rows in different orders, and are compared row by row.
            positions = positions[np.argsort(numbers[positions])]
            rows = rows_of_trial(metric, predictions[positions], labels[positions], numbers[positions])
            # A metric may be undefined on a trial's test rows, such as the AUROC of one class.
            if rows is None:
                continue
            trials = tables.setdefault((str(dataset), str(competitor)), Trials({}, {}))
            trials.values[trial] = float(rows.values.mean())
            trials.rows[trial] = rows
    return tables


def _predictions_of(frame: pd.DataFrame, metric: Metric, probabilities: list[str]) -> tuple[Floats, Labels]:
    """Predictions and labels as metrics take them."""
    if "number" in metric.targets:
        return frame["prediction"].to_numpy(dtype=np.float64), frame["label"].to_numpy(dtype=np.float64)
    # Labels may be numbers, and classes in the names of columns are texts.
    labels = frame["label"].astype(str)
    if probabilities:
        classes = [column.removeprefix(PROBABILITY) for column in probabilities]
        predictions = frame[probabilities].to_numpy(dtype=np.float64)
    else:
        predicted = frame["prediction"].astype(str)
        # Classes that only predictions have count as classes too.
        classes = sorted(set(labels) | set(predicted))
        # A predicted class is a certain one: probability 1 for it, 0 for the others.
        predictions = np.eye(len(classes))[pd.Categorical(predicted, categories=classes).codes]
    if unknown := sorted(set(labels) - set(classes)):
        raise UsageError(f"The label {unknown[0]} has no column {PROBABILITY}{unknown[0]}; add it.")
    return predictions, np.asarray(pd.Categorical(labels, categories=classes).codes, dtype=np.int64)


def _verdict(
    tables: Tables, name: str, reference: str, metric: Metric, margin: float, test_to_train: float
) -> Verdict | None:
    """The verdict on a competitor, over all tables that it shares with the reference; None if there are none."""
    verdicts: list[Verdict] = []
    differences: list[Floats] = []
    for (dataset, competitor), trials in tables.items():
        others = tables.get((dataset, reference))
        if competitor != name or others is None:
            continue
        common = [trial for trial in trials.values if trial in others.values]
        if not common:
            continue
        values = np.array([trials.values[trial] for trial in common])
        reference_values = np.array([others.values[trial] for trial in common])
        # A relative metric, such as the RMSE, is compared in parts of the reference's value.
        size = 1.0
        if metric.is_relative:
            size = abs(float(np.mean(reference_values))) or 1.0
        of_table = (values - reference_values) * metric.sign / size
        differences.append(of_table)
        verdicts.append(_on_one(trials, others, common, of_table, size, metric, margin, test_to_train))
    if not verdicts:
        return None
    if len(verdicts) == 1:
        return verdicts[0]

    # Tables may have different numbers of trials; NaN fills up the shorter ones.
    padded = np.full((len(verdicts), max(map(len, differences))), np.nan)
    for row, of_table in zip(padded, differences, strict=True):
        row[: len(of_table)] = of_table
    errors = np.array([error_of(verdict) for verdict in verdicts])
    return judge_tables(padded, errors, margin=margin, width=metric.bounds[1] - metric.bounds[0])


def _on_one(
    first: Trials,
    second: Trials,
    common: Sequence[Hashable],
    differences: Floats,
    size: float,
    metric: Metric,
    margin: float,
    test_to_train: float,
) -> Verdict:
    """The verdict on one table, from predictions if all common trials have them on the same rows."""
    ones: list[RowsOfTrial] = []
    others: list[RowsOfTrial] = []
    for trial in common:
        one, other = first.rows.get(trial), second.rows.get(trial)
        if one is not None and other is not None and np.array_equal(one.rows, other.rows):
            ones.append(one)
            others.append(other)
    if len(ones) == len(common) >= FEWEST:
        return judge_trials(ones, others, metric, size=size, margin=margin)
    width = metric.bounds[1] - metric.bounds[0]
    return judge(differences[None], margin=margin, test_to_train=test_to_train, width=width)


def _levels(tables: Tables, metric: Metric, test_to_train: float) -> pd.DataFrame:
    """Each competitor's metric on each table with its interval."""
    rows = []
    for (dataset, competitor), trials in tables.items():
        values = list(trials.values.values())
        if len(trials.rows) == len(values) >= FEWEST:
            level = level_of_trials(list(trials.rows.values()), metric)
        else:
            level = mean_interval(values, test_to_train, bounds=metric.bounds)
        rows.append((dataset, competitor, *level, len(values)))
    return pd.DataFrame(rows, columns=["dataset", "competitor", "mean", "low", "high", "trials"])
