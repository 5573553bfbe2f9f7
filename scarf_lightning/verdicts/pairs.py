"""Pairs of competitors on every dataset: Student's t in three forms, Holm's correction, win matrices and gains."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..errors import UsageError, unknown_name
from ..intervals import TEST_TO_TRAIN
from .scores import Floats, Pair, ScoreArray, mean_of, score_array, variance_of

ROUNDING = 1e-12
"""A difference or standard error below this part of the means is rounding, and counts as zero."""
OUTCOMES = ["wins", "losses", "ties", "undecided"]


class TTest(NamedTuple):
    """A two-sided t-test: statistic, degrees of freedom, p-value. All NaN where no test is possible."""

    statistic: Floats
    df: Floats
    p: Floats


def welch_test(
    mean: ArrayLike, variance: ArrayLike, n: ArrayLike, mean2: ArrayLike, variance2: ArrayLike, n2: ArrayLike
) -> TTest:
    """Welch's t-test of two means with unequal variances, from summary statistics; the paper's test (section 4).

    B. L. Welch (1947), DOI 10.1093/biomet/34.1-2.28.

    Where both variances are zero, equal means have p = 1 and different ones p = 0. Where a sample has fewer than two
    trials there is no test.

    Args:
        mean: of the first sample; as the others, of any shapes that broadcast.
        variance: unbiased, of the first sample.
        n: trials in the first sample.
        mean2, variance2, n2: of the second sample.

    Two samples of ten trials, whose means are two standard errors apart:

    >>> test = welch_test(0.9, 0.005, 10, 0.837, 0.005, 10)
    >>> round(float(test.statistic), 2), round(float(test.df), 1), round(float(test.p), 3)
    (1.99, 18.0, 0.062)
    """
    m1, v1, k1 = (np.asarray(each, dtype=np.float64) for each in (mean, variance, n))
    m2, v2, k2 = (np.asarray(each, dtype=np.float64) for each in (mean2, variance2, n2))
    with np.errstate(divide="ignore", invalid="ignore"):
        # The variances of the two means.
        a, b = v1 / k1, v2 / k2
        # The degrees of freedom of Welch and Satterthwaite.
        df = (a + b) ** 2 / (a**2 / (k1 - 1) + b**2 / (k2 - 1))
    # One trial has no variance.
    testable = (k1 > 1) & (k2 > 1)
    error = np.where(testable, np.sqrt(a + b), np.nan)
    scale = np.maximum(np.abs(m1), np.abs(m2))
    return _student(m1 - m2, error, df, scale=scale)


def paired_test(first: Floats, second: Floats, *, test_to_train: float = 0.0) -> TTest:
    """The paired t-test over the trials that both samples have; with a ratio, the corrected resampled t-test.

    Trials that draw their splits from one table overlap, so their differences are correlated and the plain test rejects
    too often. Nadeau and Bengio (2003), DOI 10.1023/A:1024068626366, replace the factor 1/n of the variance by
    1/n + n_test/n_train.

    Where all differences are equal, p is 1 if they are zero and else 0. Fewer than two common trials: no test.

    Args:
        first, second: ``(..., T)``, trials in the same order; NaN where there is none.
        test_to_train: n_test/n_train; zero is the plain paired test, `TEST_TO_TRAIN` the paper's splits.

    Splits that overlap make the same four differences weaker evidence:

    >>> first, second = np.array([0.91, 0.93, 0.92, 0.94]), np.array([0.90, 0.91, 0.90, 0.91])
    >>> plain, corrected = paired_test(first, second), paired_test(first, second, test_to_train=0.3)
    >>> round(float(plain.p), 3), round(float(corrected.p), 3)
    (0.016, 0.046)
    """
    differences = first - second
    n = np.isfinite(differences).sum(axis=-1)
    # 1 / n falls with more trials; the ratio stays, because all of them draw from one table.
    factor = np.where(n > 1, 1 / np.maximum(n, 1) + test_to_train, np.nan)
    error = np.sqrt(variance_of(differences) * factor)
    df = np.where(n > 1, n - 1.0, np.nan)
    larger = np.maximum(np.abs(first), np.abs(second))
    return _student(mean_of(differences), error, df, scale=mean_of(larger))


def _student(difference: Floats, error: Floats, df: Floats, scale: Floats) -> TTest:
    """Student's t of differences with their standard errors.

    Rounding is taken for zero: 0.3 - 0.1 - 0.2 is -3e-17, which over a standard error of 1e-17 would be significant.
    """
    from scipy.special import stdtr

    rounding = ROUNDING * scale
    is_zero = np.abs(difference) <= rounding
    is_exact = error <= rounding
    numerator = np.where(is_zero, 0.0, difference)
    denominator = np.where(is_exact, 0.0, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = numerator / denominator
    # Equal samples that do not vary: 0 / 0 is no evidence of a difference.
    statistic = np.where(is_exact & is_zero, 0.0, statistic)
    p = 2 * stdtr(df, -np.abs(statistic))
    p_of_exact = np.where(is_zero, 1.0, 0.0)
    p = np.where(is_exact, p_of_exact, p)
    return TTest(statistic, np.where(np.isnan(error), np.nan, df), p)


def holm(p: ArrayLike, axis: int = 0) -> Floats:
    """P-values adjusted by Holm's step-down procedure along an axis (Holm 1979, www.jstor.org/stable/4615733).

    NaN is no test: it stays NaN and does not count among those corrected for.

    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    raw = np.moveaxis(np.asarray(p, dtype=np.float64), axis, -1)
    order = np.argsort(raw, axis=-1)
    ascending = np.take_along_axis(raw, order, axis=-1)
    n_tests = np.isfinite(raw).sum(axis=-1, keepdims=True)
    # The smallest of n is multiplied by n, the next one by n - 1, and none is less than the one before it.
    multiplied = ascending * (n_tests - np.arange(raw.shape[-1]))
    stepped = np.maximum.accumulate(multiplied, axis=-1)
    adjusted = np.empty_like(raw)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return np.moveaxis(adjusted, -1, axis)


Test = Literal["welch", "paired", "corrected"]

Grid = Mapping[tuple[str, str], Pair]
"""For each (row, column) of a table, a competitor and its reference."""


def against(reference: str, competitors: Iterable[str]) -> dict[tuple[str, str], Pair]:
    """A grid of one row, with a column for each competitor against the reference."""
    return {(reference, name): (name, reference) for name in competitors if name != reference}


def compared_pairs(
    scores: pd.DataFrame, pairs: Iterable[Pair], *, test: Test = "corrected", adjust: bool = False
) -> pd.DataFrame:
    """Tests each pair's difference of means on every dataset.

    Args:
        scores: ``dataset, competitor, trial, value``.
        pairs: (competitor, reference).
        test: ``corrected`` (Nadeau and Bengio's) and ``paired`` use the trials that both have; ``welch`` is the
            paper's, which finds up to 27 % of equal competitors different in 30 trials.
        adjust: correct each pair's p-values over datasets by Holm's procedure.

    Returns:
        A row a pair and dataset, no dataset left out: ``dataset, competitor, reference``; ``mean, reference_mean,
        difference`` over the trials that the test uses, NaN without any; ``trials, reference_trials``, their numbers;
        ``p``, NaN for fewer than two trials.

    Raises:
        UsageError: unusable scores, an unknown competitor or test, or no pairs.
    """
    pairs = list(dict.fromkeys(pairs))
    if not pairs:
        raise UsageError("There are no pairs to compare; name two competitors or more.")
    if test not in get_args(Test):
        raise UsageError(unknown_name(f"test={test} is unknown", test, get_args(Test), "the tests"))
    array = _array_of(scores, pairs)
    competitors, references = zip(*pairs, strict=True)
    # Scores (datasets, pairs, trials) of both sides.
    a = array.values[:, [array.competitors.index(name) for name in competitors]]
    b = array.values[:, [array.competitors.index(name) for name in references]]
    # Paired tests compare trial by trial, so their means are those of the trials that both have.
    if test != "welch":
        common = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(common, a, np.nan), np.where(common, b, np.nan)
    mean, mean2 = mean_of(a), mean_of(b)
    n, n2 = np.isfinite(a).sum(axis=-1), np.isfinite(b).sum(axis=-1)
    if test == "welch":
        p = welch_test(mean, variance_of(a), n, mean2, variance_of(b), n2).p
    else:
        ratio = TEST_TO_TRAIN if test == "corrected" else 0.0
        p = paired_test(a, b, test_to_train=ratio).p
    if adjust:
        p = holm(p)
    n_datasets = len(array.datasets)
    return pd.DataFrame(
        {
            "dataset": [dataset for dataset in array.datasets for _ in pairs],
            "competitor": list(competitors) * n_datasets,
            "reference": list(references) * n_datasets,
            "mean": mean.ravel(),
            "reference_mean": mean2.ravel(),
            "difference": (mean - mean2).ravel(),
            "trials": n.ravel(),
            "reference_trials": n2.ravel(),
            "p": p.ravel(),
        }
    )


def _array_of(scores: pd.DataFrame, pairs: Iterable[Pair]) -> ScoreArray:
    """The scores of the competitors in these pairs."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return score_array(scores, list(names))


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
            least = defined[defined == defined.min()].index
            # 0/69 is worse than 0/1, though both are zero.
            column = decided.loc[name, least].idxmax()
            wins = self.wins.loc[name, column]
            rows.append((column, wins, decided.loc[name, column], ratio.loc[name, column]))
        return pd.DataFrame(rows, index=ratio.index, columns=["column", "wins", "decided", "ratio"])


def win_matrix(
    scores: pd.DataFrame,
    competitors: Sequence[str] | None = None,
    *,
    test: Test = "corrected",
    alpha: float = 0.05,
    adjust: bool = False,
) -> WinMatrix:
    """All competitors against each other. The paper's matrix is that of ``test="welch"``.

    Args:
        scores: ``dataset, competitor, trial, value``.
        competitors: which, in this order; all of them by name if not given.
        test, adjust: as in `compared_pairs`.
        alpha: a dataset is decided where p < alpha.

    Raises:
        UsageError: as `compared_pairs`.
    """
    names = score_array(scores, competitors).competitors
    # The competitors are both rows and columns of the grid, so a cell has the names of its own pair.
    grid = {pair: pair for pair in permutations(names, 2)}
    return _matrix(scores, grid, names, names, test, alpha, adjust)


def reference_win_matrix(
    scores: pd.DataFrame, grid: Grid, *, test: Test = "corrected", alpha: float = 0.05, adjust: bool = False
) -> WinMatrix:
    """In each (row, column), wins of a competitor over its reference: the paper's second win matrix.

    Args:
        grid: for (method, pre-training) the method with that pre-training and the method without any.
        scores, test, alpha, adjust: as in `win_matrix`.

    Raises:
        UsageError: as `compared_pairs`.
    """
    rows = tuple(dict.fromkeys(row for row, _ in grid))
    columns = tuple(dict.fromkeys(column for _, column in grid))
    return _matrix(scores, grid, rows, columns, test, alpha, adjust)


def _matrix(
    scores: pd.DataFrame,
    grid: Grid,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    test: Test,
    alpha: float,
    adjust: bool,
) -> WinMatrix:
    """The outcomes of a grid's comparisons, as frames of its rows and columns."""
    compared = compared_pairs(scores, grid.values(), test=test, adjust=adjust)
    cells = _placed(_tally(compared, alpha), grid)

    def counts(outcome: str) -> pd.DataFrame:
        values = cells.pivot_table(index="row", columns="column", values=outcome, aggfunc="sum")
        # Cells that the grid lacks compare nothing.
        return values.reindex(index=rows, columns=columns).fillna(0).astype(int)

    wins, losses, ties, undecided = map(counts, OUTCOMES)
    return WinMatrix(wins, losses, ties, undecided, _array_of(scores, grid.values()).incomplete)


def _tally(compared: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Datasets by outcome, a row a pair."""
    significant = compared["p"] < alpha
    # NaN is below and above nothing, so a dataset without a test is undecided and not a tie.
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


def _placed(compared: pd.DataFrame, grid: Grid) -> pd.DataFrame:
    """The comparisons by the ``row`` and ``column`` of the grid that they belong to, in the grid's order."""
    places = [(*cell, *pair) for cell, pair in grid.items()]
    cells = pd.DataFrame(places, columns=["row", "column", "competitor", "reference"])
    # One pair may stand in several cells of a grid.
    return cells.merge(compared, on=["competitor", "reference"], how="left")


def relative_gains(scores: pd.DataFrame, grid: Grid, *, alpha: float = 0.20, test: Test = "corrected") -> pd.DataFrame:
    """The relative gain 100 (a - b) / abs(b) of the means, in percent, on every dataset: a point of a box plot.

    Args:
        scores: ``dataset, competitor, trial, value``.
        grid: (row, column) to (competitor a, reference b): see `against` for one reference.
        alpha: the paper keeps datasets on which the means differ at p < 0.20.
        test: as in `compared_pairs`.

    Returns:
        A row a grid cell and dataset: ``row, column, competitor, reference, dataset``; ``gain``, in percent, NaN where
        either has no trial or the reference's mean is zero; ``p``, NaN where no test is possible; ``kept``, whether the
        paper's filter keeps it.

    Raises:
        UsageError: as `compared_pairs`.
    """
    compared = compared_pairs(scores, grid.values(), test=test)
    # A reference of zero has no percent of it.
    size = compared["reference_mean"].abs().replace(0, np.nan)
    compared["gain"] = 100 * compared["difference"] / size
    # Beside a reference of zero there may be a p-value without a gain.
    compared["kept"] = (compared["p"] < alpha) & compared["gain"].notna()
    columns = ["row", "column", "competitor", "reference", "dataset", "gain", "p", "kept"]
    return _placed(compared, grid)[columns]


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
    values = gains.assign(kept=gains["gain"].where(gains["kept"]), missing=gains["gain"].isna())
    for side in ("row", "column"):
        # In the order of the grid.
        values[side] = pd.Categorical(values[side], categories=values[side].unique())
    return values.groupby(["row", "column"], observed=True).agg(
        kept_mean=("kept", "mean"),
        kept_datasets=("kept", "count"),
        mean=("gain", "mean"),
        median=("gain", "median"),
        datasets=("gain", "count"),
        missing=("missing", "sum"),
    )
