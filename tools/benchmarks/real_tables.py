"""Answers and intervals on real tables, whose truth is taken from the rows that were left over.

Tables of some hundred rows are drawn from those of 20,000 rows and more in OpenML's cache. Two competitors of
scikit-learn are trained on random splits of each, and tested on its test rows and on new rows of the population,
other ones in each trial. The truth of a table is the mean over its trials and all new rows; metrics that are no means
over rows are those of new test sets of the same size. New rows are so many that the truth's own error is small.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts.trial_rows import (
    RowsOfTrial,
    Split,
    judge_trials,
    level_of_trials,
    rows_of_trial,
)

from .calibration import Floats, Integers, Line, Random

NEW_ROWS = 1500
"""New rows a trial: 45,000 for thirty trials."""
FITS = 30
"""Models of each table and competitor from which the truth is known, at least; twice the trials if that is more."""
LEAF = 8
OTHER_SEED = 999


@dataclass(frozen=True)
class Population:
    """A large table.

    Attributes:
        name: of the table.
        columns: standardised, categories one-hot, ``(N, M)``.
        target: class numbers or numbers, ``(N,)``.
    """

    name: str
    columns: Floats
    target: Any

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for numbers."""
        return int(self.target.max()) + 1 if self.target.dtype.kind == "i" else 0


@dataclass(frozen=True)
class Design:
    """What is drawn from a population and compared.

    Attributes:
        population, pair: names.
        rows: of each table.
        trials: of each table.
        labelled: training rows with a label; all if None.
        positives: the share of class 1 in the tables; that of the population if None.
        metrics: names; the population's usual ones if empty.
    """

    population: str
    pair: str
    rows: int = 600
    trials: int = 10
    labelled: int | None = None
    positives: float | None = None
    metrics: tuple[str, ...] = ("accuracy",)

    def __str__(self) -> str:
        said = f"{self.population}, {self.pair}, {self.rows} rows, {self.trials} trials"
        said += f", {self.labelled} labels" if self.labelled else ""
        return said + (f", {100 * self.positives:g} % positive" if self.positives else "")


SOURCES = {
    "electricity": (151, "class"), "adult": (1590, "class"), "bank": (1461, "Class"), "jungle": (41027, "class"),
    "connect-4": (40668, "class"), "letter": (6, "class"), "demand": (151, "nswdemand"),
}  # fmt: skip
"""By name, the number of the dataset in OpenML's cache and its target. ``demand`` is a number in ``electricity``."""

Makers = tuple[Callable[[int], Any], Callable[[int], Any]]
PAIRS: dict[str, Makers] = {
    "logistic regression over neighbours": (
        lambda seed: LogisticRegression(max_iter=200),
        lambda seed: KNeighborsClassifier(9, algorithm="brute"),
    ),
    "tree over tree on other columns": (
        lambda seed: DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=seed),
        lambda seed: DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=seed + OTHER_SEED),
    ),
    "ridge over neighbours": (
        lambda seed: Ridge(1.0),
        lambda seed: KNeighborsRegressor(9, algorithm="brute"),
    ),
    "tree over tree on other columns, numbers": (
        lambda seed: DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=seed),
        lambda seed: DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=seed + OTHER_SEED),
    ),
}
OF_NUMBERS = ("rmse", "mae", "r2", "spearman")
OF_CLASSES = ("accuracy", "balanced_accuracy", "auroc", "log_loss")
LINEAR, TREES = list(PAIRS)[:2]
DESIGNS = [
    *(Design(name, TREES, trials=trials) for name in ("adult", "bank", "jungle", "connect-4") for trials in (10, 30)),
    *(Design("electricity", TREES, trials=trials, metrics=OF_CLASSES) for trials in (3, 10, 30)),
    Design("electricity", TREES, labelled=60),
    Design("electricity", TREES, rows=300),
    Design("electricity", TREES, rows=2000),
    Design("letter", TREES, rows=2000),
    Design("electricity", LINEAR),
    Design("jungle", LINEAR),
    Design("adult", TREES, positives=0.05, metrics=OF_CLASSES),
    Design("demand", "tree over tree on other columns, numbers", metrics=OF_NUMBERS),
]


def real_lines(cache: Path, draws: int) -> Iterator[Line]:
    """A line on differences and one on levels for each design and metric."""
    populations: dict[str, Population] = {}
    for design in DESIGNS:
        if design.population not in populations:
            populations[design.population] = read(cache, design.population)
        yield from lines_of(populations[design.population], design, draws)


def read(cache: Path, name: str) -> Population:
    """A population from OpenML's cache."""
    number, target = SOURCES[name]
    table = pd.read_parquet(cache / f"org/openml/www/datasets/{number}/dataset_{number}.pq")
    labels = table.pop(target)
    columns = pd.get_dummies(table).fillna(0).to_numpy(dtype=np.float64)
    columns = StandardScaler().fit_transform(columns[:, columns.std(axis=0) > 0])
    if name == "demand":
        return Population(name, columns, labels.to_numpy(dtype=np.float64))
    return Population(name, columns, np.unique(labels.astype(str), return_inverse=True)[1].astype(np.int64))


def lines_of(population: Population, design: Design, draws: int) -> list[Line]:
    """What happened on tables of one design, by metric."""
    metrics = [metric_named(name) for name in design.metrics]
    found = {(kind, each.name): Line(f"{each.label}, {design}", f"real {kind}s") for each in metrics for kind in KINDS}
    truths: dict[str, list[float]] = {each.name: [] for each in metrics}
    for seed in range(draws):
        tables = Tables(population, design, np.random.default_rng(seed), metrics)
        for metric in metrics:
            _count(found, truths, tables, metric, design)
    for metric in metrics:
        found["difference", metric.name].truth = float(np.mean(truths[metric.name]))
    return list(found.values())


KINDS = ("difference", "level")


def _count(
    found: dict[tuple[str, str], Line], truths: dict[str, list[float]], table: "Tables", metric: Metric, design: Design
) -> None:
    first, second = table.truth(metric)
    ones, others = table.trials[metric.name]
    split = Split("random", design.labelled or 0.7 * design.rows)
    size = true_size = 1.0
    if metric.is_relative:
        size, true_size = float(np.mean([each.values.mean() for each in others])), second
    truth = metric.sign * (first - second) / true_size
    verdict = judge_trials(ones, others, metric, split, size=size)
    found["difference", metric.name].count(verdict, verdict.answer, truth)
    found["level", metric.name].count_interval(level_of_trials(ones, metric, split), first)
    truths[metric.name].append(truth)


class Tables:
    """One table that is drawn from a population, with the trials of two competitors.

    Attributes:
        trials: of both competitors, by metric.
    """

    def __init__(self, population: Population, design: Design, random: Random, metrics: list[Metric]) -> None:
        self.n_test = round(0.2 * design.rows)
        self._population, self._design = population, design
        self._new: dict[str, list[Floats]] = {metric.name: [] for metric in metrics}
        self.trials: dict[str, tuple[list[RowsOfTrial], list[RowsOfTrial]]] = {m.name: ([], []) for m in metrics}
        every = np.arange(len(population.target))
        table = self._drawn(random, design.rows, every)
        rest = np.delete(every, table)
        for seed in range(max(FITS, 2 * design.trials)):
            order = random.permutation(design.rows)
            train = order[: round(0.7 * design.rows)][: design.labelled]
            test = order[-self.n_test :]
            new = self._drawn(random, NEW_ROWS, rest)
            both = self._predictions(table[train], np.concatenate([table[test], new]), seed)
            for metric in metrics:
                if seed < design.trials:
                    self._add(metric, both, population.target[table[test]], test)
                self._new[metric.name].append(self._on_new(metric, both, population.target[new]))

    def truth(self, metric: Metric) -> tuple[float, float]:
        """The mean metric of both competitors on new test sets, from the models of the trials and further ones.

        With T trials and E further models, the mean of the trials has the variance v / T of its models. The weight of
        the further ones is such that its distance from this truth has that variance, too: (1 - w)^2 (v / T + v / E).
        """
        trials = self._design.trials
        own, further = (np.nanmean(its, axis=0) for its in np.split(np.array(self._new[metric.name]), [trials]))
        n_further = len(self._new[metric.name]) - trials
        weight = np.sqrt(n_further / (trials + n_further))
        first, second = weight * further + (1 - weight) * own
        return float(first), float(second)

    def _drawn(self, random: Random, n: int, among: Integers) -> Integers:
        """Rows among those of the population."""
        share, target = self._design.positives, self._population.target
        if share is None:
            return random.choice(among, n, replace=False, shuffle=False)
        n_positive = round(share * n)
        positive, negative = among[target[among] == 1], among[target[among] != 1]
        parts = [random.choice(positive, n_positive, False), random.choice(negative, n - n_positive, False)]
        return random.permutation(np.concatenate(parts))

    def _predictions(self, train: Integers, test: Integers, seed: int) -> list[Floats]:
        """Predictions of both competitors, trained on some rows of the population, for others."""
        columns, target = self._population.columns, self._population.target
        n_columns, n_classes = columns.shape[1], self._population.n_classes
        found = []
        for side, make in enumerate(PAIRS[self._design.pair]):
            used: Any = slice(None)
            if "other columns" in self._design.pair:
                used = np.random.default_rng(side + 1).permutation(n_columns)[: max(2, int(0.7 * n_columns))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = make(seed).fit(columns[train][:, used], target[train])
            if not n_classes:
                found.append(model.predict(columns[test][:, used]))
                continue
            predicted = np.zeros((len(test), n_classes))
            predicted[:, model.classes_] = model.predict_proba(columns[test][:, used])
            found.append(predicted)
        return found

    def _add(self, metric: Metric, both: list[Floats], labels: Any, rows: Integers) -> None:
        """A trial of both competitors, if the metric is defined on its test rows."""
        tested = [rows_of_trial(metric, its[: self.n_test], labels, rows) for its in both]
        if tested[0] is not None and tested[1] is not None:
            for side, its in zip(self.trials[metric.name], tested, strict=True):
                side.append(its)

    def _on_new(self, metric: Metric, both: list[Floats], labels: Any) -> Floats:
        """The mean metric of both competitors on test sets of new rows, ``(2,)``."""
        found = []
        for start in range(0, NEW_ROWS - self.n_test + 1, self.n_test):
            part = slice(start, start + self.n_test)
            found.append([metric.function(its[self.n_test :][part], labels[part]) for its in both])
        return np.asarray(np.nanmean(found, axis=0))
