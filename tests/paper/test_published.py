"""The numbers that the paper prints."""

import pandas as pd

from paper.published import (
    AT_CHANCE_IN_PAPER,
    published_accuracy,
    published_epochs,
    published_relative_gains,
)


def cell(frame: pd.DataFrame, **chosen: object) -> pd.Series:
    for column, value in chosen.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_the_three_tables_of_accuracies_are_whole_and_fractions() -> None:
    frame = published_accuracy()

    assert not frame.duplicated(["regime", "dataset_id", "pretrain", "method"]).any()
    assert frame.groupby("regime").size().to_dict() == dict.fromkeys(("full", "noise30", "semi25"), 69 * 7)
    assert frame["accuracy"].between(0, 1).all()
    found = cell(frame, regime="full", dataset_id=6, pretrain="scarf", method="control")
    assert found["accuracy"] == 0.9575  # the first row of the paper's table: 95.75


def test_epochs_are_those_of_the_full_regime_and_relative_gains_are_the_papers_first_table() -> None:
    epochs, gains = published_epochs(), published_relative_gains()
    assert (len(epochs), len(gains)) == (69 * 6, 19 * 5)
    assert cell(epochs, dataset_id=6, pretrain="scarf", method="control")["epochs"] == 17.23
    assert set(epochs.loc[epochs["dataset_id"] == AT_CHANCE_IN_PAPER, "epochs"]) == {5.0}
    found = cell(gains, regime="noise30", method="dropout", pretrain="scarf_disc")
    assert found["relative_gain_percent"] == -2.54
