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
    return Table(**{**vars(made), "reading": tuple(readings), "notes": notes})


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
    assert lines[0] == "mine.csv: 4 rows, 1 feature (1 column) for 2 classes"
    assert [line.split() for line in lines if line.startswith(("x ", "[id]"))] == [
        ["x", "numbers", "3", "1,200", "as", "they", "are"],
        ["[id]", "id", "0", "1,500", "left", "out:", "an", "ID", "(every", "row", "has", "another", "value)"],
    ]
    assert lines[-2].startswith("2 of 4 rows of mine have a label")
    assert lines[-1] == "Column 'x' is odd."


def test_columns_after_one_hot_encoding_are_counted_where_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of([ColumnReading("c", "strings", 0, 3, "categories", 1)], [0, 1])
    coloured = replace(table, columns=(Column("c", ("r", "g", "b")),), values=np.array([[0.0], [2.0]]))
    assert shown(coloured, monkeypatch)[0].startswith(
        "mine.csv: 2 rows, 1 feature (1 column, 3 after one-hot encoding)"
    )


def test_of_many_columns_those_with_which_something_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [ColumnReading(f"x{i}", "numbers", 0, 9, "as they are", 1) for i in range(1500)]
    odd = ColumnReading("c", "constant", 0, 1, "left out")
    lines = shown(table_of([*plain[:40], odd], [0, 1]), monkeypatch)
    assert [line.startswith("c ") for line in lines if line.startswith(("x", "c "))] == [True]
    assert any(line.startswith("40 more") for line in lines)
    assert sum(line.startswith("x") for line in shown(table_of(plain[:40], [0, 1]), monkeypatch)) == 40
    lines = shown(table_of(plain, [0, 1]), monkeypatch)
    assert lines[0].startswith("mine.csv: 2 rows, 1,500 features (")
    assert [line.split()[:3] for line in lines if line.startswith("1,500")] == [["1,500", "columns", "numbers"]]


def test_of_known_data_nothing_is_said_but_the_metric_of_a_rare_class(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading_report(table_of([], [0, 1])) == []
    table = replace(table_of([], [0, 1]), target=Classes(("a", "b"), rarest=0.05))
    assert shown(table, monkeypatch) == [
        "Results of mine alone lead with balanced accuracy, unless a metric is asked for; metric=accuracy leads with "
        "accuracy."
    ]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 1, 0, 1], "2 of the 4 rows of mine equal an earlier row in every column; "),
        ([0, 1, 0, -1], "1 of the 3 rows of mine with a label equal an earlier row in every column; "),
    ],
)
def test_rows_that_equal_another_are_counted(labels: list[int], said: str) -> None:
    table = replace(table_of([], labels), values=np.array([[1.0], [np.nan], [1.0], [np.nan]]))
    (*_, line) = map(str, reading_report(table))
    assert line.startswith(said)
    assert table.report()["n_copies"] == int(said[0])
