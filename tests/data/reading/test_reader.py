"""Rows that come later are read as the table was."""

import json
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scarf_lightning.data.reading import Reader, ReadingOptions
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.table import Column, Table
from scarf_lightning.data.untyped import read_table
from scarf_lightning.errors import UsageError

DAYS = pd.date_range("2020-01-02", periods=40, freq="37h")
N = 120
COLUMNS = {
    "id": [f"A-{i}" for i in range(N)],
    "size": [i % 40 / 4 for i in range(N)],
    "price": [["1.250,5 €", "7,25 €", "?", "30 €"][i % 4] for i in range(N)],
    "day": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2024" for i in range(N)],
    "opens": [f"{6 + i % 5:02d}:{i % 60:02d}" for i in range(N)],
    "open": [i % 3 == 0 for i in range(N)],
    "colour": [["red", "green ", "blue", None][i % 4] for i in range(N)],
    "code": [f"{i % 7:03d}" for i in range(N)],
    "grade": [1 + i % 3 for i in range(N)],
    "name": [f"wordy {i % 60} name {i % 5}" for i in range(N)],
    "same": [1] * N,
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(COLUMNS)


@pytest.fixture(scope="module")
def table(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("reader") / "t.csv"
    frame.assign(y=["a", "b"] * (N // 2)).to_csv(path, index=False)
    return FileSource(path, "y", categorical=("grade",)).load()


@pytest.fixture(scope="module")
def reader(table: Table) -> Reader:
    return table.rows_reader


def again(reader: Reader) -> Reader:
    """The reader after a turn through JSON, as models keep it."""
    return Reader.with_rules(json.loads(json.dumps(reader.plain_rules)), reader.columns)


def feature(reader: Reader, rows: pd.DataFrame, name: str) -> list[Any]:
    """A feature of the rows, categories by name and None where missing."""
    names = [column.name for column in reader.columns]
    categories = reader.columns[names.index(name)].categories
    values = reader.values(rows)[:, names.index(name)]
    return [None if np.isnan(v) else categories[int(v)] if categories else v for v in values]


def test_the_rows_of_the_table_are_read_as_in_the_table(reader: Reader, table: Table, frame: pd.DataFrame) -> None:
    """All and one by one, after a turn through JSON, and with columns in another order and more of them."""
    names = [column.name for column in table.columns]
    assert {"price", "day (days)", "day (month)", "opens", "open", "colour", "code", "grade", "name (1)"} <= set(names)
    assert not {"id", "same"} & set(names)
    assert again(reader) == reader
    turned = frame[frame.columns[::-1]].drop(columns=["id", "same"]).assign(another="x")
    for rows in (frame, turned):
        np.testing.assert_array_equal(reader.values(rows), table.values)
        np.testing.assert_array_equal(again(reader).values(rows), table.values)
    for row in (0, 2, 3, 57):
        np.testing.assert_array_equal(reader.values(frame.iloc[[row]])[0], table.values[row])
    assert reader.values(frame.head(0)).shape == (0, len(reader.columns))


def test_a_gap_stays_a_gap_in_every_kind_of_column(reader: Reader, frame: pd.DataFrame) -> None:
    for missing in (None, np.nan):
        rows = pd.DataFrame({name: pd.Series([missing] * 3, dtype=object) for name in frame.columns})
        assert np.isnan(reader.values(rows)).all()
    for spelled in ("", "?"):
        rows = frame.head(2).assign(price=spelled, day=spelled, opens=spelled, size=spelled)
        for name in ("price", "day (days)", "opens", "size"):
            assert feature(reader, rows, name) == [None, None]


@pytest.mark.parametrize(
    ("column", "name", "values", "read", "named"),
    [
        ("size", "size", ["1.5", "oak"], [1.5, None], "'oak' among its numbers"),
        ("price", "price", ["12,5", "dear"], [12.5, None], "'dear' among its numbers"),
        ("day", "day (month)", ["03/04/2025", "soon"], ["4", None], "'soon' among its dates"),
        ("opens", "opens", ["14:30", "late"], [52_200, None], "'late' among its durations"),
        ("open", "open", ["TRUE", "perhaps"], ["true", None], "'open' has 'perhaps', which the training table did not"),
        ("colour", "colour", [" red", "mauve"], ["red", None], "'colour' has 'mauve', which the training table did "
         "not: taken as missing"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_or_an_unseen_category_is_named_and_missing(
    column: str, name: str, values: list[str], read: list[Any], named: str, reader: Reader, frame: pd.DataFrame
) -> None:
    with pytest.warns(UserWarning, match=named):
        assert feature(reader, frame.head(2).assign(**{column: values}), name) == read


@pytest.mark.parametrize("column", ["size", "price", "day", "opens"])
def test_a_column_without_any_value_of_its_kind_is_refused(column: str, reader: Reader, frame: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match=f"Column '{column}' holds .* in the table, but 'oak' in the rows"):
        reader.values(frame.head(2).assign(**{column: "oak"}))
    with pytest.raises(UsageError, match=r"'colour' holds \['red'\], which is neither"):
        reader.values(frame.head(1).assign(colour=[["red"]]))


@pytest.mark.parametrize("kind", ["int64", "float64", "str", "category", "Int64", object])
def test_a_category_is_known_by_how_it_is_spelled(kind: Any, reader: Reader, table: Table, frame: pd.DataFrame) -> None:
    np.testing.assert_array_equal(reader.values(frame.assign(grade=frame["grade"].astype(kind))), table.values)


def test_dates_may_come_as_dates_of_any_library(reader: Reader, table: Table, frame: pd.DataFrame) -> None:
    times = pd.to_datetime(frame["day"], format="%d/%m/%Y")
    days = times.dt.date
    for column in (times, times.dt.tz_localize("UTC"), days, pd.Series(days, dtype=pd.ArrowDtype(pa.date32()))):
        np.testing.assert_array_equal(reader.values(frame.assign(day=column)), table.values)


def test_a_table_from_elsewhere_takes_its_columns_as_they_are(mixed_table: Table, mixed_data: dict[str, Any]) -> None:
    plain = mixed_table.rows_reader
    np.testing.assert_array_equal(plain.values(mixed_data["features"]), mixed_table.values)


def test_one_unseen_category_may_be_another_one_and_several_alone_are_another_column(
    reader: Reader, frame: pd.DataFrame
) -> None:
    with pytest.warns(UserWarning, match="'colour' has 'mauve', which the training table did not"):
        assert feature(reader, frame.head(2).assign(colour="mauve"), "colour") == [None, None]
    said = r"^Column 'colour' holds 'blue', 'green', 'red' in the table, but 'mauve', 'teal' in the rows; correct it\."
    with pytest.raises(UsageError, match=said):
        reader.values(frame.head(2).assign(colour=["mauve", "teal"]))


@pytest.mark.parametrize(
    ("categories", "text", "read"),
    [
        (("no", "yes"), "TRUE", "yes"), (("no", "yes"), "f", "no"), (("0", "1"), "true", "1"),
        (("maybe", "yes"), "TRUE", None), (("no", "y", "yes"), "TRUE", None), (("maybe", "no", "yes"), "TRUE", None),
    ],
)  # fmt: skip
def test_truth_values_may_be_spelled_otherwise_where_the_categories_are_two(
    categories: tuple[str, ...], text: str, read: str | None
) -> None:
    reader = Reader.plain([Column("c", categories)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if read is None else "error")
        assert feature(reader, pd.DataFrame({"c": [text, *categories]}), "c") == [read, *categories]


def test_of_many_odd_values_five_are_named(reader: Reader, frame: pd.DataFrame) -> None:
    odd, shown = [f"odd {i}" for i in range(6)], "'odd 0', 'odd 1', 'odd 2', 'odd 3', 'odd 4' and 1 more"
    for column, value, said in (("size", "1.5", "has {} among its numbers"), ("colour", "red", "has {}, which the")):
        with pytest.warns(UserWarning, match=f"^Column '{column}' {said.format(shown)}"):
            reader.values(frame.head(7).assign(**{column: [value, *odd]}))


@pytest.mark.parametrize("one", [1, 1.0, np.int8(1), np.float32(1), True, np.True_])
def test_a_column_of_numbers_takes_numbers_and_booleans_of_every_type(
    one: Any, reader: Reader, frame: pd.DataFrame
) -> None:
    """Beside text the column has no type, and each value has its own."""
    rows = frame.head(2).assign(size=pd.Series([one, "2.5"], dtype=object))
    assert feature(reader, rows, "size") == [1, 2.5]


@pytest.mark.parametrize("value", [True, np.True_, "1", [1]])
def test_of_a_plain_column_numbers_alone_are_taken(value: Any) -> None:
    reader = Reader.plain((Column("size"),))
    assert reader.values(pd.DataFrame({"size": [1, 2.5, None]}, dtype=object))[:2].tolist() == [[1.0], [2.5]]
    with pytest.raises(UsageError, match=f"Column 'size' is numeric, but the rows hold {re.escape(repr(value))} in it"):
        reader.values(pd.DataFrame({"size": [1, value]}, dtype=object))


class TestDatesOfATableThatHadNoText:
    """A frame, a Parquet file and a workbook have times, so the table knows no format of text."""

    @pytest.fixture(scope="class")
    def reader(self) -> Reader:
        frame = pd.DataFrame({"since": DAYS, "x": np.arange(40.0)})
        target = pd.Series(["a", "b"] * 20, name="y")
        table = read_table(frame, target, ReadingOptions(), name="t", source="t")
        return table.reader

    def test_a_text_of_iso_8601_is_read_alike_alone_and_in_any_company(self, reader: Reader) -> None:
        texts = ["2020-03-02", "2020-03-02 14:30", "2020-01-13", "2020-03-02T14:30:00", "soon"]
        with pytest.warns(UserWarning, match="'soon' among its dates: taken as missing"):
            together = reader.values(pd.DataFrame({"since": texts, "x": 0.0}))
        times = reader.values(pd.DataFrame({"since": pd.to_datetime(pd.Series(texts[:4]), format="ISO8601"), "x": 0.0}))
        np.testing.assert_array_equal(together[:4], times)
        assert np.isnan(together[4, :-1]).all()
        for text, expected in zip(texts[:4], together, strict=False):
            alone = reader.values(pd.DataFrame({"since": [text], "x": 0.0}))
            np.testing.assert_array_equal(alone[0], expected)

    @pytest.mark.parametrize("texts", [["02/03/2020"], ["02/03/2020", "13/01/2020"], ["2020-01-01", "3 Feb 2020"]])
    def test_another_format_is_refused(self, texts: list[str], reader: Reader) -> None:
        odd = next(text for text in texts if text[:4] != "2020")
        said = rf"Column 'since' holds '{odd}', and the table had dates in no format of text; write them as 2024-12-31"
        with pytest.raises(UsageError, match=said):
            reader.values(pd.DataFrame({"since": texts, "x": 0.0}))
        with pytest.raises(UsageError, match="'since' holds dates in the table, but 'some day' in the rows"):
            reader.values(pd.DataFrame({"since": ["some day"] * 2, "x": 0.0}))

    @pytest.mark.parametrize("kind", [str, None])
    def test_times_of_another_zone_are_said_and_utc_needs_no_word(self, kind: Any, reader: Reader) -> None:
        tokyo = pd.Series(DAYS.tz_localize("Asia/Tokyo"))
        rows = pd.DataFrame({"since": tokyo if kind is None else tokyo.map(str), "x": 0.0})
        said = r"Column 'since': its times are in time zones other than UTC, and are read"
        with pytest.warns(UserWarning, match=said):
            found = reader.values(rows)
        moments = pd.DataFrame({"since": tokyo.dt.tz_convert("UTC").dt.tz_localize(None), "x": 0.0})
        np.testing.assert_array_equal(found, reader.values(moments))
        in_utc = [DAYS, DAYS.tz_localize("UTC"), [f"{day:%Y-%m-%dT%H:%M:%S}Z" for day in DAYS]]
        first, *others = (reader.values(pd.DataFrame({"since": each, "x": 0.0})) for each in in_utc)
        for other in others:
            np.testing.assert_array_equal(other, first)
