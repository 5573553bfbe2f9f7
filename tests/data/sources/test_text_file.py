"""Text files as R, numpy, Excel and people write them: what is read, and what is said of it."""

from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data.sources import FileSource, text_file
from scarf_lightning.data.sources.text_file import has_leading_zeros
from scarf_lightning.data.sources.text_format import BLANKS, TextFormat, header_place, text_format

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
COMMENTED = [*lines(",")[:20], "# half of them", *lines(",")[20:]]


@pytest.mark.parametrize(
    ("name", "content", "notes"),
    [
        ("t.csv", [HEADER, *lines(",")], []),
        ("t.csv", ['"","size","colour","y"', *lines(",", names=NUMBERS)], ["Column 1 of * has no name and numbers"]),
        ("t.csv", ['"","size","colour","y"', *lines(",", names=CARS)], ["Column 1 of * has no name and another"]),
        ("t.csv", [HEADER, *lines(",", names=CARS)], ["The header of * has one name fewer", "Column 1 of * has no"]),
        ("t.txt", [HEADER.replace(",", " "), *lines(" ", names=NUMBERS)],
         ["The columns of * are separated by blanks", "The header of * has one name fewer", "Column 1 of * has no"]),
        ("t.dat", [HEADER.replace(",", "   "), *lines("\t ")], ["The columns of * are separated by blanks"]),
        ("t.data", [HEADER.replace(",", ";"), *lines(";")], ["The columns of * are separated by ';'"]),
        ("t.tab", [HEADER.replace(",", "\t"), *lines("\t")], []),
        ("t.csv", [HEADER.replace(",", ",   "), *BLANKS_BEFORE], []),
        ("t.csv", [HEADER, *BLANKS_BEFORE], []),
        ("t.tab", [HEADER.replace(",", "\t"), "c\td\tp q", "\t\tclass", *lines("\t")],
         ["The 2 lines of types and roles below the header of * are Orange's"]),
        ("t.csv", ["sep=;", HEADER.replace(",", ";"), *lines(";")], ["The columns of *", "The header of * is line 2"]),
        ("t.csv", ["# made by a program", "# in May, on a Friday", HEADER, *COMMENTED],
         ["The header of * is line 3; the 2 lines above it", "Lines of * that begin with # are comments"]),
        ("t.csv", ["Report of sales", "", HEADER, *lines(",")], ["The header of * is line 3"]),
        ("t.csv", ["Report of sales,,", "Berlin,2024,", HEADER, *lines(",")], ["The header of * is line 3"]),
    ],
)  # fmt: skip
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


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    values = np.column_stack([SIZES, np.arange(N) % 7, np.arange(N) % 2])
    for separator, first in ((" ", "size"), (",", "# size")):  # where a name may hold blanks, it is kept to the letter
        np.savetxt(tmp_path / "t.txt", values, delimiter=separator, header=separator.join(["size", "count", "y"]))
        table = FileSource(tmp_path / "t.txt", "y").load()
        assert [column.name for column in table.columns] == [first, "count"]
        assert table.values.tolist() == values[:, :2].tolist()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", TextFormat(",")),
        ("a\n1\n", TextFormat(",")),
        ("a,b\n1,2\n", TextFormat(",")),
        ("a\tb\n1\t2\n", TextFormat("\t")),
        ("a|b|c\n1|2|3\n", TextFormat("|")),
        ("a;b\n1,5;2,5\n", TextFormat(";")),
        ('a;"b;c"\n1;"x,y"\n', TextFormat(";")),
        ("\ufeffa;b\n1;2\n", TextFormat(";")),
        ("a;b\n1;2\n\n3;4\n", TextFormat(";")),
        ("a;b,c\n1;2,3\n", TextFormat(",")),
        ("a;b|c\n1;2|3\n", TextFormat(",")),
        ("a;b\n1;2;3\n", TextFormat(";", names_rows=True)),
        ("#id,y\n1,p\n2,q\n", TextFormat(",")),
        ("#a,y\nx,p\ny,q\n", TextFormat(",")),
        ("# by me, today\na,y\n1,p\n", TextFormat(",", above=1, has_comments=True)),
        ("a;b\n1;2;3\n4;5;6\n", TextFormat(";", names_rows=True)),
        ("a;b\n1;2;3\n1;5;6\n", TextFormat(",")),
        (",a\n0,x\n1,y\n", TextFormat(",")),
        ("a,b,,\n1,2,,\n", TextFormat(",")),
        ("a b\n1 2\n3 4\n", TextFormat(BLANKS)),
        ("a b\n1 2\n3\n", TextFormat(",")),
        ("some words\nand more of them\n", TextFormat(",")),
    ],
)
def test_the_lines_above_a_table_and_its_separator(tmp_path: Path, content: str, found: TextFormat) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert text_format(tmp_path / "t.csv") == found


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([["t"], ["a", "b", "c"], ["1", "2", "3"]], 1),
        ([["t"], ["t", "u"], ["a", "b", "c"], ["1", "2", "3"], ["1", "2", "3"]], 2),
        ([["t"], ["a", "b", "c"], ["x", "y", "z"], ["1", "2", "3"]], 1),
        ([["t"], ["a", "b"], ["x", "y", "z"], ["1", "2", "3"]], 2),
        ([["t"], ["1", "2", "3"], ["a", "b", "c"], ["1", "2", "3"]], 0),
        ([["a", "b", "c"], ["x"], ["1", "2", "3"]], 0),
        ([["", "b", "c"], ["x", "y", "z"], ["u", "v", "w"]], 0),
        ([["t"], ["a", "a", "c"], ["1", "2", "3"]], 0),
        ([["a"], ["1"]], 0),
        ([], 0),
    ],
)
def test_titles_have_less_than_half_of_the_values(rows: list[list[str]], place: int) -> None:
    assert header_place(rows) == place


def test_quotes_behind_a_backslash(tmp_path: Path) -> None:
    """As MySQL writes them, and bokeh's sprint.csv."""
    content = [
        f'"Norwood \\"Barney\\", the {i % 3}",   {s},   "{y}"'
        for i, (s, y) in enumerate(zip(SIZES, LABELS, strict=True))
    ]
    table = FileSource(written(tmp_path, "name,   size,   y", *content), "y").load()
    assert table.columns[0].categories == tuple(f'Norwood "Barney", the {i}' for i in range(3))
    assert table.values[:, 1].tolist() == SIZES.tolist()
    as_ever = [f'"a \\",{s},"{y}"' for s, y in zip(SIZES, LABELS, strict=True)]
    kept = FileSource(written(tmp_path, "name,size,y", *as_ever), "y", categorical=("name",)).load()
    assert kept.columns[0].categories == ("a \\",)


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
        assert has_leading_zeros(tmp_path / "t.csv", TextFormat(",")) == may_be


def test_a_question_mark_among_labels_and_the_numbers_of_lines_below_a_title(tmp_path: Path) -> None:
    content = [f"{size},{'?' if i % 4 == 0 else y}" for i, (size, y) in enumerate(zip(SIZES, LABELS, strict=True))]
    table = FileSource(written(tmp_path, "size,y", *content), "y").load()
    assert table.target.names == ("?", "p", "q")
    assert [str(note) for note in table.notes] == [
        "Target 'y': '?' is a class, of 10 rows; if it stands for no label, leave these fields empty."
    ]
    path = written(tmp_path, "Report of sales", "", HEADER, *lines(","), "1.5")
    said = " ".join(map(str, FileSource(path, "y").load().notes))
    assert f"1 line of {path} has fewer values than the header, line {N + 4}; what is" in said


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
