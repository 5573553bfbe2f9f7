"""Does it help? One of four answers, from an interval of the difference and a region of practical equivalence.

On one dataset the difference of paired trials has the interval of the corrected resampled t-test (Nadeau and Bengio
2003, DOI 10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli
2015, DOI 10.1007/s10994-015-5486-z; Benavoli, Corani, Demšar and Zaffalon 2017, jmlr.org/papers/v18/16-305.html).
Where trials share their test rows, the errors of the test rows and of the seeds add up. Over datasets it is the
interval of Wilcoxon's signed-rank test around the Hodges-Lehmann estimate (Hodges and Lehmann 1963, DOI
10.1214/aoms/1177704172), which describes the typical dataset. The mean over datasets is given too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from ...intervals import FEWEST, LEVEL, TEST_TO_TRAIN, Interval, are_equal, unseen
from .intervals import datasets_interval
from .pairs import holm
from .scores import Floats, mean_of

Answer = Literal["helps", "hurts", "no practical difference", "cannot tell yet"]
ANSWERS = get_args(Answer)

ROPE = 0.01
FEWEST_TO_PREDICT = 5
"""Trials whose spread allows a prediction; fewer may agree by luck. With datasets it takes ten."""
FEWEST_DATASETS = 6
"""With fewer, the signed-rank test has no interval of 95 %: (1/2)^5 > 0.025."""
FEWEST_FOR_SAME = 10
"""Trials of one dataset below which it is not claimed that there is no practical difference."""
SIZES = (5, 10, 15, 20, 30, 50, 75, 100)
"""Numbers of trials, or of datasets, that a verdict may ask for."""
ENOUGH = 0.85
"""The predicted chance of an answer that a verdict needs to ask for a number of trials or datasets. Trials hardly ever
reach it: a few of them do not show their spread well, and splits of one table never stop overlapping."""
DRAWS, FUTURES = 1000, 200
"""Simulated futures of trials, and of datasets."""


@dataclass(frozen=True)
class Verdict:
    """What the results say about a difference. All differences are improvements, on the metric's own scale.

    Attributes:
        answer: *helps* if the interval excludes zero and the improvement lies above the region of practical equivalence
            with a probability of 95 %; *hurts* likewise; *no practical difference* if the interval lies in the region;
            else *cannot tell yet*.
        difference: the mean over trials, or the Hodges-Lehmann estimate over datasets.
        low, high: its 95 % interval; NaN where there are too few trials or datasets for one.
        better: probability that there is an improvement at all.
        helps, same, hurts: probabilities of lying above, in and below the region.
        won, lost: trials of the one dataset, or datasets by their mean difference; the others are equal.
        trials: common trials of the one dataset, or of the dataset with fewest.
        datasets: those with a common trial.
        more: how many trials of the one dataset, or how many datasets, will most likely bring an answer; None if there
            is one already, or if no number is likely enough to.
        chance: the predicted chance that they bring one; if ``more`` is None, the chance of the largest number tried.
        p: the level at which the answer would just be given; 1 without an answer.
        average: over datasets, the mean difference with its interval; ``difference`` is the typical one.
        reason: why there is no answer, if it is another than too few trials or datasets.
        shares_rows: whether all trials share their test rows, so that the interval has the error of these rows.
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
    p: float = 1.0
    average: Interval = Interval(math.nan, math.nan, math.nan)
    reason: str = ""
    shares_rows: bool = False

    @property
    def p_of_zero(self) -> float:
        """The two-sided level at which the difference is told from zero."""
        return 1.0 if math.isnan(self.low) else min(1.0, 2 * min(self.better, 1 - self.better))


def judge(
    differences: Floats,
    *,
    rope: float = ROPE,
    test_to_train: float = TEST_TO_TRAIN,
    n_test: float = math.inf,
    width: float = math.inf,
    predicts: bool = True,
) -> Verdict:
    """The verdict on a competitor beside its reference.

    Args:
        differences: of paired trials, ``(D, T)`` for D datasets, higher is better; NaN where either has no trial.
        rope: a difference no larger than this is of no practical consequence.
        test_to_train: n_test/n_train of the splits.
        n_test: test rows of a trial, see `unseen`.
        width: of the metric's bounds, which no interval leaves.
        predicts: whether to simulate how many more trials or datasets would bring an answer.
    """
    there = np.isfinite(differences)
    tried = there.any(axis=1)
    if tried.sum() > 1:
        return _over_datasets(differences[tried], rope, width, predicts)
    its = differences[there]
    n = len(its)
    if n < FEWEST:
        return no_verdict(its)
    if are_equal(its):
        return _by_student(its, _error_of_unseen(n_test, n, n - 1, width), n - 1, rope, width)
    variance = float(its.var(ddof=1))
    found = _by_student(its, math.sqrt(variance * (1 / n + test_to_train)), n - 1, rope, width)
    if not predicts or found.answer != "cannot tell yet":
        return found
    more, chance = _settling_trials(found.difference, variance, n, rope, test_to_train)
    return replace(found, more=more, chance=chance)


def judge_fixed(
    differences: Floats,
    error: float,
    freedom: float,
    *,
    rope: float = ROPE,
    n_test: float = math.inf,
    width: float = math.inf,
) -> Verdict:
    """The verdict on one dataset whose trials share their n test rows; error and freedom are those of `fixed_error`."""
    if len(differences) < FEWEST:
        return no_verdict(differences)
    if are_equal(differences):
        error = max(error, _error_of_unseen(n_test, 1, freedom, width))
    return replace(_by_student(differences, error, freedom, rope, width), shares_rows=True)


def answers_together(verdicts: Sequence[Verdict], alpha: float = 1 - LEVEL) -> list[Answer]:
    """The answers that may be claimed together: the chance of any false one among them is at most ``alpha``.

    Holm's procedure over the levels of all verdicts; an answer that does not survive it is *cannot tell yet*.
    """
    levels = holm(np.array([verdict.p for verdict in verdicts]))
    kept = zip(verdicts, levels, strict=True)
    return [verdict.answer if level <= alpha else "cannot tell yet" for verdict, level in kept]


def no_verdict(differences: Floats, reason: str = "") -> Verdict:
    """The mean of paired differences ``(T,)`` on one dataset. ``reason`` says why nothing is claimed, unless there are
    too few trials."""
    n = len(differences)
    mean = float(differences.mean()) if n else math.nan
    return Verdict("cannot tell yet", mean, *(math.nan,) * 6, *_won(differences), n, int(n > 0), reason=reason)


def _won(differences: Floats) -> tuple[int, int]:
    """How many differences are for the better and for the worse."""
    return int((differences > 0).sum()), int((differences < 0).sum())


def _error_of_unseen(n_test: float, trials: int, freedom: float, width: float) -> float:
    """The error whose 95 % interval is as wide as what no test row showed; a relative difference is at most 100 %."""
    return unseen(n_test, trials) * min(width, 1.0) / float(stdtrit(freedom, (1 + LEVEL) / 2))


def _by_student(differences: Floats, error: float, freedom: float, rope: float, width: float) -> Verdict:
    """The verdict on one dataset by Student's t, from the error of the mean and its degrees of freedom."""
    n, mean = len(differences), float(differences.mean())
    ends = _student_ends(np.array(mean), np.array(error), freedom)

    def above(x: float) -> float:
        return float(stdtr(freedom, (mean - x) / error)) if error else 0.5 if mean == x else float(mean > x)

    answer = ANSWERS[int(_student_answers(ends, n, rope))]
    return _verdict(answer, mean, float(ends[0]), float(ends[1]), width, above, rope, _won(differences), n, 1)


def _over_datasets(differences: Floats, rope: float, width: float, predicts: bool) -> Verdict:
    """The verdict over datasets by Wilcoxon's signed-rank test, from paired differences ``(D, T)`` as `judge` has
    them."""
    means = mean_of(differences)
    n = len(means)
    averages = _walsh(means[None])

    def above(x: float) -> float:
        rank_sum, cdf = (averages > x).sum() + (averages == x).sum() / 2, _signed_rank_cdf(n)
        less = cdf[math.ceil(rank_sum) - 1] if rank_sum else 0.0
        return float(less + cdf[math.floor(rank_sum)]) / 2  # mid-p, so that both directions are treated alike

    average = datasets_interval(means)
    answer = ANSWERS[_signed_rank_answers(averages, n, rope)[0]]
    if answer == "no practical difference" and not (-rope <= average.low and average.high <= rope):
        answer = "cannot tell yet"  # a few datasets that gain much may lift the mean; it has no interval of too few
    ask = _settling_datasets(means, rope) if predicts and answer == "cannot tell yet" else (None, math.nan)
    rank, ordered = _signed_ranks(n)[0], np.sort(averages[0])
    low, high = (float(ordered[rank - 1]), float(ordered[-rank])) if rank else (math.nan, math.nan)
    trials, typical = int(np.isfinite(differences).sum(axis=1).min()), float(np.median(averages))
    found = _verdict(answer, typical, low, high, width, above, rope, _won(means), trials, n)
    return replace(found, more=ask[0], chance=ask[1], average=average)


def _verdict(
    answer: Answer,
    difference: float,
    low: float,
    high: float,
    width: float,
    above: Callable[[float], float],
    rope: float,
    won: tuple[int, int],
    trials: int,
    datasets: int,
) -> Verdict:
    """A verdict with its probabilities and its level; ``above`` is the probability that the difference exceeds a
    value."""
    better, helps, at_least_same = above(0.0), above(rope), above(-rope)
    hurts = 1 - at_least_same
    same = max(1 - helps - hurts, 0.0)
    level = {
        "helps": max(2 * (1 - better), 1 - helps),
        "hurts": max(2 * better, at_least_same),
        "no practical difference": 2 * max(helps, hurts),
        "cannot tell yet": 1.0,
    }[answer]
    low, high = max(low, -width), min(high, width)
    return Verdict(answer, difference, low, high, better, helps, same, hurts, *won, trials, datasets, p=level)


def _places(helps: NDArray[np.bool_], hurts: NDArray[np.bool_], same: NDArray[np.bool_], n: int) -> NDArray[np.int64]:
    """Places in `ANSWERS`, from n trials or datasets."""
    return np.select([helps, hurts, same & (n >= FEWEST_FOR_SAME)], [0, 1, 2], default=3)


def _student_ends(means: Floats, errors: Floats, freedom: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The ends of the 95 % interval, and the values that are exceeded and not reached with a probability of 95 %."""
    half, probable = (stdtrit(freedom, p) * errors for p in ((1 + LEVEL) / 2, LEVEL))
    return means - half, means + half, means - probable, means + probable


def _student_answers(ends: tuple[Floats, Floats, Floats, Floats], n: int, rope: float) -> NDArray[np.int64]:
    """Places in `ANSWERS` of differences with these `_student_ends`."""
    low, high, probable_low, probable_high = ends
    helps = (low > 0) & (probable_low > rope)
    hurts = (high < 0) & (probable_high < -rope)
    return _places(helps, hurts, (-rope <= low) & (high <= rope), n)


def _signed_ranks(n: int) -> list[int]:
    """The Walsh averages of n datasets that end the 95 % interval, and that are passed with 95 %, counted from either
    side; 0 for too few datasets."""
    return [int(np.searchsorted(_signed_rank_cdf(n), level, side="right")) for level in ((1 - LEVEL) / 2, 1 - LEVEL)]


def _signed_rank_answers(averages: Floats, n: int, rope: float) -> NDArray[np.int64]:
    """Places in `ANSWERS` of differences with these Walsh averages ``(draws, n (n + 1) / 2)``.

    An end of the interval passes a bound if fewer averages than its rank do not. Counting is faster than sorting.
    """
    rank, probable = _signed_ranks(n)

    def fewer(is_beyond: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
        return np.asarray(np.count_nonzero(is_beyond, axis=1) < most)

    helps = fewer(averages <= 0, rank) & fewer(averages <= rope, probable)
    hurts = fewer(averages >= 0, rank) & fewer(averages >= -rope, probable)
    return _places(helps, hurts, fewer(averages < -rope, rank) & fewer(averages > rope, rank), n)


def _settling_trials(mean: float, variance: float, n: int, rope: float, ratio: float) -> tuple[int | None, float]:
    """How many trials will bring an answer, and in which share of simulated futures they do.

    Each future draws the dataset's own mean and variance from their posterior under Jeffreys' prior. What the splits
    have in common stays, so more trials do not settle everything.
    """
    if n < FEWEST_TO_PREDICT:
        return None, math.nan
    random = np.random.default_rng(0)
    spread = variance * (n - 1) / random.chisquare(n - 1, DRAWS)
    center = mean + np.sqrt(spread / n) * random.standard_normal(DRAWS)

    def chance(size: int) -> float:
        more = size - n
        means = center + np.sqrt(spread / more) * random.standard_normal(DRAWS)
        squares = spread * random.chisquare(more - 1, DRAWS) if more > 1 else np.zeros(DRAWS)
        squares += (n - 1) * variance + (mean - means) ** 2 * n * more / size
        errors = np.sqrt(squares / (size - 1) * (1 / size + ratio))
        ends = _student_ends((n * mean + more * means) / size, errors, size - 1)
        return float((_student_answers(ends, size, rope) < 3).mean())

    return _least(chance, n)


def _settling_datasets(means: Floats, rope: float) -> tuple[int | None, float]:
    """As `_settling_trials`, for datasets. Futures draw from the datasets at hand, weighted by Rubin's Bayesian
    bootstrap."""
    n = len(means)
    if n < FEWEST_FOR_SAME:
        return None, math.nan
    random = np.random.default_rng(0)

    def chance(size: int) -> float:
        weights = random.dirichlet(np.ones(n), FUTURES).cumsum(axis=1)[:, None, : n - 1]
        drawn = means[(random.random((FUTURES, size - n, 1)) > weights).sum(axis=2)]
        futures = np.hstack([np.broadcast_to(means, (FUTURES, n)), drawn])
        return float((_signed_rank_answers(_walsh(futures), size, rope) < 3).mean())

    return _least(chance, n)


def _least(chance: Callable[[int], float], n: int) -> tuple[int | None, float]:
    """The least size above n with `ENOUGH` chance of an answer, and that chance; else none, and the largest's."""
    found = math.nan
    for size in SIZES:
        if size > n and (found := chance(size)) >= ENOUGH:
            return size, found
    return None, found


def _walsh(values: Floats) -> Floats:
    """The means of all pairs of values in a row, each with itself too: ``(draws, n)`` to ``(draws, n (n + 1) / 2)``."""
    first, second = np.triu_indices(values.shape[1])
    return np.asarray((values[:, first] + values[:, second]) / 2)


@cache
def _signed_rank_cdf(n: int) -> Floats:
    """P(sum of the ranks of positive values <= w) for w = 0, 1, ... where signs are fair coins."""
    chances = np.ones(1)
    for rank in range(1, n + 1):
        coin = np.zeros(rank + 1)
        coin[[0, rank]] = 0.5
        chances = np.convolve(chances, coin)
    return np.asarray(np.cumsum(chances), dtype=np.float64)
