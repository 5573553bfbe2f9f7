import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.statistics import rank_stability
from tests.report.statistics.frames import random_scores, scores_from


def row(table: pd.DataFrame, drawn: str, size: int) -> pd.Series:
    return table[(table["drawn"] == drawn) & (table["size"] == size)].iloc[0]


def test_a_clear_order_is_stable_from_the_least_subset_on() -> None:
    scores = scores_from(
        {d: {name: [i / 10, i / 10 + 0.01, i / 10 + 0.02] for i, name in enumerate("abc")} for d in range(5)}
    )

    table = rank_stability(scores, draws=20)

    assert table[["drawn", "size"]].to_records(index=False).tolist() == [
        ("trials", 2),
        ("datasets", 2),
        ("datasets", 3),
    ]
    assert (table[["tau", "tau_low", "best_stays"]] == 1).all(axis=None)


def test_sizes_unless_told() -> None:
    scores = scores_from({0: {name: [i + t / 60 for t in range(51)] for i, name in enumerate("ab")}})
    assert rank_stability(scores, draws=1)["size"].tolist() == [2, 3, 5, 10, 20, 30, 50]


def test_subsets_of_datasets_by_hand() -> None:
    # a is better on two datasets of three: one dataset says so in 2/3 of the draws. Of two datasets, one of the three
    # choices says so, and in the others the two tie.
    scores = scores_from({0: {"a": [0.6], "b": [0.5]}, 1: {"a": [0.6], "b": [0.5]}, 2: {"a": [0.5], "b": [0.6]}})

    table = rank_stability(scores, datasets=[1, 2], draws=2000)

    one, two = row(table, "datasets", 1), row(table, "datasets", 2)
    assert one["tau"] == pytest.approx(2 / 3 - 1 / 3, abs=0.08)
    assert one["best_stays"] == pytest.approx(2 / 3, abs=0.04)
    assert one["tau_low"] == -1
    assert two["tau"] == pytest.approx(1 / 3, abs=0.04)
    assert two["best_stays"] == 1
    assert (table["drawn"] == "datasets").all()


def test_subsets_of_trials_are_the_same_ones_for_all_competitors() -> None:
    # b is better by a little in every trial, and trials differ by much: only the same trials keep that order.
    scores = scores_from({0: {"a": [0.1, 0.4, 0.7, 0.9], "b": [0.11, 0.41, 0.71, 0.91]}})

    assert row(rank_stability(scores, trials=[1]), "trials", 1)["tau"] == 1


def test_subsets_of_trials_by_hand() -> None:
    # a is better on average, but only in one trial of three, by more than it is worse in the two others.
    scores = scores_from({0: {"a": [0.9, 0.4, 0.4], "b": [0.5, 0.5, 0.5]}})

    table = rank_stability(scores, trials=[1, 2], draws=2000)

    assert row(table, "trials", 1)["best_stays"] == pytest.approx(1 / 3, abs=0.04)
    assert row(table, "trials", 2)["best_stays"] == pytest.approx(2 / 3, abs=0.04)


def test_more_trials_and_more_datasets_agree_more() -> None:
    scores = random_scores(30, "abcdef", 12, seed=13)
    near = scores.assign(value=scores["value"] - 0.018 * scores["competitor"].map("abcdef".index))

    table = rank_stability(near, trials=[1, 10], datasets=[2, 20], draws=50)

    for drawn in ("trials", "datasets"):
        few, many = table.loc[table["drawn"] == drawn, "tau"]
        assert few < many - 0.1


def test_the_seed_alone_decides() -> None:
    scores = random_scores(5, "abcd", 6, seed=14)
    first = rank_stability(scores, draws=10, seed=1)

    pd.testing.assert_frame_equal(rank_stability(scores.sample(frac=1, random_state=0), draws=10, seed=1), first)
    assert not rank_stability(scores, draws=10, seed=2).equals(first)


def test_datasets_are_ranked_where_a_subset_has_all_competitors() -> None:
    nan = np.nan
    scores = scores_from(
        {
            0: {"a": [0.6, 0.7, 0.8], "b": [0.5, nan, nan]},
            1: {"a": [0.6, 0.7, 0.8], "b": [0.5, 0.6, 0.7]},
            2: {"a": [0.6, 0.7, 0.8]},
        }
    )

    table = rank_stability(scores, trials=[1], datasets=[1], draws=1000)

    assert row(table, "trials", 1)["datasets"] == pytest.approx(1 + 1 / 3, abs=0.05)
    assert row(table, "datasets", 1)["datasets"] == 1


def test_a_subset_without_a_dataset_to_rank_agrees_with_nothing() -> None:
    scores = scores_from({0: {"a": [0.6, 0.7, 0.8], "b": [0.5, np.nan, np.nan]}})

    found = row(rank_stability(scores, trials=[1], draws=1000), "trials", 1)

    assert found["tau"] == pytest.approx(1 / 3, abs=0.05)
    assert found["best_stays"] == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (scores_from({0: {"a": [0.5, 0.6]}}), "An order needs two competitors or more"),
        (scores_from({0: {"a": [0.5]}, 1: {"b": [0.5]}}), "No dataset has scores of all competitors"),
    ],
)
def test_what_has_no_order_is_refused(scores: pd.DataFrame, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rank_stability(scores)
