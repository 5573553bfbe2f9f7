"""Receiver operating characteristics."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GRID = np.linspace(0, 1, 201)
"""False-positive rates at which curves are averaged."""


def roc_curve(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False- and true-positive rates of all thresholds, both from 0 to 1: ``(n_thresholds + 1,)`` each.

    Args:
        scores: of n rows, ``(n,)``; equal ones share a threshold.
        positive: whether each is of the class, ``(n,)``; some are, and some are not.

    Source: Fawcett, 2006, DOI 10.1016/j.patrec.2005.10.010, algorithm 1.
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(positive[order])[last]
    misses = last + 1 - hits
    return np.append(0, misses / misses[-1]), np.append(0, hits / hits[-1])


def mean_roc(probabilities: Floats, labels: NDArray[np.int64]) -> Floats | None:
    """True-positive rates at `GRID`, the mean of each class against the others; None where fewer than two occur.

    Args:
        probabilities: of the classes, ``(n, C)``.
        labels: class numbers, ``(n,)``.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return None
    curves = [roc_curve(probabilities[:, c], labels == c) for c in present]
    rates: Floats = np.mean([np.interp(GRID, *curve) for curve in curves], axis=0)
    return rates
