"""Text files as R, numpy, Excel and people write them: what is read, refused, and said of it."""

from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data.sources import FileSource, text_file
from scarf_lightning.data.sources.text_file import TextFile, has_leading_zeros
from scarf_lightning.errors import UsageError

N = 40
SIZES = np.random.default_rng(1).normal(size=N).round(3)
LABELS = ["p", "q"] * (N // 2)
COLOURS = ["red", "light blue", "red, dark", "green"] * (N // 4)


def lines(separator: str, *, names: list[str] | None = None) -> list[str]:
    """The rows as lines with quotes, as R writes them; with the names of rows if they are given."""
    found = [separator.join([f"{s}", f'"{c}"', f'"{y}"']) for s, c, y in zip(SIZES, COLOURS, LABELS, strict=True)]
    return found if names is None else [f'"{name}"{separator}{line}' for name, line in zip(names, found, strict=True)]


def written(folder: Path, *content: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    return path


HEADER = '"size","colour","y"'
NUMBERS, CARS = [str(i + 1) for i in range(N)], [f"car {i}" for i in range(N)]
BLANKS_BEFORE = [line.replace(',"', ',   "') for line in lines(",")]


@pytest.mark.parametrize(
    ("name", "content", "notes"),
    [
        ("t.csv", [HEADER, *lines(",")], []),
        ("t.csv", ['"","size","colour","y"', *lines(",", names=NUMBERS)], ["Column 1 of * has no name and numbers"]),
        ("t.csv", ['"","size","colour","y"', *lines(",", names=CARS)], ["Column 1 of * has no name and another"]),
        ("t.data", [HEADER.replace(",", ";"), *lines(";")], ["The columns of * are separated by ';'"]),
        ("t.txt", [HEADER.replace(",", "\t"), *lines("\t")], [r"The columns of * are separated by '\t'"]),
        ("t.tab", [HEADER.replace(",", "\t"), *lines("\t")], []),
        ("t.csv", [HEADER.replace(",", ",   "), *BLANKS_BEFORE], []),
        ("t.csv", [HEADER, *BLANKS_BEFORE], []),
        ("t.csv", [f"# {HEADER}", *lines(",")], []),
    ],
)
def test_the_same_table_is_read(tmp_path: Path, name: str, content: list[str], notes: list[str]) -> None:
    expected = FileSource(written(tmp_path, HEADER, *lines(","), name="plain.csv"), "y").load()
    path = written(tmp_path, *content, name=name)
    table = FileSource(path, "y").load()
    assert table.hash == expected.hash
    assert table.target.names == ("p", "q")
    said = [str(note) for note in table.notes]
    assert len(said) == len(notes)
    for sentence, start in zip(said, notes, strict=True):
        assert sentence.startswith(start.replace("*", str(path)))


@pytest.mark.parametrize("separator", [" ", "  ", "\t "])
def test_blanks_and_tabs_separate_values_if_nothing_else_does(tmp_path: Path, separator: str) -> None:
    expected = FileSource(written(tmp_path, HEADER, *lines(","), name="plain.csv"), "y").load()
    path = written(tmp_path, HEADER.replace(",", "  "), *lines(separator), name="t.dat")
    table = FileSource(path, "y").load()
    assert table.hash == FileSource(path, "y", separator=" ").load().hash == expected.hash
    assert table.notes == (f"The columns of {path} are separated by blanks; dataset.separator sets another separator.",)


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    values = np.column_stack([SIZES, np.arange(N) % 7, np.arange(N) % 2])
    for separator in (" ", ","):
        np.savetxt(tmp_path / "t.txt", values, delimiter=separator, header=separator.join(["size", "count", "y"]))
        table = FileSource(tmp_path / "t.txt", "y").load()
        assert [column.name for column in table.columns] == ["size", "count"]
        assert table.values.tolist() == values[:, :2].tolist()


@pytest.mark.parametrize(
    ("content", "separator", "names"),
    [
        ("a\n1\n", ",", ["a"]),
        ("a,b\n1,2\n", ",", ["a", "b"]),
        ("a\tb\n1\t2\n", "\t", ["a", "b"]),
        ("a|b|c\n1|2|3\n", "|", ["a", "b", "c"]),
        ("a;b\n1,5;2,5\n", ";", ["a", "b"]),
        ('a;"b;c"\n1;"x,y"\n', ";", ["a", "b;c"]),
        ("\ufeffa;b\n1;2\n", ";", ["a", "b"]),
        ("\n\na;b\n1;2\n\n3;4\n", ";", ["a", "b"]),
        ("a;b\n" + "1;2\n" * 9 + "3\n", ";", ["a", "b"]),
        ("a;b\n1;2\n3\n", ",", ["a;b"]),
        ("a;b,c\n1;2,3\n", ",", ["a;b", "c"]),
        ("#id,y\n1,p\n2,q\n", ",", ["#id", "y"]),
        ("# id,y\n1,p\n2,q\n", ",", ["id", "y"]),
        (",a\n0,x\n1,y\n", ",", ["Unnamed: 0", "a"]),
        ("a,b,,\n1,2,,\n", ",", ["a", "b", "Unnamed: 2", "Unnamed: 3"]),
        ("a b\n1 2\n 3 \t4 \n", " ", ["a", "b"]),
        ("a b\n1 2\n3\n", ",", ["a b"]),
        ("full name,y\n" + "ann lee,1\n" * 9 + "bob ray\n", ",", ["full name", "y"]),
        ("some words\nand more of them\n", ",", ["some words"]),
    ],
)
def test_a_separator_gives_rows_as_many_values_as_the_header(
    tmp_path: Path, content: str, separator: str, names: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(content)
    file = TextFile.open(tmp_path / "t.csv")
    assert (file.separator, file.names) == (separator, names)


ROW = "1.5,red,p"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (["Report of sales", "", HEADER, ROW], "line 3 of * has 3 values, and its header, line 1, has 1 name; write"),
        (["sep=;", HEADER.replace(",", ";"), "1.5;red;p"], "dataset.target names 'y', which is not a column of *; no "
         "separator gives the rows as many values as the first line, so set dataset.separator, or delete lines"),
        (["# by a program", HEADER, ROW], "line 2 of * has 3 values, and its header, line 1, has 1 name; write a name"),
        ([HEADER, f"car 1,{ROW}"], "line 2 of * has 4 values, and its header, line 1, has 3 names; write a name for"),
        (["", HEADER, ROW, f"{ROW},x"], "line 4 of * has 4 values, and its header, line 2, has 3 names; write a name"),
        (["Report of sales,,", HEADER, ROW], "dataset.target names 'y', which is not a column of *; half of "
         "its columns or more have no name, so if titles stand above the header, delete them. Its columns are: 'Rep"),
        (['"size" "colour" "y"', 'car 1.5 "red" "p"'], "dataset.target names 'y', which is not a column of *; "
         "no separator gives the rows as many values as the first line, so set dataset.separator, or delete lines"),
        ([HEADER, "c,d,p q", ",meta,class ", ROW], "lines 2 and 3 of * are types and roles of columns, as"),
        ([HEADER, r'1.5,"said \"Barney\", he",p'], "line 2 of * has 4 values, and its header"),
        ([HEADER, *[ROW] * 20, r'1.5,"\"Barney\" he",p'], "line 22 of * has text after the quote that ends a value"),
    ],
)  # fmt: skip
def test_lines_of_other_programs_are_refused_and_not_read_otherwise(
    tmp_path: Path, content: list[str], said: str
) -> None:
    path = written(tmp_path, *content)
    with pytest.raises(UsageError) as caught:
        FileSource(path, "y").load()
    assert str(caught.value).startswith(said.replace("*", str(path)))


@pytest.mark.parametrize(
    ("value", "may_be"),
    [
        *((value, True) for value in ("007", "-01", "+05", " 01", '"01"')),
        *((value, False) for value in ("0.05", "1.05", "1e-05", "2E+05", "2024-01-05", "10:05", "1/05", "100")),
    ],
)
def test_a_zero_may_lead_a_number(tmp_path: Path, value: str, may_be: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n1,{value}\n{value},1\n")
    for chunk in (7, 8, 9, 1000):
        monkeypatch.setattr(text_file, "CHUNK", chunk)
        assert has_leading_zeros(tmp_path / "t.csv", ",", None) == may_be


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_day_and_durations_of_parquet(tmp_path: Path, unit: str) -> None:
    seconds = np.arange(N) ** 2 * 37
    kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    table = pa.table({
        "at": pa.array([time(s // 3600, s // 60 % 60, s % 60) for s in seconds.tolist()], kind),
        "took": pa.array(seconds, pa.duration("s")).cast(pa.duration(unit)),
        "y": LABELS,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    read = FileSource(tmp_path / "t.parquet", "y").load()
    assert [column.kind for column in read.reading] == ["durations", "durations"]
    assert read.values[:, 0].tolist() == seconds.tolist()
    assert read.values[:, 1].tolist() == seconds.tolist()


def test_a_frame_and_what_pandas_makes_of_its_odd_names(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": SIZES, "": LABELS, "y": LABELS})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert FileSource(tmp_path / "t.csv", "y", drop=("2",)).load().reading[1].done == "left out by dataset.drop"
    kept = FileSource(tmp_path / "t.csv", "y", categorical=("",)).load()
    assert [column.name for column in kept.columns] == ["size", "Unnamed: 1"]
