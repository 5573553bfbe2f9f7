"""Are these trials enough? How stable the order of competitors is in the number of trials and of datasets."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ...errors import UsageError
from .scores import DECIMALS, Floats, mean_of, on_complete_datasets, score_array

SIZES = (2, 3, 5, 10, 20, 30, 50)


def rank_stability(
    scores: pd.DataFrame,
    competitors: Sequence[str] | None = None,
    *,
    trials: Iterable[int] = SIZES,
    datasets: Iterable[int] = SIZES,
    draws: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Draws subsets of trials or of datasets and compares their mean ranks with those of everything.

    Trials are drawn within each dataset, the same ones for all competitors, because these share their splits; a dataset
    with no more trials than asked gives all. Subsets are part of the whole, so the agreement with it is higher than
    that with new trials or datasets would be, the more so the larger the subset.

    Args:
        scores: ``dataset, competitor, trial, value``.
        competitors: which, two or more; all of them if not given.
        trials, datasets: sizes of subsets; those not below what is there are left out.
        draws: subsets of each size.
        seed: of the drawing.

    Returns:
        A row a size: ``drawn``, trials or datasets; ``size``; ``tau``, the mean of Kendall's tau-b between the mean
        ranks of a subset and of everything, 0 for a subset in which all tie or no dataset is ranked; ``tau_low``, its
        5 % quantile; ``best_stays``, the part of subsets in which the best of everything is best, alone or with others;
        ``datasets``, how many are ranked in a subset, on average: those on which all competitors have a score in it.

    Raises:
        UsageError: unusable scores, an unknown competitor, fewer than two, or no dataset on which all have a score.
    """
    array = score_array(scores, competitors)
    if len(array.competitors) < 2:
        raise UsageError("An order needs two competitors or more; name more of them.")
    array = on_complete_datasets(array)
    random = np.random.default_rng(seed)
    everything = _ranks(array.means)
    reference = everything.mean(axis=0)
    rows: list[tuple[str, int, float, float, float, float]] = []
    tried = np.asarray(np.isfinite(array.values).any(axis=1))
    for size in sorted(size for size in set(trials) if 0 < size < tried.sum(axis=1).max()):
        ranks = [_ranks(mean_of(_keep(array.values, tried, size, random))) for _ in range(draws)]
        rows.append(("trials", size, *_agreement(ranks, reference)))
    for size in sorted(size for size in set(datasets) if 0 < size < len(array.datasets)):
        ranks = [everything[random.permutation(len(everything))[:size]] for _ in range(draws)]
        rows.append(("datasets", size, *_agreement(ranks, reference)))
    return pd.DataFrame(rows, columns=["drawn", "size", "tau", "tau_low", "best_stays", "datasets"])


def _ranks(means: Floats) -> Floats:
    """Ranks within datasets, 1 is best, ``(datasets on which all have a mean, C)``."""
    means = means[np.isfinite(means).all(axis=1)]
    return np.asarray(stats.rankdata(-means.round(DECIMALS), axis=1), dtype=np.float64)


def _keep(values: Floats, tried: NDArray[np.bool_], size: int, random: np.random.Generator) -> Floats:
    """The scores of ``size`` random trials of each dataset; NaN in the place of others."""
    order = np.argsort(np.where(tried, random.random(tried.shape), np.inf), axis=1)
    kept = np.zeros_like(tried)
    np.put_along_axis(kept, order[:, :size], True, axis=1)
    return np.where(kept[:, None], values, np.nan)


def _agreement(subsets: list[Floats], reference: Floats) -> tuple[float, float, float, float]:
    mean_ranks = [ranks.mean(axis=0) if len(ranks) else np.full_like(reference, np.nan) for ranks in subsets]
    tau = [_kendall(ranks, reference) for ranks in mean_ranks]
    best = reference.argmin()
    stays = [ranks[best] <= ranks.min() + 10**-DECIMALS for ranks in mean_ranks]
    ranked = float(np.mean([len(ranks) for ranks in subsets]))
    return float(np.mean(tau)), float(np.quantile(tau, 0.05)), float(np.mean(stays)), ranked


def _kendall(first: Floats, second: Floats) -> float:
    tau = stats.kendalltau(first.round(DECIMALS), second.round(DECIMALS)).statistic
    return 0.0 if np.isnan(tau) else float(tau)
