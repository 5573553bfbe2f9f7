"""Opening files of tables, and the sentences on those that cannot be read."""

import bz2
import csv
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa

from ...errors import UsageError

UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    csv.Error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowException,
    pd.errors.ParserWarning,
)
"""What the readers raise if a file is damaged, or has another format than its name says."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed."""
    ending = path.suffix.lower()
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            if len(archive.namelist()) != 1:
                raise ValueError(f"{'Multiple' if archive.namelist() else 'No'} files found in ZIP file")
            with archive.open(archive.namelist()[0]) as file:
                yield file
        return
    decompressed: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with decompressed.get(ending, open)(path, "rb") as file:
        yield file


def without_compression(path: Path) -> Path:
    """The path without ``.gz`` and the like."""
    return path.with_suffix("") if path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip") else path


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn an error of the readers into a sentence for the user."""
    try:
        yield
    except UsageError:
        raise
    except UnicodeError as error:
        raise UsageError(
            f"{path} cannot be read ({str(error).partition(': ')[0]}); write it again as UTF-8 text, or name its "
            "encoding, as in dataset.encoding=cp1252."
        ) from error
    except UNREADABLE as error:
        lines = str(error).splitlines() or [type(error).__name__]
        # pandas puts the cause behind "C error: ", and a hint for programmers behind the first sentence.
        reason = lines[0].rpartition("C error: ")[2].partition(". ")[0].rstrip(".: ")
        raise UsageError(
            f"{path} cannot be read ({reason}); write it again as UTF-8 text with a name for every column, or as "
            "Parquet."
        ) from error
