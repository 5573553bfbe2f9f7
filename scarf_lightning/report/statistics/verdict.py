"""Does it help? One of four answers, from an interval of the difference and a region of practical equivalence.

On one dataset the difference of paired trials has the interval of the corrected resampled t-test (Nadeau and Bengio
2003, DOI 10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli
2015, DOI 10.1007/s10994-015-5486-z; Benavoli, Corani, Demšar and Zaffalon 2017, jmlr.org/papers/v18/16-305.html). Over
datasets it is the interval of Wilcoxon's signed-rank test around the Hodges-Lehmann estimate (Hodges and Lehmann 1963,
DOI 10.1214/aoms/1177704172), exact for any symmetric distribution of the datasets' mean differences.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr, stdtrit

from .scores import Floats, mean_of
from .significance import TEST_TO_TRAIN

Answer = Literal["helps", "hurts", "no practical difference", "cannot tell yet"]
ANSWERS = get_args(Answer)

LEVEL = 0.95
ROPE = 0.01
FEWEST = 3
"""Trials of one dataset below which nothing is claimed."""
FEWEST_DATASETS = 6
"""Below it the signed-rank test has no interval of 95 %: (1/2)^5 > 0.025."""
FEWEST_FOR_SAME = 10
"""Trials, or datasets, below which it is not claimed that there is no practical difference."""
SIZES = (5, 10, 15, 20, 30, 50, 75, 100)
"""Numbers of trials, or of datasets, that may be asked for."""
ENOUGH = 0.9
"""The predicted chance of an answer from which a number of trials or datasets is said to settle it."""
DRAWS, FUTURES = 1000, 200
"""Of futures, of trials and of datasets."""


@dataclass(frozen=True)
class Verdict:
    """What is known of a difference; all differences are improvements, on the metric's own scale.

    Attributes:
        answer: *helps* where the interval lies above the region of practical equivalence, *hurts* where it lies below,
            *no practical difference* where it lies in it, and *cannot tell yet*.
        difference: the mean over trials, or the Hodges-Lehmann estimate over datasets.
        low, high: its 95 % interval; NaN where there are too few trials or datasets for one.
        better: probability that there is an improvement at all.
        helps, same, hurts: probabilities of lying above, in and below the region.
        won, lost: trials of the one dataset, or datasets by their mean difference; the others are equal.
        trials: common trials of the one dataset, or of the dataset with fewest.
        datasets: those with a common trial.
        more: how many trials of the one dataset, or how many datasets, to go on to; None where there is an answer, or
            too little to predict from.
        chance: the predicted chance that they bring an answer; where no number brings `ENOUGH`, more would not help.
    """

    answer: Answer
    difference: float
    low: float
    high: float
    better: float
    helps: float
    same: float
    hurts: float
    won: int
    lost: int
    trials: int
    datasets: int
    more: int | None = None
    chance: float = math.nan


def judge(
    differences: Floats, *, rope: float = ROPE, test_to_train: float = TEST_TO_TRAIN, width: float = math.inf
) -> Verdict:
    """The verdict on a competitor beside its reference.

    Args:
        differences: of paired trials, ``(D, T)`` for D datasets, higher is better; NaN where either has no trial.
        rope: a difference no larger than this is of no practical consequence.
        test_to_train: n_test/n_train of the splits.
        width: of the metric's bounds, which no interval leaves.
    """
    there = np.isfinite(differences)
    tried = there.any(axis=1)
    if tried.sum() > 1:
        return judge_datasets(differences[tried], rope=rope, width=width)
    return judge_trials(differences[there], rope=rope, test_to_train=test_to_train, width=width)


def judge_trials(
    differences: Floats, *, rope: float = ROPE, test_to_train: float = TEST_TO_TRAIN, width: float = math.inf
) -> Verdict:
    """The verdict on one dataset from its paired differences, ``(n,)``; the other arguments are `judge`'s."""
    n = len(differences)
    mean = float(differences.mean()) if n else math.nan
    won, lost = int((differences > 0).sum()), int((differences < 0).sum())
    if n < FEWEST:
        nothing = (math.nan,) * 6
        return Verdict("cannot tell yet", mean, *nothing, won, lost, n, int(n > 0))
    variance = differences.var(ddof=1)
    low, high = (float(end) for end in _student_interval(mean, variance, n, test_to_train))
    answer = _answer(low, high, n, rope)
    error = math.sqrt(variance * (1 / n + test_to_train))

    def above(x: float) -> float:
        if error == 0:
            return 0.5 if mean == x else float(mean > x)
        return float(stdtr(n - 1, (mean - x) / error))

    unsettled = answer == "cannot tell yet"
    ask = _settling_trials(mean, variance, n, rope, test_to_train) if unsettled else (None, math.nan)
    ends = max(low, -width), min(high, width)
    return Verdict(answer, mean, *ends, *_parts(above, rope), won, lost, n, 1, *ask)


def judge_datasets(differences: Floats, *, rope: float = ROPE, width: float = math.inf) -> Verdict:
    """The verdict over datasets from paired differences ``(D, T)``, NaN where there is no trial; as `judge`."""
    means = mean_of(differences)
    n = len(means)
    trials = int(np.isfinite(differences).sum(axis=1).min())
    averages = _walsh(means)
    low, high = _signed_rank_interval(averages, n)
    answer = _answer(low, high, n, rope)

    def above(x: float) -> float:
        rank_sum, cdf = (averages > x).sum() + (averages == x).sum() / 2, _signed_rank_cdf(n)
        less = cdf[math.ceil(rank_sum) - 1] if rank_sum else 0.0
        return float(less + cdf[math.floor(rank_sum)]) / 2  # mid-p, so that both directions are treated alike

    ask = _settling_datasets(means, rope) if answer == "cannot tell yet" else (None, math.nan)
    ends = max(low, -width), min(high, width)
    won, lost = int((means > 0).sum()), int((means < 0).sum())
    estimate = float(np.median(averages))
    return Verdict(answer, estimate, *ends, *_parts(above, rope), won, lost, trials, n, *ask)


def _parts(above: Callable[[float], float], rope: float) -> tuple[float, float, float, float]:
    """Probabilities of any improvement, of one above the region, of lying in it, and of lying below it."""
    helps, hurts = above(rope), 1 - above(-rope)
    return above(0.0), helps, max(1 - helps - hurts, 0.0), hurts


def _answer(low: float, high: float, n: int, rope: float) -> Answer:
    if low > rope:
        return "helps"
    if high < -rope:
        return "hurts"
    if -rope <= low and high <= rope and n >= FEWEST_FOR_SAME:
        return "no practical difference"
    return "cannot tell yet"


def _student_interval(mean: Floats | float, variance: Floats | float, n: int, ratio: float) -> tuple[Floats, Floats]:
    half = stdtrit(n - 1, (1 + LEVEL) / 2) * np.sqrt(variance * (1 / n + ratio))
    return np.asarray(mean - half), np.asarray(mean + half)


def _settled(low: Floats, high: Floats, n: int, rope: float) -> float:
    """The part of intervals ``(draws,)`` that bring an answer."""
    same = (-rope <= low) & (high <= rope) & (n >= FEWEST_FOR_SAME)
    return float(((low > rope) | (high < -rope) | same).mean())


def _settling_trials(mean: float, variance: float, n: int, rope: float, ratio: float) -> tuple[int | None, float]:
    """How many trials bring an answer in how many of the futures that the trials so far let expect.

    A future is drawn from the posterior of the dataset's own mean and variance under Jeffreys' prior; what its splits
    have in common stays, which is why more trials do not settle everything.
    """
    random = np.random.default_rng(0)
    spread = variance * (n - 1) / random.chisquare(n - 1, DRAWS)
    center = mean + np.sqrt(spread / n) * random.standard_normal(DRAWS)

    def chance(size: int) -> float:
        more = size - n
        means = center + np.sqrt(spread / more) * random.standard_normal(DRAWS)
        squares = spread * random.chisquare(more - 1, DRAWS) if more > 1 else np.zeros(DRAWS)
        squares += (n - 1) * variance + (mean - means) ** 2 * n * more / size
        low, high = _student_interval((n * mean + more * means) / size, squares / (size - 1), size, ratio)
        return _settled(low, high, size, rope)

    return _least(chance, n)


def _settling_datasets(means: Floats, rope: float) -> tuple[int | None, float]:
    """As `_settling_trials`, of datasets; they are drawn from those at hand, weighted by Rubin's Bayesian bootstrap."""
    n = len(means)
    if n < FEWEST:
        return None, math.nan
    random = np.random.default_rng(0)

    def chance(size: int) -> float:
        weights = random.dirichlet(np.ones(n), FUTURES).cumsum(axis=1)[:, None, : n - 1]
        drawn = means[(random.random((FUTURES, size - n, 1)) > weights).sum(axis=2)]
        futures = np.hstack([np.broadcast_to(means, (FUTURES, n)), drawn])
        first, second = np.triu_indices(size)
        averages = (futures[:, first] + futures[:, second]) / 2
        rank = _rank_of_interval(size)
        ends = np.partition(averages, (rank - 1, averages.shape[1] - rank), axis=1)
        return _settled(ends[:, rank - 1], ends[:, -rank], size, rope)

    return _least(chance, max(n, FEWEST_DATASETS - 1))


def _least(chance: Callable[[int], float], n: int) -> tuple[int | None, float]:
    """The least size above n with enough chance of an answer, else with nearly the best; and that chance."""
    chances = {size: chance(size) for size in SIZES if size > n}
    if not chances:
        return None, math.nan
    goal = min(ENOUGH, 0.95 * max(chances.values()))
    return next((size, found) for size, found in chances.items() if found >= goal)


def _walsh(values: Floats) -> Floats:
    """The means of all pairs of values, each with itself too, sorted."""
    first, second = np.triu_indices(len(values))
    return np.sort((values[first] + values[second]) / 2)


def _signed_rank_interval(averages: Floats, n: int) -> tuple[float, float]:
    """Ends of the interval of Wilcoxon's signed-rank test: Walsh averages; NaN for too few values."""
    rank = _rank_of_interval(n)
    return (float(averages[rank - 1]), float(averages[-rank])) if rank else (math.nan, math.nan)


def _rank_of_interval(n: int) -> int:
    """Which Walsh average, counted from either end, is an end of the interval; 0 where there is none."""
    return int(np.searchsorted(_signed_rank_cdf(n), (1 - LEVEL) / 2, side="right"))


@cache
def _signed_rank_cdf(n: int) -> Floats:
    """P(sum of the ranks of positive values <= w) for w = 0, 1, ... where signs are fair coins."""
    chances = np.ones(1)
    for rank in range(1, n + 1):
        coin = np.zeros(rank + 1)
        coin[[0, rank]] = 0.5
        chances = np.convolve(chances, coin)
    return np.asarray(np.cumsum(chances), dtype=np.float64)
