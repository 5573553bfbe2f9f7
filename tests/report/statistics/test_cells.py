import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.paper import published_accuracy
from scarf_lightning.report.statistics import cell_means, pretraining_grid, scores_of

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
    scores = scores_of(RESULTS)

    assert scores.to_dict("list") == {
        "dataset": ["letter", "letter", "letter", "mine"],
        "competitor": ["none+control", "none+control", "scarf+control", "scarf+control"],
        "trial": [0, 1, 0, 0],
        "value": [0.5, 0.7, 0.9, 0.8],
    }


def test_other_columns_tell_competitors_apart_and_null_is_not_the_option_none() -> None:
    scores = scores_of(RESULTS, competitor=["corruption"])

    assert scores["competitor"].to_list() == ["not used", "none", "marginal", "mean"]


def test_published_means_are_one_trial() -> None:
    scores = scores_of(published_accuracy().query("regime == 'full'"), dataset="dataset_id")

    assert set(scores["trial"]) == {0}
    assert scores["competitor"].nunique() == 7


def test_the_grid_of_pre_trainings_names_competitors_as_scores_do() -> None:
    grid = pretraining_grid(["control"], ["scarf"])

    assert grid == {("control", "scarf"): ("scarf+control", "none+control")}
    assert set(grid["control", "scarf"]) == set(scores_of(RESULTS)["competitor"])


def test_means_of_cells_by_hand() -> None:
    means = cell_means(RESULTS)

    assert len(means) == 3
    control = means[means["pretrain"] == "none"].iloc[0]
    assert control["mean"] == pytest.approx(0.6)
    assert control["standard_error"] == pytest.approx(0.1)
    assert control["trials"] == 2
    own = means[means["dataset_id"].isna()].iloc[0]
    assert (own["mean"], own["trials"]) == (0.8, 1)
    assert np.isnan(own["standard_error"])


def test_means_are_over_the_trials_with_a_number() -> None:
    epochs = cell_means(RESULTS, "finetune_epochs", by=["dataset", "pretrain"])

    assert epochs.loc[epochs["pretrain"] == "none", ["mean", "trials"]].to_numpy().tolist() == [[10, 1]]


@pytest.mark.parametrize("read", [scores_of, cell_means])
def test_a_missing_column_is_named(read) -> None:
    with pytest.raises(UsageError) as caught:
        read(RESULTS.drop(columns="accuracy"))

    assert str(caught.value) == "The results lack the column accuracy; give the frame that `results.load` returns."


@pytest.mark.parametrize("read", [scores_of, cell_means])
def test_no_results_are_refused(read) -> None:
    with pytest.raises(UsageError, match="There are no results here; train a cell first"):
        read(RESULTS.iloc[:0])
