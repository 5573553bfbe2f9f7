"""Files of tables by pandas: separators, codes, and refusals."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data.sources.table_file import read_file
from scarf_lightning.errors import UsageError


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


def test_the_index_of_pandas_and_large_numbers_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 8], name="id")).to_parquet(path)
    assert read_file(path).columns.tolist() == ["x"]
    pq.write_table(pa.table({"n": pa.array([2**53 + 1, None])}), path)
    assert int(read_file(path)["n"][0]) == 2**53 + 1
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["\u00e9", "e\u0301"]), path)
    with pytest.raises(UsageError, match="has more than one column '\u00e9'; rename all but one"):
        read_file(path)
