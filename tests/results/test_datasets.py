import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.results import KnownData, known_data, note_data

DATA = KnownData("abc", n_rows=569, n_columns=30, n_classes=2)
OTHER = KnownData("def", n_rows=60, n_columns=9, n_classes=3)
WHEN = 1_700_000_000_000_000_000


@dataclass
class SomeSource:
    """Data that are never read: opening the files is not asked for."""

    key: str
    paths: tuple[Path, ...]

    def files(self) -> tuple[Path, ...]:
        return self.paths


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
    note_data(results, source, DATA)

    assert known_data(results, source) == DATA
    os.utime(source.paths[0], ns=(WHEN + 5, WHEN))  # read since, not written
    assert known_data(results, source) == DATA


def test_a_later_note_takes_the_place_of_an_earlier_one(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA)
    note_data(results, source, OTHER)

    assert known_data(results, source) == OTHER


@pytest.mark.parametrize("changed", [0, 1])
def test_it_is_forgotten_when_a_file_has_another_size(results: Path, source: SomeSource, changed: int) -> None:
    note_data(results, source, DATA)

    source.paths[changed].write_bytes(b"01234567890")
    os.utime(source.paths[changed], ns=(WHEN, WHEN))

    assert known_data(results, source) is None


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("later", [1, -1, 10**9])
def test_it_is_forgotten_when_a_file_has_another_time(
    results: Path, source: SomeSource, changed: int, later: int
) -> None:
    note_data(results, source, DATA)

    os.utime(source.paths[changed], ns=(WHEN, WHEN + later))

    assert known_data(results, source) is None


def test_it_is_forgotten_when_the_data_are_in_other_files(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA)

    assert known_data(results, SomeSource(source.key, source.paths[:1])) is None
    renamed = source.paths[1].rename(source.paths[1].with_name("dataset.arff"))
    assert known_data(results, SomeSource(source.key, (source.paths[0], renamed))) is None


def test_where_the_files_lie_does_not_matter(results: Path, source: SomeSource, tmp_path: Path) -> None:
    note_data(results, source, DATA)
    (tmp_path / "moved").mkdir()

    moved = tuple(path.rename(tmp_path / "moved" / path.name) for path in source.paths)

    assert known_data(results, SomeSource(source.key, moved)) == DATA


def test_without_files_nothing_is_noted(results: Path) -> None:
    note_data(results, SomeSource("some-1", ()), DATA)

    assert known_data(results, SomeSource("some-1", ())) is None


def test_each_source_and_each_results_folder_has_its_own(results: Path, source: SomeSource, tmp_path: Path) -> None:
    note_data(results, source, DATA)
    other = SomeSource("some-2", source.paths)

    assert known_data(results, other) is None
    assert known_data(tmp_path / "others", source) is None
    note_data(results, other, OTHER)
    assert (known_data(results, source), known_data(results, other)) == (DATA, OTHER)


def test_the_note_is_a_file_beside_the_results_that_people_can_read(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA)

    assert [path.relative_to(results).as_posix() for path in results.rglob("*.json")] == ["datasets/some-1.json"]
    note = json.loads((results / "datasets" / "some-1.json").read_text())
    assert len(note.pop("sha256")) == 64
    assert note == {
        "data": {"hash": "abc", "n_rows": 569, "n_columns": 30, "n_classes": 2, "n_encoded": None},
        "files": [
            {"name": "description.xml", "size": 10, "modified_ns": WHEN},
            {"name": "data.pq", "size": 10, "modified_ns": WHEN},
        ],
    }


def test_the_embedded_dataset_is_known_from_its_file(results: Path) -> None:
    wdbc = open_source("wdbc", id=None, name=None, openml_cache=None)
    note_data(results, wdbc, DATA)

    assert known_data(results, wdbc) == DATA


@pytest.mark.parametrize("text", ["", '{"data": {"hash": "ab', "[]", "{}", '{"hash": "abc", "files": []}', "\0\udcff"])
def test_a_note_that_is_torn_or_older_is_as_good_as_none_and_is_written_anew(
    results: Path, source: SomeSource, text: str
) -> None:
    note_data(results, source, DATA)
    path = results / "datasets" / "some-1.json"
    path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.warns(UserWarning, match=r"some-1\.json is left out: .*; it is written anew when the data are loaded"):
        assert known_data(results, source) is None
    with pytest.warns(UserWarning, match="is left out"):
        note_data(results, source, DATA)
    assert known_data(results, source) == DATA


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"data": {"hash": "abc", "n_features": 3}, "sha256": None}, "it has no n_rows"),
        ({"data": {"hash": "def", "n_rows": 569, "n_columns": 30, "n_classes": 2}}, r"some-1\.json is damaged"),
    ],
)
def test_a_note_of_other_fields_or_values_is_as_good_as_none(
    results: Path, source: SomeSource, changed: dict[str, Any], reason: str
) -> None:
    note_data(results, source, DATA)
    path = results / "datasets" / "some-1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    with pytest.warns(UserWarning, match=reason):
        assert known_data(results, source) is None


def test_a_note_of_before_there_were_hashes_is_used(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA)
    path = results / "datasets" / "some-1.json"
    note = json.loads(path.read_text())
    del note["sha256"]
    path.write_text(json.dumps(note))

    assert known_data(results, source) == DATA


def test_what_is_known_already_is_not_written_again(results: Path, source: SomeSource) -> None:
    note_data(results, source, DATA)
    before = (results / "datasets" / "some-1.json").stat()

    note_data(results, source, DATA)

    assert (results / "datasets" / "some-1.json").stat() == before
