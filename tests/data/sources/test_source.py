"""A table and the stamps of its files: what was read is what the stamps show, or nothing is said of it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from scarf_lightning.data.sources import (
    BundledSource,
    DiabetesSource,
    FileSource,
    Stamp,
    WdbcSource,
    open_source,
)
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


WHEN = 1_700_000_000_000_000_000


def write(path: Path, *, first: int = 0, n: int = 60) -> Path:
    """A table whose content is decided by its ``first`` number, and whose size is not."""
    numbers = range(1000 + first, 1000 + first + n)
    a, b = ([row * factor % 40 / 8 + 100.001 for row in numbers] for factor in (3, 7))
    pd.DataFrame({"a": a, "b": b, "y": ["u", "v"] * (n // 2)}).to_csv(path, index=False)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv")


def hash_of(path: Path) -> str:
    return FileSource(path, "y").load().hash


def test_a_calm_file_is_read_once_with_its_stamps(file: Path) -> None:
    source = FileSource(file, "y")
    read = source.read()
    assert read.table.hash == hash_of(file)
    assert read.stamps == (Stamp.of(file),) == source.stamps()
    (stamp,), found = read.stamps, file.stat()
    assert (stamp.name, stamp.size, stamp.inode) == ("t.csv", found.st_size, str(found.st_ino))
    assert (stamp.modified_ns, stamp.changed_ns) == (str(found.st_mtime_ns), str(found.st_ctime_ns))


def test_a_file_that_changes_while_it_is_read_is_refused(file: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Disturbed(FileSource):
        def load(self) -> Table:
            table = super().load()
            write(self.path, first=9, n=80)
            return table

    with pytest.raises(UsageError, match=r"t changed while it was read; wait until it is written, or name a copy"):
        Disturbed(file, "y").read()


def test_a_download_is_read_again_from_the_cache(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Remote(FileSource):
        def load(self) -> Table:
            if not self.path.exists():
                write(self.path)
            return super().load()

    source = Remote(tmp_path / "cached.csv", "y")
    assert source.stamps() == ()

    read = source.read()

    assert read.stamps == source.stamps() != ()


@pytest.mark.parametrize("is_in_place", [False, True])
def test_the_last_table_is_read_again_once_its_file_or_the_source_has_changed(file: Path, is_in_place: bool) -> None:
    """Also where size and modification time are those of before."""
    source = FileSource(file, "y")
    os.utime(file, ns=(WHEN, WHEN))
    first = source.read()
    assert source.read() is first
    size, other = file.stat().st_size, write(file.with_name("new.csv"), first=9)
    assert FileSource(other, "y").read().table.hash == hash_of(other)
    assert source.read().table.hash == first.table.hash

    if is_in_place:
        with file.open("r+b") as opened:
            opened.write(other.read_bytes())
    else:
        other.replace(file)
    os.utime(file, ns=(WHEN, WHEN))
    second = source.read()

    assert file.stat().st_size == size
    assert second.table.hash == hash_of(file) != first.table.hash
    assert second.stamps == source.stamps()
