"""A table and the stamps of its files: what was read is what the stamps show, or nothing is said of it."""

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.sources.source import Stamp
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError

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
