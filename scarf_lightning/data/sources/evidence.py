"""Evidence of what was read: a table together with the stamps of the files that it was read from.

A stamp is taken before a table is read and again afterwards. Only if both are equal, the table is known to be the
content of files with these stamps, and a note may say so for ever. Everything that keeps the hash of a table keeps it
with the stamps of this object, never with stamps that are taken later.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..table import Table

TICK = 0.02
"""Seconds, longer than a tick of a file system's clock: two changes within one tick leave the same times."""


@dataclass(frozen=True)
class Stamp:
    """A file's record in the file system. Numbers of 64 bits are texts, which JSON keeps exactly.

    A program may set the time of the last modification, but none can set the time at which the record itself last
    changed. The inode is another one where a file of the same size and times was moved over this one.

    Attributes:
        name: of the file.
        size: in bytes.
        modified_ns: time of the last modification, in nanoseconds.
        changed_ns: time of the last change of the file's record, in nanoseconds.
        inode: number of the file in its file system.
    """

    name: str
    size: int
    modified_ns: str
    changed_ns: str
    inode: str

    @property
    def last_change(self) -> float:
        """Seconds since the epoch."""
        return int(self.changed_ns) / 1e9


Stamps = tuple[Stamp, ...]
"""Of all files that hold a table, in their order; none if the files are not there."""


@dataclass(frozen=True)
class ReadTable:
    """A table, and the stamps that its files had while it was read; none if it came from no local file."""

    table: "Table"
    stamps: Stamps


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """The stamps of these files; none if one of them cannot be looked at."""
    try:
        return tuple(map(_stamp, paths))
    except OSError:
        return ()


def settle(stamps: Stamps) -> None:
    """Wait if a file has just changed, until a further change gives it another stamp.

    A clock that is ahead of this machine's, such as a file server's, is waited for no longer than a tick.
    """
    last_change = max((stamp.last_change for stamp in stamps), default=0.0)
    if time.time() - last_change < TICK:
        time.sleep(TICK)


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return Stamp(path.name, status.st_size, str(status.st_mtime_ns), str(status.st_ctime_ns), str(status.st_ino))
