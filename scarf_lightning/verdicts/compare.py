"""The door to the statistics: verdicts on results of any library, from a frame of metrics or of predictions."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError, counted
from ..intervals import LEVEL, TEST_TO_TRAIN, percent
from ..metrics import Labels, Metric, metric_named
from .answers import MARGIN, Answer
from .factors import Cells, Contrast, Setting, interactions, judge_contrast, main_effects
from .frame import Trials, verdict_on
from .looks import Look
from .scores import Floats
from .trials import RowsOfTrial, rows_of_trial
from .verdict import Verdict, after_looks, decided_together, with_interval
from .worth import Worth, worth_of_trials, worth_sentence

KEYS = ("dataset", "trial", "competitor")
PREDICTED = ("row", "label", "prediction")
PROBABILITY = "probability_"
"""Columns that begin with it hold the probability of the class that follows."""


Tables = dict[tuple[str, str], Trials]
"""Trials by table and competitor."""
OF_BENCHEVAL = ("method", "task", "metric_error")
OF_SKORE = ("estimator", "name", "score")
"""Columns by which the frames of other libraries are recognised."""
THEIR_NAMES = {"roc_auc": "auroc", "log_loss": "log_loss", "brier_score": "brier_score", "mean_absolute_error": "mae",
               "root_mean_squared_error": "rmse"}  # fmt: skip
"""Names of metrics that other libraries call otherwise."""


@dataclass(frozen=True)
class JudgedEffect:
    """An effect of a factor, or the interaction of two, with its answer.

    Attributes:
        contrast: of the settings.
        verdict: on it.
        answer: that may be claimed together with those of its family: of the factor, or of all interactions.
    """

    contrast: Contrast
    verdict: Verdict
    answer: Answer


@dataclass(frozen=True)
class ComparedResults:
    """Verdicts on all competitors beside one reference.

    Attributes:
        reference: the competitor that the others are compared with.
        metric: what they are compared by.
        competitors: the others, best first.
        verdicts: on each of them.
        answers: that may be claimed together, after Holm's correction over all competitors.
        levels: a row a table and competitor: ``dataset, competitor, mean, low, high, trials``; ``labels`` if they were
            given.
        effects: of the factors, and their interactions, if factors were given.
        labels: of each comparison, if they were given; a competitor then has a comparison for each.
        worths: of each comparison, if labels were given; None where the reference has no curve.
    """

    reference: str
    metric: Metric
    margin: float
    competitors: Sequence[str]
    verdicts: Sequence[Verdict]
    answers: Sequence[Answer]
    levels: pd.DataFrame
    effects: Sequence[JudgedEffect] = ()
    labels: Sequence[float] = ()
    worths: Sequence[Worth | None] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """A row a competitor: ``competitor, reference, answer, claim, difference, low, high, coverage, p, basis,
        better, won, lost, tied, trials, datasets``; over several tables ``mean, mean_low, mean_high`` and the
        probabilities that the next one ``gains``, is the ``same`` or ``loses``. With labels, a row a competitor and
        number of ``labels``."""
        rows = []
        for place, (name, verdict, answer) in enumerate(
            zip(self.competitors, self.verdicts, self.answers, strict=True)
        ):
            row: dict[str, Any] = {
                "competitor": name,
                "reference": self.reference,
                "answer": answer,
                "claim": verdict.claim,
                "difference": verdict.difference,
                "low": verdict.low,
                "high": verdict.high,
                "coverage": verdict.coverage,
                "p": verdict.levels.direction,
                "basis": verdict.basis,
                "better": verdict.better,
                "won": verdict.won,
                "lost": verdict.lost,
                "tied": verdict.tied,
                "trials": verdict.trials,
                "datasets": verdict.datasets,
            }
            if verdict.datasets > 1:
                row["mean"], row["mean_low"], row["mean_high"] = verdict.average
                row["mean_p"] = verdict.p_average
            expected = verdict.next_table
            if expected is not None:
                row |= {"gains": expected.gains, "same": expected.same, "loses": expected.loses}
            if self.labels:
                row["labels"] = self.labels[place]
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def worth_frame(self) -> pd.DataFrame:
        """A row a competitor and number of labels: ``competitor, reference, labels, worth, worth_low, worth_high,
        least, most, curve, over, n``; without a row if no labels were given."""
        rows = []
        for name, worth in self._valued:
            rows.append({"competitor": name, "reference": self.reference} | worth.columns)
        return pd.DataFrame(rows)

    @property
    def effects_frame(self) -> pd.DataFrame:
        """A row an effect or interaction: ``effect, value, reference, answer, difference, low, high, coverage, p,
        basis, trials, datasets``."""
        rows = []
        for each in self.effects:
            verdict, contrast = each.verdict, each.contrast
            row = {
                "effect": " × ".join(contrast.factors),
                "value": " × ".join(map(str, contrast.values)),
                "reference": " × ".join(map(str, contrast.references)),
                "answer": each.answer,
                "difference": verdict.difference,
                "low": verdict.low,
                "high": verdict.high,
                "coverage": verdict.coverage,
                "p": verdict.levels.direction,
                "basis": verdict.basis,
                "trials": verdict.trials,
                "datasets": verdict.datasets,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def sentences(self) -> list[str]:
        """The answer on each effect, if there are factors, and else on each competitor, and its worth in labels."""
        if self.effects:
            return [self._on_effect(each) for each in self.effects]
        sentences = []
        for place, name in enumerate(self.competitors):
            sentences.append(self._sentence(place, name))
        by_name: dict[str, dict[str, Worth]] = {}
        for name, worth in self._valued:
            by_name.setdefault(name, {})[f"{worth.labels:,g}"] = worth
        return sentences + [worth_sentence(name, worths) for name, worths in by_name.items()]

    @property
    def _valued(self) -> list[tuple[str, Worth]]:
        """The competitors with a worth in labels."""
        if not self.labels:
            return []
        return [(name, worth) for name, worth in zip(self.competitors, self.worths, strict=True) if worth is not None]

    def _on_effect(self, each: JudgedEffect) -> str:
        """The answer on an effect, and its size."""
        contrast = each.contrast
        names = " and ".join(contrast.factors)
        if contrast.is_interaction:
            values = " with ".join(map(str, contrast.values))
            return f"Interaction of {names}: {values}: {each.answer}; {self._size(each.verdict)}."
        (value,), (reference,) = contrast.values, contrast.references
        return f"{names}: {value} beside {reference}: {each.answer}; {self._size(each.verdict)}."

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _sentence(self, place: int, name: str) -> str:
        """The answer on one competitor, its effect and the claim."""
        verdict, answer = self.verdicts[place], self.answers[place]
        datasets = list(dict.fromkeys(self.levels["dataset"]))
        where = f"on {datasets[0]}" if len(datasets) == 1 else f"on {counted(verdict.datasets, 'table')}"
        if self.labels:
            where += f" with {self.labels[place]:,g} labels"
        size = self._size(verdict)
        return f"{name} beside {self.reference} {where}: {answer}; {size}. The claim is about {verdict.claim}."

    def _size(self, verdict: Verdict) -> str:
        """The difference with its unit and its interval."""
        unit = f" {self.metric.unit}" if self.metric.unit else ""
        # "points of accuracy", but "% in RMSE".
        size = f"{self._signed(verdict.difference)}{unit} of {self.metric.label}".replace("% of", "% in")
        if not math.isnan(verdict.low):
            ends = f"{self._signed(verdict.low)} to {self._signed(verdict.high)}"
            size += f" ({ends})" if math.isclose(verdict.coverage, LEVEL) else f" ({percent(verdict.coverage)}: {ends})"
        if verdict.datasets > 1:
            size += f" on the median table, {self._signed(verdict.average.mean)} in the mean over tables"
            size += f"; better on {verdict.won}, worse on {verdict.lost}, equal on {verdict.tied}"
        return size

    def _signed(self, value: float) -> str:
        return self.metric.signed(value)


def compare(
    frame: pd.DataFrame,
    *,
    metric: str,
    reference: str | None = None,
    factors: Sequence[str] = (),
    labels: str | None = None,
    margin: float = MARGIN,
    test_to_train: float = TEST_TO_TRAIN,
    looks: Sequence[int] = (),
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
        reference: the competitor that the others are compared with; with ``factors`` that of the first value of each if
            not given.
        factors: columns that stand in the place of ``competitor``, whose values the frame holds in all combinations:
            each value is compared with the first of its column over all settings of the others, and each two columns
            have an interaction.
        labels: the column with the number of labels that a competitor learnt from. Competitors are compared at each
            number, and a gain is also said as labels: how many times as many the reference needs for the same metric,
            by its learning curve.
        margin: a difference no larger than this is of no practical consequence; a part of the reference's value for
            metrics without a largest value, such as ``rmse``.
        test_to_train: test rows over training rows of the splits; used without predictions.
        looks: the numbers of trials, of all tables together, after which you have looked at these competitors before.
            Answers are then as strict as they must be to be false in at most 5 % of all cases, however often you look;
            see `looks`.

    The frames of bencheval (``method, task, seed, metric_error``) and the summaries of skore's reports
    (``report.metrics.summarize().summary``) are read as they are.

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
    frame = _ours(frame, measure)
    settings: dict[str, Setting] = {}
    if factors:
        if labels is not None:
            raise UsageError("factors and labels are two questions; compare the factors at one number of labels.")
        frame, settings = _with_competitors(frame, factors)
    by_labels = _tables_by_labels(frame, labels, measure, test_to_train)
    every = [key for tables in by_labels.values() for key in tables]
    names = list(dict.fromkeys(name for _, name in every))
    if reference is None:
        if not settings:
            raise UsageError(f"compare needs a reference; the competitors of this frame are: {', '.join(names)}.")
        reference = next(iter(settings))
    if reference not in names:
        raise UsageError(f"reference={reference} is no competitor of this frame; they are: {', '.join(names)}.")
    before = [Look(n) for n in looks]
    effects: list[JudgedEffect] = []
    if factors:
        effects = _judged_effects(by_labels[math.nan], factors, settings, measure, margin, before)
    verdicts: dict[tuple[str, float], Verdict] = {}
    for name in names:
        for n, tables in by_labels.items():
            pairs = _pairs(tables, name, reference) if name != reference else []
            if pairs:
                verdict = verdict_on(pairs, measure, margin)
                # Who has not looked before spends the whole level at once.
                verdicts[name, n] = after_looks(verdict, before, margin) if looks else verdict
    if not verdicts:
        raise UsageError(f"No other competitor shares a table and a trial with {reference}; name another reference.")
    best = {}
    for name in names:
        best[name] = max((each.difference for (its, _), each in verdicts.items() if its == name), default=-math.inf)
    # A competitor's numbers of labels stay together, and in their order.
    order = sorted(verdicts, key=lambda question: -best[question[0]])
    # The answers of all comparisons are read together, so they are corrected together.
    decisions = decided_together([verdicts[question] for question in order], margin)
    numbers = [n for _, n in order] if labels is not None else []
    return ComparedResults(
        reference=reference,
        metric=measure,
        margin=margin,
        competitors=[name for name, _ in order],
        verdicts=[with_interval(verdicts[its], decided) for its, decided in zip(order, decisions, strict=True)],
        answers=[decided.answer for decided in decisions],
        levels=_levels(by_labels, measure, with_labels=labels is not None),
        effects=effects,
        labels=numbers,
        worths=[_worth(by_labels, name, reference, n, measure) for name, n in order] if numbers else [],
    )


def _ours(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """A frame of bencheval or of skore with our columns; any other one as it is."""
    columns = set(map(str, frame.columns))
    if columns >= set(OF_BENCHEVAL):
        return _of_bencheval(frame, metric)
    if columns >= set(OF_SKORE):
        return _of_skore(frame, metric)
    return frame


def _of_bencheval(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """A frame with a row a method, task and seed, and an error: 1 - metric for metrics whose higher values are
    better."""
    if "metric" in frame.columns:
        # A benchmark may lead with another metric on each kind of task.
        frame = frame[frame["metric"].map(lambda name: THEIR_NAMES.get(name, name)) == metric.name]
        if frame.empty:
            raise UsageError(f"No task of this frame has the metric {metric.name}; name one of its column metric.")
    if metric.higher_is_better and metric.bounds[1] != 1.0:
        raise UsageError(f"metric_error of {metric.name} is not known; give a frame with a column {metric.name}.")
    values = 1 - frame["metric_error"] if metric.higher_is_better else frame["metric_error"]
    trial = frame["seed"] if "seed" in frame.columns else frame.get("fold", 0)
    return pd.DataFrame({"dataset": frame["task"], "trial": trial, "competitor": frame["method"], metric.name: values})


def _of_skore(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The summary of a report of skore: a row an estimator, split and metric. Its table has no name."""
    names = frame["name"].map(lambda name: THEIR_NAMES.get(name, name))
    chosen = frame[names == metric.name]
    if "data_source" in frame.columns:
        chosen = chosen[chosen["data_source"].fillna("test") == "test"]
    # A metric may have a row for each class, beside or in the place of one for all.
    if "label" in frame.columns:
        chosen = chosen[chosen["label"].isna()]
    if chosen.empty:
        raise UsageError(
            f"The summary has no value of {metric.name} over all classes; it has: "
            f"{', '.join(dict.fromkeys(map(str, frame['name'])))}."
        )
    trial = chosen["split"] if "split" in chosen.columns else 0
    return pd.DataFrame(
        {"dataset": "the table", "trial": trial, "competitor": chosen["estimator"], metric.name: chosen["score"]}
    )


def _with_competitors(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[pd.DataFrame, dict[str, Setting]]:
    """The frame with a competitor for each setting of the factors, and the setting of each."""
    if len(factors) < 2:
        raise UsageError("factors needs two columns or more; one is a competitor.")
    for column in factors:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}, which factors names.")
    of_rows = list(zip(*(frame[column] for column in factors), strict=True))
    settings = {", ".join(map(str, setting)): setting for setting in dict.fromkeys(of_rows)}
    names = [", ".join(map(str, setting)) for setting in of_rows]
    return frame.assign(competitor=names), settings


def _judged_effects(
    tables: Tables,
    factors: Sequence[str],
    settings: Mapping[str, Setting],
    metric: Metric,
    margin: float,
    before: Sequence[Look],
) -> list[JudgedEffect]:
    """The effects of the factors and their interactions, over the tables that have all settings."""
    values = {}
    for place, factor in enumerate(factors):
        values[factor] = list(dict.fromkeys(setting[place] for setting in settings.values()))
    by_table: dict[str, dict[Setting, Trials]] = {}
    for (dataset, competitor), trials in tables.items():
        by_table.setdefault(dataset, {})[settings[competitor]] = trials
    n_settings = math.prod(map(len, values.values()))
    whole: list[Cells] = [cells for cells in by_table.values() if len(cells) == n_settings]
    if not whole:
        most = max(map(len, by_table.values()))
        raise UsageError(f"factors needs all {n_settings} combinations on a table, and this frame has {most} of them.")
    mains = main_effects(values)
    families = [[each for each in mains if each.factors == (factor,)] for factor in factors]
    effects = []
    for family in (*families, interactions(values)):
        verdicts = [judge_contrast(each, whole, metric, margin) for each in family]
        if before:
            verdicts = [after_looks(each, before, margin) for each in verdicts]
        for contrast, verdict, its in zip(family, verdicts, decided_together(verdicts, margin), strict=True):
            effects.append(JudgedEffect(contrast, with_interval(verdict, its), its.answer))
    return effects


def _tables_by_labels(
    frame: pd.DataFrame, labels: str | None, metric: Metric, test_to_train: float
) -> dict[float, Tables]:
    """The trials by number of labels, ascending; by NaN alone if no column holds it."""
    if labels is None:
        return {math.nan: _tables(frame, metric, test_to_train)}
    if labels not in frame.columns:
        raise UsageError(f"The frame lacks the column {labels}, which labels names.")
    numbers = pd.to_numeric(frame[labels], errors="coerce")
    if not (numbers > 0).all() or np.isinf(numbers).any():
        wrong = frame.loc[~(numbers > 0) | np.isinf(numbers), labels].iloc[0]
        raise UsageError(f"The column {labels} holds {wrong}; a number of labels is above zero.")
    by_labels = {}
    for n in sorted(numbers.unique()):
        by_labels[float(n)] = _tables(frame[numbers == n], metric, test_to_train)
    return by_labels


def _worth(by_labels: Mapping[float, Tables], name: str, reference: str, labels: float, metric: Metric) -> Worth | None:
    """The worth of a competitor at one number of labels, over the tables that it shares with the reference."""
    datasets = []
    for dataset, competitor in by_labels[labels]:
        if competitor == name and (dataset, reference) in by_labels[labels]:
            datasets.append(dataset)
    trials = [by_labels[labels][dataset, name] for dataset in datasets]
    curves = []
    for dataset in datasets:
        measured = {n: tables[dataset, reference] for n, tables in by_labels.items() if (dataset, reference) in tables}
        curves.append(measured)
    return worth_of_trials(trials, curves, labels, metric)


def _tables(frame: pd.DataFrame, metric: Metric, test_to_train: float) -> Tables:
    """The trials of each table and competitor."""
    for column in KEYS:
        if column not in frame.columns:
            raise UsageError(f"The frame lacks the column {column}; it needs {', '.join(KEYS)}.")
    if frame[list(KEYS)].isna().any(axis=None):
        raise UsageError("The frame has rows without a dataset, trial or competitor; fill or drop these rows.")
    if metric.name in frame.columns:
        return _of_metrics(frame, metric, test_to_train)

    probabilities = [str(column) for column in frame.columns if str(column).startswith(PROBABILITY)]
    for column in PREDICTED:
        # Probabilities of the classes stand in place of a prediction.
        is_needed = column != "prediction" or not probabilities
        if is_needed and column not in frame.columns:
            raise UsageError(
                f"The frame has neither the column {metric.name}, a row a trial, nor {column}; predictions need "
                f"{', '.join(PREDICTED)}, a row a test row."
            )
    return _of_predictions(frame, metric, probabilities, test_to_train)


def _of_metrics(frame: pd.DataFrame, metric: Metric, test_to_train: float) -> Tables:
    """The trials of a frame with a row a trial."""
    is_repeated = frame.duplicated(list(KEYS))
    if is_repeated.any():
        twice = frame[is_repeated].iloc[0]
        raise UsageError(
            f"Competitor {twice['competitor']} has two rows for trial {twice['trial']} of {twice['dataset']}; "
            "a metric has one row a trial."
        )
    if np.isinf(frame[metric.name].to_numpy(dtype=np.float64, na_value=np.nan)).any():
        raise UsageError(f"The column {metric.name} holds an infinite value; leave a trial without a value empty.")
    values: dict[tuple[str, str], dict[Hashable, float]] = {}
    for row in frame.dropna(subset=[metric.name]).to_dict("records"):
        of_trials = values.setdefault((str(row["dataset"]), str(row["competitor"])), {})
        of_trials[row["trial"]] = float(row[metric.name])
    return {key: Trials(of_trials, test_to_train=test_to_train) for key, of_trials in values.items()}


def _of_predictions(frame: pd.DataFrame, metric: Metric, probabilities: list[str], test_to_train: float) -> Tables:
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
            rows_of.setdefault((str(dataset), str(competitor)), {})[trial] = rows
    tables: Tables = {}
    for key, by_trial in rows_of.items():
        values = {trial: float(rows.values.mean()) for trial, rows in by_trial.items()}
        tables[key] = Trials(values, by_trial, test_to_train=test_to_train)
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


def _pairs(tables: Tables, name: str, reference: str) -> list[tuple[Trials, Trials]]:
    """The trials of a competitor and of the reference, on each table on which both have a common one."""
    pairs = []
    for (dataset, competitor), trials in tables.items():
        others = tables.get((dataset, reference))
        if competitor == name and others is not None and trials.values.keys() & others.values.keys():
            pairs.append((trials, others))
    return pairs


def _levels(by_labels: Mapping[float, Tables], metric: Metric, *, with_labels: bool) -> pd.DataFrame:
    """Each competitor's metric on each table with its interval."""
    rows = []
    for n, tables in by_labels.items():
        for (dataset, competitor), trials in tables.items():
            rows.append((dataset, competitor, n, *trials.level(metric), len(trials.values)))
    levels = pd.DataFrame(rows, columns=["dataset", "competitor", "labels", "mean", "low", "high", "trials"])
    return levels if with_labels else levels.drop(columns="labels")
