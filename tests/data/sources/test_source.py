import os
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from scarf_lightning.data.sources import DiabetesSource, WdbcSource, open_source
from scarf_lightning.data.sources.source import BundledSource, Stamps
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError


@pytest.fixture(scope="module")
def table() -> Table:
    return WdbcSource().load()


def test_the_values_are_those_of_scikit_learn_and_the_names_those_of_openml_1510(table: Table) -> None:
    bundle = load_breast_cancer()
    assert table.values.shape == (569, 30)
    assert (table.values == bundle.data).all()
    malignant = bundle.target == list(bundle.target_names).index("malignant")
    assert (table.labels == malignant).all()
    assert [column.name for column in table.columns] == [f"V{i}" for i in range(1, 31)]
    assert not table.is_categorical.any()
    assert table.target.names == ("1", "2")
    assert np.bincount(table.labels).tolist() == [357, 212]
    assert (table.dataset_id, table.name) == (1510, "wdbc")
    # The first row of the original file: a malignant tumour of mean radius 17.99 and mean texture 10.38.
    assert table.values[0, :2].tolist() == [17.99, 10.38]
    assert table.target.names[table.labels[0]] == "2"


@pytest.mark.parametrize("source", [WdbcSource(), DiabetesSource()])
def test_the_size_and_the_name_of_a_bundled_table_are_known(source: BundledSource) -> None:
    table = source.load()
    assert (source.known_size, source.name) == (table.values.shape, table.name)


def test_the_source_names_its_key_and_its_file() -> None:
    """A bundled table that has lost one of its files names none."""

    @dataclass(frozen=True)
    class TwoFiles(WdbcSource):
        bundled: ClassVar[tuple[str, ...]] = ("breast_cancer.csv", "no_such_file.csv")

    source = open_source("wdbc", id=1510, name="tumours", openml_cache=None)
    assert isinstance(source, WdbcSource)
    assert (source.key, source.load().name) == ("wdbc", "tumours")
    (file,) = source.files()
    assert file.name == "breast_cancer.csv"
    assert os.access(file, os.R_OK)
    assert TwoFiles().stamps() == ()
    assert [file.name for file in DiabetesSource().files()] == ["diabetes_data_raw.csv.gz", "diabetes_target.csv.gz"]


def test_a_table_that_changes_while_it_is_read_is_refused() -> None:
    class Changing(WdbcSource):
        def stamps(self) -> Stamps:
            (stamp,) = super().stamps()
            return (replace(stamp, size=next(sizes)),)

    sizes = count()
    with pytest.raises(UsageError, match="wdbc changed while it was read"):
        Changing().read()
