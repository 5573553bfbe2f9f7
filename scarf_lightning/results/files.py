"""Files that are whole or absent, also after a crash."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from ..errors import UsageError

UNFINISHED = ".unfinished-"
HOUR = 3600.0


@contextmanager
def whole_folder(target: Path, before: Callable[[], None] | None = None) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its name once everything in it has reached the disk.

    Left by an exception, it is removed and ``target`` does not appear; ``before``, called last, may raise one too.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary(target) as folder:
        folder.mkdir()
        yield folder
        for path in folder.iterdir():
            _sync(path)
        _sync(folder)
        if before is not None:
            before()
        folder.rename(target)
    _sync(target.parent)


def write_whole(target: Path, text: str) -> None:
    """Write a file under a temporary name, bring it to the disk, and give it its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary(target) as file:
        file.write_text(text, encoding="utf-8")
        _sync(file)
        file.replace(target)
    _sync(target.parent)


@contextmanager
def temporary(target: Path) -> Iterator[Path]:
    """A name beside ``target``, for what is to become it; what has that name when the block ends is removed.

    However the block ends: SIGTERM and Ctrl-C raise at any line, also at the one that makes what is at that name.
    """
    path = beside(target)
    try:
        yield path
    finally:
        surely(partial(_remove_if_there, path))


def surely(tidy: Callable[[], None]) -> None:
    """Tidy up, and again where SIGTERM or Ctrl-C raised in the middle of it."""
    try:
        tidy()
    except BaseException:
        tidy()
        raise


def check_folder(results: Path, *, writable: bool) -> None:
    """Make sure that results can be in this folder, which need not exist; ``writable`` makes it, too.

    Raises:
        UsageError: it is a file, or lies in one, or nothing can be written to it.
    """
    there = next(path for path in (results, *results.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(f"paths.results={results} cannot be used: {there} is not a folder; name another one.")
    if writable:
        try:
            results.mkdir(parents=True, exist_ok=True)
            with temporary(results / "probe") as probe:
                probe.touch()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"paths.results={results} cannot be written to: {reason}; name another folder.") from error


def beside(target: Path) -> Path:
    """A name beside the target that nobody else takes. Not by `tempfile`, whose files only their owner may read."""
    return target.parent / f"{UNFINISHED}{uuid4().hex}"


def remove_unfinished(folder: Path, now: float) -> None:
    """Remove what killed processes left half-written in a folder: writing takes seconds, so an hour is long enough."""
    remove_older(folder, f"{UNFINISHED}*", now - HOUR)


def remove_older(folder: Path, pattern: str, than: float) -> None:
    """Remove files and folders of names like this last changed before ``than``, by the folder's own clock."""
    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):  # finished, or removed by another
            if path.stat().st_mtime < than:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _remove_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):
        remove(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
