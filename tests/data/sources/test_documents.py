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

N = 20
FRAME = pd.DataFrame({"size": np.arange(N) / 8, "colour": ["red", "blue"] * (N // 2), "y": ["p", "q", "q", "p"] * 5})
RECORDS = FRAME.to_dict(orient="records")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        "\n".join(map(json.dumps, RECORDS)),
        json.dumps(FRAME.to_dict()),
        json.dumps(FRAME.to_dict(orient="list")),
    ],
    ids=["records", "indented", "lines", "columns", "lists"],
)
def test_json_is_read_by_its_content(tmp_path: Path, text: str) -> None:
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


def test_the_sheets_of_excel_and_titles_above(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="first", index=False)
        pd.DataFrame([["Report of sales"]]).to_excel(book, sheet_name="2024", index=False, header=False)
        FRAME.to_excel(book, sheet_name="2024", index=False, startrow=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # pandas' own, which users would read
        first = FileSource(path, "y").load()
        second = FileSource(path, "y", sheet="2024").load()
    assert [str(note) for note in first.notes] == [
        f"The sheet 'first' of {path} is read; dataset.sheet reads another: '2024'."
    ]
    assert second.hash == first.hash
    assert [str(note) for note in second.notes] == [f"The header of {path} is row 4; the 3 rows above it are left out."]
