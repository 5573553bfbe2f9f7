"""Weights by which every class counts alike, however many rows it has."""

import numpy as np
from numpy.typing import NDArray


def balanced_weights(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """n / (C n_c), with C the classes that occur and n_c the rows of class c, as scikit-learn's ``balanced``.

    A class without a row gets what one row would have: a pseudo-label may name it.

    **Shape.** ``labels`` ``(T, n)`` of class numbers give ``(T, n_classes)``.
    """
    counts = np.stack([np.bincount(of_trial, minlength=n_classes) for of_trial in labels])
    present = (counts > 0).sum(axis=1, keepdims=True)
    return np.asarray(labels.shape[1] / (present * np.maximum(counts, 1)))
