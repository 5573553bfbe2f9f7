from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paper.published import published_accuracy
from scarf_lightning.errors import UsageError
from scarf_lightning.report.statistics import (
    Test,
    WinMatrix,
    against,
    compare,
    gain_table,
    pretraining_grid,
    reference_win_matrix,
    relative_gains,
    scores_of,
    surviving_wins,
    win_matrix,
)
from tests.report.statistics.frames import STEP, ragged_scores, random_scores, scores_from

HIGH, LOW, WIDE = [0.90, 0.91, 0.92], [0.50, 0.51, 0.52], [0.3, 0.7, 1.0]
OUTCOMES = ("wins", "losses", "ties", "undecided")
KINDS = st.sampled_from(get_args(Test))


def total(matrix: WinMatrix) -> pd.DataFrame:
    return matrix.wins + matrix.losses + matrix.ties + matrix.undecided


def test_outcomes_by_hand() -> None:
    scores = scores_from(
        {
            "win": {"a": HIGH, "b": LOW},
            "loss": {"a": LOW, "b": HIGH},
            "another win": {"a": HIGH, "b": LOW[:2]},
            "tie": {"a": WIDE, "b": LOW},
            "one trial": {"a": HIGH, "b": LOW[:1]},
            "no trial": {"a": HIGH},
        }
    )

    matrix = win_matrix(scores)

    assert [getattr(matrix, outcome).loc["a", "b"] for outcome in OUTCOMES] == [2, 1, 1, 2]
    assert [getattr(matrix, outcome).loc["b", "a"] for outcome in OUTCOMES] == [1, 2, 1, 2]
    assert matrix.ratio.loc["a", "b"] == 2 / 3
    lacking = matrix.incomplete.set_index("dataset")
    assert lacking["trials"].to_dict() == {"another win": 2, "no trial": 0, "one trial": 1}
    assert set(lacking["competitor"]) == {"b"}


@pytest.mark.parametrize(("test", "alpha"), [("welch", 0.05), ("welch", 0.2), ("paired", 0.05)])
def test_counts_equal_those_of_scipy_in_a_loop(test: Test, alpha: float) -> None:
    scores = random_scores(7, "abcd", 6, seed=1)
    values = scores.pivot_table(index="dataset", columns=["competitor", "trial"], values="value")

    matrix = win_matrix(scores, test=test, alpha=alpha)

    for a in "abcd":
        for b in set("abcd") - {a}:
            wins = losses = 0
            for d in range(7):
                x, y = values.loc[d, a].to_numpy(), values.loc[d, b].to_numpy()
                p = (stats.ttest_rel(x, y) if test == "paired" else stats.ttest_ind(x, y, equal_var=False)).pvalue
                wins += p < alpha and x.mean() > y.mean()
                losses += p < alpha and x.mean() < y.mean()
            assert (matrix.wins.loc[a, b], matrix.losses.loc[a, b]) == (wins, losses)
            assert matrix.ties.loc[a, b] == 7 - wins - losses


def test_a_win_is_strictly_below_alpha() -> None:
    scores = scores_from({0: {"a": [0.9, 0.9], "b": [0.5, 0.5]}})  # p = 0

    assert win_matrix(scores, alpha=1e-9).wins.loc["a", "b"] == 1
    at_alpha = win_matrix(scores, alpha=0.0)
    assert (at_alpha.wins.loc["a", "b"], at_alpha.ties.loc["a", "b"]) == (0, 1)


def test_five_percent_is_the_level_by_default() -> None:
    """Of 0.5 +- s and 0.6 +- s, two trials each, Welch's p = 1 - t / sqrt(2 + t^2) for t = 0.1 / (s sqrt(2))."""
    samples = {}
    for p in (0.045, 0.049, 0.051, 0.055):
        t = np.sqrt(2) * (1 - p) / np.sqrt(1 - (1 - p) ** 2)
        s = 0.1 / t / np.sqrt(2)
        samples[str(p)] = {name: [mean - s, mean + s] for name, mean in (("a", 0.6), ("b", 0.5))}
    scores = scores_from(samples)

    assert win_matrix(scores).wins.loc["a", "b"] == 2
    assert reference_win_matrix(scores, {("a", "none"): ("a", "b")}).wins.loc["a", "none"] == 2
    assert surviving_wins(scores, [("a", "b")]).iloc[0]["wins"] == 2


def test_nothing_is_compared_with_itself() -> None:
    matrix = win_matrix(random_scores(3, "ab", 3))

    assert (np.diag(total(matrix)) == 0).all()
    assert np.isnan(np.diag(matrix.ratio)).all()


def test_the_minimum_skips_what_is_not_defined_and_prefers_more_evidence() -> None:
    names = list("abc")
    wins = pd.DataFrame([[0, 0, 0], [2, 0, 3], [0, 5, 0]], index=names, columns=names)
    losses = pd.DataFrame([[0, 1, 7], [2, 0, 3], [0, 0, 0]], index=names, columns=names)

    minimum = WinMatrix(wins, losses, wins * 0, wins * 0, pd.DataFrame()).minimum

    assert minimum.loc["a"].to_list() == ["c", 0, 7, 0.0]  # 0/7 before 0/1
    assert minimum.loc["b"].to_list() == ["c", 3, 6, 0.5]  # 3/6 before 2/4
    assert minimum.loc["c"].to_list() == ["b", 5, 5, 1.0]  # 0/0 against a does not count


def test_a_row_without_any_decision_has_no_minimum() -> None:
    minimum = win_matrix(scores_from({0: {"a": WIDE, "b": WIDE}})).minimum

    assert minimum["column"].isna().all()
    assert minimum["ratio"].isna().all()
    assert minimum["decided"].eq(0).all()


def test_competitors_are_rows_and_columns_in_the_order_asked_for() -> None:
    matrix = win_matrix(random_scores(3, "abc", 3), ["c", "a"])

    assert list(matrix.wins.index) == list(matrix.wins.columns) == ["c", "a"]


def test_methods_with_each_pre_training_against_the_method_without() -> None:
    scores = scores_from(
        {
            d: {
                "scarf+mixup": HIGH,
                "scarf_ae+mixup": LOW,
                "none+mixup": LOW,
                "scarf+control": LOW,
                "none+control": HIGH,
            }
            for d in range(4)
        }
    )
    grid = pretraining_grid(["mixup"], ["scarf", "scarf_ae"]) | pretraining_grid(["control"], ["scarf"])

    matrix = reference_win_matrix(scores, grid)

    assert matrix.wins.loc[["mixup", "control"], ["scarf", "scarf_ae"]].equals(matrix.wins)
    assert matrix.wins.to_numpy().tolist() == [[4, 0], [0, 0]]
    assert matrix.losses.to_numpy().tolist() == [[0, 0], [4, 0]]
    assert matrix.ties.to_numpy().tolist() == [[0, 4], [0, 0]]
    assert matrix.minimum["column"].to_list() == ["scarf", "scarf"]


def test_stricter_tests_and_corrections_keep_fewer_wins() -> None:
    scores = random_scores(40, "ab", 10, seed=3)

    survived = surviving_wins(scores, [("b", "a")]).set_index(["test", "adjusted"])["wins"]

    for test in get_args(Test):
        assert survived[test, True] <= survived[test, False]
        assert win_matrix(scores, test=test, adjust=True).wins.loc["b", "a"] == survived[test, True]
    for adjusted in (False, True):
        assert survived["corrected", adjusted] <= survived["paired", adjusted]
    assert survived["welch", False] > survived["corrected", True]


def test_holm_corrects_over_datasets() -> None:
    # The largest of four p-values stays as it is; the least is multiplied by four, and the others follow it.
    near = {"a": [0.50, 0.51, 0.52, 0.53], "b": [0.525, 0.535, 0.545, 0.54]}
    raw = compare(scores_from({0: near}), [("b", "a")])["p"].item()
    assert 0.05 / 4 < raw < 0.05

    alike = compare(scores_from(dict.fromkeys(range(4), near)), [("b", "a")], adjust=True)["p"]
    sure = {d: {"a": [0.1] * 4, "b": [0.9] * 4} for d in range(3)}
    after = compare(scores_from({**sure, 3: near}), [("b", "a")], adjust=True)["p"]

    np.testing.assert_allclose(alike, 4 * raw, rtol=1e-9)
    np.testing.assert_allclose(after, [0, 0, 0, raw], rtol=1e-9)


def test_paired_tests_use_the_means_of_the_trials_in_common() -> None:
    scores = scores_from({0: {"a": [0.5, 0.7, 0.9], "b": [0.4, 0.5]}})

    paired = compare(scores, [("a", "b")], test="paired").iloc[0]
    welch = compare(scores, [("a", "b")]).iloc[0]

    assert (paired["trials"], paired["reference_trials"]) == (2, 2)
    assert paired["difference"] == pytest.approx(0.15)
    assert (welch["trials"], welch["reference_trials"]) == (3, 2)
    assert welch["difference"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"competitors": ["a", "z"]}, "The scores have no competitor z; they have: a, b."),
        ({"competitors": ["a"]}, "There are no pairs to compare; name two competitors or more."),
        ({"test": "student"}, "test=student is unknown; the options are: welch, paired, corrected."),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        win_matrix(random_scores(2, "ab", 3), **arguments)

    assert str(caught.value) == message


@given(ragged_scores(), KINDS, st.booleans())
def test_one_wins_what_the_other_loses_and_no_dataset_is_lost(scores: pd.DataFrame, test: Test, adjust: bool) -> None:
    matrix = win_matrix(scores, test=test, adjust=adjust)

    assert matrix.wins.equals(matrix.losses.T)
    assert matrix.ties.equals(matrix.ties.T)
    off_diagonal = ~np.eye(len(matrix.wins), dtype=bool)
    assert (total(matrix).to_numpy()[off_diagonal] == scores["dataset"].nunique()).all()
    both = (matrix.ratio + matrix.ratio.T).to_numpy()
    defined = matrix.decided.to_numpy() > 0
    np.testing.assert_allclose(both[defined], 1, rtol=1e-12)
    assert np.isnan(both[~defined]).all()


@given(ragged_scores(), KINDS, st.randoms(use_true_random=False))
def test_order_of_rows_datasets_and_trials_does_not_matter(scores: pd.DataFrame, test: Test, random: object) -> None:
    order, trials, datasets = list(range(len(scores))), list(range(4)), list(range(4))
    for each in (order, trials, datasets):
        random.shuffle(each)
    moved = scores.iloc[order].assign(
        trial=lambda frame: frame["trial"].map(dict(enumerate(trials))),
        dataset=lambda frame: frame["dataset"].map(dict(enumerate(datasets))),
    )

    before, after = win_matrix(scores, test=test), win_matrix(moved, test=test)

    for outcome in OUTCOMES:
        assert getattr(before, outcome).equals(getattr(after, outcome))


@given(ragged_scores(), KINDS, st.integers(-500, 500))
def test_a_common_shift_changes_no_test(scores: pd.DataFrame, test: Test, steps: int) -> None:
    pairs = [("a", "b")]
    shifted = scores.assign(value=scores["value"] + steps * STEP)

    before, after = compare(scores, pairs, test=test), compare(shifted, pairs, test=test)

    # Compared as p-values, not as wins: rounding may move a p-value across a threshold that it stands on.
    np.testing.assert_allclose(after["p"], before["p"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(after["difference"], before["difference"], atol=1e-12)


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


def gains_of(scores: pd.DataFrame, **options: float) -> pd.DataFrame:
    return relative_gains(scores, against("b", ["a", "b"]), **options).set_index("dataset")


def test_gains_by_hand() -> None:
    gains = gains_of(SCORES)

    expected = {"better": 22.0, "worse": -50.0, "unsure": 25.0, "one trial": 20.0}
    assert gains["gain"].dropna().to_dict() == pytest.approx(expected)
    assert set(gains.index[gains["gain"].isna()]) == {"at zero", "no trial"}
    assert set(gains.index[gains["kept"]]) == {"better", "worse"}
    assert set(gains["row"]) == {"b"}
    assert set(gains["column"]) == {"a"}


def test_the_filter_is_welchs_p_value() -> None:
    scores = random_scores(30, "ba", 5, seed=2)
    values = scores.pivot_table(index=["dataset", "competitor"], columns="trial", values="value")
    a, b = (values.xs(name, level="competitor").to_numpy() for name in "ab")
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue

    for alpha in (0.05, 0.2):
        gains = gains_of(scores, alpha=alpha)
        np.testing.assert_allclose(gains["p"], p, rtol=1e-9)
        assert 0 < gains["kept"].sum() < 30
        np.testing.assert_array_equal(gains["kept"], p < alpha)


def test_the_papers_filter_is_the_default() -> None:
    """Of 0.5 +- s and 0.6 +- s, two trials each, Welch's p = 1 - t / sqrt(2 + t^2) for t = 0.1 / (s sqrt(2))."""
    samples = {}
    for p in (0.15, 0.19, 0.21, 0.25):
        t = np.sqrt(2) * (1 - p) / np.sqrt(1 - (1 - p) ** 2)
        s = 0.1 / t / np.sqrt(2)
        samples[p] = {name: [mean - s, mean + s] for name, mean in (("a", 0.6), ("b", 0.5))}
        assert stats.ttest_ind(*samples[p].values(), equal_var=False).pvalue == pytest.approx(p)

    kept = gains_of(scores_from(samples))["kept"]

    assert kept.to_dict() == {0.15: True, 0.19: True, 0.21: False, 0.25: False}


def test_a_table_says_how_many_datasets_it_averages() -> None:
    table = gain_table(relative_gains(SCORES, against("b", ["a"])))

    row = table.loc[("b", "a")].to_dict()
    assert row == pytest.approx(
        {"kept_mean": -14.0, "kept_datasets": 2, "mean": 4.25, "median": 21.0, "datasets": 4, "missing": 2}
    )


def test_a_table_keeps_the_order_of_the_grid() -> None:
    scores = random_scores(3, "abcd", 3)

    table = gain_table(relative_gains(scores, {("z", "y"): ("a", "b"), ("z", "x"): ("b", "c"), ("w", "y"): ("d", "c")}))

    assert table.index.to_list() == [("z", "y"), ("z", "x"), ("w", "y")]


def test_without_a_dataset_kept_the_filtered_mean_is_missing() -> None:
    table = gain_table(relative_gains(scores_from({0: {"a": [0.5], "b": [0.4]}}), against("b", ["a"])))

    assert np.isnan(table["kept_mean"].item())
    assert table["mean"].item() == pytest.approx(25)


def test_over_all_datasets_the_papers_own_gain_is_half_its_headline() -> None:
    published = published_accuracy()
    scores = scores_of(published[published["regime"] == "full"], dataset="dataset_id")

    table = gain_table(relative_gains(scores, pretraining_grid(["control"], ["scarf"])))

    row = table.loc[("control", "scarf")]
    assert row["mean"] == pytest.approx(1.18, abs=0.005)
    assert row["median"] == pytest.approx(0.44, abs=0.005)
    assert row["datasets"] == 69
