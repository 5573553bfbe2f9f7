"""Mean ranks of competitors over datasets, and whether they differ (Demšar 2006, jmlr.org/papers/v7/demsar06a.html)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from ...errors import UsageError
from .scores import DECIMALS, on_complete_datasets, score_array


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
    """
    array = score_array(scores, competitors)
    complete = on_complete_datasets(array)
    means = pd.DataFrame(
        complete.means.round(DECIMALS),
        index=pd.Index(complete.datasets, name="dataset", tupleize_cols=False),
        columns=pd.Index(complete.competitors, name="competitor"),
    )
    left_out = {
        dataset: tuple(name for name, n in zip(array.competitors, counts, strict=True) if n == 0)
        for dataset, counts in zip(array.datasets, array.counts, strict=True)
        if 0 in counts
    }
    ranks = means.rank(axis=1, ascending=False, method="average")
    return Ranking(means, ranks, ranks.mean().sort_values(kind="stable"), left_out)


def friedman_test(ranking: Ranking) -> FriedmanTest:
    """Tests whether all competitors rank alike; if they tie on every dataset, the statistic is 0 and p is 1.

    Raises:
        UsageError: fewer than three competitors.
    """
    if ranking.ranks.shape[1] < 3:
        raise UsageError("Friedman's test needs three competitors or more; compare two by `wilcoxon_tests`.")
    if ranking.ranks.nunique(axis=1).eq(1).all():
        return FriedmanTest(0.0, 1.0)
    result = stats.friedmanchisquare(*ranking.ranks.to_numpy().T)
    return FriedmanTest(float(result.statistic), float(result.pvalue))


def nemenyi_critical_difference(competitors: int, datasets: int, alpha: float = 0.05) -> float:
    """The difference of two mean ranks from which they differ significantly: q sqrt(k (k + 1) / (6 N)).

    q is the quantile of the studentized range for k groups and infinite degrees of freedom, over the root of 2.
    """
    q = stats.studentized_range.ppf(1 - alpha, competitors, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(competitors * (competitors + 1) / (6 * datasets)))
