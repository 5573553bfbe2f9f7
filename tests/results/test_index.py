"""Rows by columns are the rows that they were made of. A summary of a finished cell says what its records say."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from scarf_lightning.results import CellStore, Rows, few_steps_note, identity, read_cell, read_summary
from scarf_lightning.results import index as index_module
from scarf_lightning.results.files import UNFINISHED
from tests.cells import DATA_HASH, described, some_config, some_record
from tests.results.sealing import flip

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


def read_without_summary(cell: Path, trials: int) -> tuple[list[object], bool]:
    stored = read_cell(cell)
    rows = [stored.rows[trial] for trial in range(trials) if trial in stored.rows]
    return list(rows), stored.description is not None and not stored.damaged


def is_read_again(cell: Path, trials: int = TRIALS) -> bool:
    """Whether the records are read, and that the summary says what they say."""
    with patch.object(index_module, "read_cell", wraps=read_cell) as read:
        summary = read_summary(cell, trials)
    assert (list(summary.rows), summary.is_whole) == read_without_summary(cell, trials)
    return read.called


def test_a_finished_cell_is_read_once_also_where_it_moves_with_its_folder(cell: Path, tmp_path: Path) -> None:
    assert is_read_again(cell)
    assert not is_read_again(cell)
    assert read_summary(cell, TRIALS).target == read_cell(cell).target
    for other in (TRIALS - 1, TRIALS + 1, TRIALS):
        assert is_read_again(cell, other)
    cell = Path(shutil.move(cell.parent, tmp_path / "moved")) / cell.name
    assert not is_read_again(cell)

    (cell / index_module.FILE).unlink()
    assert is_read_again(cell)
    assert not is_read_again(cell)


def rewrite(change: Callable[[list[Any]], object]) -> Callable[[Path], object]:
    """Change the summary, and give it the hash that it then must have."""

    def write(path: Path) -> None:
        content = json.loads(path.read_bytes().partition(b"\n")[2])
        change(content)
        text = json.dumps(content).encode()
        path.write_bytes(sha256(text).hexdigest().encode() + b"\n" + text)

    return write


def in_its_place(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: (path.unlink(), make(path))


@pytest.mark.parametrize(
    "ruin",
    [
        flip,
        rewrite(lambda content: content[2].update(accuracy=["high"] * TRIALS)),
        rewrite(lambda content: content.__setitem__(1, {"target": {"kind": "weather"}})),
        in_its_place(os.mkfifo),
        in_its_place(lambda path: path.symlink_to("/dev/zero")),
    ],
)
def test_a_summary_that_is_none_is_made_anew(cell: Path, ruin: Callable[[Path], object]) -> None:
    is_read_again(cell)
    ruin(cell / index_module.FILE)

    assert is_read_again(cell)
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


def test_they_are_the_same_rows() -> None:
    rows = Rows.of(ROWS)

    assert list(map(repr, rows)) == [repr({name: row.get(name) for name in ROWS[0]}) for row in ROWS]
    assert (len(rows), rows[1]["trial"], rows.column("none")) == (2, 1, [None, None])


def made(*steps: int | None, pretrain: int | None = None) -> list[dict[str, Any]]:
    return [{"finetune_steps": made, "pretrain_steps": pretrain} for made in steps]


def test_a_cell_is_named_with_what_to_do() -> None:
    (sentence,) = few_steps_note([made(5, 7, 400)])

    assert sentence == (
        "The median trial of a cell made 7 optimiser steps in finetune, fewer than 100: networks may have learnt "
        "too little. finetune.min_steps=100 finetune.monitor=loss trains longer."
    )


def test_of_many_cells_the_fewest_are_named_in_one_sentence() -> None:
    cells = [made(5, pretrain=19), made(40, pretrain=900), made(100), made(None)]
    (sentence,) = few_steps_note(cells)

    assert sentence.startswith(
        "The median trial of a cell made 19 optimiser steps in pretrain and 5 optimiser steps in finetune, "
    )


def test_there_may_be_nothing_to_say() -> None:
    nothing: list[list[list[dict[str, Any]]]] = [[], [[]], [[{"finetune_steps": 100}]], [[{"accuracy": 1.0}]]]
    for cells in nothing:
        assert few_steps_note(cells) == []
