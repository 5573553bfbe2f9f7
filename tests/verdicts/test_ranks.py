"""Ranks, Friedman's test and signed ranks: against Demšar, the paper's own tables and SciPy."""

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.errors import UsageError
from scarf_lightning.verdicts import (
    friedman_test,
    rank_competitors,
    wilcoxon_cliques,
    wilcoxon_tests,
)
from tests.verdicts.frames import paper_scores, random_scores, scores_from

NAMES = ["none+control", "scarf+control", "scarf_ae+control", "add_noise_ae+control", "no_noise_ae+control"]
NAMES += ["scarf_disc+control", "none+xgboost"]

PUBLISHED = {
    "full": ([4.21, 2.79, 3.97, 4.13, 4.51, 4.38, 4.01], 6.8e-5, (48, 21, 0), 1.8e-5),
    "noise30": ([4.35, 3.24, 3.92, 4.17, 4.43, 4.24, 3.65], 0.012, (46, 22, 1), 5.9e-4),
    "semi25": ([4.37, 3.02, 4.16, 4.42, 4.39, 4.14, 3.49], 2.4e-4, (48, 20, 1), 4.0e-5),
}
"""Mean ranks and the level of Friedman's test; SCARF's wins, losses and ties over control, and their level."""

DEMSAR = {
    "adult": [0.763, 0.768, 0.771, 0.798], "breast cancer": [0.599, 0.591, 0.590, 0.569],
    "breast cancer w": [0.954, 0.971, 0.968, 0.967], "cmc": [0.628, 0.661, 0.654, 0.657],
    "ionosphere": [0.882, 0.888, 0.886, 0.898], "iris": [0.936, 0.931, 0.916, 0.931],
    "liver": [0.661, 0.668, 0.609, 0.685], "lung cancer": [0.583, 0.583, 0.563, 0.625],
    "lymphography": [0.775, 0.838, 0.866, 0.875], "mushroom": [1.0, 1.0, 1.0, 1.0],
    "primary tumor": [0.940, 0.962, 0.965, 0.962], "rheum": [0.619, 0.666, 0.614, 0.669],
    "voting": [0.972, 0.981, 0.9751, 0.975], "wine": [0.957, 0.978, 0.946, 0.970],
}  # fmt: skip
"""AUC of four C4.5 variants on 14 datasets: Demšar (2006), table 6. On voting he prints 0.975 twice and ranks them 2
and 3, so they differed before rounding."""

DEMSAR_SCORES = scores_from(
    {dataset: dict(zip(["c45", "m", "cf", "mcf"], [[v] for v in row], strict=True)) for dataset, row in DEMSAR.items()}
)


@pytest.mark.parametrize("regime", PUBLISHED)
def test_the_papers_own_tables(regime: str) -> None:
    mean_ranks, p, of_scarf, p_of_scarf = PUBLISHED[regime]

    ranking = rank_competitors(paper_scores(regime))
    row = wilcoxon_tests(rank_competitors(paper_scores(regime), ["scarf+control", "none+control"])).iloc[0]

    assert ranking.mean_ranks[NAMES].round(2).to_list() == mean_ranks
    assert ranking.mean_ranks.is_monotonic_increasing
    assert ranking.ranks.shape == (69, 7)
    assert friedman_test(ranking).p == pytest.approx(p, rel=0.02)
    assert (row["competitor"], row["higher"], row["lower"], row["equal"]) == ("scarf+control", *of_scarf)
    assert row["p"] == pytest.approx(p_of_scarf, rel=0.025)


def test_demsars_example() -> None:
    ranking = rank_competitors(DEMSAR_SCORES)

    assert ranking.mean_ranks.round(3).to_dict() == {"mcf": 1.964, "m": 2.0, "cf": 2.893, "c45": 3.143}
    ties = 3 * (2**3 - 2) + (4**3 - 4)  # iris, lung cancer and primary tumor; mushroom
    statistic = friedman_test(ranking).statistic
    assert statistic * (1 - ties / (14 * (4**3 - 4))) == pytest.approx(9.28, abs=0.005)  # his is not corrected for ties
    # His table 2: C4.5 with m against C4.5, better on 10 of 14 datasets, equal on 2, significant at 0.05.
    row = wilcoxon_tests(rank_competitors(DEMSAR_SCORES, ["c45", "m"])).iloc[0]
    assert (row["competitor"], row["reference"]) == ("m", "c45")
    assert (row["higher"], row["lower"], row["equal"]) == (10, 2, 2)
    assert row["p"] < 0.05


def test_equal_means_share_their_ranks_however_they_are_summed() -> None:
    scores = scores_from({0: {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "c": [0.2], "d": [0.9]}})
    assert np.sum([0.1, 0.2, 0.3]) != np.sum([0.3, 0.2, 0.1])
    assert rank_competitors(scores).ranks.loc[0].to_dict() == {"a": 3, "b": 3, "c": 3, "d": 1}

    equal = rank_competitors(scores_from({d: {name: [0.5] for name in "abc"} for d in range(20)}))
    assert friedman_test(equal) == (0.0, 1.0)
    row = wilcoxon_tests(equal).iloc[0]
    assert (row["equal"], row["p"]) == (20, 1.0)
    assert wilcoxon_cliques(equal) == [("a", "b", "c")]


def test_datasets_that_lack_a_competitor_are_left_out_and_named() -> None:
    scores = scores_from(
        {6: {"a": [0.5], "b": [0.6], "c": [0.7]}, 11: {"a": [0.5], "b": [np.nan]}, 12: {"a": [0.6], "b": [0.5]}}
    )

    ranking = rank_competitors(scores)

    assert ranking.left_out == {11: ("b", "c"), 12: ("c",)}
    assert list(ranking.ranks.index) == [6]
    assert rank_competitors(scores, ["a", "b"]).left_out == {11: ("b",)}
    with pytest.raises(UsageError, match="No dataset has scores of all competitors"):
        rank_competitors(scores_from({0: {"a": [0.5]}, 1: {"b": [0.5]}}))
    with pytest.raises(UsageError, match="needs three competitors"):
        friedman_test(rank_competitors(random_scores(4, "ab", 2)))


def test_every_pair_is_tested_as_by_scipy_on_integers_and_corrected_by_holm() -> None:
    random = np.random.default_rng(5)
    percent = random.integers(50, 60, (25, 3)) + np.array([0, 1, 3])
    scores = scores_from({d: {"abc"[i]: [v / 100] for i, v in enumerate(row)} for d, row in enumerate(percent)})

    tests = wilcoxon_tests(rank_competitors(scores)).set_index(["competitor", "reference"])

    expected = {
        pair: stats.wilcoxon(percent[:, "abc".index(pair[0])] - percent[:, "abc".index(pair[1])], zero_method="pratt")
        for pair in [("c", "b"), ("c", "a"), ("b", "a")]
    }
    assert set(tests.index) == set(expected)
    p = [expected[pair].pvalue for pair in tests.index]
    np.testing.assert_allclose(tests["p"], p, rtol=1e-9)
    least, middle, largest = np.argsort(p)
    steps = [3 * p[least], 2 * p[middle], p[largest]]
    expected_holm = np.minimum(np.maximum.accumulate(steps), 1)
    np.testing.assert_allclose(tests["p_holm"].iloc[[least, middle, largest]], expected_holm, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_maximal_runs_without_a_significant_pair(seed: int) -> None:
    ranking = rank_competitors(random_scores(12, "abcdef", 1, seed=seed))
    order = list(ranking.mean_ranks.index)
    tests = wilcoxon_tests(ranking)
    apart = {frozenset((row.competitor, row.reference)) for row in tests.itertuples() if row.p_holm < 0.05}
    assert apart

    def alike(run: tuple[str, ...]) -> bool:
        return not any(pair <= set(run) for pair in apart)

    runs = [tuple(order[i:j]) for i in range(6) for j in range(i + 2, 7) if alike(tuple(order[i:j]))]
    maximal = [run for run in runs if not any(set(run) < set(other) for other in runs)]
    assert wilcoxon_cliques(ranking) == maximal
