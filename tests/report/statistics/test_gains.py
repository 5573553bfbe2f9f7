import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scarf_lightning.report.paper import published_accuracy
from scarf_lightning.report.statistics import against, gain_table, pretraining_grid, relative_gains, scores_of
from tests.report.statistics.frames import random_scores, scores_from

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
