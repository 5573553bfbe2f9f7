"""Looks in the folders of cells: what a crash or a stranger leaves, and folders that cannot be written."""

import os
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results import keep_looks, read_looks
from scarf_lightning.results.kept_looks import FILE


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
    assert sorted(file.parent.name for file in store.rglob(FILE)) == ["a", "b"]


def test_a_line_that_a_crash_has_cut_costs_no_other_look(store: Path) -> None:
    keep_looks(store, [look(5)])
    with (store / "a" / FILE).open("a") as file:
        file.write('{"trials": 1')

    keep_looks(store, [look(20)])
    with (store / "a" / FILE).open("ab") as file:
        file.write(b"\xff\n7\n" + b"[" * 100_000 + b'\n{"trials": ' + b"9" * 400 + b"}\n")

    assert trials(store) == [5, 20]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_left_out(store: Path, kind: str) -> None:
    path = store / "a" / FILE
    {"pipe": lambda: os.mkfifo(path), "device": lambda: path.symlink_to("/dev/zero"), "folder": path.mkdir}[kind]()

    assert read_looks(store) == []
    assert not keep_looks(store, [look(5)])


def test_nothing_is_written_through_a_link(store: Path) -> None:
    (store / "mine.txt").write_text("mine")
    (store / "a" / FILE).symlink_to(store / "mine.txt")

    assert not keep_looks(store, [look(5)])
    assert (store / "mine.txt").read_text() == "mine"
