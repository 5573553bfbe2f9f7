"""Every refusal of a file, of its columns and of later rows, and what follows if its advice is followed."""

import ast
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarf_lightning.data import reading, sources
from scarf_lightning.data.sources import OPTIONS, FileSource, SplitBy, open_source
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError

N = 40
LABELS = ["p", "q"] * (N // 2)
Tried = Callable[[Path], Any]
"""What a user tries in a folder."""
Case = tuple[Tried, str, Tried]
"""A refused input, the end of its sentence, and the advice."""


def frame() -> pd.DataFrame:
    return pd.DataFrame({"size": np.arange(N) / 8, "colour": ["red", "blue", "red", "green"] * 10, "y": LABELS})


def load(table: pd.DataFrame | pa.Table | str | bytes, name: str = "t.csv", target: str = "y", **options: Any) -> Tried:
    """Writes a file, checks its source and loads it."""

    def tried(folder: Path) -> Any:
        path = written(table, folder / name)
        files = {option: written(*value(folder)) for option, value in options.items() if callable(value)}
        return checked(FileSource(path, target, **options | files)).load()

    return tried


def checked(source: FileSource) -> FileSource:
    """A source whose columns and files are those that it needs."""
    source.check()
    return source


def written(table: pd.DataFrame | pa.Table | str | bytes, path: Path) -> Path:
    if isinstance(table, pa.Table):
        pq.write_table(table, path)
    elif isinstance(table, bytes):
        path.write_bytes(table)
    elif isinstance(table, str):
        path.write_text(table)
    elif path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False)
    return path


def opened(source: str, **options: Any) -> Tried:
    """Opens a source without loading it."""
    return lambda _: open_source(source, name=None, openml_cache=None, **options)


def rows(change: Callable[[pd.DataFrame], Any]) -> Tried:
    """Reads later rows as the rows of the table were read."""

    def tried(folder: Path) -> Any:
        reader = FileSource(written(frame(), folder / "t.csv"), "y").load().rows_reader
        return reader.values(change(frame().drop(columns="y")))

    return tried


def rows_of_times(folder: Path, date: str) -> Any:
    """Reads a date in a text file as the times of a Parquet file were read."""
    table = frame().assign(colour=pd.date_range("2024-01-01", periods=N))
    table.to_parquet(folder / "t.parquet")
    reader = FileSource(folder / "t.parquet", "y").load().rows_reader
    return reader.values(frame().assign(colour=date))


def plain_rows(change: Callable[[pd.DataFrame], Any]) -> Tried:
    """Reads later rows of a table that did not come from a file."""
    return lambda _: sources.WdbcSource().load().rows_reader.values(change(wdbc()))


def wdbc() -> pd.DataFrame:
    table = sources.WdbcSource().load()
    return pd.DataFrame(table.values[:20], columns=[column.name for column in table.columns])


def without(package: str, tried: Tried) -> Tried:
    def inner(folder: Path) -> Any:
        with patch("scarf_lightning.importing.find_spec", lambda name: None if name == package else find_spec(name)):
            return tried(folder)

    return inner


def titled(name: str) -> Tried:
    """Loads a sheet with a title above its header."""

    def tried(folder: Path) -> Any:
        titles = pd.DataFrame([["Report of sales", None, None], list(frame().columns), *frame().to_numpy().tolist()])
        titles.to_excel(folder / name, index=False, header=False)
        return checked(FileSource(folder / name, "y")).load()

    return tried


def arff(row: str = "{}", attribute: str = "@attribute size numeric", data: str = "@data") -> str:
    lines = (row.replace("{}", f"{i / 8},{label}") for i, label in enumerate(LABELS))
    return "\n".join(["@relation r", attribute, "@attribute y {p,q}", data, *lines]) + "\n"


def with_lists() -> pa.Table:
    return pa.table({"l": pa.array([[1, 2]] * N), "size": np.arange(N) / 8, "y": LABELS})


def with_lists_and_objects() -> pd.DataFrame:
    return frame().assign(a=[[0]] * N, l=[[1]] * N, **{"the object": [{"a": 1}] * N})


class WrittenWhileRead(FileSource):
    """A file to which another program adds a row whenever it is read."""

    def load(self) -> Table:
        table = super().load()
        with self.path.open("a") as file:
            file.write("9.5,red,p\n")
        return table


def quiet(folder: Path) -> Any:
    return FileSource(written(frame(), folder / "t.csv"), "y").read()


def busy(folder: Path) -> Any:
    with patch("time.sleep"):
        return WrittenWhileRead(written(frame(), folder / "t.csv"), "y").read()


GOOD, ARFF, SHEET = load(frame()), load(arff(), "t.arff"), load(frame(), "t.xlsx")
LINES = frame().to_csv(index=False)
GRADES = frame().assign(grade=["1", "", "2", "x"] * 10)
WIDE = pd.DataFrame(np.arange(50 * N).reshape(N, 50) % 3)
COUNTED = pd.DataFrame({"n": range(N), "one": 1, "y": LABELS})
NAMED = COUNTED[["n", "y"]].assign(n=[f"n{i}" for i in range(N)])
UNUSED = "* has no column with a value in it to learn from: 'n' is left out: an ID (every row has another value)"
HALF = json.dumps([{"c": "\ud800" if i % 3 else "a", "size": i / 8, "y": label} for i, label in enumerate(LABELS)])
NAMED_ROWS = pd.DataFrame({"y": LABELS}, index=[f"row {i}" for i in range(N)])
"""The target alone, beside the names of the rows."""
WEIGHTED = frame().assign(w=1.0)
WEIGHED, LATER = load(WEIGHTED, weight="w"), rows(lambda r: r)


def of_another_source(source: str, option: str, value: Any, known: str) -> Case:
    said = f"dataset.{option} is not an option of dataset.source={source}. Its options are: {known}."
    return opened(source, **{option: value}), said, opened("wdbc", id=1510)


def no_such_column(option: str, named: str, meant: str, asked: Any) -> Case:
    columns = "Its columns are: 'size', 'colour', 'y'."
    said = f"dataset.{option} names {named!r}, which is not a column of *. Did you mean {meant!r}? {columns}"
    return load(frame(), **{option: asked}), said, GOOD


def target_as(option: str, asked: Any) -> Case:
    said = f"dataset.{option} names the target 'y', which is no feature; leave it out."
    return load(frame(), **{option: asked}), said, GOOD


def nul_in(column: str, value: str) -> Case:
    said = f"column {column!r} holds a NUL character, in '{value}\\x00'; remove it from the file."
    return load(LINES.replace(value, f"{value}\0")), said, GOOD


OF_SOURCES: dict[str, Case] = {
    "unknown source": (opened("cvs"),
     f"dataset.source=cvs is not a source. The sources are: {', '.join(sorted(OPTIONS))}.",
     opened("diabetes")),
    "option of a file for wdbc": of_another_source("wdbc", "path", "t.csv", "name, id"),
    "option of a file for OpenML": of_another_source("openml", "numeric", ["a"], "name, id, task, target_kind"),
    "option of OpenML for a file": of_another_source("csv", "id", 3, "name, path, target, categorical, numeric, drop, "
     "dates, text, separator, decimal, encoding, sheet, target_kind, weight, unlabelled"),
    "another number for wdbc": (opened("wdbc", id=3), "dataset=wdbc is OpenML dataset 1510; for 3 use dataset=openml.",
     opened("openml", id=3)),
    "no file": (opened("csv", path="", target="y"),
     "dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C.",
     opened("csv", path="t.csv", target="y")),
    "no id": (opened("openml"), "set dataset.id=N or dataset.task=N.", opened("openml", task=3)),
    "id and task": (opened("openml", id=3, task=4), "give one, for a task brings its dataset.",
     opened("openml", task=4)),
    "no task for its splits": (opened("openml", id=3, split={"name": "task"}),
     "use it with dataset=openml dataset.task=N.", opened("openml", task=3, split={"name": "task"})),
    "no task": (opened("csv", path="t.csv", split={"name": "task"}), "use it with dataset=openml dataset.task=N.",
     opened("openml", task=3, split={"name": "task"})),
    "nothing to split by": (opened("wdbc", split={"name": "group", "column": "a"}),
     "has no such columns; use dataset=csv.", opened("csv", path="t.csv", split={"name": "group", "column": "a"})),
    "split without a column": (opened("csv", path="t.csv", split={"name": "group"}),
     "split=group needs split.column; set it.", opened("csv", path="t.csv", split={"name": "group", "column": "a"})),
    "split without a file": (opened("csv", path="t.csv", split={"name": "files", "validation": "u.csv"}),
     "split=files needs split.test; set it.", opened("csv", path="t.csv", split={"name": "files", "test": "u.csv"})),
}  # fmt: skip
AT_CHECK: dict[str, Case] = {
    # Files.
    "no such file": (lambda folder: checked(FileSource(folder / "gone.csv", "y")), "that the command runs in.", GOOD),
    "unknown ending": (load(frame(), "t.xls"), "write it again as one of these.", load(frame(), "t.txt")),
    "sheet of a text file": (load(frame(), sheet="A"), "leave dataset.sheet out.", GOOD),
    "no such sheet": (load(frame(), "t.xlsx", sheet="Data"), "are: 'Sheet1'.", load(frame(), "t.xlsx", sheet="Sheet1")),
    "no openpyxl": (without("openpyxl", SHEET), "pip install 'openpyxl>=3.1.5'.", SHEET),
    "damaged": (load(b"PAR1", "t.parquet"), "with a name for every column, or as Parquet.", GOOD),
    "no encoding": (load(b"gr\x81\xdf,y\n" + b"1,p\n2,q\n" * 20),
     "or name its encoding, as in dataset.encoding=cp1252.",
     load(b"gr\x81\xdf,y\n" + b"1,p\n2,q\n" * 20, encoding="cp437")),
    "UTF-16 without a mark": (load(LINES.encode("utf-16-le")),
     "name its encoding, as in dataset.encoding=utf-16-le.", load(LINES.encode("utf-16-le"), encoding="utf-16-le")),
    "long row": (load(LINES + "1,2,3,4\n"), "or set dataset.separator.", GOOD),
    "roles of Orange": (load("size,y\nc,d\n,class\n1,p\n"), "as Orange writes them; delete both.", GOOD),
    "notes of pandas": (load(pa.table(frame()).replace_schema_metadata({b"pandas": b"{"}), "t.parquet"),
     "write it again from pandas, or without its metadata.",
     load(pa.table(frame()).replace_schema_metadata({}), "t.parquet")),
    "no records": (load("[1, 2]", "t.json"), "as DataFrame.to_json(orient='records') does.",
     load(frame().to_json(orient="records"), "t.json")),
    "lines in a list's place": (load(frame().to_json(orient="records", lines=True), "t.json"),
     "in a list, or one a line in a file that ends in .jsonl.",
     load(frame().to_json(orient="records", lines=True), "t.jsonl")),
    "no liac-arff": (without("arff", ARFF), "pip install 'openml<0.16,>=0.15.1' 'liac-arff>=2.5'.", ARFF),
    "no attribute": (load(arff(attribute="@attribute size"), "t.arff"),
     "at line 2); put names with blanks in quotes, or write the table as CSV.", ARFF),
    "title in Excel": (titled("t.xlsx"), "above the header, delete them. Its columns are: 'Report of sales'.", SHEET),
    # Columns.
    "column twice": (load("size,size,y\n" + "1,2,p\n3,4,q\n" * 20),
     "* has more than one column 'size'; rename all but one.", load("size,width,y\n" + "1,2,p\n3,4,q\n" * 20)),
    "column of another file": (load(frame(), unlabelled=lambda folder: (frame()[["size"]], folder / "more.csv")),
     "/more.csv has no column 'colour', which * has; dataset.unlabelled needs the same columns.",
     load(frame(), unlabelled=lambda folder: (frame()[["size", "colour"]], folder / "more.csv"))),
    "no target": (load(frame(), target=""),
     "dataset.target must name a column of *. Its columns are: 'size', 'colour', 'y'.", GOOD),
    "no such target": no_such_column("target", "Y", "y", asked="Y"),
    "no such category": no_such_column("categorical", "colours", "colour", asked=("size", "colours")),
    "no such number": no_such_column("numeric", "colours", "colour", asked=("size", "colours")),
    "no such weight": no_such_column("weight", "Size", "size", asked="Size"),
    "no target among many columns": (load(WIDE), "Its columns are: " + ", ".join(f"'{i}'" for i in range(20))
     + ", and 30 more.", load(WIDE, target="0")),
    "no header": (load(LINES.partition("\n")[2], "t.data", target="2"),
     "no header, write a line of names above it. Its columns are: '0.0', 'red', 'p'.",
     load("0,1,2\n" + LINES.partition("\n")[2], "t.data", target="2")),
    "no separator": (load(LINES.replace(",", "~")),
     "so set dataset.separator, or delete lines above the names. Its columns are: 'size~colour~y'.",
     load(LINES.replace(",", "~"), separator="~")),
    "one column": (load(LINES.replace(",", "~"), target="size~colour~y"),
     "* has the one column 'size~colour~y', and none to predict it from; no separator gives the rows as many "
     "values as the first line, so set dataset.separator, or delete lines above the names.",
     load(LINES.replace(",", "~"), separator="~")),
    "no header, numbers twice": (load("1,1,p\n" * 20 + "2,3,q\n" * 20, "t.data"),
     "so if it has no header, write a line of names above it.",
     load("size,width,y\n" + "1,1,p\n" * 20 + "2,3,q\n" * 20, "t.data")),
    "another sheet": (lambda folder: checked(FileSource(two_sheets(folder), "y")),
     "dataset.sheet reads another of its sheets: 'data'. Its columns are: 'on'.",
     lambda folder: FileSource(two_sheets(folder), "y", sheet="data").load()),
    "target that is dropped": target_as("drop", ("y",)),
    "target as category": target_as("categorical", ("y",)),
    "target as number": target_as("numeric", ("y",)),
    "target as weight": target_as("weight", "y"),
    "weight and split": (load(WEIGHTED, weight="w", split=SplitBy("time", "w")),
     "dataset.weight and split.column both name 'w'; choose another column for one.",
     load(WEIGHTED, weight="w", split=SplitBy("time", "size"))),
    "weight in a list": (load(WEIGHTED, weight="w", drop=("w",)),
     "dataset.drop names 'w', which dataset.weight names too; leave it out of one.", WEIGHED),
    "column in two lists": (load(frame(), numeric=("size",), categorical=("size",)),
     "column 'size' is in dataset.categorical and dataset.numeric; leave it out of one.",
     load(frame(), numeric=("size",))),
    "lists": (load(with_lists(), "t.parquet"), "leave it out by dataset.drop=[l].",
     load(with_lists(), "t.parquet", drop=("l",))),
    "several of lists and objects": (load(with_lists_and_objects(), "t.jsonl", drop=("a",)),
     'leave them out by "dataset.drop=[a,l,the object]".',
     load(with_lists_and_objects(), "t.jsonl", drop=("a", "l", "the object"))),
    "objects": (load(frame().assign(o=[{"a": 1}] * N), "t.jsonl"), "leave it out by dataset.drop=[o].",
     load(frame().assign(o=[{"a": 1}] * N), "t.jsonl", drop=("o",))),
    "target of lists": (load(with_lists(), "t.parquet", target="l"), "or choose another column.",
     load(with_lists(), "t.parquet", drop=("l",))),
}  # fmt: skip
"""Refusals before a file is loaded, and so before the first cell of a sweep trains."""
AT_LOAD: dict[str, Case] = {
    "written while it is read": (busy, "or name a copy.", quiet),
    "text after a quote": (load(LINES + '1.5,"x"y,p\n'),
     "line 42 of * has text after the quote that ends a value, or a quote without an end; double a quote "
     "that is part of a value, or remove it.",
     load(LINES + '1.5,"x""y",p\n')),
    "column without a name": (load(frame().set_index(pd.Index([0, *range(N - 1)])).reset_index(names="")),
     "column 1 of * has no name, and more in it than numbers or names of the rows; name it, or leave it out by "
     '"dataset.drop=[Unnamed: 0]".',
     load(frame().set_index(pd.Index([0, *range(N - 1)])).reset_index(names=""), drop=("Unnamed: 0",))),
    "names of rows alone": (load(NAMED_ROWS.to_csv()), 'is left out; "dataset.text=[Unnamed: 0]" reads them as text.',
     load(NAMED_ROWS.to_csv(), text=("Unnamed: 0",))),
    "numbers of rows alone": (load(NAMED_ROWS.reset_index(drop=True).to_csv()),
     "* has no column to predict 'y' from: 'Unnamed: 0' is left out; add a column.",
     load(NAMED_ROWS.reset_index(drop=True).assign(size=np.arange(N) / 8).to_csv())),
    # Weights.
    "weight that is text": (load(WEIGHTED.assign(w="x"), weight="w"),
     "dataset.weight: column 'w' of * holds 'x'; a weight must be a number.", WEIGHED),
    "negative weight": (load(WEIGHTED.assign(w=-2), weight="w"),
     "holds the negative weight -2; a weight must be zero or more.", WEIGHED),
    "large weight": (load(WEIGHTED.assign(w=1e300), weight="w"),
     "holds the weight 1e+300, which is too large to train with; rescale it.",
     load(WEIGHTED.assign(w=1e30), weight="w")),
    "infinite weight": (load(WEIGHTED.assign(w=np.inf), weight="w"),
     "the weight inf, which is too large to train with; rescale it.", WEIGHED),
    "missing weight": (load(WEIGHTED.assign(w=[None, *[1.0] * (N - 1)]), weight="w"),
     "has no weight in 1 of the rows with a label; fill them in.", WEIGHED),
    "no weight": (load(WEIGHTED.assign(w=0), weight="w"),
     "has the weight 0 in every row with a label; there is nothing to learn from.", WEIGHED),
    # What columns hold.
    "no row": (load(frame()[:0]), "* has 0 rows; a 70/10/20 split needs at least 10.", GOOD),
    "numbers that count": (load(COUNTED),
     UNUSED + "; 'one' is left out: one value alone; dataset.numeric=[n] keeps that column.",
     load(COUNTED, numeric=("n",))),
    "names alone": (load(NAMED), UNUSED + "; dataset.text=[n] keeps that column.", load(NAMED, text=("n",))),
    "no dates": (load(frame(), dates=("colour",)),
     "dataset.dates names 'colour', which holds 'red' and other values that are not dates in one format; write them "
     "as 2024-12-31, or leave the column out of dataset.dates.",
     load(frame().assign(colour=["2024-12-31", "2024-12-30"] * 20), dates=("colour",))),
    "no numbers": (load(GRADES, numeric=("grade",)), "dataset.numeric names 'grade', which holds 'x'; correct that "
     "value, or leave the column out of dataset.numeric.", load(GRADES, numeric=("size",))),
    "half a character in a file": (load(HALF, "t.json"), "remove it, or drop the column.",
     load(HALF, "t.json", drop=("c",))),
    "half a character in a label": (load(HALF, "t.json", target="c"), "remove it, or drop the column.",
     load(HALF.replace("\\ud800", "b"), "t.json", target="c")),
    "NUL": nul_in("colour", "red"),
    "NUL in a label": nul_in("y", "p"),
    # Later rows.
    "no frame": (rows(lambda r: r.to_numpy()), "must be a table whose columns have names, not ndarray.", LATER),
    "lacking": (rows(lambda r: r[["colour"]].set_axis(["another"], axis=1)),
     "The rows lack 'size', 'colour', which the model was trained on.", LATER),
    "twice": (rows(lambda r: pd.concat([r, r], axis=1)), "The rows have 'size', 'colour' more than once.", LATER),
    "unseen categories alone": (rows(lambda r: r.assign(colour=["RED", "BLUE"] * (N // 2))),
     "but 'RED', 'BLUE' in the rows; correct it.", LATER),
    "another kind": (rows(lambda r: r.assign(size="x")), "but 'x' in the rows; correct it.", LATER),
    "another format of dates": (lambda folder: rows_of_times(folder, "15.01.2024"), "write them as 2024-12-31.",
     lambda folder: rows_of_times(folder, "2024-01-15")),
    "infinite": (rows(lambda r: r.assign(size=np.inf)), "mark it as missing.", rows(lambda r: r.assign(size=np.nan))),
    "text among plain numbers": (plain_rows(lambda r: r.astype(object).assign(V1="x")), "but the rows hold 'x' in it.",
     plain_rows(lambda r: r)),
}  # fmt: skip
CASES = OF_SOURCES | AT_CHECK | AT_LOAD


def two_sheets(folder: Path) -> Path:
    with pd.ExcelWriter(folder / "t.xlsx") as book:
        pd.DataFrame({"on": ["this"]}).to_excel(book, sheet_name="about", index=False)
        frame().to_excel(book, sheet_name="data", index=False)
    return folder / "t.xlsx"


OTHERS = ("openml.py", "frames.py")
REACHED: set[tuple[str, int]] = set()
"""Where the refusals of this module's cases were raised: file and line."""


@pytest.mark.parametrize("name", CASES)
def test_the_advice_of_a_refusal_works(name: str, tmp_path: Path) -> None:
    if name in ("no such sheet", "another sheet", "no openpyxl", "title in Excel"):
        pytest.importorskip("openpyxl", reason="the extra xlsx")
    refused, ends, advised = CASES[name]

    with pytest.raises(UsageError) as caught:
        refused(tmp_path)

    sentence = str(caught.value)
    assert sentence.replace(str(tmp_path / "t.csv"), "*").endswith(ends)
    assert "\n" not in sentence
    assert ("checked" in {entry.name for entry in caught.traceback}) == (name in AT_CHECK)
    raised = caught.traceback[-1]
    REACHED.add((Path(raised.path).name, raised.lineno + 1))
    advised(tmp_path)


def test_no_refusal_is_without_a_case() -> None:
    """Of the package's rooms of sources and of reading, but for OpenML's and those of frames, which have their own
    tests."""
    if len(REACHED) < len(CASES) / 2:
        pytest.skip("the cases did not run in this process")
    lacking = []
    for room in (sources, reading):
        for file in sorted(Path(str(room.__file__)).parent.glob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and file.name not in OTHERS:
                    is_one = isinstance(node.exc.func, ast.Name) and node.exc.func.id == "UsageError"
                    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                    if is_one and not any((file.name, line) in REACHED for line in lines):
                        lacking.append(f"{file.name}:{node.lineno}")
    assert lacking == []
