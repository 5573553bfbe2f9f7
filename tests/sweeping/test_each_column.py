"""`each` stands for every column of a table in turn, and the lists of columns do what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from tests.composing import cells_of
from tests.storing import write_csv


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


def test_each_of_a_table_of_one_column_is_refused(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=40)
    asked = write_csv(tmp_path, pd.DataFrame({"a": numbers}), pd.Series(np.where(numbers > 0, "yes", "no")))
    with pytest.raises(UsageError, match="each needs a table of two columns at least"):
        cells_of(*asked, "dataset.drop=each")
