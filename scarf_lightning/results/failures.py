"""What went wrong in cells that failed, kept until they run again.

    results/failures/<key>.json

A cell may fail before its data, and so its fingerprint, are known: the key names what was asked for instead.
"""

import json
import socket
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import UsageError
from .files import write_whole

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
    write_whole(_path(results, key), json.dumps(asdict(failure), indent=2) + "\n")


def read_failure(results: Path, key: str) -> Failure | None:
    """Why a cell failed when it was last tried, if it did."""
    try:
        return Failure(**json.loads(_path(results, key).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):  # torn or older is as good as none
        return None


def forget_failure(results: Path, key: str) -> None:
    """A cell runs again, or is finished."""
    _path(results, key).unlink(missing_ok=True)


def _path(results: Path, key: str) -> Path:
    return results / FOLDER / f"{key}.json"
