"""The kinds of columns that nobody has described; and later rows are read as the table was."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.columns import Coded, Column, ColumnReading
from scarf_lightning.data.reading import Reader, read_column
from scarf_lightning.data.reading.frames import plain_column
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError

N = 60
WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


def read(values: Any, option: str | None = None, name: str = "c") -> tuple[ColumnReading, list[Any], list[str]]:
    """The record of a column, its features, and notes."""
    reading, _, features, notes = read_column(plain_column(pd.Series(values, name=name)), option)
    return reading, list(features.values()), notes


KINDS: dict[str, tuple[list[Any], str, int]] = {
    "whole numbers": ([i % 40 for i in range(N)], "numbers", 1),
    "gaps": ([None, 1.5, 2.5] * 20, "numbers", 1),
    "question marks": (["?", "1.5", "2.5"] * 20, "numbers", 1),
    "percent": (["12 %", "7 %", "9.5 %"] * 20, "numbers", 1),
    "dollars": (["$1,200", "$3.50", "$7"] * 20, "numbers", 1),
    "decimal commas": (["1,5", "0,126", "7"] * 20, "numbers", 1),
    "German dates": ([f"{1 + i % 28:02}.{1 + i % 3:02}.2024" for i in range(N)], "dates", 3),
    "times": (list(pd.date_range("2024-01-01", periods=N, freq="31h")), "dates", 4),
    "truth with gaps": ([True, False, None] * 20, "categories", 1),
    "codes": (["007", "010", "7"] * 20, "categories", 1),
    "one value": (["x"] * N, "constant", 0),
    "one value and gaps": (["x", None] * 30, "gaps", 1),
    "nothing": ([None] * N, "empty", 0),
    "row numbers": (list(range(1, N + 1)), "id", 0),
    "names of rows": ([f"k{i}" for i in range(N)], "id", 0),
    "many strings": ([f"lane {WORDS[i % 7]} {i % 4}" for i in range(N)], "strings", 16),
    "texts": ([f"it was {WORDS[i % 7]} of {WORDS[i % 5]} things and {i}" for i in range(N)], "text", 32),
}


@pytest.mark.parametrize(("values", "kind", "n_features"), KINDS.values(), ids=KINDS)
def test_a_column_has_its_kind(values: list[Any], kind: str, n_features: int) -> None:
    reading, features, _ = read(values)
    assert (reading.kind, reading.n_features, len(features)) == (kind, n_features, n_features)


@pytest.mark.parametrize(
    ("values", "n_others", "example"),
    [
        (["120", "<120", "90"] * 20, 20, "'<120'"),
        (["120 m2", "90 m2", "85 m2"] * 20, 60, "'120 m2'"),
        (["5k", "5000", "1.2M"] * 20, 40, "'5k'"),
        (["14:30", "15:00", "16:10"] * 20, 60, "'14:30'"),
        (["150", "many", "20"] * 20, 20, "'many'"),
    ],
)
def test_a_column_that_is_partly_numbers_is_a_category_and_said(values: list[str], n_others: int, example: str) -> None:
    reading, _, (note,) = read(values)
    assert reading.kind == "categories"
    assert note.startswith(f"{n_others} of its values are no numbers, such as {example}, ")
    assert "dataset.numeric=['c']" in note
    assert read(["road 1", "road 2", "lane 3"] * 20)[2] == [], "names may have numbers in them"


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("n", [3 * i for i in range(N)], False),
        ("customer_id", [7919 * i % 9973 for i in range(N)], True),
        ("paid", [7919 * i % 9973 for i in range(N)], False),
        ("id", list(range(29)), False),
    ],
)
def test_ids_are_whole_numbers_that_count_rows_or_are_called_so(name: str, values: list[float], is_id: bool) -> None:
    reading, _, notes = read(values, name=name)
    assert (reading.kind == "id") is is_id
    assert [f"dataset.numeric=['{name}']" in note for note in notes] == [True] * is_id


def test_categories_are_stripped_and_have_one_form_of_every_letter() -> None:
    _, (found,), _ = read(["e\u0301", "\u00e9 ", "a"] * 20)
    assert isinstance(found, Coded)
    assert found.distinct == ["\u00e9", "a"]


@pytest.mark.parametrize(
    ("values", "option", "kind"),
    [
        (list(range(N)), "numeric", "numbers"),
        ([1, 2, 3] * 20, "categorical", "categories"),
        (["007", "7"] * 30, "numeric", "numbers"),
        ([True, None] * 30, "numeric", "numbers"),
        (["a b", "c"] * 30, "text", "text"),
    ],
)
def test_options_overrule_what_values_show(values: list[Any], option: str, kind: str) -> None:
    assert read(values, option)[0].kind == kind


@pytest.mark.parametrize("values", [[[1, 2], [3]] * 30, [{"a": 1}] * N, [b"1"] * N, [1j] * N, ["a\0"] * N])
def test_what_is_neither_a_number_nor_a_category_is_refused_by_its_column(values: list[Any]) -> None:
    with pytest.raises(UsageError, match="olumn 'c' holds"):
        read(values)


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
    return Table.read(frame, target, {}, name="t", source="t.csv")


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
    ("column", "value", "kind"),
    [
        ("size", "0,126", "numbers"),
        ("size", "oak", "numbers"),
        ("price", "1,200.5 €", "numbers"),
        ("price", "7", "numbers"),
        ("day", "2024-12-31", "dates as %d/%m/%Y"),
        ("at", "31/12/2024", "dates as ISO8601"),
    ],
)
def test_another_notation_is_refused_by_column_and_value(reader: Reader, column: str, value: str, kind: str) -> None:
    with pytest.raises(UsageError, match=f"^Column '{column}' is read as {kind}, and holds '{value}'; "):
        reader.values(with_value(column, value))


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


@pytest.mark.parametrize("fitted", [[True, False], ["True", "False"]])
def test_booleans_are_read_as_python_openml_and_arrays_write_them(fitted: list[Any]) -> None:
    reader = table_of(pd.DataFrame({"is": fitted * 20})).rows_reader
    for written in ([True, "True", "true", False, "False", None], [1.0, 1, "1", 0.0, "0", np.nan]):
        found = reader.values(pd.DataFrame({"is": written}, dtype=object))
        np.testing.assert_array_equal(found[:, 0], [1, 1, 1, 0, 0, np.nan])
    # An array that held Booleans and numbers is one of numbers.
    np.testing.assert_array_equal(reader.values(pd.DataFrame({"is": [1.0, 0.0, np.nan]}))[:, 0], [1, 0, np.nan])


def test_an_unseen_category_is_a_gap(reader: Reader, table: Table) -> None:
    m = [column.name for column in table.columns].index("colour")
    with pytest.warns(UserWarning, match="Column 'colour' has 'pink', which the training table did not: taken as"):
        assert np.isnan(reader.values(with_value("colour", "pink"))[1, m])
    assert reader.values(with_value("colour", " red "))[1, m] == 2


@pytest.mark.parametrize(("fitted", "later"), [(None, "Europe/Berlin"), ("Europe/Berlin", None)])
def test_times_with_and_without_a_zone_are_not_the_same(fitted: str | None, later: str | None) -> None:
    reader = table_of(FRAME.assign(at=FRAME["at"].dt.tz_localize(fitted))).rows_reader
    with pytest.raises(UsageError, match=r"^Column 'at' is read as times with(out)? a zone, and holds '2024-01-01"):
        reader.values(FRAME.assign(at=FRAME["at"].dt.tz_localize(later)))


def test_rows_that_cannot_be_read_are_refused(reader: Reader) -> None:
    twice = pd.concat([FRAME, FRAME[["size"]]], axis=1)
    for rows, said in (
        (FRAME.drop(columns="size"), "'size'"),
        (twice, "'size'"),
        (FRAME.assign(size=np.inf), "Column 'size' holds an infinite value"),
        (np.zeros((2, 2)), "a table whose columns have names"),
    ):
        with pytest.raises(UsageError, match=said):
            reader.values(rows)


def test_a_described_table_is_read_by_its_columns_as_they_are() -> None:
    reader = Reader.plain([Column("x"), Column("c", (" a", "b"))])
    np.testing.assert_array_equal(reader.values(pd.DataFrame({"c": [" a", "b"], "x": [1, 2]})), [[1, 0], [2, 1]])
