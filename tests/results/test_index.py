"""Rows by columns are the rows that they were made of. The index of finished cells says what reading them says."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from scarf_lightning.results import CellStore, Rows, identity, on_few_steps, read_cell, read_summary, values_of
from scarf_lightning.results import index as index_module
from scarf_lightning.results.files import UNFINISHED
from tests.cells import DATA_HASH, described, some_config, some_record
from tests.results.sealing import flip, rewritten

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


def entry_of(cell: Path) -> Path:
    return cell.parent / "index" / cell.name


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

    shutil.rmtree(tmp_path / "moved" / "index")
    assert is_read_again(tmp_path / "moved" / cell.name)
    assert not is_read_again(tmp_path / "moved" / cell.name)


def test_an_unfinished_cell_and_a_folder_that_cannot_be_written_to_have_no_entry(cell: Path) -> None:
    assert is_read_again(cell, TRIALS + 1)
    assert not entry_of(cell).exists()

    entry_of(cell).parent.write_text("a file where the folder would be")
    assert is_read_again(cell)
    assert is_read_again(cell)


def of_stack(cell: Path, name: str) -> Path:
    return next(cell.glob(f"stacks/*/{name}"))


def test_a_flipped_bit_in_a_record_is_found(cell: Path) -> None:
    is_read_again(cell)
    for name in ("cell.json", "trials.json", "curves.parquet", "environment.json", "preprocessing.safetensors"):
        file = next(cell.rglob(name))
        before = file.stat()
        flip(file)
        assert file.stat().st_size == before.st_size
        assert is_read_again(cell), name
        assert not read_summary(cell, TRIALS).is_whole

        flip(file)
        assert not is_read_again(cell), "it is as it was"


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


def test_a_cell_that_changes_while_it_is_read_has_no_entry(cell: Path) -> None:
    def read_and_changed(*asked: Any, **options: Any) -> Any:
        stored = read_cell(*asked, **options)
        rewritten(of_stack(cell, "trials.json"), lambda content: content.update(notes=["a note"]))
        return stored

    with patch.object(index_module, "read_cell", read_and_changed):
        assert read_summary(cell, TRIALS).is_whole

    assert not entry_of(cell).exists()


def test_a_cell_in_the_place_of_another_is_not_taken_for_it(cell: Path) -> None:
    is_read_again(cell)
    other = cell.with_name("0" * 16)
    shutil.copytree(cell, other)
    shutil.copy(entry_of(cell), entry_of(other))
    assert is_read_again(other)
    assert not read_summary(other, TRIALS).is_whole


def test_every_flipped_bit_in_an_entry_makes_it_anew(cell: Path) -> None:
    is_read_again(cell)
    whole = entry_of(cell).read_bytes()
    for place in range(0, len(whole), 197):
        content = bytearray(whole)
        content[place] ^= 4
        entry_of(cell).write_bytes(content)
        assert is_read_again(cell), place
        assert entry_of(cell).read_bytes() == whole
    for content in (b"", whole[:-8], whole + b"\0" * 8, whole[:100]):
        entry_of(cell).write_bytes(content)
        assert is_read_again(cell)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 0),
        ("version", "1"),
        ("size", 0),
        ("size", -4),
        ("size", 3),
        ("size", 10**12),
        ("target", {}),
        ("target", {"target": {"kind": "classes", "rarest": []}, "classes": 3}),
        ("layout", []),
        ("layout", {}),
        ("layout", {"trial": ["int", 99]}),
        ("layout", {"trial": ["int", 0], "diverged": ["float", 1]}),
        ("layout", {"trial": ["int", 0], "accuracy": ["each", 0]}),
        ("layout", {"trial": 3}),
        ("layout", {"trial": ["int", 0], "\ud800": ["same", 0]}),
        ("others", [["cpu"], {}, 2**60]),
        ("others", "cpu"),
    ],
)
def test_an_entry_that_is_not_possible_is_not_believed(cell: Path, field: str, value: object) -> None:
    is_read_again(cell)
    text, _, numbers = entry_of(cell).read_bytes()[64:].partition(b"\n")
    believe(cell, json.dumps(json.loads(text) | {field: value}).encode() + b"\n" + numbers)
    assert is_read_again(cell)


def believe(cell: Path, content: bytes) -> None:
    """An entry with this content, and the hash that it then must have."""
    entry_of(cell).write_bytes(sha256(content).hexdigest().encode() + content)


def test_an_entry_that_is_nested_without_end_or_with_numbers_that_no_record_has_is_not_believed(cell: Path) -> None:
    is_read_again(cell)
    whole = entry_of(cell).read_bytes()
    not_finite = (whole[64:-8] + b"\0" * 6 + number for number in (b"\xf8\x7f", b"\xf0\x7f"))
    for content in (b"[" * 100_000 + b"\n", *not_finite):
        believe(cell, content)
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


def test_numbers_take_eight_bytes_and_what_rows_or_cells_share_is_kept_once() -> None:
    rows = Rows.of(ROWS)
    assert {name: kept for name, (kept, _) in rows.layout.items()} == {
        "trial": "int", "accuracy": "float", "epochs": "int", "device": "same", "diverged": "each", "fits": "same",
        "late": "each", "is": "each",
    }  # fmt: skip
    assert [rows.others[place] for kept, place in rows.layout.values() if kept == "same"] == ["cpu", 1]

    first, second = (
        Rows.of([{"trial": trial, "accuracy": trial / 7, "device": "cpu"} for trial in range(30)]) for _ in range(2)
    )
    assert (first.numbers.dtype, first.numbers.nbytes) == (np.float64, 2 * 30 * 8)
    assert first.layout is second.layout


class TestFewSteps:
    @staticmethod
    def rows(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
        return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]

    def test_a_cell_is_named_with_what_to_do(self) -> None:
        (sentence,) = on_few_steps([self.rows(5, 7, 400)])

        assert sentence == (
            "The median trial made 7 optimiser steps in fine-tuning, fewer than 100: networks may have learnt too "
            "little. finetune.min_steps=100 finetune.monitor=loss trains longer."
        )

    def test_of_many_cells_the_fewest_and_the_most_are_named_in_one_sentence(self) -> None:
        cells = [self.rows(5, pretrain=19), self.rows(40, pretrain=900), self.rows(100), self.rows(None)]
        (sentence,) = on_few_steps(cells)

        assert sentence.startswith(
            "The median trial made 19 optimiser steps in pre-training of 1 of 2 cells and 5 to 40 optimiser steps in "
            "fine-tuning of 2 of 3 cells, fewer than 100: "
        )

    def test_there_may_be_nothing_to_say(self) -> None:
        for cells in ([], [[]], [[{"finetune_steps": 100}]], [[{"accuracy": 1.0}]]):
            assert on_few_steps(cells) == []
