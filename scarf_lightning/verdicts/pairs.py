"""Pairs of competitors on every dataset: Student's t in two forms, win matrices and gains.

All take ``scores``, a long frame: ``dataset``; ``competitor``, a name; ``trial``; ``value``, higher is better. Trials
and whole cells may be missing: the functions count and name what they leave out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..errors import UsageError
from ..intervals import TEST_TO_TRAIN

CELL = ("dataset_id", "regime", "pretrain", "method")
ROUNDING = 1e-12
"""A difference or standard error below this part of the means is rounding, and counts as zero."""

Pair = tuple[str, str]
"""A competitor and the reference that it is compared with."""
Grid = Mapping[tuple[str, str], Pair]
"""For each (row, column) of a table, a competitor and its reference."""
Test = Literal["welch", "corrected"]


def cell_means(results: pd.DataFrame, value: str = "accuracy", by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean of a column over the trials of each cell.

    Args:
        results: a row a trial.
        value: any column of numbers, such as ``accuracy`` or ``finetune_epochs``.
        by: the columns that distinguish cells; null is a value of its own.

    Returns:
        A row a cell: the columns of ``by``; ``mean``; ``standard_error`` of it, NaN for fewer than two trials;
        ``trials``, those with a number. ``pivot`` turns it into a table of datasets and competitors.
    """
    # A column that holds None may be one of objects, of which pandas makes no mean.
    values = results[[*by]].assign(value=results[value].astype("float64"))
    grouped = values.groupby(list(by), dropna=False)["value"]
    return grouped.agg(mean="mean", standard_error="sem", trials="count").reset_index()


def compared_pairs(scores: pd.DataFrame, pairs: Iterable[Pair], *, test: Test = "corrected") -> pd.DataFrame:
    """Tests each pair's difference of means on every dataset.

    Args:
        scores: as above.
        pairs: (competitor, reference).
        test: ``welch`` (B. L. Welch 1947, DOI 10.1093/biomet/34.1-2.28) is the paper's, which finds up to 27 % of
            equal competitors different in 30 trials. ``corrected`` takes the trials that both have; since trials
            overlap that draw their splits from one table, it replaces the factor 1/n of the variance by
            1/n + n_test/n_train (Nadeau and Bengio 2003, DOI 10.1023/A:1024068626366).

    Returns:
        A row a pair and dataset, no dataset left out: ``dataset, competitor, reference``; ``mean, reference_mean,
        difference`` over the trials that the test uses, NaN without any; ``p``, NaN for fewer than two trials. Samples
        that do not vary have 1 if they are equal and else 0.

    Raises:
        UsageError: a trial of a competitor has two values.

    Splits that overlap make the same four differences weaker evidence:

    >>> values = {"a": [0.91, 0.93, 0.92, 0.94], "b": [0.90, 0.91, 0.90, 0.91]}
    >>> rows = [("iris", name, trial, value) for name, column in values.items() for trial, value in enumerate(column)]
    >>> scores = pd.DataFrame(rows, columns=["dataset", "competitor", "trial", "value"])
    >>> [compared_pairs(scores, [("a", "b")], test=test)["p"].round(3).item() for test in ("welch", "corrected")]
    [0.045, 0.044]
    """
    from scipy.special import stdtr

    # Two settings under one name would overwrite each other, unnoticed.
    duplicates = scores[scores.duplicated(["dataset", "competitor", "trial"])]
    if len(duplicates):
        name, dataset = duplicates[["competitor", "dataset"]].iloc[0]
        raise UsageError(f"{name} has a trial twice on {dataset}; select one setting of it, or name them differently.")
    # A row a dataset, and a column a trial of each competitor; none is left out.
    values: Any = scores.astype({"value": "float64"}).pivot_table(
        index="dataset", columns=["competitor", "trial"], values="value", dropna=False
    )
    comparisons = []
    for competitor, reference in dict.fromkeys(pairs):
        first, second = values[competitor], values[reference]
        if test == "corrected":
            # Compared trial by trial, so the means are those of the trials that both have.
            first, second = first.where(second.notna()), second.where(first.notna())
            n = first.count(axis=1)
            # 1 / n falls with more trials; the ratio stays, because all of them draw from one table.
            error = ((first - second).var(axis=1) * (1 / n + TEST_TO_TRAIN)) ** 0.5
            freedom = n - 1
        else:
            one, other = (each.var(axis=1) / each.count(axis=1) for each in (first, second))
            error = (one + other) ** 0.5
            # The degrees of freedom of Welch and Satterthwaite.
            parts = one**2 / (first.count(axis=1) - 1) + other**2 / (second.count(axis=1) - 1)
            freedom = (one + other) ** 2 / parts
        mean, reference_mean = first.mean(axis=1), second.mean(axis=1)
        difference = mean - reference_mean
        # 0.3 - 0.1 - 0.2 is -3e-17, which over a standard error of 1e-17 would be significant.
        size = ROUNDING * np.maximum(mean.abs(), reference_mean.abs())
        p = pd.Series(2 * stdtr(freedom, -(difference.abs() / error)), mean.index)
        p = p.mask(error <= size, 0.0).mask(difference.abs() <= size, 1.0).where(error.notna())
        columns = {"mean": mean, "reference_mean": reference_mean, "difference": difference, "p": p}
        names = {"dataset": mean.index, "competitor": competitor, "reference": reference}
        comparisons.append(pd.DataFrame(names | columns))
    return pd.concat(comparisons, ignore_index=True)


@dataclass(frozen=True)
class WinMatrix:
    """Datasets by outcome, each a frame of the same rows and columns; the four add up to all datasets.

    A cell that compares nothing (the diagonal of a square matrix, what a grid lacks) is zero in all four.

    Attributes:
        wins: the row is better at p < alpha.
        losses: the row is worse at p < alpha.
        ties: tested, and not significant.
        undecided: no test is possible, because a side has fewer than two trials.
    """

    wins: pd.DataFrame
    losses: pd.DataFrame
    ties: pd.DataFrame
    undecided: pd.DataFrame

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
        """The paper's additional column, the least ratio of each row: ``wins, decided, ratio``.

        0/0 is no evidence and does not count. Among equal ratios the one with most decided datasets is taken (0/69
        before 0/1). A row of nothing but 0/0 has no minimum: zeros and NaN.
        """
        # Too little for one ratio to become less than another one that is less.
        least: Any = (self.ratio - 1e-9 * self.decided).fillna(np.inf).idxmin(axis=1)
        lines = [(self.wins.loc[place], self.decided.loc[place], self.ratio.loc[place]) for place in least.items()]
        return pd.DataFrame(lines, index=self.wins.index, columns=["wins", "decided", "ratio"])


def win_matrix(
    scores: pd.DataFrame,
    competitors: Sequence[str] | None = None,
    *,
    test: Test = "corrected",
    alpha: float = 0.05,
) -> WinMatrix:
    """All competitors against each other. The paper's matrix is that of ``test="welch"``.

    Args:
        scores: as above.
        competitors: which, in this order; all of them by name if not given.
        test: as in `compared_pairs`.
        alpha: a dataset is decided where p < alpha.
    """
    names = competitors or sorted(scores["competitor"].unique())
    # The competitors are both rows and columns of the grid, so a cell has the names of its own pair.
    grid = {pair: pair for pair in permutations(dict.fromkeys(names), 2)}
    return reference_win_matrix(scores, grid, test=test, alpha=alpha)


def reference_win_matrix(
    scores: pd.DataFrame, grid: Grid, *, test: Test = "corrected", alpha: float = 0.05
) -> WinMatrix:
    """In each (row, column), wins of a competitor over its reference: the paper's second win matrix.

    Args:
        grid: for (method, pre-training) the method with that pre-training and the method without any.
        scores, test, alpha: as in `win_matrix`.
    """
    comparisons = _place_on_grid(compared_pairs(scores, grid.values(), test=test), grid)
    p, difference = comparisons["p"], comparisons["difference"]
    names = ("undecided", "ties", "wins", "losses")
    # NaN is below and above nothing, so a dataset without a test is undecided and not a tie.
    outcome = np.select([p.isna(), p >= alpha, difference > 0], names[:3], names[3])
    rows, columns = (list(dict.fromkeys(place[side] for place in grid)) for side in (0, 1))
    # A square matrix has its names in one order.
    columns = rows if set(columns) == set(rows) else columns
    matrices = {}
    for name in names:
        counts = comparisons[outcome == name].pivot_table(index="row", columns="column", aggfunc="size")
        # Cells that the grid lacks compare nothing.
        matrices[name] = counts.reindex(index=rows, columns=columns).fillna(0).astype(int)
    return WinMatrix(**matrices)


def _place_on_grid(comparisons: pd.DataFrame, grid: Grid) -> pd.DataFrame:
    """Give the comparisons the ``row`` and ``column`` of the grid that they belong to, in the grid's order."""
    places = [(*cell, *pair) for cell, pair in grid.items()]
    cells = pd.DataFrame(places, columns=["row", "column", "competitor", "reference"])
    # Several cells of a grid may compare one pair.
    return cells.merge(comparisons, on=["competitor", "reference"], how="left")


def relative_gains(scores: pd.DataFrame, grid: Grid, *, alpha: float = 0.20, test: Test = "corrected") -> pd.DataFrame:
    """The relative gain 100 (a - b) / abs(b) of the means, in percent, on every dataset: a point of a box plot.

    Args:
        scores: as above.
        grid: (row, column) to (competitor a, reference b): (mixup, scarf) to (scarf+mixup, none+mixup).
        alpha: the paper keeps datasets on which the means differ at p < 0.20.
        test: as in `compared_pairs`.

    Returns:
        A row a grid cell and dataset: ``row, column, competitor, reference, dataset``; ``gain``, in percent, NaN where
        either has no trial or the reference's mean is zero; ``p``, NaN where no test is possible; ``kept``, whether the
        paper's filter keeps it.
    """
    comparisons = compared_pairs(scores, grid.values(), test=test)
    # A reference of zero has no percent of it.
    size = comparisons["reference_mean"].abs().replace(0, np.nan)
    comparisons["gain"] = 100 * comparisons["difference"] / size
    # Beside a reference of zero there may be a p-value without a gain.
    comparisons["kept"] = (comparisons["p"] < alpha) & comparisons["gain"].notna()
    columns = ["row", "column", "competitor", "reference", "dataset", "gain", "p", "kept"]
    return _place_on_grid(comparisons, grid)[columns]


def gain_table(gains: pd.DataFrame) -> pd.DataFrame:
    """Average relative gains; ``gain_table(gains)["kept_mean"].unstack()`` is the paper's Table 1.

    The filter keeps the datasets on which something happened, so its mean overstates the gain to be expected on the
    next dataset; the table has the mean over all datasets beside it.

    Args:
        gains: what `relative_gains` returns.

    Returns:
        A row a grid cell, indexed by ``row, column``: ``kept_mean`` over ``kept_datasets``; ``mean`` and ``median``
        over ``datasets``, all those with a gain. Means over no dataset are NaN.
    """
    # In the order of the grid.
    by_cell = gains.assign(kept=gains["gain"].where(gains["kept"])).groupby(["row", "column"], sort=False)
    return by_cell.agg(
        kept_mean=("kept", "mean"),
        kept_datasets=("kept", "count"),
        mean=("gain", "mean"),
        median=("gain", "median"),
        datasets=("gain", "count"),
    )
