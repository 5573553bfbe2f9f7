"""Later rows are read as the table was, and nothing is guessed a second time."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.columns import Column
from scarf_lightning.data.reading import Reader, ReadingOptions
from scarf_lightning.data.table import Table
from scarf_lightning.data.untyped import read_table
from scarf_lightning.errors import UsageError

N = 60
FRAME = pd.DataFrame(
    {
        "size": [i % 37 / 4 for i in range(N)],
        "price": ["1.200,5 €", "7,25 €", "30 €"] * 20,
        "day": [f"{1 + i % 28:02}/{1 + i % 12:02}/2024" for i in range(N)],
        "at": pd.date_range("2024-01-01", periods=N, freq="7h"),
        "colour": ["red", "green", "blue"] * 20,
        "zip": [f"{i % 9:03}" for i in range(N)],
        "said": [f"it was number {i} of all the things" for i in range(N)],
        "same": 1,
    }
)


def table_of(frame: pd.DataFrame) -> Table:
    target = pd.Series(["a", "b"] * (len(frame) // 2), name="y")
    return read_table(frame, target, ReadingOptions(), name="t", source="t.csv")


@pytest.fixture(scope="module")
def table() -> Table:
    return table_of(FRAME)


@pytest.fixture(scope="module")
def reader(table: Table) -> Reader:
    return table.rows_reader


def with_value(column: str, value: Any) -> pd.DataFrame:
    return FRAME.assign(**{column: FRAME[column].astype(object).where(FRAME.index != 1, value)})


def test_the_rows_of_the_table_are_read_as_in_the_table_and_by_its_record(table: Table, reader: Reader) -> None:
    np.testing.assert_array_equal(reader.values(FRAME), table.values)
    recorded = Reader.with_rules(json.loads(json.dumps(reader.plain_rules)), table.columns)
    assert recorded == reader
    shuffled = FRAME[FRAME.columns[::-1]].drop(columns="same").assign(more=3)[5:7]
    np.testing.assert_array_equal(recorded.values(shuffled), table.values[5:7])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("size", "0,126", "Column 'size' holds numbers in the table, but '0,126' in the rows"),
        ("size", "oak", "Column 'size' holds numbers in the table, but 'oak' in the rows"),
        ("price", "1,200.5 €", "Column 'price' holds numbers in the table, but '1,200.5 €' in the rows"),
        ("price", "7", "Column 'price' holds numbers in the table, but '7' in the rows"),
        ("day", "2024-12-31", "Column 'day' holds dates as %d/%m/%Y in the table, but '2024-12-31' in the rows"),
        ("at", "31/12/2024", "Column 'at' holds dates as ISO8601 in the table, but '31/12/2024' in the rows"),
    ],
)
def test_another_notation_is_refused_by_column_and_value(reader: Reader, column: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        reader.values(with_value(column, value))
    assert said in str(refused.value)


@pytest.mark.parametrize("column", ["size", "price", "day", "at", "colour", "zip", "said"])
@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_gap_stays_a_gap(reader: Reader, table: Table, column: str, gap: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = reader.values(with_value(column, gap))
    is_of_it = np.array([each.name.startswith(column) for each in table.columns])
    assert np.isnan(values[1, is_of_it]).all()
    np.testing.assert_array_equal(values[:, ~is_of_it], table.values[:, ~is_of_it])


def test_a_question_mark_among_numbers_is_a_gap_and_text_may_be_numbers(reader: Reader) -> None:
    assert np.isnan(reader.values(with_value("size", "?"))[1, 0])
    assert reader.values(with_value("size", "0.5"))[1, 0] == 0.5


def test_one_unseen_category_is_a_gap_and_several_are_another_column(reader: Reader, table: Table) -> None:
    m = [column.name for column in table.columns].index("colour")
    with pytest.warns(UserWarning, match="Column 'colour' has 'pink', which the training table did not: taken as"):
        assert np.isnan(reader.values(with_value("colour", "pink"))[1, m])
    with pytest.raises(UsageError, match="Column 'colour' holds 'blue', 'green', 'red' in the table, but 'x0', 'x1'"):
        reader.values(FRAME.assign(colour=[f"x{i}" for i in range(N)]))
    assert reader.values(with_value("colour", " red "))[1, m] == 2


@pytest.mark.parametrize(("fitted", "later"), [(None, "Europe/Berlin"), ("Europe/Berlin", None)])
def test_times_with_and_without_a_zone_are_not_the_same(fitted: str | None, later: str | None) -> None:
    reader = table_of(FRAME.assign(at=FRAME["at"].dt.tz_localize(fitted))).rows_reader
    with pytest.raises(UsageError, match=r"The times of column 'at' have .*, and those of the table .*; convert them"):
        reader.values(FRAME.assign(at=FRAME["at"].dt.tz_localize(later)))


def test_rows_that_lack_a_column_or_have_it_twice_are_refused(reader: Reader) -> None:
    with pytest.raises(UsageError, match="The rows lack 'size', which the model was trained on"):
        reader.values(FRAME.drop(columns="size"))
    with pytest.raises(UsageError, match="The rows have 'size' more than once"):
        reader.values(pd.concat([FRAME, FRAME[["size"]]], axis=1))
    with pytest.raises(UsageError, match="must be a table whose columns have names, not ndarray"):
        reader.values(FRAME.to_numpy())
    with pytest.raises(UsageError, match="Column 'size' holds an infinite value; mark it as missing"):
        reader.values(with_value("size", np.inf))


def test_a_plain_table_is_read_by_the_names_of_its_columns() -> None:
    reader = Reader.plain([Column("x"), Column("c", (" a", "b"))])
    values = reader.values(pd.DataFrame({"c": [" a", "b", None], "x": [1, True, 2.5]}))
    np.testing.assert_array_equal(values, [[1, 0], [1, 1], [2.5, np.nan]])
    with pytest.raises(UsageError, match="Column 'x' holds numbers in the table, but 'oak' in the rows"):
        reader.values(pd.DataFrame({"c": ["b"], "x": ["oak"]}))
