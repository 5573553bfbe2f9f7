"""Mean ranks over datasets, and which competitors differ (Demšar 2006, jmlr.org/papers/v7/demsar06a.html)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from ..errors import UsageError
from .pairs import holm
from .scores import score_array

DECIMALS = 12
"""Means and differences are rounded to this many decimals before they are ranked. Equal accuracies that are summed in
different orders differ in the last bits, and would not tie."""

Cliques = list[tuple[str, ...]]


@dataclass(frozen=True)
class Ranking:
    """Competitors ranked on every dataset on which all of them have a score.

    Attributes:
        means: mean scores, ``(datasets, competitors)``.
        ranks: 1 is best; ties share the average of their ranks.
        mean_ranks: of each competitor, best first.
        left_out: datasets left out, each with the competitors that it lacks.
    """

    means: pd.DataFrame
    ranks: pd.DataFrame
    mean_ranks: "pd.Series[float]"
    left_out: dict[Hashable, tuple[str, ...]]


class FriedmanTest(NamedTuple):
    """Friedman's chi-squared, corrected for ties, and its p-value."""

    statistic: float
    p: float


def rank_competitors(scores: pd.DataFrame, competitors: Sequence[str] | None = None) -> Ranking:
    """Ranks the mean scores of competitors within each dataset.

    Args:
        scores: ``dataset, competitor, trial, value``.
        competitors: which; all of them if not given.

    Raises:
        UsageError: unusable scores, an unknown competitor, or no dataset on which all competitors have a score.

    >>> rows = [("iris", "a", 0, 0.9), ("iris", "b", 0, 0.8), ("wine", "a", 0, 0.7), ("wine", "b", 0, 0.7)]
    >>> ranking = rank_competitors(pd.DataFrame(rows, columns=["dataset", "competitor", "trial", "value"]))
    >>> ranking.mean_ranks.to_dict()
    {'a': 1.25, 'b': 1.75}
    """
    array = score_array(scores, competitors)
    means = pd.DataFrame(
        array.means.round(DECIMALS),
        index=pd.Index(array.datasets, name="dataset", tupleize_cols=False),
        columns=pd.Index(array.competitors, name="competitor"),
    )
    # A rank among fewer competitors is no rank among all, so such datasets are left out and listed.
    is_complete = means.notna().all(axis=1)
    if not is_complete.any():
        raise UsageError(
            "No dataset has scores of all competitors; train the missing cells, or name fewer competitors."
        )
    left_out = {}
    for dataset, row in means[~is_complete].iterrows():
        left_out[dataset] = tuple(row.index[row.isna()])
    means = means[is_complete]
    ranks = means.rank(axis=1, ascending=False, method="average")
    # A stable sort: competitors of one mean rank keep their order.
    mean_ranks = ranks.mean().sort_values(kind="stable")
    return Ranking(means, ranks, mean_ranks, left_out)


def friedman_test(ranking: Ranking) -> FriedmanTest:
    """Tests whether all competitors rank alike; if they tie on every dataset, the statistic is 0 and p is 1.

    Raises:
        UsageError: fewer than three competitors.
    """
    if ranking.ranks.shape[1] < 3:
        raise UsageError("Friedman's test needs three competitors or more; compare two by `wilcoxon_tests`.")
    # SciPy's correction for ties would divide by zero.
    if ranking.ranks.nunique(axis=1).eq(1).all():
        return FriedmanTest(0.0, 1.0)
    # Takes half a second.
    from scipy import stats

    result = stats.friedmanchisquare(*ranking.ranks.to_numpy().T)
    return FriedmanTest(float(result.statistic), float(result.pvalue))


def wilcoxon_tests(ranking: Ranking) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of each pair of competitors over datasets, with Holm's correction over pairs.

    Equal means are ranked and then dropped (Pratt 1959, DOI 10.1080/01621459.1959.10501526).

    Preferred to Nemenyi's test because a pair's verdict does not depend on who else is ranked (Benavoli, Corani and
    Mangili 2016, jmlr.org/papers/v17/benavoli16a.html).

    Returns:
        A row a pair, in order of mean rank: ``competitor, reference``; ``higher, lower, equal``, datasets by the sign
        of the difference of means; ``p``, two-sided, 1 where all means are equal; ``p_holm``.
    """
    from scipy import stats

    rows = []
    for first, second in combinations(ranking.mean_ranks.index, 2):
        difference = ranking.means[first] - ranking.means[second]
        differences = difference.round(DECIMALS).to_numpy()
        p = 1.0
        # SciPy refuses a sample of nothing but zeros.
        if differences.any():
            p = float(stats.wilcoxon(differences, zero_method="pratt").pvalue)
        higher = int((differences > 0).sum())
        lower = int((differences < 0).sum())
        equal = len(differences) - higher - lower
        rows.append((first, second, higher, lower, equal, p))
    tests = pd.DataFrame(rows, columns=["competitor", "reference", "higher", "lower", "equal", "p"])
    return tests.assign(p_holm=holm(tests["p"]))


def wilcoxon_cliques(ranking: Ranking, *, alpha: float = 0.05) -> Cliques:
    """Maximal groups, contiguous in mean rank, of which no pair differs by Wilcoxon's test with Holm's correction.

    Returns:
        Groups of two or more, best first; a competitor that differs from both its neighbours is in none.
    """
    names = list(ranking.mean_ranks.index)
    tests = wilcoxon_tests(ranking)
    different = tests.loc[tests["p_holm"] < alpha, ["competitor", "reference"]]
    apart = set(different.itertuples(index=False, name=None))

    def joins(name: str, group: list[str]) -> bool:
        return not any((member, name) in apart for member in group)

    groups: Cliques = []
    reached = 0
    # From each competitor, the longest run of neighbours that do not differ from each other.
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and joins(names[end], names[start:end]):
            end += 1
        # A group that ends where an earlier one does is part of that one.
        if end > reached and end - start > 1:
            groups.append(tuple(names[start:end]))
        reached = max(reached, end)
    return groups
