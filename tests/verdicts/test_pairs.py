"""Tests of pairs, win matrices and relative gains: by hand, against SciPy in a loop, and their symmetries."""

import math
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from paper.published import published_accuracy
from scarf_lightning.errors import UsageError
from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.verdicts import (
    Test,
    WinMatrix,
    cell_means,
    compared_pairs,
    gain_table,
    reference_win_matrix,
    relative_gains,
    win_matrix,
)


def scores_from(cells: dict[object, dict[str, list[float]]]) -> pd.DataFrame:
    """Scores of {dataset: {competitor: values by trial}}."""
    rows = [
        (dataset, competitor, trial, value)
        for dataset, competitors in cells.items()
        for competitor, values in competitors.items()
        for trial, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["dataset", "competitor", "trial", "value"])


RANDOM = np.random.default_rng(4)
FIRST = RANDOM.normal(0.80, 0.02, (6, 9))
SECOND = RANDOM.normal(0.81, 0.05, (6, 9))
HIGH, LOW, WIDE = [0.90, 0.91, 0.92], [0.50, 0.51, 0.52], [0.3, 0.7, 1.0]
OUTCOMES = ("wins", "losses", "ties", "undecided")


def p_of(first: np.ndarray, second: np.ndarray, test: Test = "welch") -> np.ndarray:
    """The p-value of two competitors on each dataset, ``(D,)``."""
    scores = scores_from({d: {"a": one, "b": other} for d, (one, other) in enumerate(zip(first, second, strict=True))})
    return compared_pairs(scores, [("a", "b")], test=test)["p"].to_numpy()


def test_each_test_equals_scipy_and_the_formula() -> None:
    first, second = FIRST.copy(), SECOND.copy()
    first[0, 2] = second[0, 5] = second[1, :4] = np.nan
    paired = stats.ttest_rel(first, second, axis=1, nan_policy="omit")
    both = np.isfinite(first - second).sum(axis=1)
    resampled = paired.statistic / np.sqrt(1 + both * TEST_TO_TRAIN)
    expected = {
        "welch": stats.ttest_ind(first, second, axis=1, equal_var=False, nan_policy="omit").pvalue,
        "corrected": 2 * stats.t.sf(np.abs(resampled), both - 1),
    }

    for test, p in expected.items():
        np.testing.assert_allclose(p_of(first, second, test), p, rtol=1e-9)
    # Errors 1/2 and 1/2 add up to 1; df = 1 / (0.25/1 + 0.25/1) = 2; for two degrees p = 1 - t / sqrt(2 + t^2).
    half = np.sqrt(0.5)
    three, one = np.array([[3 - half, 3 + half]]), np.array([[1 - half, 1 + half]])
    assert p_of(three, one) == pytest.approx(1 - 2 / math.sqrt(6))
    assert np.isnan(p_of(FIRST, SECOND[:, :1])).all(), "a single trial cannot be tested"
    assert np.isnan(p_of(np.array([[0.5, np.nan]]), np.array([[np.nan, 0.5]]), "corrected")).all()


@pytest.mark.parametrize(("part", "p"), [(0.0, 1.0), (3e-13, 1.0), (3e-12, 0.0), (1e-9, 0.0), (1.0, 0.0)])
def test_constant_samples_tie_within_a_million_millionth_of_their_means(part: float, p: float) -> None:
    """At both ends of the scale of accuracies and losses. Means of 3 and 7 values of 0.1 differ in a last bit."""
    for mean in (0.8, 0.1, 1e-6, 1e4):
        assert p_of(np.full((1, 3), mean), np.full((1, 7), mean * (1 + part))) == p
        assert p_of(np.full((1, 3), mean), np.full((1, 3), mean * (1 + part)), "corrected") == p
        assert p_of(FIRST[:1] * mean + mean * part, FIRST[:1] * mean, "corrected") == p


def total(matrix: WinMatrix) -> pd.DataFrame:
    return matrix.wins + matrix.losses + matrix.ties + matrix.undecided


def test_the_minimum_skips_what_is_not_defined_and_prefers_more_evidence() -> None:
    names = list("abcd")
    wins = pd.DataFrame([[0, 0, 0, 0], [2, 0, 3, 0], [0, 5, 0, 0], [1, 2, 9, 0]], index=names, columns=names)
    losses = pd.DataFrame([[0, 1, 7, 0], [2, 0, 3, 0], [0, 0, 0, 0], [9, 2, 1, 0]], index=names, columns=names)

    minimum = WinMatrix(wins, losses, wins * 0, wins * 0).minimum

    assert minimum.loc["a"].to_list() == [0, 7, 0.0]  # 0/7 before 0/1
    assert minimum.loc["b"].to_list() == [3, 6, 0.5]  # 3/6 before 2/4
    assert minimum.loc["c"].to_list() == [5, 5, 1.0]  # 0/0 against a does not count
    assert minimum.loc["d"].to_list() == [1, 10, 0.1]
    undecided = win_matrix(scores_from({0: {"a": WIDE, "b": WIDE}})).minimum
    assert undecided["ratio"].isna().all()
    assert undecided["decided"].eq(0).all()


def test_methods_with_each_pre_training_against_the_method_without() -> None:
    of_mixup = {"scarf+mixup": HIGH, "scarf_ae+mixup": LOW, "none+mixup": LOW}
    scores = scores_from(dict.fromkeys(range(4), of_mixup | {"scarf+control": LOW, "none+control": HIGH}))
    places = ("mixup", "scarf"), ("mixup", "scarf_ae"), ("control", "scarf")
    grid = {(method, its): (f"{its}+{method}", f"none+{method}") for method, its in places}

    matrix = reference_win_matrix(scores, grid)

    assert matrix.wins.loc[["mixup", "control"], ["scarf", "scarf_ae"]].equals(matrix.wins)
    assert matrix.wins.to_numpy().tolist() == [[4, 0], [0, 0]]
    assert matrix.losses.to_numpy().tolist() == [[0, 0], [4, 0]]
    assert matrix.ties.to_numpy().tolist() == [[0, 4], [0, 0]]
    assert matrix.minimum["decided"].to_list() == [4, 4]


SCORES = scores_from(
    {
        "better": {"a": [0.60, 0.62], "b": [0.49, 0.51]},
        "worse": {"a": [0.30, 0.32], "b": [0.61, 0.63]},
        "unsure": {"a": [0.10, 0.90], "b": [0.20, 0.60]},
        "one trial": {"a": [0.6], "b": [0.5, 0.5]},
        "at zero": {"a": [0.6, 0.6], "b": [0.0, 0.0]},
        "no trial": {"b": [0.5, 0.5]},
    }
)


@pytest.mark.parametrize("test", get_args(Test))
def test_one_wins_what_the_other_loses_and_no_dataset_is_lost(test: Test) -> None:
    matrix = win_matrix(SCORES, test=test)

    assert matrix.wins.equals(matrix.losses.T)
    assert matrix.ties.equals(matrix.ties.T)
    assert total(matrix).to_numpy().tolist() == [[0, 6], [6, 0]]
    assert matrix.undecided.loc["a", "b"] == 2
    for outcome in OUTCOMES:
        assert getattr(matrix, outcome).equals(getattr(win_matrix(SCORES[::-1], test=test), outcome)), "in any order"


AGAINST_B = {("b", "a"): ("a", "b")}


def gains_of(scores: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return relative_gains(scores, AGAINST_B, **options).set_index("dataset")


def test_gains_by_hand_and_a_table_says_how_many_datasets_it_averages() -> None:
    gains = gains_of(SCORES)

    expected = {"better": 22.0, "worse": -50.0, "unsure": 25.0, "one trial": 20.0}
    assert gains["gain"].dropna().to_dict() == pytest.approx(expected)
    assert set(gains.index[gains["gain"].isna()]) == {"at zero", "no trial"}
    assert set(gains.index[gains["kept"]]) == {"better", "worse"}
    assert not gains_of(SCORES, alpha=gains.loc["better", "p"]).loc["better", "kept"], "only below alpha"
    assert (set(gains["row"]), set(gains["column"])) == ({"b"}, {"a"})
    table = gain_table(relative_gains(SCORES, AGAINST_B))
    assert table.loc[("b", "a")].to_dict() == pytest.approx(
        {"kept_mean": -14.0, "kept_datasets": 2, "mean": 4.25, "median": 21.0, "datasets": 4}
    )


def test_two_settings_under_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^a has a trial twice on better; select one setting of it"):
        win_matrix(SCORES.assign(trial=0))


def test_over_all_datasets_the_papers_own_gain_is_half_its_headline() -> None:
    published = published_accuracy()
    full = published[(published["regime"] == "full") & (published["method"] == "control")]
    scores = full.rename(columns={"dataset_id": "dataset", "pretrain": "competitor", "accuracy": "value"})

    table = gain_table(relative_gains(scores.assign(trial=0), {("control", "scarf"): ("scarf", "none")}))

    row = table.loc[("control", "scarf")]
    assert (row["mean"], row["median"]) == (pytest.approx(1.18, abs=0.005), pytest.approx(0.44, abs=0.005))
    assert row["datasets"] == 69


RESULTS = pd.DataFrame(
    {
        "dataset_id": pd.array([6, 6, 6, None], dtype="Int64"),
        "dataset": ["letter", "letter", "letter", "mine"],
        "regime": "full",
        "pretrain": ["none", "none", "scarf", "scarf"],
        "corruption": [None, "none", "marginal", "mean"],
        "method": "control",
        "trial": pd.array([0, 1, 0, 0], dtype="Int64"),
        "accuracy": [0.5, 0.7, 0.9, 0.8],
        "finetune_epochs": pd.array([10, None, 30, 40], dtype="Int64"),
    }
)


def test_means_of_cells_by_hand() -> None:
    means = cell_means(RESULTS)

    assert len(means) == 3
    control = means[means["pretrain"] == "none"].iloc[0]
    assert control[["mean", "standard_error", "trials"]].tolist() == pytest.approx([0.6, 0.1, 2])
    own = means[means["dataset_id"].isna()].iloc[0]
    assert (own["mean"], own["trials"]) == (0.8, 1)
    assert np.isnan(own["standard_error"])
