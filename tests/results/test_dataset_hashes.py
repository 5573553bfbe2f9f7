import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.results import remember_hash, remembered_hash

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


def test_nothing_is_remembered_before_data_were_loaded(results: Path, source: SomeSource) -> None:
    assert remembered_hash(results, source) is None
    assert not results.exists()


def test_a_hash_is_remembered_while_the_files_stay_as_they_are(results: Path, source: SomeSource) -> None:
    remember_hash(results, source, "abc")

    assert remembered_hash(results, source) == "abc"
    os.utime(source.paths[0], ns=(WHEN + 5, WHEN))  # read since, not written
    assert remembered_hash(results, source) == "abc"


def test_a_later_hash_takes_the_place_of_an_earlier_one(results: Path, source: SomeSource) -> None:
    remember_hash(results, source, "abc")
    remember_hash(results, source, "def")

    assert remembered_hash(results, source) == "def"


@pytest.mark.parametrize("changed", [0, 1])
def test_it_is_forgotten_when_a_file_has_another_size(results: Path, source: SomeSource, changed: int) -> None:
    remember_hash(results, source, "abc")

    source.paths[changed].write_bytes(b"01234567890")
    os.utime(source.paths[changed], ns=(WHEN, WHEN))

    assert remembered_hash(results, source) is None


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("later", [1, -1, 10**9])
def test_it_is_forgotten_when_a_file_has_another_time(
    results: Path, source: SomeSource, changed: int, later: int
) -> None:
    remember_hash(results, source, "abc")

    os.utime(source.paths[changed], ns=(WHEN, WHEN + later))

    assert remembered_hash(results, source) is None


def test_it_is_forgotten_when_the_data_are_in_other_files(results: Path, source: SomeSource) -> None:
    remember_hash(results, source, "abc")

    assert remembered_hash(results, SomeSource(source.key, source.paths[:1])) is None
    renamed = source.paths[1].rename(source.paths[1].with_name("dataset.arff"))
    assert remembered_hash(results, SomeSource(source.key, (source.paths[0], renamed))) is None


def test_where_the_files_lie_does_not_matter(results: Path, source: SomeSource, tmp_path: Path) -> None:
    remember_hash(results, source, "abc")
    (tmp_path / "moved").mkdir()

    moved = tuple(path.rename(tmp_path / "moved" / path.name) for path in source.paths)

    assert remembered_hash(results, SomeSource(source.key, moved)) == "abc"


def test_without_files_nothing_is_remembered(results: Path) -> None:
    remember_hash(results, SomeSource("some-1", ()), "abc")

    assert remembered_hash(results, SomeSource("some-1", ())) is None


def test_each_source_and_each_results_folder_has_its_own(results: Path, source: SomeSource, tmp_path: Path) -> None:
    remember_hash(results, source, "abc")
    other = SomeSource("some-2", source.paths)

    assert remembered_hash(results, other) is None
    assert remembered_hash(tmp_path / "others", source) is None
    remember_hash(results, other, "def")
    assert (remembered_hash(results, source), remembered_hash(results, other)) == ("abc", "def")


def test_the_note_is_a_file_beside_the_results_that_people_can_read(results: Path, source: SomeSource) -> None:
    remember_hash(results, source, "abc")

    assert [path.relative_to(results).as_posix() for path in results.rglob("*.json")] == ["datasets/some-1.json"]
    assert json.loads((results / "datasets" / "some-1.json").read_text()) == {
        "hash": "abc",
        "files": [
            {"name": "description.xml", "size": 10, "modified_ns": WHEN},
            {"name": "data.pq", "size": 10, "modified_ns": WHEN},
        ],
    }


def test_the_embedded_dataset_is_remembered_from_its_file(results: Path) -> None:
    wdbc = open_source("wdbc", id=None, name=None, openml_cache=None)
    remember_hash(results, wdbc, "abc")

    assert remembered_hash(results, wdbc) == "abc"
