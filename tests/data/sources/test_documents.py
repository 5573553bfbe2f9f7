"""Excel, JSON and ARFF."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import arff

from scarf_lightning.data.columns import Column
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.sources.formats import open_file
from scarf_lightning.errors import UsageError

N = 20
FRAME = pd.DataFrame({"size": np.arange(N) / 8, "colour": ["red", "blue"] * (N // 2), "y": ["p", "q", "q", "p"] * 5})
RECORDS = FRAME.to_dict(orient="records")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        json.dumps(FRAME.to_dict()),
        json.dumps(FRAME.to_dict(orient="list")),
    ],
    ids=["records", "indented", "columns", "lists"],
)
def test_json_holds_rows_or_columns(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    pd.testing.assert_frame_equal(open_file(tmp_path / "t.json").read(), FRAME)


def test_large_whole_numbers_of_json_stay_apart_and_objects_do_not_stop_the_reading(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": 9007199254740993, "z": 9007199254740992}\n{"x": null, "z": 1}\n')
    rows = open_file(tmp_path / "t.jsonl").read()
    assert (rows["x"].tolist()[0], rows["z"].tolist()) == ("9007199254740993", [9007199254740992, 1])
    (tmp_path / "t.json").write_text(json.dumps([{**record, "more": {"a": [1]}} for record in RECORDS]))
    assert open_file(tmp_path / "t.json").unusable == {"more": "lists or objects"}
    table = FileSource(tmp_path / "t.json", "y", drop=("more",)).load()
    assert [reading.column for reading in table.reading] == ["size", "colour", "more"]
    assert len(open_file(tmp_path / "t.json").read().columns) == 3


ARFF = r"""% a comment
@RELATION 'a table'
@attribute size REAL
@attribute 'the colour' {red, 'light blue', "it's"}
@attribute words string
@attribute y {q,p}

@DATA
0.5,red,'two words, and more',p
?, 'light blue', single, q

% another
1e3,"it's",'don\'t',p
"""


def test_arff(tmp_path: Path) -> None:
    (tmp_path / "t.arff").write_text(ARFF)
    rows = open_file(tmp_path / "t.arff").read()
    assert list(rows.columns) == ["size", "the colour", "words", "y"]
    assert rows["size"].tolist() == [0.5, pytest.approx(np.nan, nan_ok=True), 1000.0]
    assert rows["the colour"].tolist() == ["red", "light blue", "it's"]
    assert rows["the colour"].cat.categories.tolist() == ["red", "light blue", "it's"]
    assert rows["words"].tolist() == ["two words, and more", "single", "don't"]
    assert rows["y"].cat.categories.tolist() == ["q", "p"]


def test_arff_is_read_as_scipy_reads_it(tmp_path: Path) -> None:
    lines = [f"{size},{colour},{y}" for size, colour, y in FRAME.to_numpy()]
    header = ["@relation t", "@attribute size numeric", "@attribute colour {red,blue}", "@attribute y {p,q}", "@data"]
    (tmp_path / "t.arff").write_text("\n".join([*header, *lines]))
    values, _ = arff.loadarff(tmp_path / "t.arff")
    rows = open_file(tmp_path / "t.arff").read()
    assert rows["size"].tolist() == values["size"].tolist()
    assert rows["colour"].tolist() == [value.decode() for value in values["colour"]]
    table = FileSource(tmp_path / "t.arff", "y").load()
    assert table.columns == (Column("size"), Column("colour", ("blue", "red")))
    assert table.columns[1].declared == ("red", "blue")


def test_arff_of_whole_numbers_sparse_rows_and_tabs(tmp_path: Path) -> None:
    """The package that reads it cuts off the fractions of whole numbers. What a sparse row lacks is zero."""
    header = ["@relation t", "@attribute\tn INTEGER ", "@attribute y {p,q,?}", "@data"]
    (tmp_path / "t.arff").write_text("\n".join([*header, "1.5,p", "?,q", "{0 2,1 q}", "{}", "3,?"]))
    rows = open_file(tmp_path / "t.arff").read()
    assert rows["n"].tolist() == [1.5, pytest.approx(np.nan, nan_ok=True), 2, 0, 3]
    assert rows["y"].astype(object).tolist()[:4] == ["p", "q", "q", "p"]
    assert rows["y"].isna().tolist() == [False] * 4 + [True]
    assert rows["y"].cat.categories.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("0.5,red", "{0 1},red"), "Invalid layout of the ARFF file, at line 9. Error parsing"),
        (("single", "single,4"), "Bad @DATA instance format in line 10"),
        ((",red", ",rot"), "Data value rot not found in nominal declaration, at line 9"),
        (("0.5", "x"), "Invalid numerical value, at line 9"),
        (("@DATA", ""), "Invalid layout of the ARFF file, at line"),
        (("words string", "size real"), "Bad @ATTRIBUTE name size at line 5, this name is already in use in line 3"),
        (("words string", "words date"), "Bad @ATTRIBUTE type, at line 5"),
        (("'light blue', \"it", 'light blue, "it'), "Bad @ATTRIBUTE type, at line 4"),
    ],
)
def test_arff_that_is_not_as_its_header_says_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    (tmp_path / "t.arff").write_text(ARFF.replace(*change))
    with pytest.raises(UsageError) as caught:
        open_file(tmp_path / "t.arff")
    assert str(caught.value).startswith(f"{tmp_path / 't.arff'} cannot be read ({reason}")
    assert str(caught.value).endswith("); put names with blanks in quotes, or write the table as CSV.")


def test_the_sheets_of_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="first", index=False)
        FRAME.to_excel(book, sheet_name="2024", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # pandas' own, which users would read
        first = FileSource(path, "y").load()
        second = FileSource(path, "y", sheet="2024").load()
    assert [str(note) for note in first.notes] == [
        f"The sheet 'first' of {path} is read; dataset.sheet reads another: '2024'."
    ]
    assert second.hash == first.hash
    assert not second.notes


@pytest.mark.parametrize(("encoding", "asked"), [("utf-8-sig", None), ("utf-8", None), ("cp1252", "cp1252")])
def test_arff_has_the_encoding_that_is_asked_for(tmp_path: Path, encoding: str, asked: str | None) -> None:
    (tmp_path / "t.arff").write_text(ARFF.replace("single", "größer"), encoding=encoding)
    assert open_file(tmp_path / "t.arff", encoding=asked).read()["words"].tolist()[1] == "größer"
