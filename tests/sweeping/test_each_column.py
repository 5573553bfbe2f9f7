"""`each` stands for every column of a table in turn, and the lists of columns do what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import identity
from tests.cells import DATA_HASH
from tests.composing import cells_of, config_of
from tests.storing import stored, write_csv


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """A table with a date, which makes several features, a constant, and a name that needs quotes."""
    random = np.random.default_rng(0)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 900, 60), "D")
    frame = pd.DataFrame(
        {"day": days.strftime("%Y-%m-%d"), "same": 1, "a,b": random.normal(size=60), "city": list("xyz") * 20}
    )
    return write_csv(tmp_path, frame, pd.Series(np.where(frame["a,b"] > 0, "yes", "no")))


def test_each_is_every_column_that_the_table_has_features_of(asked: list[str]) -> None:
    cells = cells_of(*asked, "pretrain=none", "dataset.drop=null,each")
    assert [cell.config.dataset.drop for cell in cells] == [None, ["day"], ["a,b"], ["city"]]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["pretrain.drop", "corruption.keep"])
def test_each_serves_the_lists_of_pre_training_and_of_its_corruption(option: str) -> None:
    cells = cells_of(f"{option}=each")
    assert len(cells) == 30
    section, name = option.split(".")
    first = getattr(cells[0].config, section)
    assert (first["keep"] if name == "keep" else first.drop) == ["V1"]


@pytest.mark.slow
def test_the_sweep_of_columns_asks_three_questions_of_each(asked: list[str]) -> None:
    cells = cells_of("sweeps=columns", *asked)
    assert len(cells) == 3 * (1 + 3) + 2 * 3


def test_lists_at_their_default_are_no_part_of_an_identity() -> None:
    fields = identity(config_of(), DATA_HASH)
    assert not {"pretrain.drop", "corruption.keep"} & set(fields)
    assert identity(config_of("pretrain.drop=null", "corruption.keep=null"), DATA_HASH) == fields
    assert identity(config_of("pretrain.drop=[a]"), DATA_HASH)["pretrain.drop"] == ["a"]


def test_each_of_a_table_of_one_column_is_refused(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=40)
    asked = write_csv(tmp_path, pd.DataFrame({"a": numbers}), pd.Series(np.where(numbers > 0, "yes", "no")))
    with pytest.raises(UsageError, match="each needs a table of two columns at least"):
        cells_of(*asked, "dataset.drop=each")


@pytest.mark.slow
def test_the_three_lists_train_to_three_results(asked: list[str], tmp_path: Path) -> None:
    scores = []
    for changed in ([], ["dataset.drop=['a,b']"], ["pretrain.drop=[day]"], ["corruption.keep=[day]"]):
        cell = stored(tmp_path / "results", *asked, "pretrain=scarf", "trials=1", *changed)
        scores.append(cell.folder)
    assert len(set(scores)) == 4
