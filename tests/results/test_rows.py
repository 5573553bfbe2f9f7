"""Rows by columns are the rows that they were made of."""

from typing import Any

import numpy as np

from scarf_lightning.results import Rows, values_of

ROWS: list[dict[str, Any]] = [
    {"trial": 0, "accuracy": 0.1, "epochs": 3, "device": "cpu", "diverged": None, "fits": 1, "late": None, "is": True},
    {"trial": 1, "accuracy": -0.0, "epochs": 2**53 - 1, "device": "cpu", "diverged": "finetune", "fits": 1, "late": 1},
]


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


def test_a_column_is_the_same_of_both() -> None:
    for name in (*ROWS[0], "unknown"):
        assert values_of(Rows.of(ROWS), name) == values_of(ROWS, name) == [row.get(name) for row in ROWS]


def test_the_first_rows() -> None:
    rows = Rows.of(ROWS)

    assert list(rows.first(1)) == [{name: ROWS[0].get(name) for name in ROWS[0]}]
    assert rows.first(2) is rows
    assert len(rows.first(0)) == len(Rows.of([])) == 0
    assert list(Rows.of([])) == []


def test_numbers_take_eight_bytes_and_cells_share_their_layout() -> None:
    rows = [{"trial": trial, "accuracy": trial / 7, "device": "cpu"} for trial in range(30)]

    first, second = Rows.of(rows), Rows.of(rows)

    assert first.numbers.dtype == np.float64
    assert first.numbers.nbytes == 2 * 30 * 8
    assert first.layout is second.layout


def test_a_value_that_all_rows_have_is_kept_once() -> None:
    rows = Rows.of(ROWS)

    assert {name: kept for name, (kept, _) in rows.layout.items()} == {
        "trial": "int", "accuracy": "float", "epochs": "int", "device": "same", "diverged": "each", "fits": "same",
        "late": "each", "is": "each",
    }  # fmt: skip
    assert [rows.others[place] for kept, place in rows.layout.values() if kept == "same"] == ["cpu", 1]
