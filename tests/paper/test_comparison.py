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
    cells = beside_paper(results_from([(6, "full", "scarf", "control", [0.94, 0.95, 0.96])]))

    row = cells.iloc[0]
    assert len(cells) == 1
    half = 4.302653 * 0.01 / np.sqrt(3)  # t of two degrees of freedom
    numbers = row[["mean", "standard_error", "trials", "published", "difference", "low", "high"]]
    expected = [0.95, 0.01 / np.sqrt(3), 3, 0.9575, -0.0075, -0.0075 - half, -0.0075 + half]
    assert numbers.tolist() == pytest.approx(expected, rel=1e-6)
    assert (row["epochs"], row["published_epochs"]) == (20, 17.23)
    assert not row["at_chance"]
    assert np.isnan(row["gain"])
    values = [0.94, 0.95, 0.97, 0.91]
    interval = stats.ttest_1samp(values, 0.9575).confidence_interval(0.9)
    row = beside_paper(results_from([(6, "full", "scarf", "control", values)]), level=0.9).iloc[0]
    assert (row["low"] + 0.9575, row["high"] + 0.9575) == pytest.approx((interval.low, interval.high))


def test_gains_are_relative_to_the_same_cell_and_what_the_paper_does_not_print_is_counted() -> None:
    cells = beside_paper(
        results_from(
            [
                (6, "full", "none", "control", [0.5]),
                (6, "full", "scarf", "control", [0.6]),
                (6, "full", "scarf", "mixup", [0.7]),
                (6, "semi25", "none", "control", [0.2]),
                (None, "full", "none", "control", [0.5]),
            ]
        )
    )
    its = cells[cells["dataset_id"] == 6].set_index(["regime", "pretrain", "method"])

    assert its.loc[("full", "scarf", "control"), "gain"] == pytest.approx(20)
    expected = 100 * (95.75 - 94.69) / 94.69
    assert its.loc[("full", "scarf", "control"), "published_gain"] == pytest.approx(expected)
    assert cells["gain"].notna().sum() == 1
    assert cells["published"].isna().sum() == 2
    assert its.loc[[("semi25", "none", "control"), ("full", "scarf", "mixup")], "published_epochs"].isna().all()
    summary = agreement_summary(cells, ()).iloc[0]
    assert (summary["cells"], summary["unpublished"]) == (3, 2)


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
