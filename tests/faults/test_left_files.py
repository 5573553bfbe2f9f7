"""Files that commands leave for one another, cut or filled with something else: left out, made again, or named."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.results import KnownData, keep_failure, known_data, note_data, read_cell, read_failure
from scarf_lightning.results.index import read_summary
from scarf_lightning.sweeping.cell import State, survey
from tests.cells import finish, results_in, some_cell
from tests.results.test_notes import SomeSource

RUINS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-7],
    "bytes": lambda _: b"\xff\x00\x80" * 40,
    "null": lambda _: b"null",
    "a list": lambda _: b"[1, null]",
    "another": lambda _: b'{"a": 1}',
    "nested": lambda _: b"[" * 100_000,
}
Left = tuple[Path, Callable[[], object], object]
"""A file, what reads it, and what the reader gives where the file cannot be used."""


def data_note(folder: Path) -> Left:
    table = folder / "t.csv"
    table.write_text("a,y\n")
    source = SomeSource("some-1", (table,))
    note_data(folder, source, KnownData("abc", 3, 2), source.stamps())
    return folder / "datasets" / "some-1.json", lambda: known_data(folder, source), None


def failure(folder: Path) -> Left:
    keep_failure(folder, "key", "seed=0", UsageError("there is no file."))
    (file,) = folder.glob("failures/*.json")

    def names_the_file() -> bool:
        found = read_failure(folder, "key")
        return found is not None and str(file) in str(found)

    return file, names_the_file, True


def summary(folder: Path) -> Left:
    cell = some_cell("seed=0", paths=results_in(folder))
    place = finish(cell).folder
    read_summary(place, 2)
    return place / "summary.json", lambda: [row["trial"] for row in read_summary(place, 2).rows], [0, 1]


def description(folder: Path) -> Left:
    place = finish(some_cell("seed=0", paths=results_in(folder))).folder
    file = place / "cell.json"
    return file, lambda: (read_cell(place).description, list(read_cell(place).damaged)), (None, [file])


def trials(folder: Path) -> Left:
    cell = some_cell("seed=0", paths=results_in(folder))
    (file,) = finish(cell).folder.glob("stacks/*/trials.json")
    return file, lambda: survey([cell])[0].state, State.WAITING


LEFT = (data_note, failure, summary, description, trials)


@pytest.mark.parametrize("ruin", RUINS)
@pytest.mark.parametrize("leave", LEFT)
def test_a_file_that_is_torn_or_another_is_left_out_or_named(
    leave: Callable[[Path], Left], ruin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file, read, expected = leave(tmp_path)
    content = file.read_bytes()

    def is_read() -> Any:
        with warnings.catch_warnings():
            # Each names the file.
            warnings.simplefilter("ignore", RecordWarning)
            return read()

    file.write_bytes(RUINS[ruin](content))

    assert is_read() == expected
