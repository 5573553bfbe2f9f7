"""What to expect of the next table, from the gains of some.

A hierarchical model: tables' true gains have Student's t distribution around a centre, and each measured gain has the
noise of its own trials (after Corani, Benavoli, Demšar, Mangili and Zaffalon 2017, DOI 10.1007/s10994-017-5641-9). Its
posterior is computed on a grid.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from .scores import Floats

ROUNDING = 1e-9

CENTRES, SPREADS = 41, 24
"""Points of the grid for the centre of the true gains and for their spread."""
TAILS = (1.0, 2.0, 4.0, 8.0, 50.0)
"""Degrees of freedom of the true gains on the grid, from some tables far out to a normal distribution."""
COMMON_NOISE = 0.25
"""The part of a table's noise that is taken from all tables, because a few trials show their own badly. Of the parts 0,
0.1, 0.25 and 0.5 it predicted each of 34 tables best from the others (docs/calibration.md)."""
SMALLEST_LOG = -700.0
"""The logarithm of the smallest density. Processors take ten times as long for numbers smaller than a float's range."""
NORMALS = 15
"""Normal distributions of different width that add up to Student's t."""


@dataclass(frozen=True)
class NextTable:
    """Estimate of the true gain on the next table, from the gains of some tables.

    Attributes:
        gains, same, loses: probabilities that it gains more than the margin, differs by no more, and loses more.
        shrunk: the gain of each known table, moved towards the others by its noise, ``(D,)``.
        n_gain, n_same, n_lose: how many known tables gain more than the margin, differ by no more, and lose more, by
            their shrunk gains.
    """

    gains: float
    same: float
    loses: float
    shrunk: tuple[float, ...]
    n_gain: int
    n_same: int
    n_lose: int


def next_table(gains: Floats, errors: Floats, margin: float) -> NextTable:
    """Estimate the true gain on a table like these.

    The prior is flat for the centre of the true gains, half-Cauchy for their spread (Gelman 2006, DOI
    10.1214/06-BA117A) with the spread of the measured gains as its scale, and even over `TAILS`.

    Args:
        gains: measured, one a table, ``(D,)``.
        errors: their standard errors, ``(D,)``.
        margin: a difference no larger than this is of no practical consequence.

    Sure gains of one to three points: the next table will most likely gain more than a point, too.

    >>> found = next_table(np.linspace(0.01, 0.03, 9), np.full(9, 1e-4), margin=0.01)
    >>> round(found.gains, 1), round(found.loses, 2)
    (0.9, 0.01)
    """
    from scipy.special import ndtr

    scale = max(float(gains.std(ddof=1)), ROUNDING)
    # Six standard errors of the mean to either side hold nearly all of the posterior of the centre.
    reach = 6 * scale / math.sqrt(len(gains))
    centres = gains.mean() + np.linspace(-reach, reach, CENTRES)
    # True gains may differ far less than measured ones, whose spread has the noise of trials in it.
    spreads = scale * np.geomspace(0.02, 5, SPREADS)
    centre = centres[:, None, None]
    spread = spreads[None, :, None]

    log_posteriors = []
    shrunk_by_tail = []
    for tail in TAILS:
        deviations = spread * _stretches(tail)[:, None, None, None]
        likelihood, shrunk = _likelihoods(gains, errors, centre, deviations)
        # Tables are independent, so their likelihoods are multiplied.
        log_posteriors.append(np.log(likelihood).sum(axis=-1))
        shrunk_by_tail.append(shrunk)

    # Points of the grid are spaced by the logarithm of the spread, so its density is multiplied by the spread.
    prior = spreads / (1 + (spreads / scale) ** 2)
    log_posterior = np.array(log_posteriors) + np.log(prior)
    # The largest is taken out first: products of many densities are beyond the range of floats.
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()

    # Each point of the grid predicts the next gain by the same mixture of normal distributions.
    above, not_below = 0.0, 0.0
    for weights, tail in zip(posterior, TAILS, strict=True):
        for stretch in _stretches(tail):
            deviation = spreads * stretch
            exceeds = ndtr((centres[:, None] - margin) / deviation)
            reaches = ndtr((centres[:, None] + margin) / deviation)
            above += float((weights * exceeds).sum()) / NORMALS
            not_below += float((weights * reaches).sum()) / NORMALS

    # Each known table's gain, averaged over tails, centres and spreads by their posterior.
    true_gains = np.einsum("tcs,tcsd->d", posterior, np.array(shrunk_by_tail))
    n_gain = int((true_gains > margin).sum())
    n_lose = int((true_gains < -margin).sum())
    return NextTable(
        gains=above,
        same=not_below - above,
        loses=1 - not_below,
        shrunk=tuple(true_gains.tolist()),
        n_gain=n_gain,
        n_same=len(gains) - n_gain - n_lose,
        n_lose=n_lose,
    )


def _likelihoods(gains: Floats, errors: Floats, centre: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """The likelihood of each table's gain, and its gain moved towards the centre, at each point of the grid.

    Args:
        gains, errors: of D tables, ``(D,)``.
        centre: of the true gains, ``(centres, 1, 1)``.
        deviations: standard deviations of the mixed normal distributions, ``(NORMALS, 1, spreads, 1)``.

    Returns:
        Both ``(centres, spreads, D)``.
    """
    distance = centre - gains
    squares = distance**2
    within = errors**2
    shape = len(centre), deviations.shape[2], len(gains)
    likelihood, moved = np.zeros(shape), np.zeros(shape)
    density, part = np.empty(shape), np.empty(shape)
    # Arrays of the whole grid are written over: a page has a comparison for each of hundreds of competitors.
    for deviation in deviations:
        variance = deviation**2 + within
        np.multiply(squares, -0.5 / variance, out=density)
        np.maximum(density, SMALLEST_LOG, out=density)
        np.exp(density, out=density)
        # A constant factor of all densities cancels in the posterior.
        density *= 1 / (NORMALS * np.sqrt(variance))
        likelihood += density
        # The part of its distance that a gain loses is the part of the variance that lies within tables.
        np.multiply(density, within / variance, out=part)
        moved += part
    return likelihood, gains + distance * (moved / likelihood)


def steadied(errors: Floats) -> Floats:
    """Standard errors of tables, each moved towards that of all by `COMMON_NOISE` of its square; unknown ones are that
    of all.

    >>> steadied(np.array([0.01, 0.03, np.nan])).round(3)
    array([0.014, 0.028, 0.022])
    """
    variances = errors**2
    is_known = np.isfinite(variances)
    # Without any error, as of single trials, gains count as measured exactly.
    common = float(variances[is_known].mean()) if is_known.any() else 0.0
    own = np.where(is_known, variances, common)
    return np.sqrt(COMMON_NOISE * common + (1 - COMMON_NOISE) * own)


@cache
def _stretches(tail: float) -> Floats:
    """Widths of normal distributions that add up to Student's t with these degrees of freedom, ``(NORMALS,)``: inverse
    roots of evenly spaced quantiles of a gamma distribution."""
    from scipy.special import gammaincinv

    quantiles = (np.arange(NORMALS) + 0.5) / NORMALS
    # Student's t is a normal distribution whose precision is drawn from a gamma distribution of mean one.
    shape = tail / 2
    precisions = gammaincinv(shape, quantiles) / shape
    return np.asarray(1 / np.sqrt(precisions))
