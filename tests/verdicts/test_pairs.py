"""Tests of pairs, win matrices and relative gains: by hand, against SciPy in a loop, and their symmetries."""

import math
from inspect import signature
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paper.published import published_accuracy
from scarf_lightning.verdicts import (
    Test,
    TTest,
    WinMatrix,
    against,
    compared_pairs,
    gain_table,
    holm,
    paired_test,
    pretraining_grid,
    reference_win_matrix,
    relative_gains,
    scores_of,
    welch_test,
    win_matrix,
)
from tests.verdicts.frames import ragged_scores, random_scores, scores_from

RANDOM = np.random.default_rng(4)
FIRST = RANDOM.normal(0.80, 0.02, (6, 9))
SECOND = RANDOM.normal(0.81, 0.05, (6, 9))
HIGH, LOW, WIDE = [0.90, 0.91, 0.92], [0.50, 0.51, 0.52], [0.3, 0.7, 1.0]
OUTCOMES = ("wins", "losses", "ties", "undecided")
KINDS = st.sampled_from(get_args(Test))


def welch(first: np.ndarray, second: np.ndarray) -> TTest:
    summaries = [(x.mean(axis=-1), x.var(axis=-1, ddof=1), x.shape[-1]) for x in (first, second)]
    return welch_test(*summaries[0], *summaries[1])


def samples_at(*levels: float) -> dict[object, dict[str, list[float]]]:
    """Of 0.5 +- s and 0.6 +- s, two trials each, Welch's p = 1 - t / sqrt(2 + t^2) for t = 0.1 / (s sqrt(2))."""
    samples: dict[object, dict[str, list[float]]] = {}
    for p in levels:
        t = np.sqrt(2) * (1 - p) / np.sqrt(1 - (1 - p) ** 2)
        s = 0.1 / t / np.sqrt(2)
        samples[p] = {name: [mean - s, mean + s] for name, mean in (("a", 0.6), ("b", 0.5))}
        assert stats.ttest_ind(*samples[p].values(), equal_var=False).pvalue == pytest.approx(p)
    return samples


def test_welch_equals_scipy_and_the_formula() -> None:
    for trials in (9, 4, 2):
        found = welch(FIRST, SECOND[:, :trials])
        expected = stats.ttest_ind(FIRST, SECOND[:, :trials], axis=1, equal_var=False)
        np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
        np.testing.assert_allclose(found.df, expected.df, rtol=1e-12)
        np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-12)
    # Errors 1/2 and 1/2 add up to 1; df = 1 / (0.25/1 + 0.25/1) = 2; for two degrees p = 1 - t / sqrt(2 + t^2).
    found = welch_test(3.0, 1.0, 2, 1.0, 1.0, 2)
    assert (found.statistic, found.df) == (2.0, 2.0)
    assert found.p == pytest.approx(1 - 2 / math.sqrt(6), rel=1e-12)
    one_constant = welch(FIRST[0], np.full(5, 0.79))
    assert one_constant.p == pytest.approx(stats.ttest_1samp(FIRST[0], 0.79).pvalue, rel=1e-9)
    for n, n2 in [(1, 30), (30, 1), (1, 1), (0, 30)]:
        assert np.isnan(welch_test(0.9, 0.01, n, 0.8, 0.01, n2)).all(), "a single trial cannot be tested"


def test_paired_equals_scipy_over_the_trials_in_common() -> None:
    first, second = FIRST.copy(), SECOND.copy()
    first[0, 2] = second[0, 5] = second[1, :4] = np.nan

    found = paired_test(first, second)

    expected = stats.ttest_rel(first, second, axis=1, nan_policy="omit")
    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-12)
    np.testing.assert_array_equal(found.df, [6, 4, 8, 8, 8, 8])
    assert np.isnan(paired_test(np.array([0.5, 0.6, np.nan]), np.array([np.nan, 0.5, 0.6]))).all()
    of_two = paired_test(FIRST[:, :2], SECOND[:, :2])
    np.testing.assert_allclose(of_two.p, stats.ttest_rel(FIRST[:, :2], SECOND[:, :2], axis=1).pvalue, rtol=1e-9)
    assert paired_test(np.array([0.5, 0.6, 0.7]), np.array([0.7, 0.6, 0.5])).p == 1, "no difference, with a spread"


@pytest.mark.parametrize(("part", "p"), [(0.0, 1.0), (3e-13, 1.0), (3e-12, 0.0), (1e-9, 0.0), (1.0, 0.0)])
def test_constant_samples_tie_within_a_million_millionth_of_their_means(part: float, p: float) -> None:
    """Both tests, at both ends of the scale that accuracies and losses have. Means of 3 and 7 values of 0.1 differ in
    a last bit."""
    for mean in (0.8, 0.1, 1e-6, 1e4):
        assert welch(np.full(3, mean), np.full(7, mean * (1 + part))).p == p
        assert paired_test(np.full(3, mean), np.full(3, mean * (1 + part))).p == p
        assert paired_test(FIRST[0] * mean + mean * part, FIRST[0] * mean).p == p


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),  # R: p.adjust(p, "holm")
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([0.02, math.nan, 0.01], [0.02, math.nan, 0.02]),
    ],
)
def test_holm_by_hand_and_of_columns_apart(raw: list[float], adjusted: list[float]) -> None:
    np.testing.assert_allclose(holm(raw), adjusted, rtol=1e-12)
    both, expected = np.array([raw, raw[::-1]]), np.array([adjusted, adjusted[::-1]])
    np.testing.assert_allclose(holm(both, axis=1), expected, rtol=1e-12)
    np.testing.assert_allclose(holm(both.T), expected.T, rtol=1e-12)


def total(matrix: WinMatrix) -> pd.DataFrame:
    return matrix.wins + matrix.losses + matrix.ties + matrix.undecided


@pytest.mark.parametrize(("test", "alpha"), [("welch", 0.2), ("paired", 0.05)])
def test_counts_equal_those_of_scipy_in_a_loop(test: Test, alpha: float) -> None:
    scores = random_scores(7, "abc", 6, seed=1)
    values = scores.pivot_table(index="dataset", columns=["competitor", "trial"], values="value")

    matrix = win_matrix(scores, test=test, alpha=alpha)

    for a in "abc":
        for b in set("abc") - {a}:
            wins = losses = 0
            for d in range(7):
                x, y = values.loc[d, a].to_numpy(), values.loc[d, b].to_numpy()
                p = (stats.ttest_rel(x, y) if test == "paired" else stats.ttest_ind(x, y, equal_var=False)).pvalue
                wins += p < alpha and x.mean() > y.mean()
                losses += p < alpha and x.mean() < y.mean()
            assert (matrix.wins.loc[a, b], matrix.losses.loc[a, b]) == (wins, losses)
            assert matrix.ties.loc[a, b] == 7 - wins - losses


def test_a_win_is_strictly_below_the_level_of_the_corrected_test() -> None:
    """Welch's finds up to 27 % of equal competitors different; it stays for the paper's own figures, as its 20 % do."""
    defaults = {}
    for count in (compared_pairs, win_matrix, reference_win_matrix, relative_gains):
        its = signature(count).parameters
        defaults[count] = [its[name].default for name in ("test", "alpha") if name in its]
    assert defaults == {
        compared_pairs: ["corrected"],
        win_matrix: ["corrected", 0.05],
        reference_win_matrix: ["corrected", 0.05],
        relative_gains: ["corrected", 0.2],
    }

    scores = scores_from(samples_at(0.045, 0.049, 0.051, 0.055))
    for alpha, wins in ((0.05, 2), (0.047, 1)):
        found = reference_win_matrix(scores, {("a", "none"): ("a", "b")}, test="welch", alpha=alpha)
        assert found.wins.loc["a", "none"] == wins
    sure = scores_from({0: {"a": [0.9, 0.9], "b": [0.5, 0.5]}})  # p = 0
    at_alpha = win_matrix(sure, alpha=0.0)
    assert (at_alpha.wins.loc["a", "b"], at_alpha.ties.loc["a", "b"]) == (0, 1)


def test_the_minimum_skips_what_is_not_defined_and_prefers_more_evidence() -> None:
    names = list("abcd")
    wins = pd.DataFrame([[0, 0, 0, 0], [2, 0, 3, 0], [0, 5, 0, 0], [1, 2, 9, 0]], index=names, columns=names)
    losses = pd.DataFrame([[0, 1, 7, 0], [2, 0, 3, 0], [0, 0, 0, 0], [9, 2, 1, 0]], index=names, columns=names)

    minimum = WinMatrix(wins, losses, wins * 0, wins * 0, pd.DataFrame()).minimum

    assert minimum.loc["a"].to_list() == ["c", 0, 7, 0.0]  # 0/7 before 0/1
    assert minimum.loc["b"].to_list() == ["c", 3, 6, 0.5]  # 3/6 before 2/4
    assert minimum.loc["c"].to_list() == ["b", 5, 5, 1.0]  # 0/0 against a does not count
    assert minimum.loc["d"].to_list() == ["a", 1, 10, 0.1]
    undecided = win_matrix(scores_from({0: {"a": WIDE, "b": WIDE}})).minimum
    assert undecided[["column", "ratio"]].isna().all(axis=None)
    assert undecided["decided"].eq(0).all()


def test_methods_with_each_pre_training_against_the_method_without() -> None:
    of_mixup = {"scarf+mixup": HIGH, "scarf_ae+mixup": LOW, "none+mixup": LOW}
    scores = scores_from(dict.fromkeys(range(4), of_mixup | {"scarf+control": LOW, "none+control": HIGH}))
    grid = pretraining_grid(["mixup"], ["scarf", "scarf_ae"]) | pretraining_grid(["control"], ["scarf"])

    matrix = reference_win_matrix(scores, grid)

    assert matrix.wins.loc[["mixup", "control"], ["scarf", "scarf_ae"]].equals(matrix.wins)
    assert matrix.wins.to_numpy().tolist() == [[4, 0], [0, 0]]
    assert matrix.losses.to_numpy().tolist() == [[0, 0], [4, 0]]
    assert matrix.ties.to_numpy().tolist() == [[0, 4], [0, 0]]
    assert matrix.minimum["column"].to_list() == ["scarf", "scarf"]


def test_holm_corrects_over_datasets() -> None:
    # The largest of four p-values stays as it is; the least is multiplied by four, and the others follow it.
    near = {"a": [0.50, 0.51, 0.52, 0.53], "b": [0.525, 0.535, 0.545, 0.54]}
    raw = compared_pairs(scores_from({0: near}), [("b", "a")])["p"].item()
    assert 0.05 / 4 < raw < 0.05

    alike = compared_pairs(scores_from(dict.fromkeys(range(4), near)), [("b", "a")], adjust=True)["p"]
    sure = {d: {"a": [0.1] * 4, "b": [0.9] * 4} for d in range(3)}
    after = compared_pairs(scores_from({**sure, 3: near}), [("b", "a")], adjust=True)["p"]

    np.testing.assert_allclose(alike, 4 * raw, rtol=1e-9)
    np.testing.assert_allclose(after, [0, 0, 0, raw], rtol=1e-9)


@given(ragged_scores(), KINDS, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=6)
def test_one_wins_what_the_other_loses_no_dataset_is_lost_and_no_order_matters(
    scores: pd.DataFrame, test: Test, adjust: bool, random: Any
) -> None:
    order, trials, datasets = list(range(len(scores))), list(range(4)), list(range(4))
    for each in (order, trials, datasets):
        random.shuffle(each)
    moved = scores.iloc[order].assign(
        trial=lambda frame: frame["trial"].map(dict(enumerate(trials))),
        dataset=lambda frame: frame["dataset"].map(dict(enumerate(datasets))),
    )

    matrix, after = (win_matrix(each, test=test, adjust=adjust) for each in (scores, moved))

    assert matrix.wins.equals(matrix.losses.T)
    assert matrix.ties.equals(matrix.ties.T)
    off_diagonal = ~np.eye(len(matrix.wins), dtype=bool)
    assert (total(matrix).to_numpy()[off_diagonal] == scores["dataset"].nunique()).all()
    both = (matrix.ratio + matrix.ratio.T).to_numpy()
    defined = matrix.decided.to_numpy() > 0
    np.testing.assert_allclose(both[defined], 1, rtol=1e-12)
    assert np.isnan(both[~defined]).all()
    for outcome in OUTCOMES:
        assert getattr(matrix, outcome).equals(getattr(after, outcome))


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


def gains_of(scores: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return relative_gains(scores, against("b", ["a", "b"]), **options).set_index("dataset")


def test_gains_by_hand_and_a_table_says_how_many_datasets_it_averages() -> None:
    gains = gains_of(SCORES)

    expected = {"better": 22.0, "worse": -50.0, "unsure": 25.0, "one trial": 20.0}
    assert gains["gain"].dropna().to_dict() == pytest.approx(expected)
    assert set(gains.index[gains["gain"].isna()]) == {"at zero", "no trial"}
    assert set(gains.index[gains["kept"]]) == {"better", "worse"}
    assert (set(gains["row"]), set(gains["column"])) == ({"b"}, {"a"})
    table = gain_table(relative_gains(SCORES, against("b", ["a"])))
    assert table.loc[("b", "a")].to_dict() == pytest.approx(
        {"kept_mean": -14.0, "kept_datasets": 2, "mean": 4.25, "median": 21.0, "datasets": 4, "missing": 2}
    )
    none_kept = gain_table(relative_gains(scores_from({0: {"a": [0.5], "b": [0.4]}}), against("b", ["a"])))
    assert np.isnan(none_kept["kept_mean"].item())
    assert none_kept["mean"].item() == pytest.approx(25)
    grid = {("z", "y"): ("a", "b"), ("z", "x"): ("b", "c"), ("w", "y"): ("d", "c")}
    assert gain_table(relative_gains(random_scores(3, "abcd", 3), grid)).index.to_list() == list(grid)


def test_the_filter_is_welchs_p_value_and_the_papers_level_is_the_default() -> None:
    scores = random_scores(30, "ba", 5, seed=2)
    values = scores.pivot_table(index=["dataset", "competitor"], columns="trial", values="value")
    a, b = (values.xs(name, level="competitor").to_numpy() for name in "ab")
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue

    for alpha in (0.05, 0.2):
        gains = gains_of(scores, alpha=alpha, test="welch")
        np.testing.assert_allclose(gains["p"], p, rtol=1e-9)
        assert 0 < gains["kept"].sum() < 30
        np.testing.assert_array_equal(gains["kept"], p < alpha)
    kept = gains_of(scores_from(samples_at(0.15, 0.19, 0.21, 0.25)), test="welch")["kept"]
    assert kept.to_dict() == {0.15: True, 0.19: True, 0.21: False, 0.25: False}


def test_over_all_datasets_the_papers_own_gain_is_half_its_headline() -> None:
    published = published_accuracy()
    scores = scores_of(published[published["regime"] == "full"], dataset="dataset_id")

    table = gain_table(relative_gains(scores, pretraining_grid(["control"], ["scarf"])))

    row = table.loc[("control", "scarf")]
    assert (row["mean"], row["median"]) == (pytest.approx(1.18, abs=0.005), pytest.approx(0.44, abs=0.005))
    assert row["datasets"] == 69
