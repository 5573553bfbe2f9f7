"""Files of tables by pandas: separators, encodings, codes, and refusals."""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data.sources.table_file import matching, open_file
from scarf_lightning.errors import UsageError


def rows_of(path: Path, content: str | bytes, **options: Any) -> pd.DataFrame:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_file(path, **options).read()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "  "])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    content = "\n".join(separator.join(row) for row in (["a", "b", "d"], *[["1.5", "x", "2"]] * 5))
    assert rows_of(tmp_path / "t.csv", content).to_numpy().tolist() == [[1.5, "x", 2]] * 5


def test_blanks_separate_where_a_tab_leaves_columns_empty(tmp_path: Path) -> None:
    """As in ISLP's Auto.data, whose line of names has other separators than its rows."""
    rows = ['18.0   8   3504.\t"chevrolet chevelle"', '15.0   4   3693.\t"buick skylark"']
    frame = rows_of(tmp_path / "t.data", "\n".join(["mpg\tcylinders\tweight name", *rows * 5]))
    assert frame.columns.tolist() == ["mpg", "cylinders", "weight", "name"]
    assert frame["name"].tolist()[:2] == ["chevrolet chevelle", "buick skylark"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("https://a.org/t.csv", "there is no file https:/a.org/t.csv; set dataset.path to a file of a table, or to a"),
        (".", "there is no file .; set dataset.path to"),
        ("none*.csv", r"there is no file none\*.csv; set dataset.path to"),
        ("t.doc", "t.doc is of no known format; dataset.path takes .csv"),
    ],
)
def test_what_is_no_file_of_a_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.doc").touch()
    with pytest.raises(UsageError, match=f"^{sentence}"):
        matching(Path(name), "dataset.path")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "json", "parquet", "feather", "xlsx"])
def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    os.mkfifo(path)
    with pytest.raises(UsageError, match=rf"^{path} cannot be read \(it is not a file\); write it again as"):
        open_file(path)


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
    assert open_file(path).read(["b", "a"]).to_numpy().tolist() == [[1.5, "x"], [2.0, "y"]]


def test_words_are_no_columns_and_one_column_is_one(tmp_path: Path) -> None:
    frame = rows_of(tmp_path / "t.csv", "said\nall is one\nnone is\n")
    assert frame["said"].tolist() == ["all is one", "none is"]
    frame = rows_of(tmp_path / "t.csv", "a b,c\nx y,1\nz w,2\n")
    assert frame.columns.tolist() == ["a b", "c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found_and_said(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe,y\n1,é\n2,ß\n".encode(encoding))
    file = open_file(path)
    assert file.names == ["größe", "y"]
    assert file.read()["y"].tolist() == ["é", "ß"]
    assert [note.partition(" text;")[0] for note in file.notes] == (
        [] if encoding.startswith("utf-8") else [f"{path} is read as {encoding}"]
    )


def test_letters_have_one_form(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "t.csv", "e\u0301\n1\n2\n").columns.tolist() == ["\u00e9"]


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
    column = open_file(path).read()["code"]
    assert (column.dtype == object) is are_text
    if are_text:
        assert column.fillna("").tolist() == values


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"", "cannot be read (No columns to parse from file)"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n" * 60, "cannot be read (Expected 2 fields in line 3, saw 3)"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "cannot be read (Length of header or names does not match length of data)"),
        ("t.csv", b"a,b,a\n1,2,3\n", "has more than one column 'a'; rename all but one."),
        ("t.csv", b"a,b\n" + b"1,2\n" * 200_000 + b"1,\xff\n", "name its encoding, as in dataset.encoding=cp1252."),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot be read (Not a gzipped file"),
        ("t.parquet", b"PAR1 and no more", "cannot be read ("),
        ("t.feather", b"ARROW1 and no more", "cannot be read ("),
        ("t.json", b"{", "cannot be read ("),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        rows_of(tmp_path / name, content)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / name))
    assert "\n" not in str(refused.value)


def test_sheets_of_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx")
    path, frame = tmp_path / "t.xlsx", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame[::-1].to_excel(book, sheet_name="second", index=False)
    file = open_file(path)
    assert file.notes == [f"The sheet 'first' of {path} is read; dataset.sheet reads another: 'second'."]
    assert file.read()["a"].tolist() == [1, 2]
    assert open_file(path, sheet="second").read()["a"].tolist() == [2, 1]
    with pytest.raises(UsageError, match=r"dataset.sheet names 'third', which is not a sheet of"):
        open_file(path, sheet="third")


def test_categories_and_the_index_of_pandas_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(
        {"kind": pd.Categorical([3, 1, 3]), "x": [1.0, 2.0, 3.0]}, index=pd.Index([7, 8, 9], name="id")
    )
    frame.to_parquet(path)
    file = open_file(path)
    assert file.names == ["kind", "x"]
    assert file.read()["kind"].dtype == "category"
    pq.write_table(pa.table({"n": pa.array([2**53 + 1, None])}), path)
    assert int(open_file(path).read()["n"][0]) == 2**53 + 1
