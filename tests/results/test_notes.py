"""Notes beside the cells: what is known of data, and why cells failed."""

import errno
import json
import os
import socket
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.sources.evidence import Stamps, stamps_of
from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.results import KnownData, forget_failure, keep_failure, known_data, note_data, read_failure
from tests.results.sealing import reseal

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


def test_nothing_is_known_before_data_were_loaded(results: Path, source: SomeSource) -> None:
    assert known_data(results, source) is None
    assert not results.exists()


def test_data_are_known_while_the_files_stay_as_they_are(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())

    assert known_data(results, source) == DATA
    source.paths[0].read_bytes()
    assert known_data(results, source) == DATA


@pytest.mark.parametrize("changed", [0, 1])
def test_it_is_forgotten_when_a_file_was_written_also_with_its_size_and_time_kept(
    results: Path, source: SomeSource, changed: int
) -> None:
    note_data(results, source, DATA, source.stamps())

    time.sleep(0.02)  # longer than the ticks of a file system's clock
    source.paths[changed].write_bytes(b"9876543210")
    os.utime(source.paths[changed], ns=(WHEN, WHEN))

    assert known_data(results, source) is None


def test_it_is_forgotten_when_the_data_are_in_other_files(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())

    assert known_data(results, SomeSource(source.key, source.paths[:1])) is None
    renamed = source.paths[1].rename(source.paths[1].with_name("dataset.arff"))
    assert known_data(results, SomeSource(source.key, (source.paths[0], renamed))) is None


def test_each_source_and_each_results_folder_has_its_own(results: Path, source: SomeSource, tmp_path: Path) -> None:
    note_data(results, source, DATA, source.stamps())
    other = SomeSource("some-2", source.paths)

    assert known_data(results, other) is None
    assert known_data(tmp_path / "others", source) is None
    note_data(results, other, OTHER, other.stamps())
    assert (known_data(results, source), known_data(results, other)) == (DATA, OTHER)


def test_a_folder_that_another_user_has_closed_gets_no_note_and_stops_nothing(
    results: Path, source: SomeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("scarf_lightning.results.notes.write_whole", refuse)

    note_data(results, source, DATA, source.stamps())

    assert known_data(results, source) is None


def test_the_note_is_a_file_beside_the_results_that_people_can_read(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())

    assert [path.relative_to(results).as_posix() for path in results.rglob("*.json")] == ["datasets/some-1.json"]
    note = json.loads((results / "datasets" / "some-1.json").read_text())
    assert len(note.pop("sha256")) == 64
    assert note == {
        "data": {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_encoded": None, "kind": None},
        "files": [
            {"name": path.name, "size": 10, "modified_ns": str(WHEN)}
            | {"changed_ns": str(path.stat().st_ctime_ns), "inode": str(path.stat().st_ino)}
            for path in source.paths
        ],
    }


def test_the_embedded_dataset_is_known_from_its_file(results: Path) -> None:
    wdbc = open_source("wdbc", id=None, name=None, openml_cache=None)
    note_data(results, wdbc, DATA, wdbc.stamps())

    assert known_data(results, wdbc) == DATA


def test_a_note_without_the_kind_of_target_is_as_good(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())
    reseal(
        results / "datasets" / "some-1.json",
        {"data": {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_encoded": None}},
    )

    assert known_data(results, source) == DATA


@pytest.mark.parametrize("text", ["", '{"data": {"hash": "ab', "[]", "{}", '{"hash": "abc", "files": []}', "\0\udcff"])
def test_a_note_that_is_torn_is_as_good_as_none_and_is_written_again(
    results: Path, source: SomeSource, text: str
) -> None:
    note_data(results, source, DATA, source.stamps())
    path = results / "datasets" / "some-1.json"
    path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.warns(UserWarning, match=r"some-1\.json is left out: .*; it is written again when the data are loaded"):
        assert known_data(results, source) is None
    note_data(results, source, DATA, source.stamps())
    assert known_data(results, source) == DATA


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_note_of_other_fields_or_values_is_as_good_as_none(
    results: Path, source: SomeSource, is_sealed: bool
) -> None:
    note_data(results, source, DATA, source.stamps())
    path = results / "datasets" / "some-1.json"
    data = {"hash": "def", "n_rows": 10**30, "n_columns": 30, "n_encoded": None}
    if is_sealed:
        reseal(path, {"data": data})
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"data": data | {"n_rows": 569}}))

    with nullcontext() if is_sealed else pytest.warns(RecordWarning, match=r"some-1\.json is damaged"):
        assert known_data(results, source) is None


def test_a_note_of_an_earlier_version_is_as_good_as_none(results: Path, source: SomeSource) -> None:
    """As of schema 2: other fields, and times as numbers, which JSON of other programs rounds."""
    note_data(results, source, DATA, source.stamps())
    data = {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_classes": 2, "n_encoded": 30}
    files = [{"name": path.name, "size": 10, "modified_ns": WHEN} for path in source.paths]
    reseal(results / "datasets" / "some-1.json", {"data": data, "files": files})

    assert known_data(results, source) is None
    note_data(results, source, DATA, source.stamps())
    assert known_data(results, source) == DATA


def test_a_damaged_note_is_named_once_however_often_it_is_looked_at(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())
    (results / "datasets" / "some-1.json").write_text("{")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            known_data(results, source)

    assert len(caught) == 1
    assert caught[0].category is RecordWarning


def test_the_note_has_the_stamps_that_were_read_and_not_those_of_now(results: Path, source: SomeSource) -> None:
    read = source.stamps()
    time.sleep(0.02)
    source.paths[0].write_bytes(b"9876543210")

    note_data(results, source, DATA, read)

    assert known_data(results, source) is None


def test_data_without_a_local_file_have_no_note(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, ())

    assert not results.exists()


def test_a_file_moved_over_one_of_the_same_size_and_times_is_another(
    results: Path, source: SomeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems keep the time of a record that is renamed."""
    note_data(results, source, DATA, source.stamps())
    changed = {stamp.name: stamp.changed_ns for stamp in source.stamps()}
    for path in source.paths:
        other = path.with_name(f"other-{path.name}")
        other.write_bytes(b"9876543210")
        os.utime(other, ns=(WHEN, WHEN))
        other.replace(path)
    kept = tuple(replace(stamp, changed_ns=changed[stamp.name]) for stamp in source.stamps())
    monkeypatch.setattr(source, "stamps", lambda: kept)

    assert known_data(results, source) is None


def refuse_to_open(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As a file of another user, whose mask is 077. The tests may run as root, who may read everything."""
    usual = os.open

    def opened(path: str | Path, *flags: int) -> int:
        if Path(path).name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return usual(path, *flags)

    monkeypatch.setattr(os, "open", opened)


def test_a_note_that_may_not_be_read_is_not_called_damaged(
    results: Path, source: SomeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_data(results, source, DATA, source.stamps())
    refuse_to_open(monkeypatch, "some-1.json")

    with pytest.warns(RecordWarning, match=r"some-1\.json cannot be read: Permission denied; the data are loaded"):
        assert known_data(results, source) is None


def test_a_failure_that_may_not_be_read_is_none(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(results)
    refuse_to_open(monkeypatch, "abc.json")

    assert read_failure(results, "abc") is None


def test_what_is_known_already_is_not_written_again(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA, source.stamps())
    file = results / "datasets" / "some-1.json"
    before = file.stat()

    note_data(results, source, DATA, source.stamps())

    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def fail(results: Path, key: str = "abc", error: Exception | None = None) -> None:
    try:
        raise error or FloatingPointError("training diverged")
    except Exception as raised:
        keep_failure(results, key, "seed=1 scaling=none", raised)


def test_nothing_has_failed_at_first(tmp_path: Path) -> None:
    assert read_failure(tmp_path / "results", "abc") is None
    forget_failure(tmp_path / "results", "abc")
    assert list(tmp_path.iterdir()) == []


def test_the_traceback_is_kept_with_the_cell_and_where_it_ran(tmp_path: Path) -> None:
    fail(tmp_path)

    failure = read_failure(tmp_path, "abc")
    assert failure is not None
    assert (failure.cell, failure.host) == ("seed=1 scaling=none", socket.gethostname())
    assert failure.error.startswith("Traceback (most recent call last):\n")
    assert "in fail\n    raise error or" in failure.error
    assert failure.error.endswith("\nFloatingPointError: training diverged")
    assert str(failure) == f"seed=1 scaling=none failed on {socket.gethostname()}:\n{failure.error}"


def test_of_bad_input_the_sentence_is_kept(tmp_path: Path) -> None:
    fail(tmp_path, error=UsageError("there is no file t.csv."))

    assert str(read_failure(tmp_path, "abc")) == "seed=1 scaling=none: there is no file t.csv."


def test_of_the_operating_systems_errors_a_sentence_is_kept(tmp_path: Path) -> None:
    fail(tmp_path, error=OSError(28, "No space left on device", "results/cell"))

    assert str(read_failure(tmp_path, "abc")) == "seed=1 scaling=none: results/cell: No space left on device."


def test_each_cell_has_its_own_and_the_last_one_counts(tmp_path: Path) -> None:
    fail(tmp_path, "abc")
    fail(tmp_path, "def", UsageError("first."))
    fail(tmp_path, "def", UsageError("second."))

    forget_failure(tmp_path, "abc")

    assert read_failure(tmp_path, "abc") is None
    assert str(read_failure(tmp_path, "def")).endswith("second.")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["failures/def.json"]
    assert json.loads((tmp_path / "failures" / "def.json").read_text())["error"] == "second."


@pytest.mark.parametrize("text", ["", '{"cell": "a', "[]", '{"cell": "a", "why": "b"}'])
def test_a_note_that_cannot_be_read_is_a_failure_that_says_so(tmp_path: Path, text: str) -> None:
    fail(tmp_path)
    path = tmp_path / "failures" / "abc.json"
    path.write_text(text)

    failure = str(read_failure(tmp_path, "abc"))

    assert failure.startswith(f"Cell abc: it failed for a reason that is lost, {path} cannot be used: ")


def test_a_note_with_a_flipped_bit_is_not_shown(tmp_path: Path) -> None:
    fail(tmp_path, error=UsageError("there is no file t.csv."))
    path = tmp_path / "failures" / "abc.json"
    path.write_text(path.read_text().replace("t.csv", "u.csv"))

    assert str(read_failure(tmp_path, "abc")).endswith("cannot be used: abc.json is damaged.")
