import hashlib
import io
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from scarf_lightning.cli import commands
from scarf_lightning.cli.show import Terminal
from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.reading.pandas_two import EXACT_FLOATS
from scarf_lightning.data.sources import FileSource, SplitBy, open_source
from scarf_lightning.data.sources.formats import read_rows
from scarf_lightning.data.table import Column, Table
from scarf_lightning.data.targets import Number
from scarf_lightning.data.trials import Full, prepare_trials
from scarf_lightning.errors import UsageError
from scarf_lightning.randomness import Streams
from scarf_lightning.results import KnownData, known_data, load, note_data
from scarf_lightning.sweeping.chunks import by
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.run import run
from tests.composing import ROOT, cells_of
from tests.processes import here

ROWS = 12
LABELS = ["no", "yes", "no"] * 4


def frame() -> pd.DataFrame:
    """One column of each kind, with and without gaps."""
    return pd.DataFrame(
        {
            "size": np.random.default_rng(4).normal(size=ROWS),
            "count": np.arange(ROWS) % 4,
            "weight": [np.nan, *np.linspace(0.1, 2, ROWS - 1)],
            "age": pd.array([None, *range(20, 31)], dtype="Int64"),
            "colour": [*["red", "blue", None] * 3, "red", "red", "blue"],
            "flag": [True, False] * 6,
            "known": pd.Series([True, None, False] * 4, dtype=object),
            "level": LABELS,
        }
    )


def text(content: str) -> Callable[[Path], Path]:
    return lambda folder: _written(folder / "t.csv", content.encode())


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def in_csv(table: pd.DataFrame, path: Path, **options: Any) -> Path:
    table.to_csv(path, index=False, **options)
    return path


def in_parquet(columns: dict[str, Any], path: Path) -> Path:
    pq.write_table(pa.table(columns | {"level": LABELS}), path)
    return path


def loaded(path: Path, target: str = "level", **options: Any) -> Table:
    return FileSource(path, target, **options).load()


def refusal(path: Path, target: str = "level", *, at_check: bool | None = None, **options: Any) -> str:
    """The one sentence that a file is refused with; ``at_check`` says whether before it is loaded."""
    source = FileSource(path, target, **options)
    with pytest.raises(UsageError) as caught:
        source.load()
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert ". " not in sentence
    if at_check:
        with pytest.raises(UsageError, match=re.escape(sentence)):
            source.check()
    elif at_check is False:
        source.check()
    return sentence


class TestFormats:
    def test_every_kind_of_column(self, tmp_path: Path) -> None:
        table = loaded(in_csv(frame(), tmp_path / "mine.csv"))

        assert table.name == "mine"
        assert table.source == str(tmp_path / "mine.csv")
        assert table.dataset_id is None
        assert table.target.names == ("no", "yes")
        assert table.columns == (
            Column("size"),
            Column("count"),
            Column("weight"),
            Column("age"),
            Column("colour", ("blue", "red")),
            Column("flag", ("false", "true")),
            Column("known", ("false", "true")),
        )
        assert table.values[:, 0].tolist() == frame()["size"].tolist()
        assert np.isnan(table.values).sum(axis=0).tolist() == [0, 0, 1, 1, 3, 0, 4]
        assert np.array_equal(table.values[:, 6], [1, np.nan, 0] * 4, equal_nan=True)

    @pytest.mark.parametrize(
        "name", ["t.tsv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.tsv.gz", "T.CSV", "t.pq", "t.parquet"]
    )
    def test_the_same_data_are_the_same_table_in_every_format(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        if path.suffix in (".pq", ".parquet"):
            frame().to_parquet(path)
        else:
            in_csv(frame(), path, sep="\t" if "tsv" in name else ",")

        table = loaded(path)

        assert table.hash == loaded(in_csv(frame(), tmp_path / "plain.csv")).hash
        assert table.name.lower() == "t"

    def test_the_last_ending_counts(self, tmp_path: Path) -> None:
        assert len(loaded(in_csv(frame(), tmp_path / "from.tsv.csv")).columns) == 7

    @pytest.mark.parametrize("start", ["\ufeff", "\n\n"])
    def test_what_other_programs_put_before_the_header(self, tmp_path: Path, start: str) -> None:
        path = in_csv(frame(), tmp_path / "t.csv")
        expected = loaded(path).hash
        path.write_text(start + path.read_text(encoding="utf-8"), encoding="utf-8")
        assert loaded(path).hash == expected

    def test_names_are_kept_to_the_letter(self, tmp_path: Path) -> None:
        path = in_csv(
            frame().rename(columns={"size": " size ", "count": "Größe, m²", "level": 'le"vel'}), tmp_path / "t.csv"
        )
        table = loaded(path, 'le"vel')
        assert [column.name for column in table.columns][:2] == [" size ", "Größe, m²"]

    def test_commas_after_the_last_value_are_not_a_column(self, tmp_path: Path) -> None:
        lines = [f"{i},{label}" for i, label in enumerate(LABELS)]
        plain = loaded(text("\n".join(["x,level", *lines]))(tmp_path)).hash
        in_rows = "\n".join(["x,level", *(line + "," for line in lines)])
        everywhere = "\n".join(line + ",," for line in ["x,level", *lines])
        for content in (in_rows, everywhere):
            assert loaded(text(content)(tmp_path)).hash == plain

    @pytest.mark.parametrize("spelling", ["", "NA", "N/A", "n/a", "NaN", "nan", "None", "null", "NULL", "<NA>", "#N/A"])
    def test_what_is_missing_in_csv(self, tmp_path: Path, spelling: str) -> None:
        lines = [f"{spelling if i < 2 else i},{spelling if i % 3 else 'ab'[i % 2]},{v}" for i, v in enumerate(LABELS)]
        table = loaded(text("\n".join(["x,c,level", *lines]))(tmp_path))
        assert table.columns == (Column("x"), Column("c", ("a", "b")))
        assert np.isnan(table.values).sum(axis=0).tolist() == [2, 8]

    def test_what_is_missing_in_parquet(self, tmp_path: Path) -> None:
        columns = {
            "x": pa.array([None, float("nan"), *range(10)]),
            "c": pa.array([None, "NA", "None", *["a"] * 9]),
            "nothing": pa.nulls(ROWS),
        }
        table = loaded(in_parquet(columns, tmp_path / "t.parquet"))
        assert table.columns == (Column("x"), Column("c", ("NA", "None", "a")))
        assert np.isnan(table.values).sum(axis=0).tolist() == [2, 1]

    def test_parquets_own_kinds(self, tmp_path: Path) -> None:
        columns = {
            "decimal": pa.array([1, None, 3] * 4).cast(pa.decimal128(21, 2)),
            "half": pa.array(np.arange(ROWS, dtype="float16")),
            "words": pa.array(["b", "a", None] * 4).dictionary_encode(),
            "a.b": pa.array(["x", "y"] * 6, pa.large_string()),
        }
        table = loaded(in_parquet(columns, tmp_path / "t.parquet"))
        assert table.columns == (
            Column("decimal"),
            Column("half"),
            Column("words", ("a", "b")),
            Column("a.b", ("x", "y")),
        )
        assert np.array_equal(table.values[:, 0], [1, np.nan, 3] * 4, equal_nan=True)

    def test_categories_of_pandas_stay_categories_in_parquet(self, tmp_path: Path) -> None:
        values = {
            "words": ["b", "a", None],
            "whole": [10, 9, None],
            "halves": [1.5, 1, None],
            "flags": [True, False, None],
        }
        table = frame().assign(**{name: pd.Categorical(some * 4) for name, some in values.items()})
        table.rename_axis("id").to_parquet(tmp_path / "t.parquet")
        assert loaded(tmp_path / "t.parquet").columns[-4:] == (
            Column("words", ("a", "b")),
            Column("whole", ("9", "10")),
            Column("halves", ("1", "1.5")),
            Column("flags", ("false", "true")),
        )
        as_numbers = loaded(tmp_path / "t.parquet", numeric=("whole", "halves", "flags"))
        assert as_numbers.values[:2, -3:].tolist() == [[10, 1.5, 1], [9, 1, 0]]

    def test_folders_are_not_columns(self, tmp_path: Path) -> None:
        folder = tmp_path / "year=2024"
        folder.mkdir()
        frame().to_parquet(folder / "t.parquet")
        assert len(loaded(folder / "t.parquet").columns) == frame().shape[1] - 1


class TestKinds:
    def test_whole_numbers_may_be_categories(self, tmp_path: Path) -> None:
        path = in_csv(frame(), tmp_path / "t.csv")
        table = loaded(path, categorical=("count", "age", "colour"))
        assert table.columns[1] == Column("count", ("0", "1", "2", "3"))
        assert table.columns[3] == Column("age", tuple(map(str, range(20, 31))))
        assert table.columns[4].is_categorical

    def test_strings_and_booleans_may_be_numbers(self, tmp_path: Path) -> None:
        columns = {
            "grade": pa.array(["10", " 9.5", None, "1e2"] * 3),
            "flag": pa.array([True, False] * 6),
            "known": pa.array([True, None] * 6),
            "nothing": pa.array([None] * ROWS, pa.string()),
        }
        table = loaded(in_parquet(columns, tmp_path / "t.parquet"), numeric=tuple(columns))
        assert table.columns == (Column("grade"), Column("flag"), Column("known"))
        assert np.array_equal(table.values[:4, 0], [10, 9.5, np.nan, 100], equal_nan=True)
        assert table.values[:2, 1].tolist() == [1, 0]
        assert np.array_equal(table.values[:2, 2], [1, np.nan], equal_nan=True)

    def test_an_infinite_category_is_one(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(count=[np.inf, 1, 2] * 4), tmp_path / "t.csv")
        assert loaded(path, categorical=("count",)).columns[1].categories == ("1", "2", "inf")

    @pytest.mark.parametrize(
        "labels",
        [[1, 2, 3] * 4, [1.0, 2.0, 3.0] * 4, [0.5, 1.5, 2.0] * 4, [True, False] * 6, list(range(ROWS))],
        ids=["whole", "whole floats", "few fractions", "Booleans", "many whole"],
    )
    def test_numbers_may_be_classes(self, tmp_path: Path, labels: list[Any]) -> None:
        path = in_csv(frame().assign(level=labels), tmp_path / "t.csv")
        assert loaded(path).target.n_outputs == len(set(labels))


class TestRowNumbers:
    """Rows are often sorted by class."""

    @pytest.mark.parametrize("index", [range(ROWS), range(40, 40 + ROWS), [*range(1, ROWS), 0]])
    def test_the_index_of_a_frame_is_left_out(self, tmp_path: Path, index: Sequence[int]) -> None:
        """In order, of a part of a frame, and of rows that were shuffled."""
        path, plain = tmp_path / "t.csv", in_csv(frame(), tmp_path / "plain.csv")
        counted = frame().set_axis(index)
        counted.to_csv(path)
        assert loaded(path).hash == loaded(plain).hash
        pd.read_csv(path, **EXACT_FLOATS).to_csv(path)  # with an index, and a column "Unnamed: 0"
        assert loaded(path).hash == loaded(plain).hash
        assert (
            f"Column 1 of {path} has no name and numbers the rows: an index, which is left out." in loaded(path).notes
        )
        counted.to_parquet(tmp_path / "t.parquet")
        assert loaded(tmp_path / "t.parquet").hash == loaded(plain).hash

    def test_any_other_column_without_a_name_is_refused_or_left_out(self, tmp_path: Path) -> None:
        path, plain = tmp_path / "t.csv", loaded(in_csv(frame(), tmp_path / "plain.csv"))
        frame().set_axis([0, *range(ROWS - 1)]).to_csv(path)
        assert refusal(path) == (
            f"column 1 of {path} has no name, and more in it than numbers or names of the rows; name it, or leave it "
            'out by "dataset.drop=[Unnamed: 0]".'
        )
        for spelled in ("Unnamed: 0", "1", ""):
            table = loaded(path, drop=(spelled,))
            assert (table.columns, table.hash) == (plain.columns, plain.hash)

    def test_the_names_of_rows_are_left_out_and_noted(self, tmp_path: Path) -> None:
        path, plain = tmp_path / "t.csv", loaded(in_csv(frame(), tmp_path / "plain.csv"))
        frame().set_axis([f"id{i}" for i in range(ROWS)]).to_csv(path)
        table = loaded(path)
        assert table.hash == plain.hash
        assert [str(note) for note in table.notes] == [
            f"Column 1 of {path} has no name and another value in every row: the names of the rows, which are left "
            'out; "dataset.text=[Unnamed: 0]" reads them as text.'
        ]
        assert len(loaded(path, text=("Unnamed: 0",)).columns) == len(plain.columns) + 32

    @pytest.mark.parametrize("target", ["level", "id"])
    def test_the_named_index_of_a_frame_is_there_if_it_is_asked_for(self, tmp_path: Path, target: str) -> None:
        path, plain = tmp_path / "t.parquet", loaded(in_csv(frame(), tmp_path / "plain.csv"))
        indexed = frame().set_axis([f"id{i % 2}" for i in range(ROWS)]).rename_axis("id")
        indexed.to_parquet(path)
        table = loaded(path, target)
        if target == "id":
            assert table.target.names == ("id0", "id1")
            return
        assert table.columns == plain.columns
        assert [str(note) for note in table.notes] == [
            f"Column 'id' of {path} is the index of a frame, which is left out; dataset.categorical=[id] makes it a "
            "feature."
        ]
        assert loaded(path, categorical=("id",)).columns == (*plain.columns, Column("id", ("id0", "id1")))

    def test_a_counting_column_with_a_name_is_a_feature(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(n=range(ROWS), **{"Unnamed: 0": range(ROWS)}), tmp_path / "t.csv")
        assert [column.name for column in loaded(path).columns][-1] == "n"
        assert loaded(path, numeric=("Unnamed: 0",)).columns[-1] == Column("Unnamed: 0")


class TestRefusals:
    def test_no_such_file(self, tmp_path: Path) -> None:
        sentence = refusal(tmp_path / "gone.csv", at_check=True)
        assert sentence.startswith(f"there is no file {tmp_path / 'gone.csv'}; set dataset.path to a file of a table")
        (tmp_path / "folder.csv").mkdir()
        assert refusal(tmp_path / "folder.csv", at_check=True).startswith("there is no file")

    @pytest.mark.parametrize("name", ["t.xls", "t", "t.gz", "csv", "t.parquet.gz"])
    def test_another_ending(self, tmp_path: Path, name: str) -> None:
        path = _written(tmp_path / name, b"x,level\n")
        assert refusal(path, at_check=True).startswith(
            f"{path} is of no known format; dataset.path takes .csv, .tsv, .tab, .txt"
        )

    @pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")  # it is an error of ours, not of pytest's
    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("t.csv", b"", "No columns to parse from file"),
            ("t.csv", b"\n\n", "No columns to parse from file"),
            ("t.csv", b"x,level\n1,2,a\n1,3,b\n", "Length of header or names does not match length of data"),
            ("t.csv", b"x,level\n1,a\n2,3,b\n", "Error tokenizing data.*|Expected 2 fields in line 3, saw 3"),
            ("t.csv.gz", b"x,level\n1,a\n", "Not a gzipped file .*"),
            ("t.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb", "Compressed file ended before .*"),
            ("t.csv.bz2", b"x,level\n", "Invalid data stream"),
            ("t.csv.xz", b"x,level\n", "Input format not supported by decoder"),
            ("t.csv.zip", b"x,level\n", "File is not a zip file"),
            ("t.parquet", b"x,level\n", ".*Parquet.*"),
            ("t.parquet", b"", ".*Parquet.*"),
        ],
    )
    def test_a_file_that_cannot_be_read(self, tmp_path: Path, name: str, content: bytes, reason: str) -> None:
        path = _written(tmp_path / name, content)
        assert re.fullmatch(
            rf"{re.escape(str(path))} cannot be read \(({reason})\); "
            r"write it again as UTF-8 text with a name for every column, or as Parquet\.",
            refusal(path),
        )

    @pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be"])
    def test_an_encoding_that_is_not_named_is_found_and_noted(self, tmp_path: Path, encoding: str) -> None:
        content = frame().rename(columns={"size": "größe"}).to_csv(index=False).encode(encoding)
        path = _written(tmp_path / "t.csv", content)
        table = loaded(path)
        assert table.columns[0].name == "größe"
        assert table.notes == (f"{path} is read as {encoding} text; dataset.encoding sets another encoding.",)
        assert not loaded(path, encoding=encoding).notes

    def test_bytes_that_are_text_in_no_encoding(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "t.csv", b"gr\x81\xf6,level\n" + b"1,a\n2,b\n" * 6)
        assert refusal(path, at_check=True) == (
            f"{path} cannot be read ('charmap' codec can't decode byte 0x81 in position 2); write it again as UTF-8 "
            "text, or name its encoding, as in dataset.encoding=cp1252."
        )

    def test_an_archive_of_two_files(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
            archive.writestr("a.csv", "x,level\n")
            archive.writestr("b.csv", "x,level\n")
        shutil.move(tmp_path / "t.zip", tmp_path / "t.csv.zip")
        assert "Multiple files found in ZIP file" in refusal(tmp_path / "t.csv.zip", at_check=True)

    def test_parquet_that_is_damaged_in_the_middle(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        frame().to_parquet(path)
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 100 + content[104:])
        assert f"{path} cannot be read (" in refusal(path, at_check=False)

    def test_no_such_column(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        frame().rename(columns={"level": "level "}).to_csv(path)
        columns = "'size', 'count', 'weight', 'age', 'colour', 'flag', 'known', 'level '"
        for target in ("level", "Level", "LEVL"):
            assert refusal(path, target, at_check=True) == (
                f"dataset.target names {target!r}, which is not a column of {path} (did you mean 'level '?); its "
                f"columns are: {columns}."
            )
        for option in ("categorical", "numeric"):
            assert refusal(path, "level ", at_check=True, **{option: ("size", "colours")}) == (
                f"dataset.{option} names 'colours', which is not a column of {path} (did you mean 'colour'?); "
                f"its columns are: {columns}."
            )

    def test_of_many_columns_some_are_named(self, tmp_path: Path) -> None:
        path = in_csv(pd.DataFrame(np.zeros((ROWS, 50))), tmp_path / "t.csv")
        assert refusal(path, at_check=True).endswith(
            "its columns are: " + ", ".join(f"'{i}'" for i in range(30)) + " and 20 more."
        )

    @pytest.mark.parametrize("option", ["categorical", "numeric"])
    def test_the_target_is_no_feature(self, tmp_path: Path, option: str) -> None:
        path = in_csv(frame(), tmp_path / "t.csv")
        assert refusal(path, at_check=True, **{option: ("level",)}) == (
            f"dataset.{option} names the target 'level', which is no feature; leave it out."
        )

    def test_a_column_of_both_kinds(self, tmp_path: Path) -> None:
        path = in_csv(frame(), tmp_path / "t.csv")
        assert refusal(path, at_check=True, categorical=("age", "count"), numeric=("count",)) == (
            "column 'count' is in dataset.categorical and dataset.numeric; leave it out of one."
        )

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
    def test_a_column_twice(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        if path.suffix == ".csv":
            in_csv(frame().rename(columns={"age": "size"}), path)
        else:
            x = pa.array(range(ROWS))
            pq.write_table(pa.Table.from_arrays([x, x, pa.array(LABELS)], ["size", "size", "level"]), path)
        assert refusal(path, at_check=True) == f"{path} has more than one column 'size'; rename all but one."

    @pytest.mark.parametrize(("column", "value"), [("colour", "'red'"), ("grade", "'x'")])
    def test_numbers_that_are_none(self, tmp_path: Path, column: str, value: str) -> None:
        path = in_csv(frame().assign(grade=["1", "", "2", "x"] * 3), tmp_path / "t.csv")
        assert refusal(path, numeric=(column,)) == (
            f"dataset.numeric names {column!r}, which holds {value}; correct that value, or leave the column out of "
            "dataset.numeric."
        )

    def test_fewer_than_ten_labels(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(level=[None, "None", None, *LABELS[3:]]), tmp_path / "t.csv")
        assert refusal(path) == f"{path} has 9 rows with a label in 'level'; a 70/10/20 split needs at least 10."

    def test_one_class(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(level="same"), tmp_path / "t.csv")
        assert refusal(path) == f"target 'level' of {path} has the one class 'same'; two are needed."

    @pytest.mark.parametrize("rows", [0, 1, 9])
    def test_few_rows(self, tmp_path: Path, rows: int) -> None:
        path = in_csv(frame()[:rows], tmp_path / "t.csv")
        assert refusal(path) == f"{path} has {rows} rows; a 70/10/20 split needs at least 10."

    def test_the_target_alone(self, tmp_path: Path) -> None:
        path = in_csv(frame()[["level"]], tmp_path / "t.csv")
        assert refusal(path, at_check=True) == (
            f"{path} has the one column 'level', and none to predict it from; no separator splits its lines into "
            "equally many values, so set dataset.separator, or mend them."
        )
        path = in_csv(frame()[["level"]].reset_index(names=""), tmp_path / "t.csv")
        assert refusal(path) == (
            f"{path} has no column to predict 'level' from: 'Unnamed: 0' is left out; add a column."
        )

    def test_an_infinite_value(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(size=[*range(ROWS - 1), -np.inf]), tmp_path / "t.csv")
        assert refusal(path) == f"column 'size' of {path} holds an infinite value; mark it as missing."

    @pytest.mark.parametrize(("rows", "distinct"), [(ROWS, 7), (600, 21)])
    def test_a_quantity_is_a_number(self, tmp_path: Path, rows: int, distinct: int) -> None:
        def path(n: int) -> Path:
            values = np.resize(np.arange(n) + 0.5, rows)
            return in_csv(pd.DataFrame({"x": np.arange(rows) / 8, "level": values}), tmp_path / "t.csv")

        assert loaded(path(distinct - 1)).target.n_outputs == distinct - 1
        found = loaded(path(distinct))
        assert found.target == Number("level")
        assert np.array_equal(found.labels, np.resize(np.arange(distinct) + 0.5, rows))
        assert str(found.notes[0]) == (
            f"Target 'level' has {distinct} different numbers and is predicted as a number; "
            "dataset.target_kind=classes takes each of them as a class."
        )
        assert loaded(path(distinct), target_kind="classes").target.n_outputs == distinct

    @pytest.mark.parametrize(
        ("distinct", "each", "is_one"), [(51, 60, True), (50, 60, False), (21, 19, True), (21, 20, False)]
    )
    def test_whole_numbers_that_are_a_quantity(self, tmp_path: Path, distinct: int, each: int, is_one: bool) -> None:
        values = np.resize(np.arange(distinct), distinct * each)
        table = pd.DataFrame({"x": np.arange(len(values)) / 8, "level": values})
        for path in (in_csv(table, tmp_path / "t.csv"), in_csv(table.astype({"level": str}), tmp_path / "u.csv")):
            if is_one:
                assert loaded(path).target == Number("level")
            assert loaded(path, target_kind="classes" if is_one else None).target.n_outputs == distinct

    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (pa.array([[1, 2]] * ROWS), "list<"),
            (pa.array([{"a": 1}] * ROWS), "struct<"),
            (pa.array([b"1"] * ROWS), "binary"),
            (pa.array([b"1"] * ROWS).dictionary_encode(), "dictionary<values=binary"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_parquet_columns_that_are_neither_numbers_nor_categories(
        self, tmp_path: Path, values: pa.Array, kind: str
    ) -> None:
        path = in_parquet({"x": range(ROWS), "when": values}, tmp_path / "t.parquet")
        sentence = refusal(path, at_check=True)
        assert sentence.startswith(f"column 'when' of {path} holds {kind}")
        assert sentence.endswith(
            "neither numbers nor categories nor dates; convert it, or leave it out by dataset.drop=[when]."
        )
        table = loaded(path, drop=("when",))
        assert [column.name for column in table.columns] == ["x"]
        assert table.reading[-1].done == "left out by dataset.drop"


def dirty(n: int = 400) -> pd.DataFrame:
    """A table as users have them: ids, dates, prices as text, most labels missing, a column that gives them away."""
    random = np.random.default_rng(3)
    label = random.integers(2, size=n)
    size = 2.0 * label + random.normal(size=n)
    dates = pd.Timestamp("2023-01-01") + pd.to_timedelta(random.integers(700, size=n), unit="D")
    return pd.DataFrame(
        {
            "customer": np.arange(n) + 5000,
            "reference": [f"R-{i * 7919 % 9973}" for i in range(n)],
            "since": dates.strftime("%Y-%m-%d"),
            "price": [f"${12_000 + 3_000 * value:,.2f}" for value in size],
            "share": [f"{value:.3f}%" for value in random.normal(50, 9, n)],
            "weight": ["?" if i % 50 == 7 else f"{value:.4f}" for i, value in enumerate(random.normal(size=n))],
            "zip": [f"{value:05d}" for value in random.integers(1, 30, n)],
            "street": [f"{random.integers(10**6)} Main St {i % 250}" for i in range(n)],
            "colour": random.choice(["red", "red ", "blue"], n),
            "member": random.random(n) < 0.4,
            "same": 1,
            "nothing": np.nan,
            "refund": np.where(label == 1, "paid", "none due"),
            "level": np.where(random.random(n) < 0.75, None, np.array(["low", "high"])[label]),
        }
    )


class TestDirtyTable:
    def test_every_column_is_read_and_said(self, tmp_path: Path) -> None:
        table = loaded(in_csv(dirty(), tmp_path / "t.csv"))

        kinds = {reading.column: reading.kind for reading in table.reading}
        assert kinds == {
            "customer": "id",
            "reference": "id or text",
            "since": "dates",
            "price": "numbers",
            "share": "numbers",
            "weight": "numbers",
            "zip": "categories",
            "street": "id or text",
            "colour": "categories",
            "member": "Boolean",
            "same": "constant",
            "nothing": "empty",
            "refund": "categories",
        }
        assert [column.name for column in table.columns] == [
            "since (days)", "since (month)", "since (weekday)", "price", "share", "weight", "zip", "colour", "member",
            "refund",
        ]  # fmt: skip
        price = [float(text.replace("$", "").replace(",", "")) for text in dirty()["price"]]
        assert table.values[:, 3].tolist() == price
        assert table.n_unlabelled == dirty()["level"].isna().sum()
        said = " ".join(map(str, table.notes))
        for name in ("customer", "reference", "street", "weight", "zip", "colour", "refund"):
            assert f"Column {name!r}" in said
        assert "'refund' predicts the target almost alone (balanced accuracy 1.000" in said
        assert said.count("predicts the target") == 1

    def test_the_same_data_are_the_same_table_however_they_are_written(self, tmp_path: Path) -> None:
        expected = loaded(in_csv(dirty(), tmp_path / "t.csv")).hash
        for written in (
            in_csv(dirty(), tmp_path / "semicolons.csv", sep=";"),
            in_csv(dirty(), tmp_path / "bars.csv", sep="|"),
            in_csv(dirty(), tmp_path / "utf16.csv", encoding="utf-16"),
            in_csv(dirty(), tmp_path / "tabs.csv.gz", sep="\t"),
        ):
            assert loaded(written).hash == expected
        dirty().to_parquet(tmp_path / "t.parquet")
        assert loaded(tmp_path / "t.parquet").hash == expected
        dirty().astype({"since": "datetime64[us]"}).to_parquet(tmp_path / "dates.parquet")
        assert loaded(tmp_path / "dates.parquet").hash == expected

    def test_decimal_commas(self, tmp_path: Path) -> None:
        numbers = frame()[["size", "weight", "level"]]
        expected = loaded(in_csv(numbers, tmp_path / "t.csv")).hash
        path = in_csv(numbers, tmp_path / "commas.csv", sep=";", decimal=",")
        assert loaded(path).hash == loaded(path, decimal=",").hash == expected
        assert "separated by ';'" in loaded(path).notes[0]
        assert not loaded(path, separator=";", decimal=",").notes

    def test_options_say_otherwise(self, tmp_path: Path) -> None:
        path = in_csv(dirty(), tmp_path / "t.csv")
        table = loaded(path, drop=("refund", "since"), numeric=("customer", "zip"), categorical=("share",), dates=())
        kinds = {reading.column: (reading.kind, reading.done) for reading in table.reading}
        assert kinds["refund"] == ("not looked at", "left out by dataset.drop")
        assert kinds["customer"] == ("numbers", "as they are")
        assert kinds["zip"] == ("numbers", "text read as numbers")
        assert kinds["share"][0] == "categories"
        assert not any("predicts" in str(note) for note in table.notes)

    def test_more_rows_without_labels(self, tmp_path: Path) -> None:
        whole = dirty().assign(level=["low", "high"] * 200)
        path = in_csv(whole[:300], tmp_path / "t.csv")
        more = in_csv(whole[300:].drop(columns="level").assign(other=3), tmp_path / "more.csv")
        table = loaded(path, unlabelled=more)
        assert (table.n_rows, table.n_unlabelled) == (400, 100)
        assert (table.labels[300:] == -1).all()
        without = loaded(in_csv(whole.assign(level=whole["level"].where(whole.index < 300)), tmp_path / "one.csv"))
        assert table.hash == without.hash

    def test_more_rows_need_the_same_columns(self, tmp_path: Path) -> None:
        path = in_csv(frame(), tmp_path / "t.csv")
        more = in_csv(frame().drop(columns=["size", "level"]), tmp_path / "more.csv")
        assert refusal(path, unlabelled=more, at_check=True) == (
            f"{more} has no column 'size', which {path} has; dataset.unlabelled needs the same columns."
        )
        assert loaded(path, unlabelled=more, drop=("size",)).n_unlabelled == ROWS
        assert "there is no file" in refusal(path, unlabelled=tmp_path / "gone.csv", at_check=True)

    def test_blanks_double_no_class(self, tmp_path: Path) -> None:
        table = loaded(in_csv(frame().assign(level=["no", "yes", "no "] * 4), tmp_path / "t.csv"))
        assert table.target.names == ("no", "yes")
        assert table.notes[0].startswith("Target 'level': blanks around its values are cut off")

    def test_a_class_that_reads_as_missing_is_named(self, tmp_path: Path) -> None:
        table = loaded(text(_lines("y", "a", "b", "None", "", n=40))(tmp_path), "y")
        assert table.n_unlabelled == 20
        assert "Target 'y': 'None' stands for no label here; if it is a class, give it another name." in table.notes
        assert not loaded(text(_lines("y", "a", "b", "", n=40))(tmp_path), "y").notes

    def test_classes_that_numbers_would_merge(self, tmp_path: Path) -> None:
        assert loaded(text(_lines("y", "007", "7"))(tmp_path), "y").target.names == ("007", "7")
        large = ("9007199254740992", "9007199254740993", "")
        assert loaded(text(_lines("y", *large, n=30))(tmp_path), "y").target.names == large[:2]
        assert loaded(text(_lines("y", "99999999999999999999", "1"))(tmp_path), "y").target.n_outputs == 2

    @pytest.mark.parametrize(("values", "are_codes"), [(("007", "7"), True), (("007", "1.5", "7"), False)])
    def test_zeros_lead_codes_but_no_fractions(self, values: tuple[str, ...], are_codes: bool, tmp_path: Path) -> None:
        lines = [f"{values[i % len(values)]},{i / 8},{label}\n" for i, label in enumerate(LABELS)]
        table = loaded(text("".join(["code,x,level\n", *lines]))(tmp_path))
        assert table.is_categorical.tolist() == [are_codes, False]

    def test_a_nul_in_a_label(self, tmp_path: Path) -> None:
        assert "column 'y' holds a NUL character" in refusal(text(_lines("y", "a\x00", "b"))(tmp_path), "y")

    def test_decimals_of_parquet_are_the_nearest_floats(self, tmp_path: Path) -> None:
        numbers = [Decimal(i).scaleb(-7) for i in range(1, ROWS * 13, 13)]
        table = loaded(in_parquet({"x": pa.array(numbers, pa.decimal128(20, 7))}, tmp_path / "t.parquet"))
        assert table.values[:, 0].tolist() == [float(number) for number in numbers]
        assert [(column.kind, column.done) for column in table.reading] == [("numbers", "as they are")]

    def test_large_whole_numbers_of_parquet_with_a_gap_stay_apart(self, tmp_path: Path) -> None:
        x = pa.array([2**53, 2**53 + 1, None] * 4)
        assert loaded(in_parquet({"x": x}, tmp_path / "t.parquet")).columns[0].categories == (
            "9007199254740992",
            "9007199254740993",
        )

    @pytest.mark.parametrize("notes", [b"{", b"[1]", b'{"columns": [{"name": "x"}]}', b'"x"'])
    def test_damaged_notes_of_pandas(self, tmp_path: Path, notes: bytes) -> None:
        made = pa.table({"x": range(ROWS), "level": LABELS}).replace_schema_metadata({b"pandas": notes})
        pq.write_table(made, tmp_path / "t.parquet")
        assert "holds notes of pandas that are damaged" in refusal(tmp_path / "t.parquet")

    def test_no_column_is_left(self, tmp_path: Path) -> None:
        path = in_csv(pd.DataFrame({"n": range(40), "one": 1, "level": ["a", "b"] * 20}), tmp_path / "t.csv")
        assert refusal(path) == (
            f"{path} has no column with a value in it to learn from: 'n' is left out: a value a row; 'one' is left "
            "out: one value alone; dataset.numeric=[n] keeps that column."
        )
        assert loaded(path, numeric=("n",)).columns == (Column("n"),)
        path = in_csv(pd.DataFrame({"n": [f"n{i}" for i in range(40)], "level": ["a", "b"] * 20}), tmp_path / "t.csv")
        assert refusal(path).endswith("; dataset.text=[n] keeps that column.")
        weights = [f"{i} {'kg' if i % 2 else 'lb'}" for i in range(40)]
        path = in_csv(pd.DataFrame({"n": weights, "level": ["a", "b"] * 20}), tmp_path / "t.csv")
        assert "'n' is left out: a value a row (its values are numbers with the units 'kg' and 'lb'" in refusal(path)
        assert len(loaded(path, text=("n",)).columns) == 32


def _lines(name: str, *values: str, n: int = 12) -> str:
    return "\n".join([f"x,{name}", *(f"{i / 8},{values[i % len(values)]}" for i in range(n))]) + "\n"


def usual_lines() -> list[str]:
    """A table of forty rows, as lines."""
    rows = [f"{i % 7}.5,{'xyz'[i % 3]},{'no' if i % 2 else 'yes'}\n" for i in range(40)]
    return ["size,colour,level\n", *rows]


class TestNothingIsReadOtherwiseInSilence:
    @pytest.mark.parametrize(
        ("at", "lines", "n_rows", "note"),
        [
            (30, [",,\n"] * 12, 40, "12 rows of t.csv hold no value and are left out."),
            (30, [",\n"], 40, "1 rows of t.csv hold no value and are left out."),
            (9, ["1.5,x\n"], 41, "1 line of t.csv has fewer values than the header, line 10; what is not there counts"),
            (9, ["1.5\rx,no\n"], 42, "2 lines of t.csv have fewer values than the header, first line 10; what"),
            (9, ['1.5,"x,no\n', '2.5,x",no\n'], 41, "1 row of t.csv goes over several lines, line 10; a stray quote"),
            (9, ['1.5,"x\n"" y",no\n'] * 2, 42, "2 rows of t.csv go over several lines, first line 10; a stray quote"),
            (9, ["\n", '1.5,"x ""y""",no\r\n'], 41, None),
            (9, [f'1.5,"{"x" * 200_000}",no\n'], 41, None),
        ],
    )
    def test_odd_lines_are_said(
        self, at: int, lines: list[str], n_rows: int, note: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        whole = usual_lines()
        Path("t.csv").write_text("".join([*whole[:at], *lines, *whole[at:]]), newline="")

        table = loaded(Path("t.csv"))

        assert table.n_rows == n_rows
        said = [sentence for sentence in table.notes if not sentence.startswith("Column")]
        assert [sentence.startswith(note or "-") for sentence in said] == ([True] if note else [])

    def test_text_after_a_closing_quote_is_refused(self, tmp_path: Path) -> None:
        lines = usual_lines()
        lines[9] = '1.5,"x"y,no\n'
        assert f"line 10 of {tmp_path / 't.csv'} has text after the quote" in refusal(text("".join(lines))(tmp_path))

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "cp500"])
    def test_quotes_are_found_in_every_encoding(self, encoding: str, tmp_path: Path) -> None:
        lines = usual_lines()
        lines[9] = '1.5,"x\ny",no\n'
        file = _written(tmp_path / "t.csv", "".join(lines).encode(encoding))
        assert any("goes over several lines" in note for note in loaded(file, encoding=encoding).notes)

    def test_rows_to_predict_are_not_left_out_and_odd_lines_are_said(self, tmp_path: Path) -> None:
        lines = usual_lines()
        lines[9:9] = [",,\n", "1.5\n"]
        with pytest.warns(UserWarning, match="1 line of .* has fewer values than the header, line 11"):
            assert len(read_rows(text("".join(lines))(tmp_path))) == 42

    @pytest.mark.parametrize(("zone", "is_said"), [("Z", False), ("+00:00", False), ("+09:00", True)])
    def test_time_zones_are_said(self, zone: str, is_said: bool, tmp_path: Path) -> None:
        days = [f"2024-01-{1 + i % 28:02d}T02:00:00{zone}" for i in range(40)]
        table = pd.DataFrame({"since": days, "level": ["no", "yes"] * 20})
        as_text = loaded(in_csv(table, tmp_path / "t.csv"))
        table["since"] = pd.to_datetime(table["since"]).dt.tz_convert("Asia/Tokyo" if is_said else "UTC")
        table.to_parquet(tmp_path / "t.parquet")

        for read in (as_text, loaded(tmp_path / "t.parquet")):
            said = (
                "Column 'since': its times are in time zones other than UTC, and are read as the same moments in UTC."
            )
            assert (said in read.notes) == is_said

    def test_a_flipped_bit_is_found_by_the_checksum_of_parquet(self, tmp_path: Path) -> None:
        table = pa.table({"size": np.linspace(1.0, 2.0, 100), "level": LABELS * 8 + LABELS[:4]})
        path = tmp_path / "t.parquet"
        pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
        content = bytearray(path.read_bytes())
        content[content.index(np.float64(table["size"][50].as_py()).tobytes()) + 7] ^= 0x20  # of the exponent
        path.write_bytes(content)
        assert "CRC checksum verification failed" in refusal(path)

    def test_a_false_place_of_a_text_in_a_feather_file_is_found(self, tmp_path: Path) -> None:
        """The format has no checksums. Arrow would read from there, and end the process."""
        names = [f"{place:03d}" for place in range(100)]
        path = tmp_path / "t.feather"
        feather.write_feather(
            pa.table({"x": names, "level": LABELS * 8 + LABELS[:4]}), path, compression="uncompressed"
        )
        content = path.read_bytes()
        places = np.arange(0, 303, 3, dtype="<i4").tobytes()
        assert content.count(places) == 1
        path.write_bytes(content.replace(places, places[:-8] + np.array([10**9, 300], dtype="<i4").tobytes()))
        assert refusal(path).startswith(f"{path} cannot be read (")


class TestSplits:
    def whole(self, tmp_path: Path) -> tuple[pd.DataFrame, Path]:
        table = (
            dirty(120)
            .drop(columns="refund")
            .assign(
                level=["a", "b"] * 60,
                who=[f"w{i % 7}" for i in range(120)],
                part=["train"] * 80 + ["Val"] * 10 + ["test"] * 30,
            )
        )
        return table, in_csv(table, tmp_path / "t.csv")

    def test_the_column_that_a_split_goes_by_is_no_feature(self, tmp_path: Path) -> None:
        table, path = self.whole(tmp_path)
        for kind, column in (("group", "who"), ("column", "part"), ("time", "since")):
            read = loaded(path, split=SplitBy(kind, column))
            assert not [each.name for each in read.columns if each.name.startswith(column)]
            assert read.split_by is not None
            if kind == "time":
                seconds = (pd.to_datetime(table["since"]) - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
                assert read.split_by.tolist() == seconds.tolist()
            if kind == "column":
                assert read.split_by.tolist() == [0.0] * 80 + [1.0] * 10 + [2.0] * 30

    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_times_may_be_of_any_century(self, tmp_path: Path, format: str) -> None:
        days = ["1066-10-14", "1969-12-31", "2024-02-29", "9999-12-31"] * 5
        times = pd.Series(days).astype("datetime64[s]")
        table, path = (
            pd.DataFrame({"size": range(20), "since": times, "level": ["a", "b"] * 10}),
            tmp_path / f"t.{format}",
        )
        table.to_csv(path, index=False) if format == "csv" else table.to_parquet(path)
        read = loaded(path, split=SplitBy("time", "since"))
        assert read.split_by is not None
        seconds = [(date.fromisoformat(day) - date(1970, 1, 1)).total_seconds() for day in days]
        assert read.split_by.tolist() == seconds

    def test_what_a_column_says_must_be_known(self, tmp_path: Path) -> None:
        _, path = self.whole(tmp_path)
        assert "says 'w0' of a row, and split=column knows" in refusal(path, split=SplitBy("column", "who"))
        assert "holds neither numbers nor dates" in refusal(path, split=SplitBy("time", "who"))
        assert "split.column names 'gone', which is not a column" in refusal(path, split=SplitBy("group", "gone"))

    def test_files_of_ones_own(self, tmp_path: Path) -> None:
        table, _ = self.whole(tmp_path)
        table = table.drop(columns=["part", "who"])
        paths = [in_csv(table[a:b], tmp_path / f"{a}.csv") for a, b in ((0, 80), (80, 90), (90, 120))]
        read = loaded(paths[0], split=SplitBy("files", None, *paths[1:]))
        assert read.n_rows == 120
        assert read.split_by is not None
        assert read.split_by.tolist() == [0.0] * 80 + [1.0] * 10 + [2.0] * 30

    def test_a_file_without_a_target_says_which_columns_there_are(self, tmp_path: Path) -> None:
        path = in_csv(frame().reset_index(names=""), tmp_path / "t.csv")
        (cell,) = cells_of("dataset=csv", f"dataset.path={path}")
        with pytest.raises(UsageError) as caught:
            open_source(**vars(cell.config.dataset), openml_cache=None).load()
        assert str(caught.value) == (
            f"dataset.target must name a column of {path}; its columns are: {', '.join(map(repr, frame().columns))}."
        )

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("split=group",), "split=group needs split.column; set it."),
            (("split=files", "split.validation=u.csv"), "split=files needs split.test; set it."),
        ],
    )
    def test_what_a_split_needs(self, arguments: tuple[str, ...], sentence: str) -> None:
        (cell,) = cells_of("dataset=csv", "dataset.path=t.csv", "dataset.target=y", *arguments)
        with pytest.raises(UsageError) as caught:
            _ = cell.source
        assert str(caught.value) == sentence

    @pytest.mark.parametrize("name", ["group", "files"])
    def test_bundled_data_have_nothing_to_split_by(self, name: str) -> None:
        (cell,) = cells_of(f"split={name}")
        with pytest.raises(UsageError, match=f"split={name} does not go with dataset.source=wdbc"):
            _ = cell.source


class TestIdentity:
    def test_the_key_is_that_of_the_path_the_target_and_the_kinds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        given = {"path": Path("t.csv"), "target": "level"}
        others = [
            {"path": Path("u.csv")},
            {"path": Path("t.csv.gz")},
            {"path": tmp_path / "folder" / "t.csv"},
            {"target": "flag"},
            {"categorical": ("count",)},
            {"numeric": ("count",)},
            {"categorical": ("count", "age")},
        ]
        key = FileSource(**given).key  # type: ignore[arg-type]
        keys = {FileSource(**given | other).key for other in others}  # type: ignore[arg-type]
        assert len({key} | keys) == len(others) + 1
        assert re.fullmatch(r"csv-t-[0-9a-f]{12}", key)
        assert FileSource(tmp_path / "folder" / ".." / "t.csv", "level", dataset_name="another").key == key
        assert FileSource(Path("t.csv"), "level", ("age", "count")).key == FileSource(**given | others[-1]).key  # type: ignore[arg-type]

    def test_the_key_is_a_hash_of_the_options_in_the_order_of_the_alphabet(self, tmp_path: Path) -> None:
        path = tmp_path.resolve() / "t.csv"
        options = f'{{"numeric": ["a", "b"], "path": "{path}", "reading": 4, "target": "y", "target_kind": "classes"}}'

        key = FileSource(path, "y", numeric=("b", "a"), target_kind="classes").key

        assert key == f"csv-t-{hashlib.sha256(options.encode()).hexdigest()[:12]}"

    def test_the_key_is_a_file_name_whatever_the_path_is(self) -> None:
        key = FileSource(Path("a/Meßwerte (1): x/../über*uns " + "n" * 300 + ".v2.csv.gz"), "level").key
        assert re.fullmatch(r"csv-[A-Za-z0-9.-]{1,64}-[0-9a-f]{12}", key)

    def test_a_finished_cell_is_known_until_the_file_changes(self, tmp_path: Path) -> None:
        source = FileSource(in_csv(frame(), tmp_path / "t.csv"), "level")
        data = KnownData("abc", ROWS, n_columns=7)
        note_data(tmp_path / "results", source, data, source.stamps())
        assert known_data(tmp_path / "results", source) == data
        in_csv(frame()[:-1], source.path)
        assert known_data(tmp_path / "results", source) is None
        source.path.unlink()
        assert known_data(tmp_path / "results", source) is None

    @pytest.mark.parametrize(
        ("file", "label"), [("iris.csv", "iris"), ("a/my.data.v2.TSV.gz", "my.data.v2"), ("x.parquet", "x")]
    )
    def test_it_is_called_after_the_file(self, file: str, label: str) -> None:
        assert FileSource(Path(file), "level").label == label

    def test_or_as_it_is_asked_to_be_called(self, tmp_path: Path) -> None:
        assert loaded(in_csv(frame(), tmp_path / "t.csv"), dataset_name="mine").name == "mine"


class TestConfiguration:
    def test_the_options_reach_the_source(self) -> None:
        arguments = ["dataset=csv", "dataset.path='~/t.csv'", "dataset.target=3", "dataset.categorical=[a,b c]"]
        (cell,) = cells_of(*arguments, "dataset.numeric=[4]", "dataset.name=mine")
        source = open_source(**vars(cell.config.dataset), openml_cache=None)
        assert source == FileSource(Path.home() / "t.csv", "3", ("a", "b c"), ("4",), dataset_name="mine")

    def test_every_option_reaches_the_field_of_its_name(self) -> None:
        given: dict[str, Any] = {each: (each,) for each in ("categorical", "numeric", "drop", "dates", "text")}
        given |= {each: each for each in ("separator", "decimal", "encoding", "sheet", "weight")}
        given |= {"target_kind": "number", "unlabelled": "more.csv", "path": "t.csv", "target": "y"}
        split = {"name": "files", "test": "~/test.csv", "validation": "~/validation.csv"}

        source = open_source("csv", name="mine", openml_cache=None, split=split, **given)

        home = Path.home()
        paths = {"path": Path("t.csv"), "unlabelled": Path("more.csv"), "dataset_name": "mine"}
        paths["split"] = SplitBy("files", None, home / "validation.csv", home / "test.csv")
        assert vars(source) == given | paths

    @pytest.mark.parametrize("arguments", [(), ("dataset.target=level", "dataset.path=''")])
    def test_a_path_is_needed(self, arguments: tuple[str, ...]) -> None:
        (cell,) = cells_of("dataset=csv", *arguments)
        with pytest.raises(UsageError) as caught:
            open_source(**vars(cell.config.dataset), openml_cache=None)
        assert str(caught.value) == (
            "dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C."
        )

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (
                ("dataset=csv", "dataset.categorical=a"),
                r"dataset\.categorical must be a list, as in dataset\.categorical=\[a,b\]\.",
            ),
        ],
    )
    def test_an_option_of_another_source_is_refused(self, arguments: tuple[str, ...], sentence: str) -> None:
        with pytest.raises(UsageError) as caught:
            cells_of(*arguments)
        assert re.fullmatch(sentence, str(caught.value))

    @pytest.mark.parametrize(
        ("source", "option", "known"),
        [
            ("wdbc", {"path": "t.csv"}, "name, id"),
            ("openml", {"numeric": ["a"]}, "name, id, task, target_kind"),
            (
                "csv",
                {"id": 3},
                "name, path, target, categorical, numeric, drop, dates, text, separator, decimal, encoding, "
                "sheet, target_kind, weight, unlabelled",
            ),
        ],
    )
    def test_also_where_it_is_forced(self, source: str, option: dict[str, Any], known: str) -> None:
        with pytest.raises(UsageError) as caught:
            open_source(source, name=None, openml_cache=None, **option)
        assert str(caught.value) == (
            f"dataset.{next(iter(option))} is not an option of dataset.source={source}; its options are: {known}."
        )

    def test_what_is_wrong_with_any_file_is_said_before_the_first_cell_trains(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        in_csv(frame(), tmp_path / "t.csv")

        class NoLauncher:
            def launch(self, *args: Any, **kwargs: Any) -> Any:
                raise AssertionError("a cell was trained")

        cells = cells_of("dataset=csv", "dataset.path=t.csv,gone.csv", "dataset.target=level,leve", "seed=1,2")
        with pytest.raises(UsageError) as caught:
            run(ExpandedSweep(cells), by(NoLauncher()), Terminal())  # type: ignore[arg-type]

        wrong_target, gone = str(caught.value).splitlines()
        assert wrong_target.startswith("dataset.target names 'leve', which is not a column of t.csv (did you mean ")
        assert gone.startswith("there is no file gone.csv; ")
        assert list(tmp_path.iterdir()) == [tmp_path / "t.csv"]

    def test_looking_for_finished_cells_imports_no_pandas(self) -> None:
        code = (
            "import sys; from scarf_lightning.data.sources import open_source; "
            "source = open_source('csv', name=None, openml_cache=None, path='t.csv', target='y'); "
            "print(source.label, source.key[:6], source.files(), {'pandas', 'pyarrow', 'torch'} & set(sys.modules))"
        )
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert ran.stdout == "t csv-t- () set()\n"


@pytest.fixture(scope="module")
def typical() -> pd.DataFrame:
    """What a user might have: 60 rows as pandas writes them, with an index."""
    random = np.random.default_rng(8)
    n = 60
    table = pd.DataFrame(
        {
            "size": random.normal(size=n),
            "income": np.where(random.random(n) < 0.2, np.nan, random.lognormal(size=n)),
            "rooms": random.integers(1, 6, n),
            "city": pd.Series(random.choice(["Bern", "Köln", "Wien"], n)).where(random.random(n) < 0.9),
            "owner": random.random(n) < 0.5,
            "insured": pd.Series(random.random(n) < 0.5, dtype=object).where(random.random(n) < 0.8),
        }
    )
    return table.assign(risk=np.where(table["size"] > 0, "high", "low"))


def test_a_typical_file_is_split_and_preprocessed(typical: pd.DataFrame, tmp_path: Path) -> None:
    buffer = io.StringIO()
    typical.to_csv(buffer)
    table = loaded(text(buffer.getvalue())(tmp_path), "risk", categorical=("rooms",))

    data = prepare_trials(table, [0, 1], Streams(0, table.n_labelled), regime=Full(), scaling=ZScore(), fit_on="all")

    assert table.is_categorical.tolist() == [False, False, True, True, True, True]
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((2, 42), (2, 6), (2, 12))
    assert np.isfinite(data.preprocessing.fill).all()


def test_a_typical_file_trains(typical: pd.DataFrame, tmp_path: Path) -> None:
    typical.to_csv(tmp_path / "houses.csv")
    overrides = ["dataset=csv", "dataset.path=houses.csv", "dataset.target=risk", "dataset.categorical=[rooms]"]
    tiny = ["trials=1", "pretrain.max_epochs=1", "finetune.max_epochs=1", "trainer=cpu"]

    ran = here(commands.train, *overrides, *tiny, cwd=tmp_path)

    assert ran.returncode == 0
    assert "houses.csv: 60 rows, 6 columns beside the target, 6 columns for 2 classes\n" in ran.stderr
    assert ran.stdout.startswith("dataset=houses, ")
    rows = load(tmp_path / "results")
    assert rows[["dataset", "n_train", "n_test"]].to_numpy().tolist() == [["houses", 42, 12]]
    assert [path.name for path in (tmp_path / "results" / "datasets").iterdir()] == [
        FileSource(tmp_path / "houses.csv", "risk", ("rooms",)).key + ".json"
    ]
