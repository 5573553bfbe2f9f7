import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scarf_lightning.report.statistics import (
    Ranking,
    nemenyi_cliques,
    rank_competitors,
    wilcoxon_cliques,
    wilcoxon_tests,
)
from tests.report.statistics.frames import paper_scores, random_scores, scores_from
from tests.report.statistics.test_ranks import DEMSAR_SCORES


@pytest.mark.parametrize(
    ("regime", "wins", "losses", "p"),
    [("full", 48, 21, 1.8e-5), ("noise30", 46, 22, 5.9e-4), ("semi25", 48, 20, 4.0e-5)],
)
def test_scarf_over_control_in_the_papers_own_tables(regime: str, wins: int, losses: int, p: float) -> None:
    ranking = rank_competitors(paper_scores(regime), ["scarf+control", "none+control"])

    row = wilcoxon_tests(ranking).iloc[0]

    assert row["competitor"] == "scarf+control"
    assert (row["higher"], row["lower"], row["equal"]) == (wins, losses, 69 - wins - losses)
    assert row["p"] == pytest.approx(p, rel=0.025)


def test_demsars_example_of_the_signed_rank_test() -> None:
    # Demšar (2006), table 2: C4.5 with m against C4.5, better on 10 of 14 datasets, equal on 2, significant at 0.05.
    tests = wilcoxon_tests(rank_competitors(DEMSAR_SCORES, ["c45", "m"]))

    row = tests.iloc[0]
    assert (row["competitor"], row["reference"]) == ("m", "c45")
    assert (row["higher"], row["lower"], row["equal"]) == (10, 2, 2)
    assert row["p"] < 0.05


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


def test_equal_everywhere_is_no_difference() -> None:
    ranking = rank_competitors(scores_from({d: {"a": [0.5], "b": [0.5]} for d in range(20)}))

    row = wilcoxon_tests(ranking).iloc[0]
    assert (row["equal"], row["p"]) == (20, 1.0)
    assert wilcoxon_cliques(ranking) == [("a", "b")]


def ranking_of(mean_ranks: dict[str, float], datasets: int) -> Ranking:
    """A ranking with these mean ranks; what lies below them is not looked at."""
    ranks = pd.DataFrame([mean_ranks] * datasets)
    return Ranking(-ranks, ranks, pd.Series(mean_ranks), {})


@pytest.mark.parametrize(
    ("mean_ranks", "groups"),
    [
        # Four competitors on 14 datasets: the critical difference is 1.25.
        ({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, [("a", "b"), ("b", "c"), ("c", "d")]),
        ({"a": 1.9, "b": 2.3, "c": 2.8, "d": 3.0}, [("a", "b", "c", "d")]),
        ({"a": 1.0, "b": 2.8, "c": 3.0, "d": 3.2}, [("b", "c", "d")]),
        ({"a": 1.5, "b": 2.0, "c": 3.0, "d": 3.5}, [("a", "b"), ("b", "c"), ("c", "d")]),
        ({"a": 1.6, "b": 2.4, "c": 2.8, "d": 3.2}, [("a", "b", "c"), ("b", "c", "d")]),
        ({"a": 1.96, "b": 2.0, "c": 2.89, "d": 3.14}, [("a", "b", "c", "d")]),
    ],
)
def test_groups_by_nemenyis_difference(mean_ranks: dict[str, float], groups: list[tuple[str, ...]]) -> None:
    assert nemenyi_cliques(ranking_of(mean_ranks, 14)) == groups


def test_groups_by_wilcoxon_end_at_a_clear_gap() -> None:
    random = np.random.default_rng(6)
    scores = scores_from(
        {
            d: {
                name: [base + random.normal(0, 0.01)] for name, base in {"a": 0.9, "b": 0.9, "c": 0.5, "d": 0.5}.items()
            }
            for d in range(30)
        }
    )

    groups = wilcoxon_cliques(rank_competitors(scores))

    assert sorted(tuple(sorted(group)) for group in groups) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("seed", range(5))
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
