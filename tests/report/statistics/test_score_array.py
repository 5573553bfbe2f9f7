import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.statistics import score_array
from tests.report.statistics.frames import scores_from

SCORES = scores_from({11: {"b": [0.5, 0.7], "a": [0.1, 0.2]}, 6: {"a": [0.3, 0.6]}})


def test_values_stand_by_dataset_competitor_and_trial() -> None:
    array = score_array(SCORES)

    assert array.datasets == (6, 11)
    assert array.competitors == ("a", "b")
    np.testing.assert_array_equal(array.values[1], [[0.1, 0.2], [0.5, 0.7]])
    np.testing.assert_array_equal(array.values[0], [[0.3, 0.6], [np.nan, np.nan]])


def test_competitors_come_in_the_order_asked_for() -> None:
    array = score_array(SCORES, ["b", "a"])

    assert array.competitors == ("b", "a")
    np.testing.assert_array_equal(array.counts, [[0, 2], [2, 2]])


def test_a_dataset_without_scores_of_the_chosen_stays() -> None:
    assert score_array(SCORES, ["b"]).datasets == (6, 11)


def test_summaries_are_over_the_trials_that_are_there() -> None:
    array = score_array(scores_from({0: {"a": [0.25, np.nan, 0.75], "b": [0.5], "c": [np.nan]}}))

    np.testing.assert_array_equal(array.counts, [[2, 1, 0]])
    np.testing.assert_array_equal(array.means, [[0.5, 0.5, np.nan]])
    np.testing.assert_array_equal(array.variances, [[0.125, np.nan, np.nan]])


def test_incomplete_cells_are_named() -> None:
    scores = scores_from({"car": {"a": [0.5, np.nan, 0.5], "b": [0.5] * 3}, "adult": {"b": [0.5] * 3}})

    incomplete = score_array(scores).incomplete

    assert incomplete.to_dict("records") == [
        {"dataset": "adult", "competitor": "a", "trials": 0, "expected": 3},
        {"dataset": "car", "competitor": "a", "trials": 2, "expected": 3},
    ]
    assert score_array(scores, ["b"]).incomplete.empty


def test_columns_of_loaded_results_serve() -> None:
    scores = SCORES.astype({"dataset": "Int64", "trial": "Int64", "value": "Float64"})
    scores.loc[0, "value"] = pd.NA

    array = score_array(scores)

    assert array.datasets == (6, 11)
    np.testing.assert_array_equal(array.counts, [[2, 0], [2, 1]])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES.drop(columns="value"), "The scores lack the column value; give a frame with dataset, competitor, "),
        (SCORES.iloc[:0], "The scores hold no values; train a cell first, "),
        (SCORES.assign(value=np.nan), "The scores hold no values; train a cell first, "),
        (SCORES.assign(value=np.inf), "The scores hold infinite values; mark a trial without a score by NaN."),
        (SCORES.assign(competitor=None), "The scores have rows without a dataset, competitor or trial; "),
        (pd.concat([SCORES, SCORES.iloc[:1]]), "Competitor b has two values for trial 0 on dataset 11; select one "),
    ],
)
def test_unusable_scores_are_refused(scores: pd.DataFrame, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        score_array(scores)

    assert str(caught.value).startswith(message)


def test_an_unknown_competitor_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        score_array(SCORES, ["a", "z"])

    assert str(caught.value) == "The scores have no competitor z; they have: a, b."


def test_no_competitor_is_refused() -> None:
    with pytest.raises(UsageError, match="No competitor was named"):
        score_array(SCORES, [])
