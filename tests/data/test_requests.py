"""What a cell asks for and its table does not have is refused before anything trains, in the words of the user."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.run import check_data
from tests.composing import cells_of

N = 120


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"))
    columns = {
        "size": random.normal(size=N).round(3),
        "day": days.where(days.index != 5),
        "ward": "one",
        "side": ["left", "right"] * (N // 2),
        "part": ["train"] * (N - 20) + ["test"] * 20,
        "y": random.choice(["no", "yes"], N),
    }
    path = tmp_path_factory.mktemp("requests") / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("metric=auc", r"^metric=auc does not measure classes. Did you mean auroc\?"),
        ("metric=rmse", "^metric=rmse does not measure classes"),
        ("finetune.metric=rmse", "^finetune.metric=rmse does not measure classes"),
        ("split=group split.column=ward", "no row with a label for validation; split=group needs more, or smaller"),
        ("split=group split.column=side trials=9", "no row with a label for test; split=group needs more, or smaller"),
        ("split=time split.column=day", "column 'day', which split=time sorts by, is missing in labelled rows"),
        ("split=column split.column=part", "no row with a label for validation; split=column needs some there"),
        ("regime=few regime.labels=1 regime.validation=inside recipe=paper", "^1 label cannot both train and validate"),
        ("regime=few regime.labels=97", "^regime.labels=97 is more than the 96 training rows with a label"),
        ("pretrain=scarf pretrain.rows=97", "^pretrain.rows=97 is more than the 84 training rows"),
        ("method=self_train", "^method=self_train needs unlabelled rows"),
    ],
)
def test_a_request_that_its_table_cannot_meet_is_refused(file: Path, asked: str, said: str) -> None:
    cells = cells_of("dataset=csv", f"dataset.path={file}", "dataset.target=y", "trials=2", *asked.split())
    with pytest.raises(UsageError, match=said):
        check_data(cells)


@pytest.mark.parametrize("asked", ["metric=auroc", "split=group split.column=day", "regime=few regime.labels=50"])
def test_a_request_that_its_table_meets_is_not(file: Path, asked: str) -> None:
    cells = cells_of("dataset=csv", f"dataset.path={file}", "dataset.target=y", "trials=2", *asked.split())
    assert [table.n_rows for table in check_data(cells).values()] == [N]
