"""Notes beside the cells: what is known of data, and why cells failed.

    results/datasets/<source>.json      the hash and the size of data, so that they need not be loaded to skip a cell
    results/failures/<key>.json         why a cell failed, until it runs again

A cell may fail before its data, and so its fingerprint, are known: the key names what was asked for instead.
"""

import socket
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import explained
from .files import DamagedRecordError, write_whole
from .records import check_fields, parsed, read_sealed, sealed


class HasFiles(Protocol):
    """Data with a name and local files."""

    @property
    def key(self) -> str: ...
    def files(self) -> tuple[Path, ...]: ...


@dataclass(frozen=True)
class KnownData:
    """Data that were loaded once: the hash of their content and their size; ``n_encoded`` columns after one-hot
    encoding and the ``kind`` of their target, if these are known."""

    hash: str
    n_rows: int
    n_columns: int
    n_encoded: int | None = None
    kind: str | None = None


def known_data(results: Path, source: HasFiles) -> KnownData | None:
    """What is known of data whose files have not changed since. A damaged note counts as none; a warning names it."""
    described = _describe(source)
    if not described:
        return None
    path = results / "datasets" / f"{source.key}.json"
    try:
        note = read_sealed(path)
        check_fields(note, {"data": dict, "files": list})
        return parsed(KnownData, note["data"], "data") if note["files"] == described else None
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        warnings.warn(f"{path} is left out: {error}; it is written again when the data are loaded.", stacklevel=2)
        return None


def note_data(results: Path, source: HasFiles, data: KnownData) -> None:
    """Keep what is known of data that have just been loaded."""
    if known_data(results, source) != data:
        note = {"data": asdict(data), "files": _describe(source)}
        write_whole(results / "datasets" / f"{source.key}.json", sealed(note))


@dataclass(frozen=True)
class Failure:
    """One failed attempt. ``error`` is a sentence if the input or the machine was at fault, else a traceback."""

    cell: str
    error: str
    host: str
    time: str

    def __str__(self) -> str:
        if self.error.startswith("Traceback"):
            return f"{self.cell} failed on {self.host}:\n{self.error}"
        return f"{self.cell}: {self.error}"


def keep_failure(results: Path, key: str, cell: str, error: Exception) -> None:
    """Write down why a cell failed."""
    reason = explained(error) or "".join(traceback.format_exception(error)).rstrip()
    failure = Failure(cell, reason, socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S"))
    write_whole(_failure_path(results, key), sealed(asdict(failure)))


def read_failure(results: Path, key: str) -> Failure | None:
    """Why a cell failed when it was last tried, if it did. If the note is damaged, the failure says so."""
    path = _failure_path(results, key)
    try:
        found: Failure = parsed(Failure, read_sealed(path), "it")
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        return Failure(f"Cell {key}", f"it failed for a reason that is lost, {path} cannot be used: {error}.", "", "")
    return found


def forget_failure(results: Path, key: str) -> None:
    """A cell runs again, or is finished."""
    _failure_path(results, key).unlink(missing_ok=True)


def _failure_path(results: Path, key: str) -> Path:
    return results / "failures" / f"{key}.json"


def _describe(source: HasFiles) -> list[dict[str, Any]]:
    """What differs once the files of data have changed. A program may set the time of the last modification, but
    nobody can set the time at which the file's own record last changed."""
    found = []
    for path in source.files():
        stat = path.stat()
        times = {"modified_ns": str(stat.st_mtime_ns), "changed_ns": str(stat.st_ctime_ns)}
        found.append({"name": path.name, "size": stat.st_size, **times})
    return found
