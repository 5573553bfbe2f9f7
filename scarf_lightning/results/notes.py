"""Notes beside the cells: what is known of data, and why cells failed.

    results/datasets/<source>.json      the hash and the size of data, so that they need not be loaded to skip a cell
    results/failures/<key>.json         why a cell failed, until it runs again

A cell may fail before its data, and so its fingerprint, are known: the key names what was asked for instead.
"""

import socket
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import RecordWarning, explained
from .files import DamagedRecordError, UnreadableRecordError, write_whole
from .records import fields_of, parsed, read_sealed, sealed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class HasStamps(Protocol):
    """Data with a name and local files, whose stamps are other ones once the files have changed."""

    @property
    def key(self) -> str: ...
    def stamps(self) -> "Sequence[DataclassInstance]": ...


@dataclass(frozen=True)
class KnownData:
    """Data that were loaded once.

    Attributes:
        hash: of their content.
        n_rows, n_columns: their size.
        n_encoded: columns after one-hot encoding, if that is known.
        kind: of their target, if that is known.
    """

    hash: str
    n_rows: int
    n_columns: int
    n_encoded: int | None = None
    kind: str | None = None


@dataclass(frozen=True)
class DataNote:
    """What is known of data, and the stamps of the files that they were read from."""

    data: KnownData
    files: list[dict[str, Any]]


def known_data(results: Path, source: HasStamps) -> KnownData | None:
    """Notes on data whose files have not changed since they were read.

    A damaged note counts as none, and a warning names it. So does one of an earlier version, without a warning.
    """
    stamps = source.stamps()
    if not stamps:
        return None
    path = _note_path(results, source.key)
    try:
        note = read_sealed(path)
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        # Once for all who look.
        warnings.warn(_left_out(path, error), RecordWarning, stacklevel=1)
        return None
    return _data_of(note, _plain(stamps))


def note_data(results: Path, source: HasStamps, data: KnownData, stamps: "Sequence[DataclassInstance]") -> None:
    """Keep what is known of data that were read from files with these stamps; nothing if there were none.

    The stamps must be those of the reading. Stamps that are taken later may be those of other data.
    """
    if not stamps:
        return
    path, files = _note_path(results, source.key), _plain(stamps)
    try:
        is_noted = _data_of(read_sealed(path), files) == data
    except (FileNotFoundError, DamagedRecordError):
        is_noted = False
    if not is_noted:
        # A note spares a later run the reading. Without a right to write into the folder of another user, none is kept.
        with suppress(PermissionError):
            write_whole(path, sealed({"data": asdict(data), "files": files}))


def _data_of(note: dict[str, Any], files: list[dict[str, Any]]) -> KnownData | None:
    """Data in a note on files with these stamps; None if it is of others, or of another layout."""
    try:
        found = fields_of(DataNote, note)
    except DamagedRecordError:
        return None
    return found.data if found.files == files else None


def _plain(stamps: "Sequence[DataclassInstance]") -> list[dict[str, Any]]:
    """Name, size and timestamps of the data files, as JSON keeps them."""
    return [asdict(stamp) for stamp in stamps]


def _note_path(results: Path, key: str) -> Path:
    """The note on the data of this key."""
    return results / "datasets" / f"{key}.json"


def _left_out(path: Path, error: DamagedRecordError) -> str:
    """A warning of a damaged note."""
    if isinstance(error, UnreadableRecordError):
        return f"{path} is left out: {error}; the data are loaded again for every run."
    return f"{path} is left out: {error}; it is written again when the data are loaded."


@dataclass(frozen=True)
class Failure:
    """One failed attempt.

    Attributes:
        cell: that failed, for people.
        error: a sentence if the input or the machine was at fault, else a traceback.
        host, time: where and when.
    """

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
    """Why a cell failed when it was last tried, if it did. If the note is damaged, the failure says so.

    A note that may not be read says nothing: that of another user, for instance, whose files are closed to others.
    """
    path = _failure_path(results, key)
    try:
        failure: Failure = parsed(Failure, read_sealed(path), "it")
    except (FileNotFoundError, UnreadableRecordError):
        return None
    except DamagedRecordError as error:
        return Failure(f"Cell {key}", f"it failed for a reason that is lost, {path} cannot be used: {error}.", "", "")
    return failure


def forget_failure(results: Path, key: str) -> None:
    """Remove the note on a failure: the cell runs again, or is finished."""
    _failure_path(results, key).unlink(missing_ok=True)


def _failure_path(results: Path, key: str) -> Path:
    """The note on the failure of the cell of this key."""
    return results / "failures" / f"{key}.json"
