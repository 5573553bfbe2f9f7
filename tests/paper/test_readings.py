"""Gains beside the paper's, computed anew without pandas' grouping."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import paper
from paper.published import published_accuracy
from paper.readings import against_default, gains_beside, reading_scores, reading_summary

DATASETS = (11, 14, 29)
LONG = "pretrain.validate_every=10"
REGIMES = ("full", "semi25")


def published() -> pd.DataFrame:
    random = np.random.default_rng(1)
    places = [(id, regime, pretrain) for id in DATASETS for regime in REGIMES for pretrain in ("none", "scarf")]
    frame = pd.DataFrame(places, columns=["dataset_id", "regime", "pretrain"])
    return frame.assign(method="control", accuracy=random.uniform(0.6, 0.9, len(frame)))


def trials(n: int = 5) -> pd.DataFrame:
    random = np.random.default_rng(2)
    arms = (("none", "default"), ("scarf", "default"), ("scarf", LONG))
    places = [(id, regime, *arm, trial) for id in DATASETS for regime in REGIMES for arm in arms for trial in range(n)]
    frame = pd.DataFrame(places, columns=["dataset_id", "regime", "pretrain", "reading", "trial"])
    return frame.assign(method="control", accuracy=random.uniform(0.6, 0.9, len(frame)))


def accuracies(rows: pd.DataFrame, **place: object) -> np.ndarray:
    chosen = np.logical_and.reduce([rows[column] == value for column, value in place.items()])
    return 100 * rows.loc[chosen].sort_values("trial")["accuracy"].to_numpy()


def papers(pretrain: str, **place: object) -> float:
    return (
        float(published().set_index(["dataset_id", "regime", "pretrain"])["accuracy"][(*place.values(), pretrain)])
        * 100
    )


def test_a_gain_is_the_mean_of_paired_differences_with_its_t_interval() -> None:
    rows = trials()
    gains = gains_beside(rows, published())
    assert len(gains) == len(DATASETS) * len(REGIMES) * 2
    for row in gains.to_dict("records"):
        place = {"dataset_id": row["dataset_id"], "regime": row["regime"]}
        level = accuracies(rows, **place, pretrain="scarf", reading=row["reading"])
        difference = level - accuracies(rows, **place, pretrain="none")
        assert row["gain"] == pytest.approx(difference.mean())
        interval = stats.ttest_1samp(difference, 0).confidence_interval()
        assert (row["gain_low"], row["gain_high"]) == pytest.approx((interval.low, interval.high))
        assert row["paper_gain"] == pytest.approx(papers("scarf", **place) - papers("none", **place))
    # A trial without its control is no pair.
    lacks = (rows["pretrain"] == "none") & (rows["trial"] == 0) & (rows["dataset_id"] == 11)
    assert sorted(set(gains_beside(rows[~lacks], published())["trials"])) == [4, 5]


@pytest.mark.parametrize("option", ["network.weight_init=pytorch", "fit_on=train"])
def test_what_both_arms_share_is_gained_over_its_own_control(option: str) -> None:
    rows = trials()
    other = rows.assign(reading=rows["reading"].replace({"default": option, LONG: f"{LONG}, {option}"}))
    both = pd.concat([rows, other.assign(accuracy=other["accuracy"] / 2)])
    gains = gains_beside(both, published()).pivot_table("gain", ["dataset_id", "regime"], "reading")
    np.testing.assert_allclose(gains[option], gains["default"] / 2)
    np.testing.assert_allclose(gains[f"{LONG}, {option}"], gains[LONG] / 2)


@pytest.mark.parametrize("option", ["pretrain.patience=30", "loss.temperature=0.1", "finetune.first_layer=pretrained"])
def test_what_control_has_no_use_for_is_gained_over_the_usual_control(option: str) -> None:
    rows = trials()
    scarf = rows[(rows["pretrain"] == "scarf") & (rows["reading"] == "default")]
    both = pd.concat([rows, scarf.assign(reading=option)])
    gains = gains_beside(both, published()).pivot_table("gain", ["dataset_id", "regime"], "reading")
    np.testing.assert_allclose(gains[option], gains["default"])


def test_a_summary_regresses_our_gain_on_the_papers() -> None:
    gains = gains_beside(trials(), published())
    row = reading_summary(gains).loc[("scarf", "control", LONG, "all")]
    chosen = gains[gains["reading"] == LONG]
    slope, _ = np.polyfit(chosen["paper_gain"], chosen["gain"], 1)
    assert row["slope"] == pytest.approx(slope)
    assert row["correlation"] == pytest.approx(np.corrcoef(chosen["paper_gain"], chosen["gain"])[0, 1])
    assert (row["datasets"], row["trials"]) == (3, 5)
    assert row["relative_gain"] == pytest.approx(np.mean(100 * chosen["gain"] / chosen["control"]))
    assert row["paper_relative_gain"] == pytest.approx(np.mean(100 * chosen["paper_gain"] / chosen["paper_control"]))
    assert row["gain_absolute"] == pytest.approx(np.mean(np.abs(chosen["gain"] - chosen["paper_gain"])))


def test_scores_are_squared_differences_over_the_errors_of_the_default() -> None:
    rows = trials()
    scores = reading_scores(gains_beside(rows, published())).set_index(["dataset_id", "reading"])
    of_gain, of_level = [], []
    for regime in REGIMES:
        place = {"dataset_id": 14, "regime": regime}
        control, usual, found = (
            accuracies(rows, **place, pretrain=pretrain, reading=reading)
            for pretrain, reading in (("none", "default"), ("scarf", "default"), ("scarf", LONG))
        )
        papers_control, papers_level = papers("none", **place), papers("scarf", **place)
        factor = np.sqrt(1 / 5 + 1 / 30)
        distance = (found - control).mean() - (papers_level - papers_control)
        of_gain.append((distance / ((usual - control).std(ddof=1) * factor)) ** 2)
        of_level.append(((found.mean() - papers_level) / (usual.std(ddof=1) * factor)) ** 2)
        of_level.append(((control.mean() - papers_control) / (control.std(ddof=1) * factor)) ** 2)
    row = scores.loc[(14, LONG)]
    assert (row["G"], row["L"]) == pytest.approx((np.mean(of_gain), np.mean(of_level)))
    assert row["S"] == pytest.approx((row["G"] + row["L"]) / 2)


@pytest.mark.slow
def test_the_pages_table_of_six_tables_follows_from_its_trials() -> None:
    pages = Path(paper.__file__).parent / "pages"
    cells = pd.read_csv(pages / "readings_six_tables.csv", keep_default_na=False)
    rows = cells.assign(accuracy=cells["accuracies"].str.split()).explode("accuracy")
    rows["trial"] = rows.groupby(["dataset_id", "regime", "pretrain", "reading"]).cumcount()
    rows["accuracy"] = rows["accuracy"].astype(float) / 100
    page = (pages / "readings.md").read_text(encoding="utf-8")

    found = against_default(rows, published_accuracy())

    assert len(found) == 29
    for _, each in found.iterrows():
        entries = [f"{each['S']:+.1f} ± {each['S_se']:.1f}"]
        for name in ("gain_absolute", "level_absolute"):
            entries.append(f"{each[name]:+.2f} ± {each[f'{name}_se']:.2f}")
        assert f" | {' | '.join(entries)} |\n".replace("-", "−") in page, each["reading"]
