"""Files that are whole or absent, also after a crash, and that are read within limits."""

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from ..errors import UsageError
from ..options.settings import open_regular

UNFINISHED = ".unfinished-"
HOUR = 3600.0
SET_ASIDE = "set_aside"
PROBE = 1_000_000
"""Bytes of a file that is written to try a folder: about those of a record."""


class DamagedRecordError(Exception):
    """A record cannot be used; the message says why."""


class OtherVersionError(DamagedRecordError):
    """A record is whole, and of a version of the package that this one does not read."""


@contextmanager
def whole_folder(target: Path, before: Callable[[], None] | None = None) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its name once everything in it has reached the disk.

    After an exception it is removed, and ``target`` does not appear. ``before`` is called last and may raise one too.
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


def write_whole(target: Path, content: str | bytes, *, is_synced: bool = True) -> None:
    """Write a file under a temporary name, bring it to the disk, and give it its name.

    Without ``is_synced`` a crash of the machine may leave it empty, and nothing waits for the disk.
    """
    refuse_links(target.parent)
    sync = _sync if is_synced else bool
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary(target) as file:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        sync(file)
        file.replace(target)
    sync(target.parent)


def read_bytes(path: Path | str, size: int) -> bytes:
    """The content of a regular file of at most this many bytes.

    Raises:
        DamagedRecordError: it is larger, or is a pipe, a device, a folder or a link in a circle, which never end.
        FileNotFoundError: there is no such file.
        OSError: it may not be read, or the file system fails. The record may be whole.
    """
    try:
        with open_regular(path) as file:
            content = file.read(size + 1)
        if len(content) > size:
            raise ValueError(f"it is larger than {size:,} bytes")
        return content
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise DamagedRecordError(f"{Path(path).name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DamagedRecordError(f"{Path(path).name} cannot be read: {error}") from error


@contextmanager
def temporary(target: Path) -> Iterator[Path]:
    """A name beside ``target``, for what is to become it. Whatever has that name when the block ends is removed.

    SIGTERM and Ctrl-C may raise at any line, also at the line that makes the file.
    """
    # Not by `tempfile`: only the owner may read its files, and a results folder may be shared.
    path = target.parent / f"{UNFINISHED}{uuid4().hex}"
    try:
        yield path
    except OSError as error:
        if error.errno is not None and error.filename is None:
            # A write knows its file by number alone.
            error.filename = str(target)
        raise
    finally:

        def tidy() -> None:
            with suppress(FileNotFoundError):
                remove(path)

        surely(tidy)


def surely(tidy: Callable[[], None]) -> None:
    """Tidy up, and once more if SIGTERM or Ctrl-C raised in the middle of it."""
    try:
        tidy()
    except BaseException:
        tidy()
        raise


def refuse_links(*paths: Path) -> None:
    """Refuse to write into what is a link: in a folder that someone gave you it may lead anywhere.

    Raises:
        UsageError: one of them is; it is named.
    """
    for path in paths:
        if path.is_symlink():
            raise UsageError(f"{path} is a link, and is not written through; remove it.")


def check_folder(results: Path, *, writable: bool) -> None:
    """Check that results can be in this folder, which need not exist. ``writable`` makes it, and tries a file in it.

    Raises:
        UsageError: it is a file or lies in one, its name is no text, something in it is a link, or nothing can be
            written to it.
    """
    there = next(path for path in (results, *results.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(f"paths.results={results} cannot be used: {there} is not a folder; name another one.")
    try:
        # Records name it.
        str(results.absolute()).encode()
        refuse_links(*results.iterdir() if there == results else ())
        if writable:
            results.mkdir(parents=True, exist_ok=True)
            with temporary(results / "probe") as probe:
                probe.write_bytes(bytes(PROBE))
    except UnicodeEncodeError as error:
        raise UsageError(f"paths.results={results}: the name is not UTF-8; name another folder.") from error
    except OSError as error:
        raise UsageError(
            f"paths.results={results} cannot be written to: {error.strerror}; name another folder, or give the group "
            "rights to it, as by `chmod -R g+rwX` and `umask 002`."
        ) from error


def set_aside(results: Path, paths: Sequence[Path], reason: str) -> str:
    """Move records to where nothing looks for them: no result is ever deleted.

    They keep their places under ``results/set_aside/<time>/``, and the reason is kept beside them. The sentence names
    all three.
    """
    refuse_links(results / SET_ASIDE)
    place = results / SET_ASIDE / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:4]}"
    named = ", ".join(str(path.relative_to(results)) for path in paths)
    write_whole(place / "reason.txt", f"{named}: {reason}\n")
    for path in paths:
        target = place / path.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another process may just have set it aside.
        with suppress(FileNotFoundError):
            path.rename(target)
    return f"{named} is set aside in {place}: {reason}."


def remove_unfinished(folder: Path, now: float) -> None:
    """Remove the temporary files of killed processes. Writing takes seconds, so those older than an hour are dead, by
    the folder's clock."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            # Finished, or removed by another process.
            if path.stat().st_mtime < now - HOUR:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with everything in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
