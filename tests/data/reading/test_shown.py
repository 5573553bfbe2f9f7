import io
from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.data.reading.shown import reading_report
from scarf_lightning.data.table import Column, ColumnReading, Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.screen import screen


def table_of(readings: list[ColumnReading], labels: list[int], notes: tuple[str, ...] = ()) -> Table:
    values = np.arange(float(len(labels)))[:, None]
    made = Table("mine", None, "mine.csv", (Column("x"),), values, np.array(labels), Classes(("a", "b")))
    return replace(made, reading=tuple(readings), notes=notes)


def shown(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("sys.stdout", written := io.StringIO())
    for line in reading_report(table):
        screen().print(line)
    return [line.strip() for line in written.getvalue().splitlines() if line.strip()]


def test_columns_labels_and_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = [
        ColumnReading("x", "numbers", 3, 1200, "as they are", 1),
        ColumnReading("[id]", "id", 0, 1500, "left out: an ID (every row has another value)"),
    ]
    lines = shown(table_of(readings, [0, 1, -1, -1], ("Column 'x' is odd.",)), monkeypatch)
    assert lines[0].startswith("mine.csv: 4 rows, 1 feature (1 column, 1 after one-hot encoding) for 2 classes")
    assert [line.split()[:5] for line in lines if line.startswith(("x ", "[id]"))] == [
        ["x", "numbers", "3", "1,200", "as"],
        ["[id]", "id", "0", "1,500", "left"],
    ]
    assert lines[-2].startswith("2 of 4 rows of mine have a label")
    assert lines[-1] == "Column 'x' is odd."


def test_of_many_columns_those_with_which_something_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [ColumnReading(f"x{i}", "numbers", 0, 9, "as they are", 1) for i in range(41)]
    odd = ColumnReading("c", "constant", 0, 1, "left out")
    lines = shown(table_of([*plain, odd], [0, 1]), monkeypatch)
    assert [line[0] for line in lines if line.startswith(("x", "c "))] == ["c"]
    assert sum(line.startswith("x") for line in shown(table_of(plain[:40], [0, 1]), monkeypatch)) == 40


def test_of_known_data_nothing_is_said() -> None:
    assert reading_report(table_of([], [0, 1])) == []


@pytest.mark.parametrize(("labels", "n_copies"), [([0, 1, 0, 1], 2), ([0, 1, 0, -1], 1)])
def test_rows_that_equal_another_are_counted(labels: list[int], n_copies: int) -> None:
    table = replace(table_of([], labels), values=np.array([[1.0], [np.nan], [1.0], [np.nan]]))
    (*_, line) = map(str, reading_report(table))
    assert line.startswith(f"{n_copies} labelled rows of mine equal an earlier one in every column; ")
    assert table.report()["n_copies"] == n_copies
