"""Scores by dataset, competitor and trial, and means of cells."""

import numpy as np
import pandas as pd
import pytest

from paper.published import published_accuracy
from scarf_lightning.errors import UsageError
from scarf_lightning.verdicts import cell_means, pretraining_grid, score_array, scores_of
from scarf_lightning.verdicts.scores import variance_of
from tests.verdicts.frames import scores_from

SCORES = scores_from({11: {"b": [0.5, 0.7], "a": [0.1, 0.2]}, 6: {"a": [0.3, 0.6]}})


def test_values_stand_by_dataset_competitor_and_trial_in_the_order_asked_for() -> None:
    array = score_array(SCORES)
    asked = score_array(SCORES, ["b", "a"])

    assert (array.datasets, array.competitors) == ((6, 11), ("a", "b"))
    np.testing.assert_array_equal(array.values[1], [[0.1, 0.2], [0.5, 0.7]])
    np.testing.assert_array_equal(array.values[0], [[0.3, 0.6], [np.nan, np.nan]])
    assert asked.competitors == ("b", "a")
    np.testing.assert_array_equal(asked.counts, [[0, 2], [2, 2]])
    assert score_array(SCORES, ["b"]).datasets == (6, 11), "a dataset without scores of the chosen stays"


def test_summaries_are_over_the_trials_that_are_there_and_incomplete_cells_are_named() -> None:
    trials = {"a": [0.25, np.nan, 0.75], "b": [0.5], "c": [np.nan], "d": [0.25, 0.5, 0.75]}
    array = score_array(scores_from({0: trials}))
    np.testing.assert_array_equal(array.counts, [[2, 1, 0, 3]])
    np.testing.assert_array_equal(array.means, [[0.5, 0.5, np.nan, 0.5]])
    np.testing.assert_array_equal(variance_of(array.values), [[0.125, np.nan, np.nan, 0.0625]])

    scores = scores_from({"car": {"a": [0.5, np.nan, 0.5], "b": [0.5] * 3}, "adult": {"b": [0.5] * 3}})
    assert score_array(scores).incomplete.to_dict("records") == [
        {"dataset": "adult", "competitor": "a", "trials": 0, "expected": 3},
        {"dataset": "car", "competitor": "a", "trials": 2, "expected": 3},
    ]
    assert score_array(scores, ["b"]).incomplete.empty


@pytest.mark.parametrize(
    ("scores", "asked", "message"),
    [
        (
            SCORES.drop(columns="value"),
            None,
            "The scores lack the column value; give a frame with dataset, competitor, ",
        ),
        (SCORES.iloc[:0], None, "The scores hold no values; train a cell first, "),
        (SCORES.assign(value=np.nan), None, "The scores hold no values; train a cell first, "),
        (SCORES.assign(value=np.inf), None, "The scores hold infinite values; mark a trial without a score by NaN."),
        (SCORES.assign(competitor=None), None, "The scores have rows without a dataset, competitor or trial; "),
        (pd.concat([SCORES, SCORES[:1]]), None, "Competitor b has two values for trial 0 on dataset 11; select one "),
        (SCORES, ["a", "z"], "The scores have no competitor z. Their competitors are: a, b."),
        (SCORES, [], "No competitor was named"),
    ],
)
def test_unusable_scores_and_unknown_competitors_are_refused(
    scores: pd.DataFrame, asked: list[str] | None, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        score_array(scores, asked)

    assert str(caught.value).startswith(message)


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


def test_results_as_scores() -> None:
    assert scores_of(RESULTS).to_dict("list") == {
        "dataset": ["letter", "letter", "letter", "mine"],
        "competitor": ["none+control", "none+control", "scarf+control", "scarf+control"],
        "trial": [0, 1, 0, 0],
        "value": [0.5, 0.7, 0.9, 0.8],
    }
    # Other columns tell competitors apart, and null is not the option none.
    by_corruption = scores_of(RESULTS, competitor=["corruption"])
    assert by_corruption["competitor"].to_list() == ["not used", "none", "marginal", "mean"]
    # Published means are one trial.
    published = scores_of(published_accuracy().query("regime == 'full'"), dataset="dataset_id")
    assert (set(published["trial"]), published["competitor"].nunique()) == ({0}, 7)
    # The grid of pre-trainings names competitors as scores do.
    grid = pretraining_grid(["control"], ["scarf"])
    assert grid == {("control", "scarf"): ("scarf+control", "none+control")}
    assert set(grid["control", "scarf"]) == set(scores_of(RESULTS)["competitor"])


def test_means_of_cells_by_hand() -> None:
    means = cell_means(RESULTS)

    assert len(means) == 3
    control = means[means["pretrain"] == "none"].iloc[0]
    assert control[["mean", "standard_error", "trials"]].tolist() == pytest.approx([0.6, 0.1, 2])
    own = means[means["dataset_id"].isna()].iloc[0]
    assert (own["mean"], own["trials"]) == (0.8, 1)
    assert np.isnan(own["standard_error"])
    epochs = cell_means(RESULTS, "finetune_epochs", by=["dataset", "pretrain"])
    assert epochs.loc[epochs["pretrain"] == "none", ["mean", "trials"]].to_numpy().tolist() == [[10, 1]]
