"""Which competitors a critical-difference diagram joins by a bar."""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from .ranks import Ranking, nemenyi_critical_difference
from .scores import DECIMALS
from .significance import holm

Cliques = list[tuple[str, ...]]


def wilcoxon_tests(ranking: Ranking, *, zero_method: str = "pratt") -> pd.DataFrame:
    """Wilcoxon's signed-rank test of each pair of competitors over datasets, with Holm's correction over pairs.

    Preferred to Nemenyi's test because a pair's verdict does not depend on who else is ranked (Benavoli, Corani and
    Mangili 2016, jmlr.org/papers/v17/benavoli16a.html).

    Args:
        ranking: its means are compared.
        zero_method: of equal means, as in `scipy.stats.wilcoxon`; ``pratt`` ranks them and then drops them.

    Returns:
        A row a pair, in order of mean rank: ``competitor, reference``; ``higher, lower, equal``, datasets by the sign
        of the difference of means; ``p``, two-sided, 1 where all means are equal; ``p_holm``.
    """
    rows = []
    for first, second in combinations(ranking.mean_ranks.index, 2):
        differences = (ranking.means[first] - ranking.means[second]).round(DECIMALS).to_numpy()
        p = stats.wilcoxon(differences, zero_method=zero_method).pvalue if differences.any() else 1.0
        signs = (int((differences > 0).sum()), int((differences < 0).sum()), int((differences == 0).sum()))
        rows.append((first, second, *signs, float(p)))
    tests = pd.DataFrame(rows, columns=["competitor", "reference", "higher", "lower", "equal", "p"])
    return tests.assign(p_holm=holm(tests["p"]))


def wilcoxon_cliques(ranking: Ranking, *, alpha: float = 0.05, zero_method: str = "pratt") -> Cliques:
    """Maximal groups, contiguous in mean rank, of which no pair differs by Wilcoxon's test with Holm's correction.

    Returns:
        Groups of two or more, best first; a competitor that differs from both its neighbours is in none.
    """
    tests = wilcoxon_tests(ranking, zero_method=zero_method)
    different = pd.DataFrame(False, index=ranking.mean_ranks.index, columns=ranking.mean_ranks.index)
    for first, second in tests.loc[tests["p_holm"] < alpha, ["competitor", "reference"]].itertuples(index=False):
        different.loc[first, second] = True
    return _maximal_groups(list(ranking.mean_ranks.index), different.to_numpy())


def nemenyi_cliques(ranking: Ranking, *, alpha: float = 0.05) -> Cliques:
    """Maximal groups whose mean ranks lie within Nemenyi's critical difference, as `wilcoxon_cliques` returns them."""
    datasets, competitors = ranking.ranks.shape
    mean_ranks = ranking.mean_ranks.to_numpy()
    apart = np.abs(mean_ranks[:, None] - mean_ranks) >= nemenyi_critical_difference(competitors, datasets, alpha)
    return _maximal_groups(list(ranking.mean_ranks.index), apart)


def _maximal_groups(names: list[str], different: NDArray[np.bool_]) -> Cliques:
    """Runs of names without a different pair that lie in no longer run.

    Args:
        different: ``(k, k)``, read above its diagonal.
    """
    groups: Cliques = []
    reached = 0
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and not different[start:end, end].any():
            end += 1
        if end > reached and end - start > 1:
            groups.append(tuple(names[start:end]))
        reached = max(reached, end)
    return groups
