"""A table and the stamps of its files: what was read is what the stamps show, or nothing is said of it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.sources.source import Stamp
from scarf_lightning.data.table import Table

Change = Callable[[Path], object]
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


@dataclass(frozen=True, kw_only=True)
class Disturbed(FileSource):
    """A file that these functions change, one while each reading goes on; readings after the last are calm."""

    changes: list[Change] = field(default_factory=list, compare=False)
    is_before: bool = field(default=False, compare=False)

    def load(self) -> Table:
        change = self.changes.pop(0) if self.changes else None
        if change and self.is_before:
            change(self.path)
        table = super().load()
        if change and not self.is_before:
            change(self.path)
        return table


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


@pytest.mark.parametrize("is_before", [True, False])
def test_a_file_that_changes_while_it_is_read_is_read_again(file: Path, is_before: bool) -> None:
    source = Disturbed(file, "y", changes=[lambda path: write(path, first=9)], is_before=is_before)
    read = source.read()
    assert read.table.hash == hash_of(file)
    assert read.stamps == source.stamps()


@pytest.mark.parametrize(("since", "is_waited_for"), [(1.0, False), (0.001, True)])
def test_a_change_within_a_tick_of_the_clock_has_another_stamp(
    file: Path, monkeypatch: pytest.MonkeyPatch, since: float, is_waited_for: bool
) -> None:
    """Of a file that was written just before it is read, and again while it is: clocks of file systems tick in
    milliseconds, and both may fall into one."""
    changed, slept = file.stat().st_ctime, list[float]()
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "time", lambda: changed + since)
    FileSource(file, "y").read()
    assert [seconds >= 0.01 for seconds in slept] == [True] * is_waited_for


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
