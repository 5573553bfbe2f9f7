"""Notes beside the cells: what is known of data, and why cells failed."""

import json
import os
import socket
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.sources.source import Stamps, stamps_of
from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.results import KnownData, forget_failure, keep_failure, known_data, note_data, read_failure
from tests.results.sealing import close, refuse, reseal

DATA = KnownData("abc", n_rows=569, n_columns=30)
OTHER = KnownData("def", n_rows=60, n_columns=9)
WHEN = 1_700_000_000_000_000_000


@dataclass
class SomeSource:
    """Data that are never read: opening the files is not asked for."""

    key: str
    paths: tuple[Path, ...]

    def stamps(self) -> Stamps:
        return stamps_of(self.paths)


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


def test_it_is_forgotten_when_the_data_are_in_other_files(results: Path, source: SomeSource, note: Path) -> None:
    assert known_data(results, SomeSource(source.key, source.paths[:1])) is None
    renamed = source.paths[1].rename(source.paths[1].with_name("dataset.arff"))
    assert known_data(results, SomeSource(source.key, (source.paths[0], renamed))) is None


def test_a_file_moved_over_one_of_the_same_size_and_times_is_another(
    results: Path, source: SomeSource, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems keep the time of a record that is renamed."""
    changed = {stamp.name: stamp.changed_ns for stamp in source.stamps()}
    for path in source.paths:
        other = path.with_name(f"other-{path.name}")
        other.write_bytes(b"9876543210")
        os.utime(other, ns=(WHEN, WHEN))
        other.replace(path)
    kept = tuple(replace(stamp, changed_ns=changed[stamp.name]) for stamp in source.stamps())
    monkeypatch.setattr(source, "stamps", lambda: kept)

    assert known_data(results, source) is None


def test_each_source_and_each_results_folder_has_its_own(
    results: Path, source: SomeSource, note: Path, tmp_path: Path
) -> None:
    other = SomeSource("some-2", source.paths)

    assert known_data(results, other) is None
    assert known_data(tmp_path / "others", source) is None
    note_data(results, other, OTHER, other.stamps())
    assert (known_data(results, source), known_data(results, other)) == (DATA, OTHER)


def test_the_note_is_a_file_beside_the_results_that_people_can_read(
    results: Path, source: SomeSource, note: Path
) -> None:
    assert list(results.rglob("*.json")) == [note]
    content = json.loads(note.read_text())
    assert len(content.pop("sha256")) == 64
    assert content == {
        "data": {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_encoded": None, "kind": None},
        "files": [
            {"name": path.name, "size": 10, "modified_ns": str(WHEN)}
            | {"changed_ns": str(path.stat().st_ctime_ns), "inode": str(path.stat().st_ino)}
            for path in source.paths
        ],
    }


def test_a_folder_that_another_user_has_closed_gets_no_note_and_stops_nothing(
    results: Path, source: SomeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scarf_lightning.results.notes.write_whole", refuse)

    note_data(results, source, DATA, source.stamps())

    assert known_data(results, source) is None


FIELDS = {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_encoded": None}


def torn(text: str) -> Callable[[Path], object]:
    return lambda note: note.write_bytes(text.encode(errors="surrogateescape"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((torn(text), r"is left out: .*; the data are loaded again")
          for text in ("", '{"data": {"hash": "ab', "[]", "{}", '{"hash": "abc", "files": []}', "\0\udcff")),
        (lambda note: note.write_text(json.dumps(json.loads(note.read_text()) | {"data": FIELDS | {"hash": "def"}})),
         "is damaged"),
        (lambda note: reseal(note, {"data": FIELDS | {"n_rows": 10**30}}), "is left out: .* too large"),
        (lambda note: reseal(note, {"data": FIELDS | {"n_classes": 2}}), "is left out: .*n_classes is not an option"),
        # Times as numbers, which JSON of other programs rounds.
        (lambda note: reseal(note, {"data": FIELDS | {"n_classes": 2}, "files": [
            {"name": name, "size": 10, "modified_ns": WHEN} for name in ("description.xml", "data.pq")]}),
         "is left out: .* too large"),
    ],
)  # fmt: skip
def test_a_torn_note_counts_as_none_and_is_written_again(
    results: Path, source: SomeSource, note: Path, change: Callable[[Path], object], said: str
) -> None:
    change(note)

    with pytest.warns(RecordWarning, match=rf"some-1\.json {said}"):
        assert known_data(results, source) is None
    note_data(results, source, DATA, source.stamps())
    assert known_data(results, source) == DATA


def test_a_note_without_the_kind_of_target_is_as_good(results: Path, source: SomeSource, note: Path) -> None:
    reseal(note, {"data": FIELDS})

    assert known_data(results, source) == DATA


def test_a_damaged_note_is_named_once_however_often_it_is_looked_at(
    results: Path, source: SomeSource, note: Path
) -> None:
    note.write_text("{")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            known_data(results, source)

    assert [warning.category for warning in caught] == [RecordWarning]


def test_what_may_not_be_read_is_not_called_damaged(
    results: Path, source: SomeSource, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of another user, whose mask is 077."""
    fail(results)
    close(monkeypatch, "some-1.json", "abc.json")

    with pytest.warns(RecordWarning, match=r"some-1\.json cannot be read: Permission denied; the data are loaded"):
        assert known_data(results, source) is None
    assert read_failure(results, "abc") is None


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


def test_the_last_failure_of_each_cell_counts(tmp_path: Path) -> None:
    assert read_failure(tmp_path, "abc") is None
    forget_failure(tmp_path, "abc")
    assert list(tmp_path.iterdir()) == []

    fail(tmp_path, "abc")
    fail(tmp_path, "def", UsageError("first."))
    fail(tmp_path, "def", UsageError("second."))

    forget_failure(tmp_path, "abc")

    assert read_failure(tmp_path, "abc") is None
    assert str(read_failure(tmp_path, "def")).endswith("second.")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["failures/def.json"]
    assert json.loads((tmp_path / "failures" / "def.json").read_text())["error"] == "second."


def test_a_failure_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    fail(tmp_path, error=UsageError("there is no file t.csv."))
    path = tmp_path / "failures" / "abc.json"
    flipped = path.read_text().replace("t.csv", "u.csv")
    for text in ("", '{"cell": "a', "[]", '{"cell": "a", "why": "b"}', flipped):
        path.write_text(text)

        failure = str(read_failure(tmp_path, "abc"))

        said = f"Cell abc: it failed for a reason that is lost, {path} cannot be used: "
        assert failure.startswith(said + "abc.json is damaged." * (text == flipped)), text
