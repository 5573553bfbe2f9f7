"""Files that are whole or absent, also after a crash."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

UNFINISHED = ".unfinished-"


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its name once everything in it has reached the disk.

    Left by an exception, it is removed and ``target`` never appears.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = _unfinished(target)
    folder.mkdir()
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
    temporary = _unfinished(target)
    try:
        temporary.write_text(text, encoding="utf-8")
        _sync(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _unfinished(target: Path) -> Path:
    """A name beside the target that nobody else takes. Not by `tempfile`, whose files only their owner may read."""
    return target.parent / f"{UNFINISHED}{uuid4().hex}"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
