"""Parts that were tried already, by the source of their module: in the user's cache folder, a file each."""

import hashlib
from functools import cache
from pathlib import Path

import torch

from ..user_cache import cache_file, read_cached, write_cached


def kept_notes(source: str) -> list[str] | None:
    """The notes on a part that was taken; None if it has not been tried with this ``source``, a name and a hash."""
    file = _file(source)
    notes = None if file is None else read_cached(file)
    return [str(note) for note in notes] if isinstance(notes, list) else None


def keep_notes(source: str, notes: list[str]) -> None:
    """Keep that a part was taken. Where nothing can be written, they are tried again."""
    file = _file(source)
    if file is not None:
        write_cached(file, notes)


def _file(source: str) -> Path | None:
    key = hashlib.sha256(f"{source} {torch.__version__} {_checks()}".encode()).hexdigest()
    return cache_file("parts", f"{key[:32]}.json")


@cache
def _checks() -> str:
    """The hash of this room, so that parts are tried again once it asks more of them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
