"""Who beats whom on how many datasets, and by how much (the paper's win matrices, box plots and Table 1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd

from .pairs import Grid, Test, compare, placed
from .scores import Pair, score_array

OUTCOMES = ["wins", "losses", "ties", "undecided"]


@dataclass(frozen=True)
class WinMatrix:
    """Datasets by outcome, each a frame of the same rows and columns; the four add up to all datasets.

    A cell that compares nothing (the diagonal of a square matrix, what a grid lacks) is zero in all four.

    Attributes:
        wins: the row is better at p < alpha.
        losses: the row is worse at p < alpha.
        ties: tested, and not significant.
        undecided: no test possible, for want of two trials of each side.
        incomplete: cells that lack trials: ``dataset, competitor, trials, expected``.
    """

    wins: pd.DataFrame
    losses: pd.DataFrame
    ties: pd.DataFrame
    undecided: pd.DataFrame
    incomplete: pd.DataFrame

    @property
    def decided(self) -> pd.DataFrame:
        """The denominator: wins and losses."""
        return self.wins + self.losses

    @property
    def ratio(self) -> pd.DataFrame:
        """W = wins / (wins + losses); NaN where the fraction is 0/0."""
        return self.wins / self.decided.where(self.decided > 0)

    @property
    def minimum(self) -> pd.DataFrame:
        """The paper's additional column, the least ratio of each row: ``column, wins, decided, ratio``.

        0/0 is no evidence and does not count. Among equal ratios the one with most decided datasets is taken (0/69
        before 0/1). A row of nothing but 0/0 has no minimum: column None, zeros and NaN.
        """
        ratio, decided = self.ratio, self.decided
        rows = []
        for name in ratio.index:
            defined = ratio.loc[name].dropna()
            if defined.empty:
                rows.append((None, 0, 0, np.nan))
                continue
            column = decided.loc[name, defined[defined == defined.min()].index].idxmax()
            rows.append((column, self.wins.loc[name, column], decided.loc[name, column], ratio.loc[name, column]))
        return pd.DataFrame(rows, index=ratio.index, columns=["column", "wins", "decided", "ratio"])


def win_matrix(
    scores: pd.DataFrame,
    competitors: Sequence[str] | None = None,
    *,
    test: Test = "welch",
    alpha: float = 0.05,
    adjust: bool = False,
) -> WinMatrix:
    """All competitors against each other; the paper's matrix by default.

    Args:
        scores: ``dataset, competitor, trial, value``.
        competitors: which, in this order; all of them by name if not given.
        test, adjust: as in `compare`.
        alpha: a dataset is decided where p < alpha.

    Raises:
        UsageError: as `compare`.
    """
    array = score_array(scores, competitors)
    names = list(array.competitors)
    pairs = {(a, b): (a, b) for a in names for b in names if a != b}
    compared = compare(scores, pairs, test=test, adjust=adjust)
    return _matrix(_tally(compared, alpha), pairs, names, names, array.incomplete)


def reference_win_matrix(
    scores: pd.DataFrame,
    grid: Grid,
    *,
    test: Test = "welch",
    alpha: float = 0.05,
    adjust: bool = False,
) -> WinMatrix:
    """In each (row, column), wins of a competitor over its reference: the paper's second win matrix.

    Args:
        grid: for (method, pre-training) the method with that pre-training and the method without any.
        scores, test, alpha, adjust: as in `win_matrix`.

    Raises:
        UsageError: as `compare`.
    """
    compared = compare(scores, grid.values(), test=test, adjust=adjust)
    rows, columns = (list(dict.fromkeys(cell[side] for cell in grid)) for side in (0, 1))
    named = list(dict.fromkeys(name for pair in grid.values() for name in pair))
    return _matrix(_tally(compared, alpha), grid, rows, columns, score_array(scores, named).incomplete)


def surviving_wins(scores: pd.DataFrame, pairs: Iterable[Pair], *, alpha: float = 0.05) -> pd.DataFrame:
    """How many wins survive a stricter test: each pair by every test, without and with Holm's correction over datasets.

    Returns:
        A row a pair, test and correction: ``competitor, reference, test, adjusted``; ``wins, losses, ties,
        undecided``.

    Raises:
        UsageError: as `compare`.
    """
    pairs = list(pairs)
    tallies = []
    for test in get_args(Test):
        for adjust in (False, True):
            compared = compare(scores, pairs, test=test, adjust=adjust)
            tallies.append(_tally(compared, alpha).assign(test=test, adjusted=adjust))
    columns = ["competitor", "reference", "test", "adjusted", *OUTCOMES]
    return pd.concat(tallies)[columns].sort_values(["competitor", "reference"], kind="stable", ignore_index=True)


def _matrix(
    tally: pd.DataFrame, grid: Grid, rows: list[str], columns: list[str], incomplete: pd.DataFrame
) -> WinMatrix:
    cells = placed(tally, grid)

    def counts(outcome: str) -> pd.DataFrame:
        values = cells.pivot_table(index="row", columns="column", values=outcome, aggfunc="sum")
        return values.reindex(index=rows, columns=columns).fillna(0).astype(int)

    wins, losses, ties, undecided = (counts(outcome) for outcome in OUTCOMES)
    return WinMatrix(wins, losses, ties, undecided, incomplete)


def _tally(compared: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Datasets by outcome, a row a pair."""
    significant = compared["p"] < alpha
    outcomes = pd.DataFrame(
        {
            "competitor": compared["competitor"],
            "reference": compared["reference"],
            "wins": significant & (compared["difference"] > 0),
            "losses": significant & (compared["difference"] < 0),
            "ties": compared["p"] >= alpha,
            "undecided": compared["p"].isna(),
        }
    )
    return outcomes.groupby(["competitor", "reference"], sort=False, as_index=False).sum()


def relative_gains(
    scores: pd.DataFrame,
    grid: Grid,
    *,
    alpha: float = 0.20,
    test: Test = "welch",
) -> pd.DataFrame:
    """The relative gain 100 (a - b) / abs(b) of the means, in percent, on every dataset: a point of a box plot.

    Args:
        scores: ``dataset, competitor, trial, value``.
        grid: (row, column) to (competitor a, reference b): see `against` for one reference.
        alpha: the paper keeps datasets on which the means differ at p < 0.20.
        test: as in `compare`.

    Returns:
        A row a grid cell and dataset: ``row, column, competitor, reference, dataset``; ``gain``, in percent, NaN where
        either has no trial or the reference's mean is zero; ``p``, NaN where no test is possible; ``kept``, whether the
        paper's filter keeps it.

    Raises:
        UsageError: as `compare`.
    """
    compared = compare(scores, grid.values(), test=test)
    compared["gain"] = 100 * compared["difference"] / compared["reference_mean"].abs().replace(0, np.nan)
    compared["kept"] = (compared["p"] < alpha) & compared["gain"].notna()
    columns = ["row", "column", "competitor", "reference", "dataset", "gain", "p", "kept"]
    return placed(compared, grid)[columns]


def gain_table(gains: pd.DataFrame) -> pd.DataFrame:
    """Average relative gains; ``gain_table(gains)["kept_mean"].unstack()`` is the paper's Table 1.

    The filter keeps the datasets on which something happened, so its mean overstates the gain to be expected on the
    next dataset; the mean over all stands beside it.

    Args:
        gains: what `relative_gains` returns.

    Returns:
        A row a grid cell, indexed by ``row, column``: ``kept_mean`` over ``kept_datasets``; ``mean`` and ``median``
        over ``datasets``, all those with a gain; ``missing``, datasets without one. Means over no dataset are NaN.
    """
    keys = [pd.Categorical(gains[side], categories=list(dict.fromkeys(gains[side]))) for side in ("row", "column")]
    values = pd.DataFrame(
        {
            "row": keys[0],
            "column": keys[1],
            "kept": gains["gain"].where(gains["kept"]),
            "gain": gains["gain"],
            "missing": gains["gain"].isna(),
        }
    )
    return values.groupby(["row", "column"], observed=True).agg(
        kept_mean=("kept", "mean"),
        kept_datasets=("kept", "count"),
        mean=("gain", "mean"),
        median=("gain", "median"),
        datasets=("gain", "count"),
        missing=("missing", "sum"),
    )
