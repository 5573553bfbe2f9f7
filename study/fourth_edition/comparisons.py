"""The comparisons of the study: mean differences over tables, drawn by family, and their worth in labels.

The protocols are study/fourth_edition.md and, for the rules that it takes over, study/third_edition.md. A difference is
an improvement in points of a metric.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scarf_lightning.verdicts import Interval, Levels, median_gain
from scarf_lightning.verdicts.answers import needed_together

from .sensitivity import leave_out_largest, variant
from .trials import BUDGETS, N_TRIALS

Floats = NDArray[np.float64]

DRAWS = 10_000
LEVEL = 0.05
MARGIN = 0.25
"""Points within which two pre-trainings are alike."""
NEXT = 0.8
"""Chance with which a further table's difference lies in the range that is given for it."""


@dataclass(frozen=True)
class Compared:
    """A competitor beside a reference at one budget.

    Attributes:
        interval: the mean over tables, in points, with the interval of the level at which Holm's correction read the
            answer.
        answer: ``yes``, ``hurts`` or ``cannot tell``.
        is_alike: the interval lies within `MARGIN`.
        median: over tables, in points, with the 95 % interval of the sign test.
        following: the range that holds a further table's difference with a chance of at least `NEXT`.
        n: tables.
        n_gains: those with a difference above 0.
        without: the mean without the tables of the largest differences.
    """

    interval: Interval
    answer: str
    is_alike: bool
    median: Interval
    following: tuple[float, float]
    n: int
    n_gains: int
    without: float


Rows = Mapping[str, Sequence[Compared]]
"""Competitors or pairs of them, each compared at every budget."""


def means_of(trials: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over trials, in percent: a row a table, a column a budget and competitor ``(labels, competitor)``.

    A table that lacks one of the `N_TRIALS` trials, or the metric in one of them, has NaN.

    Args:
        trials: a row a trial, with ``dataset, labels, competitor, trial`` and the metric.
    """
    grouped = trials.groupby(["dataset", "labels", "competitor"])[metric].agg(["mean", "count"])
    needed = grouped.index.get_level_values("labels").map(N_TRIALS)
    whole = 100 * grouped["mean"].where(grouped["count"] == needed)
    return whole.unstack(["labels", "competitor"])  # noqa: PD010 - every pair occurs once


def compare_over(
    reference: str,
    competitors: Sequence[str],
    means: pd.DataFrame,
    facts: pd.DataFrame,
    heading: str | None = None,
) -> dict[str, list[Compared]]:
    """Each competitor over the reference at each budget, with Holm's correction over all of them.

    Args:
        facts: of the tables, by their names.
        heading: of the `sensitivity.variant` whose tables count; all count if it is not given.
    """
    pairs = [tables_of(means, facts, name, reference, labels) for name in competitors for labels in BUDGETS]
    if heading:
        pairs = [variant(heading, tables) for tables in pairs]
    compared = iter(compare(pairs))
    return {name: [next(compared) for _ in BUDGETS] for name in competitors}


def tables_of(means: pd.DataFrame, facts: pd.DataFrame, competitor: str, reference: str, labels: int) -> pd.DataFrame:
    """The facts of the tables that have both competitors at a budget, and their ``difference`` in points."""
    gains = (means[labels, competitor] - means[labels, reference]).dropna()
    return facts.loc[gains.index].assign(difference=gains)


@lru_cache(maxsize=2)
def draws_of(families: tuple[int, ...]) -> list[Floats]:
    """How often each draw has each table, ``(DRAWS, D)``, in each of as many families as there are.

    Families are drawn with replacement, and within each as many tables as it has.
    """
    # The seed is fixed, so that a page that is made again shows the same numbers.
    random = np.random.default_rng(0)
    members = [np.flatnonzero(np.equal(families, family)) for family in range(max(families) + 1)]
    draws = []
    for _ in members:
        drawn = random.integers(len(members), size=DRAWS)
        # Whole numbers as floats, which products of matrices take as they are.
        weights = np.zeros((DRAWS, len(families)))
        for family, tables in enumerate(members):
            rows = np.flatnonzero(drawn == family)
            shares = np.full(len(tables), 1 / len(tables))
            weights[np.ix_(rows, tables)] = random.multinomial(len(tables), shares, size=len(rows))
        draws.append(weights)
    return draws


def mean_and_error(values: Floats, draws: Iterable[Floats]) -> tuple[Floats, Floats]:
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


def compare(pairs: Sequence[pd.DataFrame]) -> list[Compared]:
    """Each competitor and its reference on tables as `tables_of` gives them, with Holm's correction over all of them.

    The interval is that of the studentised bootstrap (Efron and Tibshirani 1993, chapter 12.5).
    """
    means = [_studentised(tables) for tables in pairs]
    levels = needed_together([Levels(direction=p) for _, _, _, p in means], LEVEL)
    compared = []
    for tables, (mean, error, drawn, p), level in zip(pairs, means, levels, strict=True):
        tail = level.direction / 2
        low, high = (mean - float(np.quantile(drawn, end)) * error for end in (1 - tail, tail))
        answer = "cannot tell"
        if p <= level.direction:
            answer = "yes" if mean > 0 else "hurts"
        is_alike = low >= -MARGIN and high <= MARGIN
        differences = tables["difference"].to_numpy()
        compared.append(
            Compared(
                Interval(mean, low, high),
                answer,
                is_alike,
                median_gain(differences),
                following_range(differences),
                len(differences),
                # Rounding alone is no gain.
                int((differences > 1e-9).sum()),
                float(leave_out_largest(tables)["difference"].mean()),
            )
        )
    return compared


def _studentised(tables: pd.DataFrame) -> tuple[float, float, Floats, float]:
    """The mean difference, its standard error, the t of each draw, and the two-sided level of the mean."""
    values, families = tables["difference"].to_numpy(), pd.factorize(tables["family"])[0]
    as_it_is = (np.asarray(families == family, dtype=np.float64)[None] for family in range(families.max() + 1))
    (mean,), (error,) = mean_and_error(values, as_it_is)
    means, errors = mean_and_error(values, draws_of(tuple(families.tolist())))
    # A draw of one family alone has no error.
    has_error = errors > 0
    drawn = np.sort((means[has_error] - mean) / errors[has_error])
    t = mean / error
    # Of the draws and of what was seen, so that no level is zero.
    fewest = min((drawn >= t).sum(), (drawn <= t).sum())
    p = min(1.0, 2 * (fewest + 1) / (len(drawn) + 1))
    return float(mean), float(error), drawn, float(p)


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


def worth(means: pd.DataFrame, facts: pd.DataFrame, competitor: str, reference: str, labels: int) -> Interval | None:
    """The labels that the reference needs for what a competitor reaches with ``labels`` of them, as a multiple.

    It is over the tables that have the competitor and the reference at every budget. An end of its 95 % interval is
    infinite where the curve of the reference does not reach it.

    Returns:
        None where the mean curve of the reference does not rise from each budget to the next.
    """
    wanted = [(labels, competitor), *((budget, reference) for budget in BUDGETS)]
    whole = means[wanted].dropna()
    values = whole.to_numpy()
    numbers = pd.factorize(facts.loc[whole.index, "family"])[0]
    curve = values.mean(axis=0)
    if (np.diff(curve[1:]) <= 0).any():
        return None
    weights = np.sum(draws_of(tuple(numbers.tolist())), axis=0)
    drawn = weights @ values / weights.sum(axis=1, keepdims=True)
    (factor,) = _factors(curve[None], labels)
    low, high = np.quantile(_factors(drawn, labels), [LEVEL / 2, 1 - LEVEL / 2], method="nearest")
    return Interval(float(factor), float(low), float(high))


def _factors(drawn: Floats, labels: int) -> Floats:
    """The worth in each draw ``(draws,)``, from what the competitor reached and the curve, ``(draws, 1 + B)``.

    The first and the last line of the curve are continued. A curve that does not rise there reaches nothing beyond it:
    infinitely many labels, or none.
    """
    x = np.log(BUDGETS)
    logarithms = []
    for value, *points in drawn:
        # What is reached first counts, should the curve fall in between.
        rising = np.maximum.accumulate(points)
        first, *_, last = np.diff(points) / np.diff(x)
        if value > rising[-1]:
            logarithms.append(x[-1] + (value - rising[-1]) / last if last > 0 else np.inf)
        elif value < rising[0]:
            logarithms.append(x[0] - (rising[0] - value) / first if first > 0 else -np.inf)
        else:
            logarithms.append(np.interp(value, rising, x))
    return np.asarray(np.exp(logarithms) / labels)
