"""The sensitivity analysis of the third edition: the same answers without tables that might decide by themselves."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .comparisons import Tables

N_EXTREME, LEAST_SIGNAL, MOST_COPIES = 3, 0.7, 0.05


def _subset(tables: Tables, is_kept: NDArray[np.bool_]) -> Tables:
    """The tables that are kept."""
    names = tuple(name for name, kept in zip(tables.names, is_kept, strict=True) if kept)
    return Tables(names, pd.factorize(tables.families[is_kept])[0], tables.differences[is_kept])


def _one_a_family(tables: Tables, _: pd.DataFrame) -> Tables:
    """The mean of each family as one table."""
    means = pd.Series(tables.differences).groupby(tables.families).mean()
    differences = np.asarray(means, dtype=np.float64)
    return Tables(tuple(map(str, means.index)), np.arange(len(means)), differences)


def _without_extremes(tables: Tables, _: pd.DataFrame) -> Tables:
    """The tables without those of the largest absolute differences."""
    ranks = np.abs(tables.differences).argsort(kind="stable").argsort(kind="stable")
    return _subset(tables, ranks < len(ranks) - N_EXTREME)


def _with_signal(tables: Tables, facts: pd.DataFrame) -> Tables:
    """The tables that a random forest predicts well."""
    return _subset(tables, facts.loc[list(tables.names), "signal"].to_numpy() >= LEAST_SIGNAL)


def _without_copies(tables: Tables, facts: pd.DataFrame) -> Tables:
    """The tables with few rows that equal an earlier one."""
    return _subset(tables, facts.loc[list(tables.names), "copies"].to_numpy() <= MOST_COPIES)


VARIANTS: dict[str, Callable[[Tables, pd.DataFrame], Tables]] = {
    "one mean a family": _one_a_family,
    "without the three largest differences": _without_extremes,
    f"tables with a signal of {LEAST_SIGNAL} or more": _with_signal,
    f"tables with at most {100 * MOST_COPIES:g} % of copies": _without_copies,
}
"""The analyses of the protocol: each takes the tables of a pair at one budget, and the facts of all tables by name."""
