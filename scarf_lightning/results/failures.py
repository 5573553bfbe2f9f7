"""What went wrong in cells that failed, kept until they run again.

    results/failures/<key>.json

A cell may fail before its data, and so its fingerprint, are known: the key names what was asked for instead.
"""

import socket
import time
import traceback
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..errors import UsageError
from .files import write_whole
from .records import DamagedRecordError, check_fields, read_sealed, sealed

FOLDER = "failures"


@dataclass(frozen=True)
class Failure:
    """One failed attempt. ``error`` is a sentence where the input was bad, or else a traceback."""

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
    what = str(error) if isinstance(error, UsageError) else "".join(traceback.format_exception(error)).rstrip()
    failure = Failure(cell, what, socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S"))
    write_whole(_path(results, key), sealed(asdict(failure)))


def read_failure(results: Path, key: str) -> Failure | None:
    """Why a cell failed when it was last tried, if it did; where that cannot be read any more, the failure says so."""
    path, names = _path(results, key), [field.name for field in fields(Failure)]
    try:
        found = read_sealed(path)
        check_fields(found, dict.fromkeys(names, str))
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        return Failure(f"Cell {key}", f"why it failed is not known, {path} cannot be used: {error}.", "", "")
    return Failure(**{name: found[name] for name in names})


def forget_failure(results: Path, key: str) -> None:
    """A cell runs again, or is finished."""
    _path(results, key).unlink(missing_ok=True)


def _path(results: Path, key: str) -> Path:
    return results / FOLDER / f"{key}.json"
