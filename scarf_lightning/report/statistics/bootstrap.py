"""Probability of improvement and mean relative gain with stratified bootstrap intervals.

Agarwal, Schwarzer, Castro, Courville and Bellemare (2021), DOI 10.48550/arXiv.2108.13264 ("rliable"): percentile
intervals; trials are resampled within datasets, those of the two competitors independently. Where competitors share
their splits this is conservative for the gain: it does not use that a hard split is hard for both.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from ...errors import UsageError
from .scores import Floats, ScoreArray, score_array

Over = Literal["trials", "datasets", "both"]


@dataclass(frozen=True)
class BootstrapInterval:
    """An estimate with its bootstrap percentile interval.

    Attributes:
        estimate: of the scores as they are.
        low, high: ends of the interval.
        datasets: how many it averages.
        left_out: datasets on which it is not defined.
    """

    estimate: float
    low: float
    high: float
    datasets: int
    left_out: tuple[Hashable, ...]


def probability_of_improvement(
    scores: pd.DataFrame,
    competitor: str,
    reference: str,
    *,
    over: Over = "trials",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> BootstrapInterval:
    """P(competitor > reference), ties half, of two random trials on one dataset, averaged over datasets.

    Args:
        scores: ``dataset, competitor, trial, value``. A dataset on which either has no score is left out, and named.
        competitor, reference: two competitors.
        over: what is drawn again: ``trials`` within datasets (would these datasets give this again?), ``datasets``
            (would others?) or ``both``. A cell of one trial adds nothing to the width over trials.
        resamples: how many bootstrap samples.
        level: coverage of the interval.
        seed: of the resampling; the same seed gives the same interval.

    Raises:
        UsageError: unusable scores, an unknown competitor or ``over``, or no dataset on which both have a score.
    """
    array = _both(scores, competitor, reference)
    estimates = np.full(len(array.datasets), np.nan)
    resampled = np.full((resamples, len(array.datasets)), np.nan)
    random = _generator(over, seed)
    for d, (a, b) in enumerate(_samples(array)):
        if len(a) and len(b):
            better = np.heaviside(a[:, None] - b, 0.5)
            estimates[d] = better.mean()
            weights_a, weights_b = (_weights(over, random, resamples, len(each)) for each in (a, b))
            resampled[:, d] = np.einsum("ri,ri->r", weights_a @ better, weights_b)
    return _interval(array, estimates, resampled, over, random, level)


def mean_relative_gain(
    scores: pd.DataFrame,
    competitor: str,
    reference: str,
    *,
    over: Over = "trials",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> BootstrapInterval:
    """The relative gain 100 (a - b) / b of the mean scores, in percent, averaged over all datasets.

    A dataset on which the reference's mean is zero has no gain: it is left out and named, or left out of the resamples
    in which that happens.

    Args and errors are those of `probability_of_improvement`.
    """
    array = _both(scores, competitor, reference)
    estimates = np.full(len(array.datasets), np.nan)
    resampled = np.full((resamples, len(array.datasets)), np.nan)
    random = _generator(over, seed)
    for d, (a, b) in enumerate(_samples(array)):
        if len(a) and len(b) and b.mean() != 0:
            estimates[d] = 100 * (a.mean() / b.mean() - 1)
            a, b = _weights(over, random, resamples, len(a)) @ a, _weights(over, random, resamples, len(b)) @ b
            resampled[:, d] = 100 * (a / np.where(b == 0, np.nan, b) - 1)
    return _interval(array, estimates, resampled, over, random, level)


def _both(scores: pd.DataFrame, competitor: str, reference: str) -> ScoreArray:
    return score_array(scores, [competitor, reference])


def _samples(array: ScoreArray) -> list[tuple[Floats, Floats]]:
    """On each dataset, the scores that the two competitors have."""
    return [(a[np.isfinite(a)], b[np.isfinite(b)]) for a, b in array.values]


def _generator(over: Over, seed: int) -> np.random.Generator:
    if over not in get_args(Over):
        raise UsageError(f"over={over} is unknown; the options are: {', '.join(get_args(Over))}.")
    return np.random.default_rng(seed)


def _weights(over: Over, random: np.random.Generator, resamples: int, n: int) -> Floats:
    """How often each of n is drawn in n draws, over n: ``(resamples, n)``; all alike where trials are not resampled."""
    if over == "datasets":
        return np.full((resamples, n), 1 / n)
    return _drawn(random, resamples, n) / n


def _drawn(random: np.random.Generator, resamples: int, n: int) -> Floats:
    slots = random.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    return np.bincount(slots.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)


def _interval(
    array: ScoreArray, estimates: Floats, resampled: Floats, over: Over, random: np.random.Generator, level: float
) -> BootstrapInterval:
    defined = np.isfinite(estimates)
    if not defined.any():
        raise UsageError(f"{' and '.join(array.competitors)} have scores on no dataset in common; train both on one.")
    estimates, resampled = estimates[defined], resampled[:, defined]
    weights = np.ones_like(resampled) if over == "trials" else _drawn(random, *resampled.shape)
    weights = np.where(np.isfinite(resampled), weights, 0)
    with np.errstate(invalid="ignore"):
        means = np.nansum(weights * resampled, axis=1) / weights.sum(axis=1)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    left_out = tuple(dataset for dataset, there in zip(array.datasets, defined, strict=True) if not there)
    return BootstrapInterval(float(estimates.mean()), float(low), float(high), int(defined.sum()), left_out)
