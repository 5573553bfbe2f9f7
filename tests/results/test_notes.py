"""Notes beside the cells: what is known of data, and why cells failed."""

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.data.sources import Stamp, Stamps, open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.results import KnownData, keep_failure, keep_looks, known_data, note_data, read_failure, read_looks
from scarf_lightning.results.notes import LOOKS
from tests.results.sealing import refuse

DATA = KnownData("abc", n_rows=569, n_columns=30)
OTHER = KnownData("def", n_rows=60, n_columns=9)
WHEN = 1_700_000_000_000_000_000


@dataclass
class SomeSource:
    """Data that are never read: it opens no file."""

    key: str
    paths: tuple[Path, ...]

    def stamps(self) -> Stamps:
        return tuple(map(Stamp.of, self.paths)) if all(path.exists() for path in self.paths) else ()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def source(tmp_path: Path) -> SomeSource:
    paths = (tmp_path / "description.xml", tmp_path / "data.pq")
    for path in paths:
        path.write_bytes(b"0123456789")
        os.utime(path, ns=(WHEN, WHEN))
    return SomeSource("some-1", paths)


@pytest.fixture
def note(results: Path, source: SomeSource) -> Path:
    """The note on the source, written."""
    note_data(results, source, DATA, source.stamps())
    return results / "datasets" / "some-1.json"


def test_nothing_is_noted_before_data_were_loaded_or_of_data_without_a_local_file(
    results: Path, source: SomeSource
) -> None:
    assert known_data(results, source) is None
    note_data(results, source, DATA, ())
    assert not results.exists()


def test_data_are_known_while_the_files_stay_as_they_are_and_not_written_again(
    results: Path, source: SomeSource, note: Path
) -> None:
    before = note.stat()
    source.paths[0].read_bytes()

    assert known_data(results, source) == DATA
    note_data(results, source, DATA, source.stamps())
    assert (note.stat().st_ino, note.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    wdbc = open_source("wdbc", id=None, name=None, openml_cache=None)
    note_data(results, wdbc, OTHER, wdbc.stamps())
    assert known_data(results, wdbc) == OTHER, "the embedded dataset is known from its file"


@pytest.mark.parametrize("changed", [0, 1])
def test_it_is_forgotten_when_a_file_was_written_also_with_its_size_and_time_kept(
    results: Path, source: SomeSource, note: Path, changed: int
) -> None:
    read = source.stamps()
    time.sleep(0.02)  # longer than the ticks of a file system's clock
    source.paths[changed].write_bytes(b"9876543210")
    os.utime(source.paths[changed], ns=(WHEN, WHEN))
    assert known_data(results, source) is None

    note_data(results, source, DATA, read)
    assert known_data(results, source) is None, "the note has the stamps that were read and not those of now"


def test_a_note_that_is_torn_is_none_and_written_again(results: Path, source: SomeSource, note: Path) -> None:
    note.write_text("{")
    assert known_data(results, source) is None
    note_data(results, source, DATA, source.stamps())
    assert known_data(results, source) == DATA


def test_a_folder_that_another_user_has_closed_gets_no_note_and_stops_nothing(
    results: Path, source: SomeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scarf_lightning.results.notes.write_whole", refuse)

    note_data(results, source, DATA, source.stamps())

    assert known_data(results, source) is None


def fail(results: Path, key: str = "abc", error: Exception | None = None) -> None:
    try:
        raise error or FloatingPointError("training diverged")
    except Exception as raised:
        keep_failure(results, key, "seed=1 scaling=none", raised)


def test_the_traceback_is_kept_with_the_cell_and_where_it_ran(tmp_path: Path) -> None:
    fail(tmp_path)

    failure = read_failure(tmp_path, "abc")
    assert (failure.cell, failure.host) == ("seed=1 scaling=none", socket.gethostname())
    assert failure.error.startswith("Traceback (most recent call last):\n")
    assert "in fail\n    raise error or" in failure.error
    assert failure.error.endswith("\nFloatingPointError: training diverged")
    assert str(failure) == f"seed=1 scaling=none failed on {socket.gethostname()}:\n{failure.error}"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UsageError("there is no file t.csv."), "there is no file t.csv."),
        (OSError(28, "No space left on device", "results/cell"), "results/cell: No space left on device."),
    ],
)
def test_of_bad_input_and_of_the_operating_system_the_sentence_is_kept(
    tmp_path: Path, error: Exception, sentence: str
) -> None:
    fail(tmp_path, error=error)

    assert str(read_failure(tmp_path, "abc")) == f"seed=1 scaling=none: {sentence}"


def look(trials: int, cell: str = "a", reference: str = "b") -> dict[str, Any]:
    return {"trials": trials, "pairs": [[cell, reference]]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for cell in ("a", "b"):
        (tmp_path / cell).mkdir()
    return tmp_path


def trials(store: Path) -> list[int]:
    return [each["trials"] for each in read_looks(store)]


def test_a_look_is_kept_in_the_folder_of_its_first_cell(store: Path) -> None:
    assert read_looks(store) == []

    assert keep_looks(store, [look(5), look(7, "b", "a"), look(10)])
    assert keep_looks(store, [look(20)])
    assert keep_looks(store, [])

    assert trials(store) == [5, 10, 20, 7]
    assert sorted(file.parent.name for file in store.rglob(LOOKS)) == ["a", "b"]


def test_a_line_that_a_crash_has_cut_costs_no_other_look(store: Path) -> None:
    keep_looks(store, [look(5)])
    with (store / "a" / LOOKS).open("a") as file:
        file.write('{"trials": 1')

    keep_looks(store, [look(20)])
    with (store / "a" / LOOKS).open("ab") as file:
        file.write(b"\xff\n7\n" + b"[" * 100_000 + b'\n{"trials": ' + b"9" * 400 + b"}\n")

    assert trials(store) == [5, 20]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_left_out(store: Path, kind: str) -> None:
    path = store / "a" / LOOKS
    {"pipe": lambda: os.mkfifo(path), "device": lambda: path.symlink_to("/dev/zero"), "folder": path.mkdir}[kind]()

    assert read_looks(store) == []
    assert not keep_looks(store, [look(5)])


def test_nothing_is_written_through_a_link(store: Path) -> None:
    (store / "mine.txt").write_text("mine")
    (store / "a" / LOOKS).symlink_to(store / "mine.txt")

    assert not keep_looks(store, [look(5)])
    assert (store / "mine.txt").read_text() == "mine"
