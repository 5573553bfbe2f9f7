"""Notes beside the cells: what is known of data, why cells failed, and which comparisons were looked at.

    results/datasets/<source>.json      the hash and the size of data, so that they need not be loaded to skip a cell
    results/failures/<key>.json         why a cell failed, until it runs again
    results/<fingerprint>/looks.jsonl   a line each look at a comparison, in the folder of its first cell

A cell may fail before its data, and so its fingerprint, are known: the key names what was asked for instead.

Who looks again and again finds a difference by chance. So each answer that was shown is remembered, and the next one
is as strict as the looks before demand, see `scarf_lightning.verdicts.answers`. One call writes at the end of a file,
so runs that end at once do not mix their lines; a line that a crash has cut is left out.
"""

import json
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import UsageError, explained
from .records import (
    MOST_JSON,
    DamagedRecordError,
    Row,
    fields_of,
    from_json,
    read_bytes,
    read_sealed,
    refuse_links,
    sealed,
    write_whole,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


LOOKS = "looks.jsonl"


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
    files: list[Row]


@dataclass(frozen=True)
class Failure:
    """One failed attempt.

    Attributes:
        cell: that failed, for people.
        error: a sentence if the input or the machine was at fault, else a traceback.
        host: where.
    """

    cell: str
    error: str
    host: str = ""

    def __str__(self) -> str:
        is_traceback = self.error.startswith("Traceback")
        return f"{self.cell} failed on {self.host}:\n{self.error}" if is_traceback else f"{self.cell}: {self.error}"


def _note(results: Path, kind: str, key: str) -> Path:
    """The file of a note."""
    return results / kind / f"{key}.json"


def known_data(results: Path, source: HasStamps) -> KnownData | None:
    """Notes on data whose files have not changed since they were read. A note that cannot be used counts as none."""
    stamps, path = _plain(source.stamps()), _note(results, "datasets", source.key)
    try:
        note = fields_of(DataNote, read_sealed(path)) if stamps else None
    except (FileNotFoundError, DamagedRecordError):
        # The data are loaded again.
        return None
    return note.data if note and note.files == stamps else None


def note_data(results: Path, source: HasStamps, data: KnownData, stamps: "Sequence[DataclassInstance]") -> None:
    """Keep what is known of data that were read from files with these stamps; nothing if there were none.

    The stamps must be those of the reading. Stamps that are taken later may be those of other data.
    """
    if not stamps or known_data(results, source) == data:
        return
    # A note spares a later run the reading. Without a right to write into the folder of another user, none is kept.
    with suppress(PermissionError):
        write_whole(_note(results, "datasets", source.key), sealed(asdict(DataNote(data, _plain(stamps)))))


def keep_failure(results: Path, key: str, cell: str, error: Exception) -> None:
    """Write down why a cell failed."""
    reason = explained(error) or "".join(traceback.format_exception(error)).rstrip()
    write_whole(_note(results, "failures", key), sealed(asdict(Failure(cell, reason, socket.gethostname()))))


def read_failure(results: Path, key: str) -> Failure | None:
    """Why a cell failed when it was last tried, if it did. If the note is damaged, the failure names it."""
    path = _note(results, "failures", key)
    try:
        return fields_of(Failure, read_sealed(path))
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        return Failure(f"Cell {key}", f"it failed for a reason that is lost, {path} cannot be used: {error}.")


def forget_failure(results: Path, key: str) -> None:
    """Remove the note on a failure: the cell runs again, or is finished."""
    _note(results, "failures", key).unlink(missing_ok=True)


def _plain(stamps: "Sequence[DataclassInstance]") -> list[Row]:
    return [asdict(stamp) for stamp in stamps]


def read_looks(results: Path) -> list[Row]:
    """The looks of a store; a file that cannot be used has none."""
    looks = []
    for file in sorted(results.glob(f"*/{LOOKS}")):
        with suppress(FileNotFoundError, DamagedRecordError):
            for line in read_bytes(file, MOST_JSON).splitlines():
                # A process was killed while it wrote, or somebody edited the file.
                with suppress(DamagedRecordError):
                    looks.append(from_json(line, LOOKS))
    return looks


def keep_looks(results: Path, looks: Sequence[Row]) -> bool:
    """Keep looks, each with the fingerprints of its cells as ``pairs``; false if a folder cannot be written."""
    try:
        for look in looks:
            file = results / look["pairs"][0][0] / LOOKS
            refuse_links(file.parent, file)
            # A pipe would wait for a reader. What a crash has cut has no end of line, and would swallow the next look.
            if file.exists() and not file.is_file():
                return False
            with file.open("a", encoding="utf-8") as lines:
                lines.write(f"\n{json.dumps(look, sort_keys=True)}\n")
    except (OSError, UsageError):
        return False
    return True
