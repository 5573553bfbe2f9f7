"""Our cells beside the paper's, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from paper.comparison import agreement, agreement_summary
from paper.published import published_accuracy, published_epochs

CELL = ["dataset_id", "regime", "pretrain", "method"]


def results_from(cells: list[tuple[int | None, str, str, str, list[float]]], epochs: int = 20) -> pd.DataFrame:
    """Results with the types that loading gives, from (dataset_id, regime, pretrain, method, accuracies)."""
    rows = [(*cell, trial, value, epochs) for *cell, values in cells for trial, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=[*CELL, "trial", "accuracy", "finetune_epochs"])
    return frame.astype({"dataset_id": "Int64", "trial": "Int64", "finetune_epochs": "Int64"})


def beside_paper(results: pd.DataFrame, **options: float) -> pd.DataFrame:
    return agreement(results, published_accuracy(), published_epochs(), **options)


def near_paper(difference: float, regime: str = "full", ids: tuple[int, ...] = (6, 11, 12, 14)) -> pd.DataFrame:
    """Our control and SCARF, two trials around the paper's accuracy and a difference."""
    paper = published_accuracy().set_index(CELL)["accuracy"]
    names = [(i, regime, pretrain, "control") for i in ids for pretrain in ("none", "scarf")]
    return results_from([(*name, [paper[name] + difference - 0.01, paper[name] + difference + 0.01]) for name in names])


def test_a_cell_beside_the_papers_by_hand() -> None:
    values = [0.94, 0.95, 0.97, 0.91]
    cells = [
        (6, "full", "scarf", "control", values),
        (6, "full", "none", "control", [0.5]),
        (None, "full", "none", "control", [0.5]),
    ]
    found = beside_paper(results_from(cells), level=0.9)

    row = found[(found["dataset_id"] == 6) & (found["pretrain"] == "scarf")].iloc[0]
    error = np.std(values, ddof=1) / 2
    assert (row["mean"], row["standard_error"], row["trials"]) == (pytest.approx(0.9425), pytest.approx(error), 4)
    assert (row["published"], row["difference"]) == (0.9575, pytest.approx(-0.015))
    interval = stats.ttest_1samp(values, 0.9575).confidence_interval(0.9)
    assert (row["low"] + 0.9575, row["high"] + 0.9575) == pytest.approx((interval.low, interval.high))
    assert (row["epochs"], row["published_epochs"], row["at_chance"]) == (20, 17.23, False)
    assert row["gain"] == pytest.approx(88.5), "relative to control"
    assert row["published_gain"] == pytest.approx(100 * (95.75 - 94.69) / 94.69)
    assert found["published"].isna().sum() == 1


def test_the_summary_of_a_near_reproduction() -> None:
    signed = pd.concat([near_paper(0.02, ids=(6, 11)), near_paper(-0.04, ids=(12, 14))], ignore_index=True)

    summary = agreement_summary(beside_paper(signed))

    assert list(summary.index.names) == ["regime", "pretrain", "method"]
    for pretrain in ("none", "scarf"):
        row = summary.loc[("full", pretrain, "control")]
        assert (row["cells"], row["at_chance"], row["unpublished"]) == (4, 0, 0)
        assert row["mean_difference"] == pytest.approx(-0.01)
        assert row["mean_absolute_difference"] == pytest.approx(0.03)
        assert row["inside"] == 1  # two trials: the half-width is 12.7 times 0.01
    assert summary.loc[("full", "none", "control"), "gain_cells"] == 0
    assert summary.loc[("full", "scarf", "control"), "gain_cells"] == 4
