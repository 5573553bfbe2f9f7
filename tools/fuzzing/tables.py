"""Tables as nobody wants them: each is read, with a word on what is odd, or refused in a sentence.

Half of them are of odd columns. The others are a usual file that was damaged: what is read of it without a further
note is what was in it before, but for the one value that was changed.
"""

import csv
import gzip
import io
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from tests.data.sources.test_ugly_tables import check, ugly
from tools.fuzzing.attacking import USED, sentence_of

COUNT = 1000
ROWS = 60
NAMES = ("height", "colour", "since", "note", "size", "y")
LONG = 1_000_000


@dataclass(frozen=True)
class Usual:
    """A usual table as rows of text, and as it is read."""

    rows: list[list[str]]
    table: Table


def prepare(folder: Path) -> Usual:
    draw = random.Random(7)
    rows = [
        [
            f"{draw.gauss(170, 10):.1f}", draw.choice(["red", "green", "blue"]),
            f"2021-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
            draw.choice(["as new", 'a "good" one', "x, y"]), f"{draw.gauss(0, 1):.3f}", draw.choice("pq"),
        ]
        for _ in range(ROWS)
    ]  # fmt: skip
    (folder / "usual.csv").write_text(_written(rows))
    return Usual(rows, FileSource(folder / "usual.csv", "y").load())


def attack(prepared: Usual, draw: random.Random, folder: Path) -> str:
    if draw.random() < 0.5:
        try:
            check(FileSource(ugly(draw.randrange(10**9), folder), "y").load())
        except UsageError as error:
            return sentence_of(error)
        return USED
    damage = draw.choice([_line, _value, _bytes, _parquet])
    path, is_one_value = damage(prepared.rows, draw, folder)
    try:
        table = FileSource(path, "y").load()
    except UsageError as error:
        return sentence_of(error)
    check(table)
    n_changed = _n_changed(prepared.table, table)
    if n_changed is not None and n_changed <= int(is_one_value):
        return USED
    said = set(map(str, table.notes)) - set(map(str, prepared.table.notes))
    said |= _kinds(table) - _kinds(prepared.table)
    assert said, f"{damage.__name__}: another table is read without a word: {n_changed} of {table.n_rows} rows differ"
    return "; ".join(sorted(said))


def _kinds(table: Table) -> set[str]:
    """How each column was read, as a run prints it, and what is predicted."""
    columns = {f"{each.column} is read as {each.kind}, {each.done}" for each in table.reading}
    return columns | {f"the target is {type(table.target).__name__}"}


def _n_changed(usual: Table, table: Table) -> int | None:
    """In how many rows two tables differ; None if they cannot be compared."""
    if [c.name for c in usual.columns] != [c.name for c in table.columns] or usual.values.shape != table.values.shape:
        return None
    if [bool(c.categories) for c in usual.columns] != [bool(c.categories) for c in table.columns]:
        return None
    differs = ~np.isclose(usual.values, table.values, equal_nan=True)
    for position, (one, other) in enumerate(zip(usual.columns, table.columns, strict=True)):
        if one.categories:
            differs[:, position] = _spelled(one.categories, usual.values[:, position]) != _spelled(
                other.categories or (), table.values[:, position]
            )
    if not isinstance(usual.target, Classes) or not isinstance(table.target, Classes):
        return None
    labels = _spelled(usual.target.names, usual.labels) != _spelled(table.target.names, table.labels)
    by_row = differs.any(axis=1) | labels
    return int(by_row.sum())


def _spelled(categories: tuple[str, ...], codes: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(["" if np.isnan(code) or code < 0 else categories[int(code)] for code in codes], dtype=object)


def _written(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([NAMES, *rows])
    return text.getvalue()


def _line(rows: list[list[str]], draw: random.Random, folder: Path) -> tuple[Path, bool]:
    """A line more or a line less, in whole or in part."""
    lines = _written(rows).splitlines(keepends=True)
    at = draw.randrange(1, len(lines))
    fields = lines[at].rstrip("\n").split(",")
    cut = draw.randrange(1, len(fields))
    lines[at : at + 1] = draw.choice([
        [",,,,,\n", lines[at]], [",,,,,\n"] * 20 + [lines[at]], [",".join(fields[:-cut]) + "\n"], ["\n", lines[at]],
        [lines[at].rstrip("\n") + ",\n"], [lines[at].rstrip("\n") + ",9\n"], [lines[at].replace(",", "\n", 1)],
        [lines[at].replace(",", "\r", 1)], [lines[at].rstrip("\n") + "\r\r\n"], ["   \n", lines[at]],
        [lines[at].rstrip("\n") + "\x0c" + lines[at]], ["# a comment\n", lines[at]], [lines[0], lines[at]],
        ["\x1a\n", lines[at]], [",".join(["total", *[""] * 5]) + "\n", lines[at]], [lines[at].rstrip("\n")],
    ])  # fmt: skip
    (folder / "t.csv").write_text("".join(lines), newline="")
    return folder / "t.csv", False


def _value(rows: list[list[str]], draw: random.Random, folder: Path) -> tuple[Path, bool]:
    """Another text in one place, which may break the file."""
    changed = [list(row) for row in rows]
    row, column = draw.randrange(ROWS), draw.randrange(len(NAMES))
    value = changed[row][column]
    marked = "\ue000"
    changed[row][column] = marked
    text = draw.choice([
        f'"{value}', f'{value}"', f'{value}"{value}', f"\r{value}", f"{value}\r", f"\n{value}", f'"{value}"x', "\x00",
        f"{value}\x00", "\ufeff", "\u202e" + value, "\x1b[31m", "=1+1", "a" * LONG, "1" * LONG, "1-" * LONG,
        "Jan" * LONG, "2021-06-01T00:30:00+09:00", "31/31/2021", "1e400", "-inf", "nan", "'", "''", "‘", "1,5", "0x10",
        " " * LONG, "(" * LONG, "1 " * LONG, "é" * 1000, "NA", "?", "-", "1.2.3", "12:61", "99999999999999999999",
    ])  # fmt: skip
    (folder / "t.csv").write_text(_written(changed).replace(marked, text), encoding="utf-8", newline="")
    return folder / "t.csv", True


def _bytes(rows: list[list[str]], draw: random.Random, folder: Path) -> tuple[Path, bool]:
    """Bytes more, less or changed; a compressed file is cut short, too. Of text that is cut short nothing can tell."""
    content = _written(rows).encode(draw.choice(["utf-8", "utf-16", "cp1252", "utf-8-sig"]))
    is_packed = draw.random() < 0.3
    content = gzip.compress(content) if is_packed else content
    at = draw.randrange(len(content))
    content = draw.choice([
        content[:at] if is_packed else b"", content[:at] + content[at + 1 :],
        content[:at] + draw.randbytes(1) + content[at:],
        content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :],
        content[:at] + content[at:][:3] + content[at:], content + content, content + b"\n" * 1000,
    ])  # fmt: skip
    path = folder / ("t.csv.gz" if is_packed else "t.csv")
    path.write_bytes(content)
    return path, True


def _parquet(rows: list[list[str]], draw: random.Random, folder: Path) -> tuple[Path, bool]:
    """A flipped bit in a Parquet file with checksums, which are what finds it."""
    frame = pd.DataFrame(rows, columns=list(NAMES)).astype({"height": float, "size": float})
    path, compression = folder / "t.parquet", draw.choice(["none", "snappy", "zstd", "gzip"])
    pq.write_table(pa.Table.from_pandas(frame), path, compression=compression, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 1, 5])):
        at = draw.randrange(len(content))
        content[at] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    return path, False
