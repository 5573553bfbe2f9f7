"""Frames of other libraries and of files, and the one form of their values."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data.reading.frames import frame_of, plain_column, read_file
from scarf_lightning.errors import UsageError

DAY = dt.date(2024, 2, 29)
LARGE = 2**60 + 1


def arrow(kind: pa.DataType) -> pd.ArrowDtype:
    return pd.ArrowDtype(kind)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, None], "Int8", [1.0, None]),
        ([1, 2], "uint64", [1, 2]),
        ([1, None], arrow(pa.int32()), [1.0, None]),
        ([LARGE, None], "Int64", [str(LARGE), None]),
        ([LARGE, None], arrow(pa.int64()), [str(LARGE), None]),
        ([2**70, None], object, [str(2**70), None]),
        ([1, None], object, [1.0, None]),
        ([Decimal("1.10"), None], arrow(pa.decimal128(5, 2)), [1.1, None]),
        ([pd.NA, 1], object, [None, 1.0]),
        ([0, 1], pd.SparseDtype("int64", 0), [0, 1]),
        ([True, None], "boolean", [True, None]),
        (["a", None], arrow(pa.string()), ["a", None]),
        (["a", "b"], arrow(pa.dictionary(pa.int8(), pa.string())), ["a", "b"]),
        ([DAY, None], object, [pd.Timestamp(DAY), None]),
        ([DAY, None], arrow(pa.date32()), [pd.Timestamp(DAY), None]),
        ([dt.timedelta(hours=30), None], arrow(pa.duration("s")), [108000.0, None]),
        ([dt.time(3, 15), None], arrow(pa.time64("us")), [dt.time(3, 15), None]),
    ],
)
def test_a_value_has_one_form_whatever_its_type(values: list[Any], dtype: Any, expected: list[Any]) -> None:
    column = plain_column(pd.Series(values, dtype=dtype, name="c", index=[3, 5]))
    assert [None if pd.isna(value) else value for value in column] == expected
    assert column.name == "c"
    assert column.index.tolist() == [3, 5]


def test_columns_of_arrow_are_exact_and_categories_keep_their_order() -> None:
    frame = frame_of(pa.table({"n": pa.array([LARGE, None]), "view": pa.array(["a", None], pa.string_view())}))
    assert plain_column(frame["n"])[0] == str(LARGE)
    assert frame["view"].isna().tolist() == [False, True]
    given = pd.Series(pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True))
    assert plain_column(given).cat.categories.tolist() == ["b", "a"]


def test_names_become_text_and_need_not_differ_and_what_has_no_columns_is_no_frame() -> None:
    frame = frame_of(pd.DataFrame([[1, 2, 3]], columns=[0, ("a", 1), 0]))
    assert frame.columns.tolist() == ["0", "('a', 1)", "0"]
    for rows in (np.zeros((2, 2)), [[1, 2]], None, pd.Series([1]), 3):
        assert frame_of(rows) is None


class Exporter:
    def __arrow_c_stream__(self, _: Any = None) -> Any:
        return pa.chunked_array([[1, 2]]).__arrow_c_stream__()


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="a name that no file can hold"):
        frame_of(pd.DataFrame({"a": [1]}).set_axis(pd.Index(["\ud800"], dtype=object), axis=1))
    with pytest.raises(UsageError, match="The rows are a Exporter, which is no table with columns"):
        frame_of(Exporter())


def rows_of(path: Path, content: str | bytes, **options: Any) -> pd.DataFrame:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_file(path, **options)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "  "])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    content = "\n".join(separator.join(row) for row in (["a", "b", "d"], *[["1.5", "x", "2"]] * 5))
    assert rows_of(tmp_path / "t.csv", content).to_numpy().tolist() == [[1.5, "x", 2]] * 5


def test_words_are_no_columns(tmp_path: Path) -> None:
    frame = rows_of(tmp_path / "t.csv", "a b,c\nx y,1\nz w,2\n")
    assert frame.columns.tolist() == ["a b", "c"]


@pytest.mark.parametrize(
    "ending", ["csv", "csv.GZ", "csv.bz2", "csv.xz", "tab.zip", "jsonl", "json.gz", "pq", "feather"]
)
def test_a_file_is_read_by_its_ending_whatever_its_name(tmp_path: Path, ending: str) -> None:
    frame, path = pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "y"]}), tmp_path / f"~ t.{ending}"
    with path.open("wb") as file:
        kind = {"GZ": "gzip", "gz": "gzip", "bz2": "bz2", "xz": "xz", "zip": "zip"}.get(ending.rpartition(".")[2])
        if ending in ("pq", "feather"):
            (frame.to_parquet if ending == "pq" else frame.to_feather)(file)
        elif "json" in ending:
            frame.to_json(file, orient="records", lines=ending == "jsonl", compression=kind)
        else:
            frame.to_csv(file, index=False, compression=kind)
    assert read_file(path).to_numpy().tolist() == [[1.5, "x"], [2.0, "y"]]


def test_letters_have_one_form_and_bytes_the_encoding_that_is_named(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "t.csv", "e\u0301\n1\n2\n").columns.tolist() == ["\u00e9"]
    frame = rows_of(tmp_path / "t.csv", "größe,y\n1,é\n".encode("cp1252"), encoding="cp1252")
    assert frame.columns.tolist() == ["größe", "y"]


@pytest.mark.parametrize(
    ("values", "are_text"),
    [
        (["007", "7", "8"], True),
        (["7", "", "008"], True),
        (["0.5", "0", "1"], False),
        (["9007199254740993", ""], True),
        (["10", "20", ""], False),
        (["inf", "1", "2"], False),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_codes_stay_text(tmp_path: Path, values: list[str], are_text: bool, name: str) -> None:
    path = tmp_path / name
    pd.DataFrame({"code": values, "x": "a"}).to_csv(path, index=False)
    column = read_file(path)["code"]
    assert pd.api.types.is_numeric_dtype(column) is not are_text
    if are_text:
        assert column.fillna("").tolist() == values


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"", "(No columns to parse from file)"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n" * 60, "Expected 2 fields in line 3, saw 3)"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "(Length of header or names does not match length of data"),
        ("t.csv", b"a,b\n" + b"1,2\n" * 200_000 + b"1,\xff\n", "name its encoding, as in dataset.encoding=cp1252."),
        ("t.csv.gz", b"a,b\n1,2\n", "(Not a gzipped file"),
        ("t.parquet", b"PAR1 and no more", "("),
        ("t.feather", b"ARROW1 and no more", "("),
        ("t.json", b"{", "("),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        rows_of(tmp_path / name, content)
    assert str(refused.value).startswith(f"{tmp_path / name} cannot be read (")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_first_sheet_of_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx")
    path, frame = tmp_path / "t.xlsx", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame[::-1].to_excel(book, sheet_name="second", index=False)
    assert read_file(path)["a"].tolist() == [1, 2]


def test_a_name_that_a_file_has_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has more than one column 'y'; rename all but one"):
        rows_of(tmp_path / "t.csv", b"a,y,b,y\n1,2,3,2\n4,5,6,5\n")
    assert list(rows_of(tmp_path / "t.csv", b"a,,NA,a.1,\n1,2,3,4,5\n")) == [
        "a",
        "Unnamed: 1",
        "NA",
        "a.1",
        "Unnamed: 4",
    ]
    pytest.importorskip("openpyxl", reason="the extra xlsx")
    pd.DataFrame([[1, 2], [3, 4]], columns=["y", "y"]).to_excel(tmp_path / "t.xlsx", index=False)
    with pytest.raises(UsageError, match="has more than one column 'y'; rename all but one"):
        read_file(tmp_path / "t.xlsx")


def test_the_index_of_pandas_and_large_numbers_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 8], name="id")).to_parquet(path)
    assert read_file(path).columns.tolist() == ["x"]
    pq.write_table(pa.table({"n": pa.array([2**53 + 1, None])}), path)
    assert int(read_file(path)["n"][0]) == 2**53 + 1
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["\u00e9", "e\u0301"]), path)
    with pytest.raises(UsageError, match="has more than one column '\u00e9'; rename all but one"):
        read_file(path)
