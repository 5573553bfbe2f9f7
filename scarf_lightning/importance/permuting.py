"""Columns permuted among test rows, and the values of a metric on them.

A permuted column keeps its own distribution and tells nothing of the other columns and the target (Breiman 2001, DOI
10.1023/A:1010933404324; Fisher, Rudin and Dominici 2019, www.jmlr.org/papers/v20/18-760.html).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..metrics import Labels, Metric
from ..verdicts.trials import RowsOfTrial, rows_of_trial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def permutations(n: int, repeats: int, seed: int) -> Integers:
    """Permutations of n rows, ``(repeats, n)``, which all columns share.

    They are those that `sklearn.inspection.permutation_importance` draws with ``random_state=seed``: it shuffles a
    column that is shuffled already, so each permutation follows the one before.

    >>> permutations(4, 2, seed=0)
    array([[1, 3, 2, 0],
           [0, 1, 2, 3]])
    """
    own_seed = np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1)
    random = np.random.RandomState(own_seed)
    order, so_far = np.arange(n), np.arange(n)
    orders = np.empty((repeats, n), dtype=np.int64)
    # Each shuffles what is shuffled already.
    for repeat in range(repeats):
        random.shuffle(order)
        so_far = so_far[order]
        orders[repeat] = so_far
    return orders


def permuted(values: Floats, places: Sequence[int], orders: Integers) -> Floats:
    """Rows ``(n, M)`` once for each of K permutations, with the columns at these places permuted together:
    ``(K * n, M)``.

    >>> permuted(np.array([[1.0, 10.0], [2.0, 20.0]]), [1], np.array([[1, 0]]))
    array([[ 1., 20.],
           [ 2., 10.]])
    """
    copies = np.tile(values, (len(orders), 1))
    # One order for all places keeps together what is permuted together.
    for place in places:
        copies[:, place] = values[orders.ravel(), place]
    return copies


def permuted_rows(metric: Metric, predictions: Floats, labels: Labels, rows: Integers) -> RowsOfTrial | None:
    """A trial's test rows with a column permuted; values are means over K permutations.

    Args:
        metric: ours or a plugin's.
        predictions: for each permutation, class probabilities ``(K, n, C)``, or numbers ``(K, n)``.
        labels: class numbers or numbers, ``(n,)``.
        rows: numbers of the rows in the table, ``(n,)``.

    Returns:
        None if the metric is not defined on them.
    """
    values = []
    first = None
    for its in predictions:
        one = rows_of_trial(metric, its, labels, rows)
        if one is None:
            return None
        first = first or one
        # All have the rows of the first one, and its copies.
        values.append(one.values)
    if first is None:
        return None
    return replace(first, values=np.mean(values, axis=0))
