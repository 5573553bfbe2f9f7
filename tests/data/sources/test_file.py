"""Files of a user's own: their reading, its notes, and refusals."""

import hashlib
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from scarf_lightning.cli.show import Terminal
from scarf_lightning.data.reading.pandas_two import EXACT_FLOATS
from scarf_lightning.data.sources import FileSource, SplitBy, open_source
from scarf_lightning.data.table import Column, Table
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.chunks import by
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.run import run
from tests.composing import cells_of

ROWS = 12
LABELS = ["no", "yes", "no"] * 4
NAN = float("nan")


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


COLUMNS = (
    Column("size"), Column("count"), Column("weight"), Column("age"), Column("colour", ("blue", "red")),
    Column("flag", ("false", "true")), Column("known", ("false", "true")),
)  # fmt: skip


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
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
    assert ". " not in re.sub(r"\.( Did you mean .*\?)? Its columns are: .*", "", sentence)
    if at_check:
        with pytest.raises(UsageError, match=re.escape(sentence)):
            source.check()
    elif at_check is False:
        source.check()
    return sentence


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The frame as it is usually written."""
    return loaded(in_csv(frame(), tmp_path_factory.mktemp("plain") / "plain.csv"))


def test_every_kind_of_column(tmp_path: Path) -> None:
    table = loaded(in_csv(frame(), tmp_path / "mine.csv"))
    assert (table.name, table.source, table.dataset_id) == ("mine", str(tmp_path / "mine.csv"), None)
    assert loaded(tmp_path / "mine.csv", dataset_name="named").name == "named"
    assert table.target.names == ("no", "yes")
    assert table.columns == COLUMNS
    assert table.values[:, 0].tolist() == frame()["size"].tolist()
    assert np.isnan(table.values).sum(axis=0).tolist() == [0, 0, 1, 1, 3, 0, 4]
    assert np.array_equal(table.values[:, 6], [1, np.nan, 0] * 4, equal_nan=True)


Write = Callable[[Path], Any]


def after(start: str) -> Write:
    """Lines that other programs put before the header."""
    return lambda path: path.write_text(start + frame().to_csv(index=False), encoding="utf-8")


def indexed(index: Any, *, times: int = 1) -> Write:
    """With the index of the frame, and a column "Unnamed: 0" where a file is read and written again."""

    def write(path: Path) -> None:
        counted = frame().set_axis(index)
        counted.to_csv(path) if path.suffix == ".csv" else counted.to_parquet(path)
        for _ in range(times - 1):
            pd.read_csv(path, **EXACT_FLOATS).to_csv(path)

    return write


OF_A_PART, SHUFFLED = range(40, 40 + ROWS), [*range(1, ROWS), 0]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        *((f"t.csv{ending}", lambda path: in_csv(frame(), path)) for ending in (".gz", ".bz2", ".xz", ".zip")),
        *((name, lambda path: in_csv(frame(), path, sep="\t")) for name in ("t.tsv", "t.tsv.gz")),
        *((name, lambda path: in_csv(frame(), path)) for name in ("T.CSV", "from.tsv.csv")),
        *((name, lambda path: frame().to_parquet(path)) for name in ("t.pq", "t.parquet", "year=2024/t.parquet")),
        *(("t.csv", after(start)) for start in ("\ufeff", "\n\n")),
        *((f"t.{form}", indexed(rows)) for form in ("csv", "parquet") for rows in (range(ROWS), OF_A_PART, SHUFFLED)),
        *(("t.csv", indexed(rows, times=2)) for rows in (range(ROWS), OF_A_PART, SHUFFLED)),
    ],
)
def test_the_same_data_are_one_table_however_they_are_written(
    name: str, write: Write, plain: Table, tmp_path: Path
) -> None:
    """A folder is no column, and an index is none: rows are often sorted by class."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    write(tmp_path / name)
    table = loaded(tmp_path / name)
    assert table.columns == COLUMNS
    assert table.hash == plain.hash


def test_names_are_kept_to_the_letter(tmp_path: Path) -> None:
    names = {"size": " size ", "count": "Größe, m²", "level": 'le"vel'}
    table = loaded(in_csv(frame().rename(columns=names), tmp_path / "t.csv"), 'le"vel')
    assert [column.name for column in table.columns][:2] == [" size ", "Größe, m²"]


def test_commas_after_the_last_value_are_not_a_column(tmp_path: Path) -> None:
    lines = ["x,level", *(f"{i},{label}" for i, label in enumerate(LABELS))]
    in_rows, everywhere = [lines[0], *(line + "," for line in lines[1:])], [line + ",," for line in lines]
    hashes = {loaded(written(tmp_path / "t.csv", "\n".join(each))).hash for each in (lines, in_rows, everywhere)}
    assert len(hashes) == 1


def test_rows_without_a_value_are_left_out_and_noted(tmp_path: Path, plain: Table) -> None:
    header, *lines = frame().to_csv(index=False).splitlines()
    empty = "," * header.count(",")
    table = loaded(written(tmp_path / "t.csv", "\n".join([header, *lines[:5], empty, *lines[5:], empty, ""])))
    assert (table.columns, table.hash) == (plain.columns, plain.hash)
    assert f"2 rows of {tmp_path / 't.csv'} hold no value and are left out." in table.notes


@pytest.mark.parametrize("cells", [1, 5, ROWS, 3 * ROWS])
def test_columns_of_parquet_are_the_same_however_many_are_read_at_once(
    cells: int, plain: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scarf_lightning.data.sources.arrow_file.CELLS", cells)
    frame().to_parquet(tmp_path / "t.parquet")
    assert loaded(tmp_path / "t.parquet").hash == plain.hash
    frame().head(0).to_parquet(tmp_path / "none.parquet")
    assert "none.parquet" in refusal(tmp_path / "none.parquet")


@pytest.mark.parametrize("spelling", ["", "NA", "N/A", "n/a", "NaN", "nan", "None", "null", "NULL", "<NA>", "#N/A"])
def test_what_is_missing_in_csv(tmp_path: Path, spelling: str) -> None:
    lines = [f"{spelling if i < 2 else i},{spelling if i % 3 else 'ab'[i % 2]},{v}" for i, v in enumerate(LABELS)]
    table = loaded(written(tmp_path / "t.csv", "\n".join(["x,c,level", *lines])))
    assert table.columns == (Column("x"), Column("c", ("a", "b")))
    assert np.isnan(table.values).sum(axis=0).tolist() == [2, 8]


TENTHS = [float(Decimal(i).scaleb(-7)) for i in range(1, 4)]
LARGE = ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize(
    ("values", "option", "categories", "first"),
    [
        (pa.array([None, NAN, *range(10)]), "", None, [NAN, NAN, 0]),
        (pa.array([None, "NA", "None"] * 4), "", ("NA", "None"), [NAN, 0, 1]),
        (pa.array([1, None, 3] * 4).cast(pa.decimal128(21, 2)), "", None, [1, NAN, 3]),
        (pa.array([Decimal(i).scaleb(-7) for i in (1, 2, 3)] * 4, pa.decimal128(20, 7)), "", None, TENTHS),
        (pa.array([2**53, 2**53 + 1, None] * 4), "", LARGE, [0, 1, NAN]),
        (pa.array(np.arange(ROWS, dtype="float16")), "", None, [0, 1, 2]),
        (pa.array(["b", "a", None] * 4).dictionary_encode(), "", ("a", "b"), [1, 0, NAN]),
        (pa.array(["x", "y"] * 6, pa.large_string()), "", ("x", "y"), [0, 1, 0]),
        (pa.array(["10", " 9.5", None, "1e2"] * 3), "numeric", None, [10, 9.5, NAN]),
        (pa.array([True, False] * 6), "numeric", None, [1, 0, 1]),
        (pa.array([True, None] * 6), "numeric", None, [1, NAN, 1]),
        (pa.array([3, None, 20] * 4), "categorical", ("3", "20"), [0, NAN, 1]),
    ],
    ids=str,
)  # fmt: skip
def test_kinds_of_parquet(
    tmp_path: Path, values: pa.Array, option: str, categories: tuple[str, ...] | None, first: list[float]
) -> None:
    """Beside a column without a value, which is none; a name may hold a full stop."""
    path = in_parquet({"a.b": values, "nothing": pa.nulls(ROWS)}, tmp_path / "t.parquet")
    table = loaded(path, **({option: ("a.b", "nothing")} if option else {}))
    assert table.columns == (Column("a.b", categories),)
    np.testing.assert_array_equal(table.values[:3, 0], first)


def test_categories_of_pandas_stay_categories_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    values = {"words": ["b", "a", None], "whole": [10, 9, None], "halves": [1.5, 1, None], "flags": [True, False, None]}
    table = frame().assign(**{name: pd.Categorical(some * 4) for name, some in values.items()})
    table.rename_axis("id").to_parquet(path)
    expected = {"words": ("a", "b"), "whole": ("9", "10"), "halves": ("1", "1.5"), "flags": ("false", "true")}
    assert loaded(path).columns[-4:] == tuple(Column(name, some) for name, some in expected.items())
    as_numbers = loaded(path, numeric=("whole", "halves", "flags"))
    assert as_numbers.values[:2, -3:].tolist() == [[10, 1.5, 1], [9, 1, 0]]


def test_whole_numbers_of_csv_may_be_categories(tmp_path: Path) -> None:
    path = in_csv(frame().assign(weight=[np.inf, 1, 2] * 4), tmp_path / "t.csv")
    _, count, weight, age, colour, *_ = loaded(path, categorical=("count", "age", "colour", "weight")).columns
    assert (count, age) == (Column("count", ("0", "1", "2", "3")), Column("age", tuple(map(str, range(20, 31)))))
    assert weight.categories == ("1", "2", "inf"), "an infinite category is one"
    assert colour.is_categorical


class TestColumnsWithoutAName:
    def test_an_index_is_noted_and_any_other_may_be_left_out(self, tmp_path: Path, plain: Table) -> None:
        path = tmp_path / "t.csv"
        indexed(range(ROWS))(path)
        said = f"Column 1 of {path} has no name and numbers the rows: an index, which is left out."
        assert said in loaded(path).notes
        indexed([0, *range(ROWS - 1)])(path)
        for spelled in ("Unnamed: 0", "1", ""):
            table = loaded(path, drop=(spelled,))
            assert (table.columns, table.hash) == (plain.columns, plain.hash)

    def test_an_index_of_parquet_without_a_name_needs_no_note_and_is_known_by_the_notes_of_pandas(
        self, tmp_path: Path, plain: Table
    ) -> None:
        path, name = tmp_path / "t.parquet", "__index_level_0__"
        indexed(SHUFFLED)(path)
        assert name in pq.read_schema(path).names
        assert list(loaded(path).notes) == list(plain.notes)
        frame().rename(columns={"count": name}).to_parquet(path)
        assert loaded(path).columns[1] == Column(name)

    @pytest.mark.parametrize(("name", "column"), [("t.csv", "Unnamed: 0"), ("t.parquet", "id")])
    def test_another_file_needs_no_index_unless_an_option_names_it(
        self, name: str, column: str, tmp_path: Path
    ) -> None:
        path, more = tmp_path / name, in_csv(frame().drop(columns="level"), tmp_path / "more.csv")
        indexed(pd.Index(SHUFFLED, name=None if name == "t.csv" else column))(path)
        assert loaded(path, unlabelled=more).n_unlabelled == ROWS
        assert f"more.csv has no column {column!r}, which" in refusal(path, unlabelled=more, numeric=(column,))

    def test_the_names_of_rows_are_left_out_and_noted(self, tmp_path: Path, plain: Table) -> None:
        path = tmp_path / "t.csv"
        indexed([f"id{i}" for i in range(ROWS)])(path)
        table = loaded(path)
        assert table.hash == plain.hash
        assert [str(note) for note in table.notes] == [
            f"Column 1 of {path} has no name and another value in every row: the names of the rows, which are left "
            'out; "dataset.text=[Unnamed: 0]" reads them as text.'
        ]
        assert len(loaded(path, text=("Unnamed: 0",)).columns) == len(plain.columns) + 32

    def test_the_named_index_of_a_frame_is_there_if_it_is_asked_for(self, tmp_path: Path, plain: Table) -> None:
        path = tmp_path / "t.parquet"
        frame().set_axis([f"id{i % 2}" for i in range(ROWS)]).rename_axis("id").to_parquet(path)
        table = loaded(path)
        assert table.columns == plain.columns
        assert [str(note) for note in table.notes] == [
            f"Column 'id' of {path} is the index of a frame, which is left out; dataset.categorical=[id] makes it a "
            "feature."
        ]
        assert loaded(path, categorical=("id",)).columns == (*plain.columns, Column("id", ("id0", "id1")))
        assert loaded(path, "id").target.names == ("id0", "id1")

    @pytest.mark.parametrize("rows", [["a", "b"] * 6, [i / 8 for i in range(ROWS)], [*"abcdefghijk", None]])
    def test_what_neither_numbers_nor_names_rows_is_refused(self, rows: list[Any], tmp_path: Path) -> None:
        indexed(rows)(tmp_path / "t.csv")
        assert "has no name, and more in it than numbers or names of the rows" in refusal(tmp_path / "t.csv")

    def test_a_counting_column_with_a_name_is_a_feature(self, tmp_path: Path) -> None:
        path = in_csv(frame().assign(n=range(ROWS), **{"Unnamed: 0": range(ROWS)}), tmp_path / "t.csv")
        assert [column.name for column in loaded(path).columns][-1] == "n"
        assert loaded(path, numeric=("Unnamed: 0",)).columns[-1] == Column("Unnamed: 0")


@pytest.mark.parametrize(
    ("values", "classes", "note"),
    [
        (("no", "yes", "no "), ("no", "yes"), "Target 'y': blanks around its values are cut off"),
        (("a", "b", ""), ("a", "b"), None),
        (("007", "7"), ("007", "7"), None),
        ((*LARGE, ""), LARGE, None),
        (("99999999999999999999", "1"), ("1", "99999999999999999999"), None),
    ],
)
def test_classes_are_kept_apart_and_doubts_are_said(
    tmp_path: Path, values: tuple[str, ...], classes: tuple[str, ...], note: str | None
) -> None:
    rows = [f"{i / 8},{values[i % len(values)]}" for i in range(60)]
    table = loaded(written(tmp_path / "t.csv", "\n".join(["x,y", *rows])), "y")
    assert table.target.names == classes
    assert table.n_unlabelled == 60 // len(values) * sum(value in ("", "None") for value in values)
    said = [str(each) for each in table.notes if "blanks" in each or "no label" in each]
    assert [each.startswith(note or "-") for each in said] == ([True] if note else [])


class TestUnreadableFiles:
    @pytest.mark.parametrize(
        ("name", "start"),
        [
            ("gone.csv", "there is no file *; set dataset.path to a file of a"),
            ("folder.csv", "dataset.path=* is a folder; name a file of a table in it."),
            *((name, "* is of no known format; dataset.path takes .csv, .tsv, .tab, .txt")
              for name in ("t.xls", "t", "t.gz", "csv", "t.parquet.gz")),
            ("two.csv.zip", "* cannot be read (Multiple files found in ZIP file"),
        ],
    )  # fmt: skip
    def test_what_is_no_file_of_a_table_is_said_before_loading(self, tmp_path: Path, name: str, start: str) -> None:
        (tmp_path / "folder.csv").mkdir()
        if name == "two.csv.zip":
            with zipfile.ZipFile(tmp_path / name, "w") as archive:
                archive.writestr("a.csv", "x,level\n")
                archive.writestr("b.csv", "x,level\n")
        elif not name.startswith(("gone", "folder")):
            written(tmp_path / name, b"x,level\n" + b"1,a\n2,b\n" * 6)
        assert refusal(tmp_path / name, at_check=True).startswith(start.replace("*", str(tmp_path / name)))

    @pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")  # it is an error of ours, not of pytest's
    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("t.csv", b"", "No columns to parse from file"),
            ("t.csv", b"\n\n", "No columns to parse from file"),
            (
                "t.csv",
                b"x,level\n" + b"1,a\n" * 20_000 + b"2,3,b\n",
                "Error tokenizing data.*|Expected 2 fields in line 20002, saw 3",
            ),
            ("t.csv.gz", b"x,level\n1,a\n", "Not a gzipped file .*"),
            ("t.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb", "Compressed file ended before .*"),
            ("t.csv.bz2", b"x,level\n", "Invalid data stream"),
            ("t.csv.xz", b"x,level\n", "Input format not supported by decoder"),
            ("t.csv.zip", b"x,level\n", "File is not a zip file"),
            ("t.parquet", b"x,level\n", ".*Parquet.*"),
            ("t.parquet", b"", ".*Parquet.*"),
            ("t.feather", b"nothing", ".*"),
        ],
    )
    def test_a_file_that_cannot_be_read(self, tmp_path: Path, name: str, content: bytes, reason: str) -> None:
        path = written(tmp_path / name, content)
        assert re.fullmatch(
            rf"{re.escape(str(path))} cannot be read \(({reason})\); "
            r"write it again as UTF-8 text with a name for every column, or as Parquet\.",
            refusal(path),
        )

    def test_damaged_parquet(self, tmp_path: Path) -> None:
        """In the middle, in one bit of a number, which its checksum finds, in the notes of pandas and in its names."""
        path = tmp_path / "t.parquet"
        frame().to_parquet(path)
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 100 + content[104:])
        assert f"{path} cannot be read (" in refusal(path, at_check=False)

        table = pa.table({"size": np.linspace(1.0, 2.0, 100), "level": LABELS * 8 + LABELS[:4]})
        pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
        bits = bytearray(path.read_bytes())
        bits[bits.index(np.float64(table["size"][50].as_py()).tobytes()) + 7] ^= 0x20  # of the exponent
        path.write_bytes(bits)
        assert "CRC checksum verification failed" in refusal(path)

        for notes in (b"{", b"[1]", b'{"columns": [{"name": "x"}]}', b'"x"'):
            made = pa.table({"x": range(ROWS), "level": LABELS}).replace_schema_metadata({b"pandas": notes})
            pq.write_table(made, path)
            assert "holds notes of pandas that are damaged" in refusal(path)

        x = pa.array(range(ROWS))
        pq.write_table(pa.Table.from_arrays([x, x, pa.array(LABELS)], ["size", "size", "level"]), path)
        assert refusal(path, at_check=True) == f"{path} has more than one column 'size'; rename all but one."

    def test_a_false_place_of_a_text_in_a_feather_file_is_found(self, tmp_path: Path) -> None:
        """The format has no checksums. Arrow would read from there, and end the process."""
        path, names = tmp_path / "t.feather", [f"{place:03d}" for place in range(100)]
        table = pa.table({"x": names, "level": LABELS * 8 + LABELS[:4]})
        feather.write_feather(table, path, compression="uncompressed")
        content = path.read_bytes()
        places = np.arange(0, 303, 3, dtype="<i4").tobytes()
        assert content.count(places) == 1
        path.write_bytes(content.replace(places, places[:-8] + np.array([10**9, 300], dtype="<i4").tobytes()))
        assert refusal(path).startswith(f"{path} cannot be read (")

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
    def test_parquet_columns_that_hold_neither_numbers_nor_names(
        self, tmp_path: Path, values: pa.Array, kind: str
    ) -> None:
        path = in_parquet({"x": range(ROWS), "when": values}, tmp_path / "t.parquet")
        sentence = refusal(path, at_check=True)
        assert sentence.startswith(f"column 'when' of {path} holds {kind}")
        end = "neither numbers nor categories nor dates; convert it, or leave it out by dataset.drop=[when]."
        assert sentence.endswith(end)
        table = loaded(path, drop=("when",))
        assert [column.name for column in table.columns] == ["x"]
        assert table.reading[-1].done == "left out by dataset.drop"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_an_encoding_that_is_not_named_is_found_and_noted(tmp_path: Path, encoding: str) -> None:
    content = frame().rename(columns={"size": "größe"}).to_csv(index=False).encode(encoding)
    path = written(tmp_path / "t.csv", content)
    table = loaded(path)
    assert table.columns[0].name == "größe"
    assert table.notes == (f"{path} is read as {encoding} text; dataset.encoding sets another encoding.",)
    assert not loaded(path, encoding=encoding).notes


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


@pytest.fixture(scope="module")
def of_dirty(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return loaded(in_csv(dirty(), tmp_path_factory.mktemp("dirty") / "t.csv"))


class TestDirtyTable:
    def test_every_column_is_read_and_said(self, of_dirty: Table) -> None:
        assert [(reading.column, reading.kind) for reading in of_dirty.reading] == [
            ("customer", "id"), ("reference", "id or text"), ("since", "dates"), ("price", "numbers"),
            ("share", "numbers"), ("weight", "numbers"), ("zip", "categories"), ("street", "id or text"),
            ("colour", "categories"), ("member", "Boolean"), ("same", "constant"), ("nothing", "empty"),
            ("refund", "categories"),
        ]  # fmt: skip
        assert [column.name for column in of_dirty.columns] == [
            "since (days)", "since (month)", "since (weekday)", "price", "share", "weight", "zip", "colour", "member",
            "refund",
        ]  # fmt: skip
        price = [float(text.replace("$", "").replace(",", "")) for text in dirty()["price"]]
        assert of_dirty.values[:, 3].tolist() == price
        assert of_dirty.n_unlabelled == dirty()["level"].isna().sum()
        said = " ".join(map(str, of_dirty.notes))
        for name in ("customer", "reference", "street", "weight", "zip", "colour"):
            assert f"Column {name!r}" in said

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("t.csv", {"sep": ";"}),
            ("t.csv", {"encoding": "utf-16"}),
            ("t.csv.gz", {"sep": "\t"}),
            ("t.parquet", {"since": "datetime64[us]"}),
        ],
    )
    def test_it_is_the_same_table_in_every_notation(
        self, tmp_path: Path, of_dirty: Table, name: str, options: dict[str, Any]
    ) -> None:
        path = tmp_path / name
        dirty().astype(options).to_parquet(path) if "since" in options else in_csv(dirty(), path, **options)
        assert loaded(path).hash == of_dirty.hash

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

    def test_more_rows_without_labels_have_the_same_columns(self, tmp_path: Path) -> None:
        whole = dirty(60)[["since", "price", "colour"]].assign(level=["low", "high"] * 30)
        path = in_csv(whole[:40], tmp_path / "t.csv")
        more = in_csv(whole[40:].drop(columns="level").assign(other=3), tmp_path / "more.csv")
        table = loaded(path, unlabelled=more)
        assert (table.n_rows, table.n_unlabelled) == (60, 20)
        assert (table.labels[40:] == -1).all()
        without = loaded(in_csv(whole.assign(level=whole["level"].where(whole.index < 40)), tmp_path / "one.csv"))
        assert table.hash == without.hash

        in_csv(whole.drop(columns=["price", "level"]), more)
        assert loaded(path, unlabelled=more, drop=("price",)).n_unlabelled == 60
        assert "there is no file" in refusal(path, unlabelled=tmp_path / "gone.csv", at_check=True)
        # A change of a table is seen in all of its files; where one is gone, there is nothing to compare.
        assert FileSource(path, "level", unlabelled=more).files() == (path, more)
        assert FileSource(path, "level", unlabelled=tmp_path / "gone.csv").files() == ()

    @pytest.mark.parametrize(("values", "are_codes"), [(("007", "7"), True), (("007", "1.5", "7"), False)])
    def test_zeros_lead_codes_but_no_fractions(self, values: tuple[str, ...], are_codes: bool, tmp_path: Path) -> None:
        lines = [f"{values[i % len(values)]},{i / 8},{label}" for i, label in enumerate(LABELS)]
        table = loaded(written(tmp_path / "t.csv", "\n".join(["code,x,level", *lines])))
        assert table.is_categorical.tolist() == [are_codes, False]


def usual_lines(*odd: str, at: int = 9, in_place: int = 0) -> str:
    """A table of forty rows as text, with these lines among its own or in the place of some."""
    rows = [f"{i % 7}.5,{'xyz'[i % 3]},{'no' if i % 2 else 'yes'}\n" for i in range(40)]
    whole = ["size,colour,level\n", *rows]
    return "".join([*whole[:at], *odd, *whole[at + in_place :]])


class TestNothingIsReadOtherwiseInSilence:
    @pytest.mark.parametrize(
        ("lines", "n_rows", "note"),
        [
            ([",,\n"] * 12, 40, "12 rows of t.csv hold no value and are left out."),
            ([",\n"], 40, "1 rows of t.csv hold no value and are left out."),
            (["1.5,x\n"], 41, "1 line of t.csv has fewer values than the header, line 31; what is not there counts"),
            (["1.5\rx,no\n"], 42, "2 lines of t.csv have fewer values than the header, first line 31; what"),
            (['1.5,"x,no\n', '2.5,x",no\n'], 41, "1 row of t.csv goes over several lines, line 31; a stray quote"),
            (['1.5,"x\n"" y",no\n'] * 2, 42, "2 rows of t.csv go over several lines, first line 31; a stray quote"),
            (["\n", '1.5,"x ""y""",no\r\n'], 41, None),
            ([f'1.5,"{"x" * 200_000}",no\n'], 41, None),
        ],
        ids=range(8),
    )
    def test_odd_lines_are_said(
        self, lines: list[str], n_rows: int, note: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("t.csv").write_text(usual_lines(*lines, at=30), newline="")
        table = loaded(Path("t.csv"))
        assert table.n_rows == n_rows
        said = [sentence for sentence in table.notes if not sentence.startswith("Column")]
        assert [sentence.startswith(note or "-") for sentence in said] == ([True] if note else [])

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "cp500"])
    def test_quotes_are_found_in_every_encoding(self, encoding: str, tmp_path: Path) -> None:
        file = written(tmp_path / "t.csv", usual_lines('1.5,"x\ny",no\n', in_place=1).encode(encoding))
        assert any("goes over several lines" in note for note in loaded(file, encoding=encoding).notes)


PARTS = ["train"] * 80 + ["Val"] * 10 + ["test"] * 30
CODES = [0.0] * 80 + [1.0] * 10 + [2.0] * 30


class TestSplits:
    @pytest.fixture(scope="class")
    def whole(self) -> pd.DataFrame:
        table = dirty(120)[["since", "price"]]
        return table.assign(level=["a", "b"] * 60, who=[f"w{i % 7}" for i in range(120)], part=PARTS)

    def test_the_column_that_a_split_goes_by_is_no_feature(self, whole: pd.DataFrame, tmp_path: Path) -> None:
        path = in_csv(whole, tmp_path / "t.csv")
        seconds = (pd.to_datetime(whole["since"]) - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
        for kind, column, values in (("group", "who", None), ("column", "part", CODES), ("time", "since", seconds)):
            read = loaded(path, split=SplitBy(kind, column))
            assert not [each.name for each in read.columns if each.name.startswith(column)]
            assert read.split_by is not None
            assert values is None or read.split_by.tolist() == [*values]
        for kind, column, sentence in (
            ("column", "who", "says 'w0' of a row, and split=column knows"),
            ("time", "who", "holds neither numbers nor dates"),
            ("group", "gone", "split.column names 'gone', which is not a column"),
        ):
            assert sentence in refusal(path, split=SplitBy(kind, column))

        table = whole.drop(columns=["part", "who"])
        paths = [in_csv(table[a:b], tmp_path / f"{a}.csv") for a, b in ((0, 80), (80, 90), (90, 120))]
        read = loaded(paths[0], split=SplitBy("files", None, *paths[1:]))
        assert read.split_by.tolist() == CODES


class TestIdentity:
    def test_the_key_is_that_of_the_path_the_target_and_the_kinds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        given: dict[str, Any] = {"path": Path("t.csv"), "target": "level"}
        others: list[dict[str, Any]] = [
            {"path": Path("u.csv")}, {"path": Path("t.csv.gz")}, {"path": tmp_path / "folder" / "t.csv"},
            {"target": "flag"}, {"categorical": ("count",)}, {"numeric": ("count",)}, {"weight": "count"},
            {"categorical": ("count", "age")},
        ]  # fmt: skip
        key = FileSource(**given).key
        keys = {FileSource(**given | other).key for other in others}
        assert len({key} | keys) == len(others) + 1
        assert re.fullmatch(r"csv-t-[0-9a-f]{12}", key)
        assert FileSource(tmp_path / "folder" / ".." / "t.csv", "level", dataset_name="another").key == key
        assert FileSource(Path("t.csv"), "level", ("age", "count")).key == FileSource(**given | others[-1]).key

    def test_the_key_is_a_hash_of_the_options_and_a_file_name_whatever_the_path_is(self, tmp_path: Path) -> None:
        path = tmp_path.resolve() / "t.csv"
        options = f'{{"numeric": ["a", "b"], "path": "{path}", "reading": 6, "target": "y", "target_kind": "classes"}}'
        key = FileSource(path, "y", numeric=("b", "a"), target_kind="classes").key
        assert key == f"csv-t-{hashlib.sha256(options.encode()).hexdigest()[:12]}"
        key = FileSource(Path("a/Meßwerte (1): x/../über*uns " + "n" * 300 + ".v2.csv.gz"), "level").key
        assert re.fullmatch(r"csv-[A-Za-z0-9.-]{1,64}-[0-9a-f]{12}", key)
        for file, label in (("iris.csv", "iris"), ("a/my.data.v2.TSV.gz", "my.data.v2"), ("x.parquet", "x")):
            assert FileSource(Path(file), "level").label == label


class TestConfiguration:
    def test_the_options_reach_the_source(self) -> None:
        arguments = ["dataset=csv", "dataset.path='~/t.csv'", "dataset.target=3", "dataset.categorical=[a,b c]"]
        (cell,) = cells_of(*arguments, "dataset.numeric=[4]", "dataset.name=mine")
        expected = FileSource(Path.home() / "t.csv", "3", ("a", "b c"), ("4",), dataset_name="mine")
        assert open_source(**vars(cell.config.dataset), openml_cache=None) == expected

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
        assert wrong_target.startswith("dataset.target names 'leve', which is not a column of t.csv. Did you mean ")
        assert gone.startswith("there is no file gone.csv; ")
        assert list(tmp_path.iterdir()) == [tmp_path / "t.csv"]
