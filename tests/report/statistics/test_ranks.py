import numpy as np
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.statistics import friedman_test, nemenyi_critical_difference, rank_competitors
from tests.report.statistics.frames import paper_scores, random_scores, scores_from

NAMES = ["none+control", "scarf+control", "scarf_ae+control", "add_noise_ae+control", "no_noise_ae+control"]
NAMES += ["scarf_disc+control", "none+xgboost"]

PUBLISHED = {
    "full": ([4.21, 2.79, 3.97, 4.13, 4.51, 4.38, 4.01], 6.8e-5),
    "noise30": ([4.35, 3.24, 3.92, 4.17, 4.43, 4.24, 3.65], 0.012),
    "semi25": ([4.37, 3.02, 4.16, 4.42, 4.39, 4.14, 3.49], 2.4e-4),
}

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
    mean_ranks, p = PUBLISHED[regime]

    ranking = rank_competitors(paper_scores(regime))

    assert ranking.mean_ranks[NAMES].round(2).to_list() == mean_ranks
    assert ranking.mean_ranks.is_monotonic_increasing
    assert ranking.ranks.shape == (69, 7)
    assert friedman_test(ranking).p == pytest.approx(p, rel=0.02)


def test_demsars_example() -> None:
    ranking = rank_competitors(DEMSAR_SCORES)

    assert ranking.mean_ranks.round(3).to_dict() == {"mcf": 1.964, "m": 2.0, "cf": 2.893, "c45": 3.143}
    ties = 3 * (2**3 - 2) + (4**3 - 4)  # iris, lung cancer and primary tumor; mushroom
    statistic = friedman_test(ranking).statistic
    assert statistic * (1 - ties / (14 * (4**3 - 4))) == pytest.approx(9.28, abs=0.005)  # his is not corrected for ties


def test_nemenyis_critical_difference_for_the_papers_tables() -> None:
    assert nemenyi_critical_difference(7, 69) == pytest.approx(1.084, abs=5e-4)


@pytest.mark.parametrize(
    ("competitors", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)]
)
def test_nemenyis_critical_difference_from_demsars_table_of_quantiles(competitors: int, q: float) -> None:
    expected = q * np.sqrt(competitors * (competitors + 1) / (6 * 14))

    assert nemenyi_critical_difference(competitors, 14) == pytest.approx(expected, rel=5e-4)


def test_nemenyis_difference_at_another_level() -> None:
    assert nemenyi_critical_difference(2, 6, alpha=0.10) == pytest.approx(1.645 * np.sqrt(6 / 36), abs=1e-3)


def test_equal_means_share_their_ranks_however_they_are_summed() -> None:
    scores = scores_from({0: {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "c": [0.2], "d": [0.9]}})
    assert np.sum([0.1, 0.2, 0.3]) != np.sum([0.3, 0.2, 0.1])

    assert rank_competitors(scores).ranks.loc[0].to_dict() == {"a": 3, "b": 3, "c": 3, "d": 1}


def test_datasets_that_lack_a_competitor_are_left_out_and_named() -> None:
    scores = scores_from(
        {6: {"a": [0.5], "b": [0.6], "c": [0.7]}, 11: {"a": [0.5], "b": [np.nan]}, 12: {"a": [0.6], "b": [0.5]}}
    )

    ranking = rank_competitors(scores)

    assert ranking.left_out == {11: ("b", "c"), 12: ("c",)}
    assert list(ranking.ranks.index) == [6]
    assert rank_competitors(scores, ["a", "b"]).left_out == {11: ("b",)}


def test_without_a_complete_dataset_there_is_no_ranking() -> None:
    with pytest.raises(UsageError, match="No dataset has scores of all competitors"):
        rank_competitors(scores_from({0: {"a": [0.5]}, 1: {"b": [0.5]}}))


def test_competitors_that_always_tie_do_not_differ() -> None:
    ranking = rank_competitors(scores_from({d: {name: [0.5] for name in "abc"} for d in range(4)}))

    assert friedman_test(ranking) == (0.0, 1.0)


def test_friedman_needs_three_competitors() -> None:
    with pytest.raises(UsageError, match="needs three competitors"):
        friedman_test(rank_competitors(random_scores(4, "ab", 2)))
