"""The comparisons of the third edition: mean differences over tables, drawn by family, and their worth in labels.

The protocol is study/third_edition.md. A difference is an improvement in points of a metric.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning.verdicts import Interval, Levels, holm, median_gain
from scarf_lightning.verdicts.answers import needed_together

Floats = NDArray[np.float64]

DRAWS = 10_000
LEVEL = 0.05
MARGIN = 0.25
"""Points within which two pre-trainings are alike."""
NEXT = 0.8
"""Chance with which a further table's difference lies in the range that is given for it."""
TRIALS = ["dataset", "labels", "competitor", "trial"]


@dataclass(frozen=True)
class Tables:
    """What two competitors reached on the D tables that have every trial of both at one budget.

    Attributes:
        names: of the tables.
        families: of each table, numbered from 0, ``(D,)``.
        differences: the improvement on each, in points, ``(D,)``.
    """

    names: tuple[str, ...]
    families: NDArray[np.int64]
    differences: Floats


@dataclass(frozen=True)
class Compared:
    """A competitor beside a reference at one budget.

    Attributes:
        labels: the budget.
        mean: over tables, in points.
        low, high: the ends of the interval of the level at which Holm's correction read the answer.
        p: two-sided level at which the mean differs from zero, by itself.
        answer: ``yes``, ``hurts`` or ``cannot tell``.
        is_alike: the interval lies within `MARGIN`.
        median: over tables, in points, with the 95 % interval of the sign test.
        following: the range that holds a further table's difference with a chance of at least `NEXT`.
        n: tables.
    """

    labels: int
    mean: float
    low: float
    high: float
    p: float
    answer: str
    is_alike: bool
    median: Interval
    following: tuple[float, float]
    n: int


@dataclass(frozen=True)
class WorthAt:
    """The labels that the reference needs for what a competitor reaches with ``labels`` of them, as a multiple.

    ``low`` and ``high`` are the ends of its 95 % interval; an end is infinite where the curve does not reach it.
    """

    labels: int
    factor: float
    low: float
    high: float


def means_of(trials: pd.DataFrame, metric: str, n_trials: int) -> pd.DataFrame:
    """Means over trials, in percent: a row a table, a column a budget and competitor ``(labels, competitor)``.

    Args:
        trials: a row a trial, with the columns of `TRIALS` and the metric.
        n_trials: that a mean needs; a table that lacks one has NaN.
    """
    known = trials.dropna(subset=[metric]).drop_duplicates(TRIALS, keep="last")
    grouped = known.groupby(["dataset", "labels", "competitor"])[metric].agg(["mean", "size"])
    whole = 100 * grouped["mean"].where(grouped["size"] >= n_trials)
    return whole.unstack(["labels", "competitor"])  # noqa: PD010 - every pair occurs once


def tables_of(means: pd.DataFrame, families: pd.Series, competitor: str, reference: str, labels: int) -> Tables:
    """The tables that have both competitors at a budget; ``families`` are by the name of a table."""
    gains = (means[labels, competitor] - means[labels, reference]).dropna()
    return Tables(tuple(gains.index), pd.factorize(families.loc[gains.index])[0], gains.to_numpy())


def draws_of(families: NDArray[np.int64], n_draws: int = DRAWS) -> Iterator[NDArray[np.int64]]:
    """How often each draw has each table, ``(n_draws, D)``, in each of as many families as there are.

    Families are drawn with replacement, and within each as many tables as it has.
    """
    # The seed is fixed, so that a page that is made again shows the same numbers.
    random = np.random.default_rng(0)
    members = [np.flatnonzero(families == family) for family in range(int(families.max()) + 1)]
    for _ in members:
        drawn = random.integers(len(members), size=n_draws)
        weights = np.zeros((n_draws, len(families)), dtype=np.int64)
        for family, tables in enumerate(members):
            rows = np.flatnonzero(drawn == family)
            shares = np.full(len(tables), 1 / len(tables))
            weights[np.ix_(rows, tables)] = random.multinomial(len(tables), shares, size=len(rows))
        yield weights


def mean_and_error(values: Floats, draws: Iterable[NDArray[np.int64]]) -> tuple[Floats, Floats]:
    """The mean over tables of each draw, and its standard error by families, ``(draws,)`` each.

    Args:
        values: of the tables, ``(D,)``.
        draws: as `draws_of` gives them.
    """
    sums, sizes = [], []
    for weights in draws:
        sums.append(weights @ values)
        sizes.append(weights.sum(axis=1))
    of_families, n_tables = np.array(sums), np.array(sizes)
    means = of_families.sum(axis=0) / n_tables.sum(axis=0)
    # The error of a ratio of sums over families.
    residuals = of_families - n_tables * means
    n_families = len(sums)
    variance = n_families / (n_families - 1) * (residuals**2).sum(axis=0) / n_tables.sum(axis=0) ** 2
    return means, np.sqrt(variance)


def compare(several: Sequence[Tables], budgets: Sequence[int], n_draws: int = DRAWS) -> list[Compared]:
    """A competitor and its reference at each budget, with Holm's correction over them.

    The interval is that of the studentised bootstrap (Efron and Tibshirani 1993, chapter 12.5).
    """
    known = []
    for tables in several:
        values, families = tables.differences, tables.families
        as_it_is = (np.asarray(families == family, dtype=np.int64)[None] for family in range(families.max() + 1))
        (mean,), (error,) = mean_and_error(values, as_it_is)
        means, errors = mean_and_error(values, draws_of(families, n_draws))
        # A draw of one family alone has no error.
        has_error = errors > 0
        drawn = np.sort((means[has_error] - mean) / errors[has_error])
        t = mean / error if error > 0 else np.inf * np.sign(mean)
        # Of the draws and of what was seen, so that no level is zero.
        above, below = (drawn >= t).sum(), (drawn <= t).sum()
        p = min(1.0, 2 * (min(above, below) + 1) / (len(drawn) + 1)) if mean else 1.0
        known.append((float(mean), float(error), drawn, float(p), tables))
    needed = needed_together([Levels(direction=p) for _, _, _, p, _ in known], LEVEL)
    adjusted = holm([p for _, _, _, p, _ in known])
    compared = []
    for labels, (mean, error, drawn, p, tables), levels, corrected in zip(
        budgets, known, needed, adjusted, strict=True
    ):
        low = mean - float(np.quantile(drawn, 1 - levels.direction / 2)) * error
        high = mean - float(np.quantile(drawn, levels.direction / 2)) * error
        answer = "cannot tell"
        if corrected <= LEVEL:
            answer = "yes" if mean > 0 else "hurts"
        is_alike = low >= -MARGIN and high <= MARGIN
        median, following = median_gain(tables.differences), following_range(tables.differences)
        compared.append(Compared(labels, mean, low, high, p, answer, is_alike, median, following, len(tables.names)))
    return compared


def following_range(differences: Floats) -> tuple[float, float]:
    """The range that holds a further table's difference with a chance of at least `NEXT`.

    Whatever the distribution, the next one of exchangeable values lies between the k-th smallest and the k-th largest
    of n with a chance of 1 - 2k / (n + 1) (Wilks 1941, DOI 10.1214/aoms/1177731788).

    >>> following_range(np.arange(1.0, 20.0))
    (2.0, 18.0)
    """
    n = len(differences)
    # A rounding error must not take a place too many.
    k = int((n + 1) * (1 - NEXT) / 2 + 1e-9)
    if not k:
        return -np.inf, np.inf
    ordered = np.sort(differences)
    return float(ordered[k - 1]), float(ordered[n - k])


def worth(
    means: pd.DataFrame,
    families: pd.Series,
    competitor: str,
    reference: str,
    labels: int,
    budgets: Sequence[int],
    n_draws: int = DRAWS,
) -> WorthAt | None:
    """The worth of a competitor, over the tables that have it and the reference at every budget.

    Returns:
        None where the mean curve of the reference does not rise from each budget to the next.
    """
    wanted = [(labels, competitor), *((budget, reference) for budget in budgets)]
    whole = means[wanted].dropna()
    values = whole.to_numpy()
    numbers = pd.factorize(families.loc[whole.index])[0]
    curve = values.mean(axis=0)
    if (np.diff(curve[1:]) <= 0).any():
        return None
    weights = np.sum(list(draws_of(numbers, n_draws)), axis=0)
    drawn = weights @ values / weights.sum(axis=1, keepdims=True)
    factors = _factors(drawn, labels, budgets)
    (factor,) = _factors(curve[None], labels, budgets)
    low, high = np.quantile(factors, [LEVEL / 2, 1 - LEVEL / 2], method="nearest")
    return WorthAt(labels, float(factor), float(low), float(high))


def _factors(drawn: Floats, labels: int, budgets: Sequence[int]) -> Floats:
    """The worth in each draw ``(draws,)``, from what the competitor reached and the curve, ``(draws, 1 + B)``.

    The first and the last line of the curve are continued. A curve that does not rise there reaches nothing beyond it:
    infinitely many labels, or none.
    """
    reached, curve = drawn[:, 0], drawn[:, 1:]
    x = np.log(np.asarray(budgets, dtype=np.float64))
    found = np.empty(len(drawn))
    for row, (value, line) in enumerate(zip(reached, curve, strict=True)):
        # What is reached first counts, should the curve fall in between.
        rising = np.maximum.accumulate(line)
        if value > rising[-1]:
            slope = (line[-1] - line[-2]) / (x[-1] - x[-2])
            found[row] = x[-1] + (value - rising[-1]) / slope if slope > 0 else np.inf
        elif value < rising[0]:
            slope = (line[1] - line[0]) / (x[1] - x[0])
            found[row] = x[0] - (rising[0] - value) / slope if slope > 0 else -np.inf
        else:
            found[row] = np.interp(value, rising, x)
    return np.asarray(np.exp(found) / labels)
