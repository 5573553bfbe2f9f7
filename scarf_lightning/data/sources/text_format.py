"""How a text file parts its columns and spells its characters."""

import bz2
import codecs
import csv
import gzip
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEPARATORS = (",", ";", "\t", "|")

LOOKED_AT = 1 << 16
"""Bytes of a file that its separator is found in."""


@dataclass(frozen=True)
class TextFormat:
    """What pandas must be told of a text file: ``decimal`` None leaves numbers with a comma to be read as text."""

    separator: str
    decimal: str | None = None
    encoding: str | None = None

    def options(self) -> dict[str, Any]:
        """For ``pandas.read_csv``."""
        return {"sep": self.separator, "decimal": self.decimal or ".", "encoding": self.encoding}


def text_format(path: Path, *, separator: str | None, decimal: str | None, encoding: str | None) -> TextFormat:
    """What is given, and of the rest what can be seen without doubt: UTF-16 by its mark, and the separator that parts
    the first rows into equally many columns. A comma, or in ``.tsv`` a tab, where that does not tell.

    Raises:
        OSError, EOFError, ValueError: the file cannot be read.
    """
    beginning = _beginning(path)
    if encoding is None and beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if separator is None:
        plain = path if path.suffix.lower() in (".csv", ".tsv") else path.with_suffix("")  # without .gz and the like
        separator = "\t" if plain.suffix.lower() == ".tsv" else _separator(beginning, encoding)
    return TextFormat(separator, decimal, encoding)


def _separator(beginning: bytes, encoding: str | None) -> str:
    lines = beginning.decode(encoding or "utf-8-sig", errors="replace").splitlines(keepends=True)
    if len(beginning) == LOOKED_AT:
        lines.pop()  # cut short
    found = [separator for separator in SEPARATORS if _parts_equally(lines, separator)]
    return found[0] if len(found) == 1 else ","


def _parts_equally(lines: list[str], separator: str) -> bool:
    try:
        widths = {len(row) for row in csv.reader(lines, delimiter=separator) if row}
    except csv.Error:
        return False
    return len(widths) == 1 and min(widths) > 1


def _beginning(path: Path) -> bytes:
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
            return file.read(LOOKED_AT)
    opened: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with opened.get(path.suffix.lower(), open)(path, "rb") as file:
        return bytes(file.read(LOOKED_AT))
