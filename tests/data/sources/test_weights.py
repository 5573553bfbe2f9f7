"""`dataset.weight`: a column of a file that says how much each row counts in supervised training."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfRegressor
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError

ROWS = 60


def frame(weight: Any = None) -> pd.DataFrame:
    random = np.random.default_rng(3)
    size = random.normal(size=ROWS)
    table = pd.DataFrame({"size": size, "colour": random.choice(["red", "blue"], ROWS), "y": 10 * size})
    return table if weight is None else table.assign(w=weight)


def loaded(table: pd.DataFrame, folder: Path, **options: Any) -> Table:
    path = folder / "t.csv"
    table.to_csv(path, index=False)
    return FileSource(path, "y", **options).load()


UNEQUAL = np.linspace(0, 2, ROWS)


class TestReading:
    def test_the_column_is_no_feature(self, tmp_path: Path) -> None:
        spelled = [f"{1000 + row},5" for row in range(ROWS)]
        for given, expected in ((UNEQUAL, UNEQUAL), (spelled, np.arange(ROWS) + 1000.5)):
            table = loaded(frame(given), tmp_path, weight="w")
            assert table.weights.tolist() == expected.tolist(), "numbers may be text"
            assert [column.name for column in table.columns] == ["size", "colour"]

    def test_only_unequal_weights_make_other_data(self, tmp_path: Path) -> None:
        plain = loaded(frame(), tmp_path)
        equal = loaded(frame(3.0), tmp_path, weight="w")
        unequal = loaded(frame(UNEQUAL), tmp_path, weight="w")
        assert equal.weights is None
        assert equal.hash == plain.hash != unequal.hash

    def test_rows_without_a_label_may_lack_a_weight(self, tmp_path: Path) -> None:
        given = frame(np.where(np.arange(ROWS) < 30, 1.0, 3.0))
        given.loc[0, ["y", "w"]] = np.nan
        table = loaded(given, tmp_path, weight="w")
        mean = given["w"].mean()
        assert table.weights[[0, 1, -1]].tolist() == pytest.approx([mean, 1, 3])


def test_an_estimator_has_the_weights_as_a_parameter_of_its_own() -> None:
    with pytest.raises(UsageError, match=r"dataset\.weight is a parameter of its own; set sample_weight in fit\."):
        ScarfRegressor(options={"dataset.weight": "w"}).fit(frame()[["size"]], frame()["y"])


def test_the_table_of_a_file_is_that_of_the_estimator_with_the_same_weights(tmp_path: Path) -> None:
    table = frame(UNEQUAL)
    task = ScarfRegressor(pretrain="none")._read(table[["size", "colour"]], table["y"], table["w"])
    assert task.table.hash == loaded(table, tmp_path, weight="w").hash
