"""Files that are whole or absent, also after a crash."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".unfinished-"


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its name once everything in it has reached the disk.

    Left by an exception, it is removed and ``target`` never appears.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=target.parent))
    try:
        yield folder
        for path in folder.iterdir():
            _sync(path)
        _sync(folder)
        folder.rename(target)
    except BaseException:
        shutil.rmtree(folder)
        raise
    _sync(target.parent)


def write_whole(target: Path, text: str) -> None:
    """Write a file under a temporary name, bring it to the disk, and give it its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=UNFINISHED, dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        _sync(Path(name))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
