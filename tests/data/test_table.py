import io
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.columns import Column, ColumnReading
from scarf_lightning.data.table import Table, first_alike, reading_report
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.screen import screen

COLOURS = ["red", "blue", "red", None, "green", "blue", "red", "red", "green", "blue", None, "red"]
WHOLE = [9, 10, 2, 2, 30, 9, 10, 2, 9, 30, 2, 2]
GAPS = [1.0, None, 3.0, 2.0, 5.0, None, 1.0, 2.0, 2.0, 4.0, 1.0, 7.0]
LABELS = ["no", "yes", "no", "no", "yes", "no", "yes", "no", "no", "no", "yes", "no"]


def build(features: dict[str, Any], labels: Any = LABELS, *, categorical: tuple[str, ...] = ()) -> Table:
    frame = pd.DataFrame(features, index=range(len(labels)))
    flags = [name in categorical for name in frame.columns]
    return Table.from_frame(frame, pd.Series(labels, name="y"), categorical=flags, name="t", source="test:t")


def same(one: Table, other: Table) -> bool:
    return (
        one.hash == other.hash
        and one.columns == other.columns
        and one.target.names == other.target.names
        and np.array_equal(one.values, other.values, equal_nan=True)
        and np.array_equal(one.labels, other.labels)
    )


# How the same strings, and the same numbers, may come out of a file.
STRINGS: list[Any] = [
    "object",
    "str",
    "string[pyarrow]",
    "category",
    pd.CategoricalDtype(["zzz", "red", "yes", "no", "green", "blue"]),
]
NUMBERS = ["int64", "float64", "Int64", "int64[pyarrow]"]


@pytest.mark.parametrize("dtype", STRINGS, ids=str)
def test_strings_are_the_same_table_in_every_form(dtype: Any) -> None:
    table = build({"c": pd.Series(COLOURS, dtype=dtype)}, pd.Series(LABELS, dtype=dtype))
    assert same(table, build({"c": COLOURS}, LABELS))
    assert table.columns == (Column("c", ("blue", "green", "red")),)
    assert np.array_equal(table.values[:4, 0], [2.0, 0.0, 2.0, np.nan], equal_nan=True)
    assert table.target.names == ("no", "yes")
    assert table.labels.tolist() == [int(label == "yes") for label in LABELS]


@pytest.mark.parametrize("dtype", [*NUMBERS, "object", "category", "str"])
def test_whole_numbers_as_categories_and_classes_are_the_same_table_in_every_form(dtype: str) -> None:
    whole = pd.Series(WHOLE).astype(dtype)
    table = build({"c": whole}, whole, categorical=("c",))
    assert table.columns == (Column("c", ("2", "9", "10", "30")),)
    assert table.target.names == ("2", "9", "10", "30")
    codes = [[2, 9, 10, 30].index(value) for value in WHOLE]
    assert table.values[:, 0].tolist() == table.labels.tolist() == codes
    assert table.hash == build({"c": list(map(str, WHOLE))}, list(map(float, WHOLE))).hash


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_are_the_same_table_in_every_numeric_form(dtype: str) -> None:
    table = build({"x": pd.Series(WHOLE, dtype=dtype)})
    assert table.columns == (Column("x"),)
    assert table.values[:, 0].tolist() == WHOLE
    assert table.hash == build({"x": list(map(float, WHOLE))}).hash
    if dtype != "int64":
        gaps = build({"x": pd.Series(GAPS, dtype=dtype)})
        assert np.flatnonzero(np.isnan(gaps.values[:, 0])).tolist() == [1, 5]


@pytest.mark.parametrize("dtype", ["boolean", "object", "category", "bool[pyarrow]"])
def test_booleans_are_the_categories_false_and_true(dtype: str) -> None:
    values = pd.Series([True, None, False] * 4, dtype=dtype)
    table = build({"b": values}, values.fillna(value=True).astype(dtype))
    assert table.columns == (Column("b", ("false", "true")),)
    assert table.target.names == ("false", "true")
    assert np.array_equal(table.values[:, 0], [1.0, np.nan, 0.0] * 4, equal_nan=True)


@pytest.mark.parametrize(
    ("occurring", "ordered"),
    [
        (["10", "9", "-1", "2.5"], ("-1", "2.5", "9", "10")),
        (["10", "9", "b", "-1"], ("-1", "10", "9", "b")),
        (["10", "9", "nan", "-1"], ("-1", "10", "9", "nan")),
        (["v10", "v9", "v1", "V2"], ("V2", "v1", "v10", "v9")),
        ([2.5, 10.0, 9.0, -1.0], ("-1", "2.5", "9", "10")),
    ],
)
def test_categories_and_classes_stand_in_natural_order(occurring: list[Any], ordered: tuple[str, ...]) -> None:
    table = build({"c": occurring * 3}, occurring * 3, categorical=("c",))
    assert table.columns[0].categories == ordered
    assert table.target.names == ordered


def test_all_missing_columns_are_dropped_and_constants_kept() -> None:
    nothing = pd.Series([None] * 12, dtype=object)
    table = build({"empty": [np.nan] * 12, "x": WHOLE, "no": nothing, "constant": [0.1] * 12, "one": ["a"] * 12})
    assert table.columns == (Column("x"), Column("constant"), Column("one", ("a",)))
    assert table.values[:, 1].tolist() == [0.1] * 12
    assert table.values[:, 2].tolist() == [0.0] * 12


BASE: dict[str, Any] = {"x": GAPS, "z": WHOLE, "c": COLOURS}
CHANGES: dict[str, Callable[[], Table]] = {
    "a number": lambda: build(BASE | {"z": [9, 10, 2, 2, 30, 9, 10, 2, 9, 30, 2, 3]}),
    "a number, by its last bit": lambda: build(BASE | {"z": [np.nextafter(9, 10), *WHOLE[1:]]}),
    "a category": lambda: build(BASE | {"c": ["blue", *COLOURS[1:]]}),
    "the name of a category": lambda: build(BASE | {"c": [v and v.replace("red", "rot") for v in COLOURS]}),
    "a label": lambda: build(BASE, ["yes", *LABELS[1:]]),
    "the name of a class": lambda: build(BASE, [v.replace("yes", "yea") for v in LABELS]),
    "the name of a column": lambda: build({"X": GAPS, "z": WHOLE, "c": COLOURS}),
    "the order of columns": lambda: build({"z": WHOLE, "x": GAPS, "c": COLOURS}),
    "numbers read as categories": lambda: build(BASE, categorical=("z",)),
    "the order of rows": lambda: build({n: v[::-1] for n, v in BASE.items()}, LABELS[::-1]),
}


def test_the_hash_tells_all_contents_apart() -> None:
    base = build(BASE)
    hashes = {"nothing": base.hash} | {change: make().hash for change, make in CHANGES.items()}
    assert len(set(hashes.values())) == len(hashes)


def test_the_hash_is_that_of_the_content_alone() -> None:
    table = build(BASE)
    other = Table.from_frame(
        pd.DataFrame(BASE | {"nothing": [None] * 12}).set_index(pd.Index(range(100, 112))),
        pd.Series(LABELS, name="another", index=range(12)),
        categorical=[False] * 4,
        name="elsewhere",
        source="csv:t.csv",
        dataset_id=4,
    )
    assert other.hash == table.hash
    assert (other.name, other.source, other.dataset_id) == ("elsewhere", "csv:t.csv", 4)
    assert build({"x": [-0.0, 1.0] * 6}).hash == build({"x": [0.0, 1.0] * 6}).hash
    odd_nan = np.frombuffer(struct.pack("<Q", 0xFFF8000000000123))[0]
    assert build({"x": [odd_nan, 1.0] * 6}).hash == build({"x": [np.nan, 1.0] * 6}).hash


def test_the_features_of_a_column_are_found_by_its_name_and_one_left_out_has_none() -> None:
    plain = build({"x": WHOLE, "z": GAPS, "c": COLOURS})
    assert plain.features_of == {"x": [0], "z": [1], "c": [2]}
    left_out = [ColumnReading(name, "id", 0, 12, "left out") for name in ("key", "nr")]
    day, colour = ColumnReading("day", "dates", 2, 5, "days, month", 2), ColumnReading("c", "categories", 2, 3, "", 1)

    table = replace(plain, reading=(left_out[0], day, left_out[1], colour))

    assert table.features_of == {"day": [0, 1], "c": [2]}
    assert table.places(["c", "day"], "by") == [2, 0, 1]
    with pytest.raises(UsageError, match=r"^by names 'key', which is not a column that t is trained on"):
        table.places(["day", "key"], "by")


def test_unlabelled_rows_are_kept_and_the_split_column_is_hashed() -> None:
    table, plain = build({"x": WHOLE}, [None, *LABELS[1:-1], np.nan]), build({"x": WHOLE})
    assert table.labels.tolist() == [-1, *plain.labels[1:-1], -1]
    assert (table.n_rows, table.n_unlabelled) == (12, 2)
    assert table.target.names == plain.target.names
    groups = np.arange(12.0)
    hashes = {replace(plain, split_by=each).hash for each in (None, groups, groups[::-1].copy())}
    assert len({table.hash, *hashes}) == 4


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ({"x": WHOLE}, [None, "no", None, None, *LABELS[4:]], r"test:t has 9 rows with a label in 'y'; .* at least 10"),
        ({"x": WHOLE}, ["only"] * 12, r"target 'y' of test:t has the one class 'only'; two are needed"),
        ({"x": WHOLE[:9]}, LABELS[:9], r"test:t has 9 rows .* at least 10"),
        ({"e": [None] * 12, "n": [np.nan] * 12}, LABELS, r"test:t has no column to learn from"),
        ({}, LABELS, r"test:t has no column to learn from"),
        ({"e": [None] * 12, "x": WHOLE, "far": [np.inf, *GAPS[1:]]}, LABELS, r"column 'far' of test:t .* infinite"),
        ({"x": [*WHOLE[1:], -np.inf], "z": GAPS}, LABELS, r"column 'x' of test:t .* infinite"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(features: dict[str, Any], labels: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=rf"{message}.*\.$"):
        build(features, labels)
    assert build({"x": WHOLE[:10]}, LABELS[:10]).n_rows == 10, "ten rows are enough"


def test_gaps_are_equal_and_so_are_zeros_of_both_signs() -> None:
    values = np.array([[0.0, np.nan], [1.0, np.nan], [-0.0, np.nan], [0.0, 0.0], [0.0, -np.nan], [1.0, 0.0]])
    assert first_alike(values).tolist() == [0, 1, 0, 3, 0, 5], "and columns in another order are other rows"


@given(st.integers(0, 999), st.integers(1, 40), st.integers(1, 20))
def test_the_first_equal_row_is_found(seed: int, n: int, width: int) -> None:
    random, n_distinct = np.random.default_rng(seed), max(1, n // 3)
    kinds = np.array([0.0, -0.0, 1.0, np.nan, 1e-300])
    values = kinds[random.integers(5, size=(n_distinct, width))][random.integers(n_distinct, size=n)]
    rows = [tuple("gap" if np.isnan(each) else each + 0.0 for each in row) for row in values.tolist()]
    assert first_alike(values).tolist() == [rows.index(row) for row in rows]


@pytest.mark.parametrize("column", [0, 7, 59])
def test_rows_that_differ_in_one_column_alone_are_no_copies(column: int) -> None:
    values = np.ones((4, 60))
    values[2, column] = np.nextafter(1.0, 2.0)
    assert first_alike(values).tolist() == [0, 0, 2, 0]


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
    assert line.startswith(f"mine has {counted(n_copies, 'labelled row')} with an equal one above, the target aside; ")
    assert table.report()["n_copies"] == n_copies
