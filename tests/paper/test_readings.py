"""Gains beside the paper's, computed anew without pandas' grouping."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import paper
from paper.published import published_accuracy
from paper.readings import against_default, gains_beside

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
