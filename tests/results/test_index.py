"""Rows by columns are the rows that they were made of. The index of finished cells says what reading them says."""

import os
import shutil
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from scarf_lightning.results import (
    CellStore,
    Index,
    Rows,
    Trained,
    few_steps_note,
    identity,
    read_cell,
    read_summary,
    values_of,
)
from scarf_lightning.results import index as index_module
from scarf_lightning.results.files import UNFINISHED
from tests.cells import DATA_HASH, described, some_config, some_record
from tests.results.sealing import rewritten

TRIALS = 4
ROWS: list[dict[str, Any]] = [
    {"trial": 0, "accuracy": 0.1, "epochs": 3, "device": "cpu", "diverged": None, "fits": 1, "late": None, "is": True},
    {"trial": 1, "accuracy": -0.0, "epochs": 2**53 - 1, "device": "cpu", "diverged": "finetune", "fits": 1, "late": 1},
]


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    store = described(CellStore(tmp_path / "results", identity(some_config(), DATA_HASH)))
    for trials in ((0, 1), (2, 3)):
        store.add(some_record(trials, diverged=None))
    return store.folder


def index_of(cell: Path) -> Path:
    return cell.parent / "index.sqlite"


def entries(cell: Path) -> int:
    with sqlite3.connect(index_of(cell)) as opened:
        return int(opened.execute(f"SELECT count(*) FROM {index_module.TABLE}").fetchone()[0])


def read_without_index(cell: Path, trials: int) -> tuple[list[object], bool]:
    stored = read_cell(cell)
    rows = [stored.rows[trial] for trial in range(trials) if trial in stored.rows]
    return list(rows), stored.description is not None and not stored.damaged


def is_read_again(cell: Path, trials: int = TRIALS) -> bool:
    """Whether the records are read, and that the summary says what they say."""
    with patch.object(index_module, "read_cell", wraps=read_cell) as read:
        summary = read_summary(cell, trials)
    assert (list(summary.rows), summary.is_whole) == read_without_index(cell, trials)
    return read.called


def test_a_finished_cell_is_read_once_also_where_it_moves_with_its_folder(cell: Path, tmp_path: Path) -> None:
    assert is_read_again(cell)
    assert not is_read_again(cell)
    assert not is_read_again(cell, 3), "fewer trials are wanted"
    assert read_summary(cell, TRIALS).target == read_cell(cell).target
    assert is_read_again(cell, TRIALS + 1), "more trials are wanted"
    assert not is_read_again(Path(shutil.move(cell.parent, tmp_path / "moved")) / cell.name)

    index_of(tmp_path / "moved" / cell.name).unlink()
    assert is_read_again(tmp_path / "moved" / cell.name)
    assert not is_read_again(tmp_path / "moved" / cell.name)


def test_an_unfinished_cell_has_no_entry(cell: Path) -> None:
    assert is_read_again(cell, TRIALS + 1)
    assert not index_of(cell).exists()


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0" + b"\1" * 5000])
def test_a_broken_index_is_made_anew_and_a_folder_in_its_place_is_none(cell: Path, content: bytes | None) -> None:
    if content is None:
        index_of(cell).mkdir()
    else:
        index_of(cell).write_bytes(content)
    assert is_read_again(cell)
    assert is_read_again(cell) == (content is None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_read(cell: Path) -> None:
    cell.parent.chmod(0o500)
    assert is_read_again(cell)
    assert is_read_again(cell)
    cell.parent.chmod(0o700)


def test_many_processes_enter_their_cells_into_one_index(cell: Path) -> None:
    stored = read_cell(cell)
    cells = [cell.with_name(f"{number:016x}") for number in range(24)]
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        list(pool.map(_enter, cells, [stored] * len(cells)))
    assert entries(cell) == len(cells)


def _enter(cell: Path, stored: Any) -> None:
    with Index(cell.parent) as index:
        index.enter(cell, "files", stored)


def test_entries_are_written_when_a_survey_is_broken_off(cell: Path) -> None:
    def broken_off() -> None:
        with Index(cell.parent) as index:
            read_summary(cell, TRIALS, index=index)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert not is_read_again(cell)


def of_stack(cell: Path, name: str) -> Path:
    return next(cell.glob(f"stacks/*/{name}"))


def test_what_comes_to_a_cell_or_leaves_it_is_seen(cell: Path) -> None:
    is_read_again(cell)
    (cell / "stacks" / f"{UNFINISHED}abc").mkdir()
    assert not is_read_again(cell), "what is half-written is no part of it"
    stack = of_stack(cell, "trials.json").parent
    stack.rename(cell.parent / "aside")
    assert is_read_again(cell)

    (cell.parent / "aside").rename(stack)
    assert not is_read_again(cell)
    of_stack(cell, "curves.parquet").unlink()
    assert is_read_again(cell)


def test_a_record_that_is_written_again_with_other_numbers_is_read(cell: Path) -> None:
    is_read_again(cell)

    rewritten(of_stack(cell, "trials.json"), lambda content: content["trials"][0].update(accuracy=0.9))
    assert is_read_again(cell)
    assert 0.9 in read_summary(cell, TRIALS).rows.column("accuracy")


def test_they_are_the_same_rows() -> None:
    rows = Rows.of(ROWS)

    assert [list(row.items()) for row in rows] == [
        [(name, row.get(name)) for name in ROWS[0]]  # with None for what a row lacks
        for row in ROWS
    ]
    assert [str(row["accuracy"]) for row in rows] == ["0.1", "-0.0"]
    assert {name: type(value) for name, value in rows[0].items()} == {name: type(v) for name, v in ROWS[0].items()}
    assert rows[1]["trial"] == 1
    assert [row["trial"] for row in rows[:1]] == [0]


def test_columns_and_first_rows_are_those_of_both() -> None:
    rows = Rows.of(ROWS)
    for name in (*ROWS[0], "unknown"):
        assert values_of(rows, name) == values_of(ROWS, name) == [row.get(name) for row in ROWS]

    assert list(rows.first(1)) == [{name: ROWS[0].get(name) for name in ROWS[0]}]
    assert rows.first(2) is rows
    assert len(rows.first(0)) == len(Rows.of([])) == 0
    assert list(Rows.of([])) == []
    without_a_number = Rows.of([{"device": "cpu"}] * 3)
    assert list(without_a_number.first(2)) == [{"device": "cpu"}] * 2


class TestFewSteps:
    @staticmethod
    def rows(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
        return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]

    def test_a_cell_is_named_with_what_to_do(self) -> None:
        (sentence,) = few_steps_note([Trained(self.rows(5, 7, 400))])

        assert sentence == (
            "The median trial made 7 optimiser steps in fine-tuning, fewer than 100: networks may have learnt too "
            "little. finetune.min_steps=100 finetune.monitor=loss trains longer."
        )

    def test_of_many_cells_the_fewest_and_the_most_are_named_in_one_sentence(self) -> None:
        cells = [self.rows(5, pretrain=19), self.rows(40, pretrain=900), self.rows(100), self.rows(None)]
        (sentence,) = few_steps_note(list(map(Trained, cells)))

        assert sentence.startswith(
            "The median trial made 19 optimiser steps in pre-training of 1 of 2 cells and 5 to 40 optimiser steps in "
            "fine-tuning of 2 of 3 cells, fewer than 100: "
        )

    def test_there_may_be_nothing_to_say(self) -> None:
        for cells in ([], [[]], [[{"finetune_steps": 100}]], [[{"accuracy": 1.0}]]):
            assert few_steps_note(list(map(Trained, cells))) == []

    @pytest.mark.parametrize(("epochs", "said"), [(24, False), (100, True)])
    def test_the_practical_recipe_trains_enough_steps_and_few_epochs_do_not(self, epochs: int, said: bool) -> None:
        rows = [row | {"pretrain_epochs": epochs} for row in self.rows(300, 300, pretrain=80)]

        assert bool(few_steps_note([Trained(rows, "practical", most_epochs=100)])) == said
        assert few_steps_note([Trained(rows, "paper", most_epochs=100)])
