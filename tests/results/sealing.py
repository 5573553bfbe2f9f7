"""Files of the store that somebody else wrote, with hashes that are right, flipped or closed."""

import errno
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results.records import SEAL


def reseal(path: Path, change: dict[str, Any], without: str | None = None) -> None:
    """Change fields of a JSON file of ours, or leave one out, and give it the hash that it then must have."""
    content = json.loads(path.read_text()) | change
    content = {name: value for name, value in content.items() if name not in (SEAL, without)}
    seal = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {SEAL: seal}))


def flip(file: Path) -> None:
    """Flip a bit in the middle of a file, or flip it back."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def refuse(path: Path | str = "", *_: object) -> None:
    """Refuse what another user has closed by a mask of 077, to root too."""
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def close(patch: pytest.MonkeyPatch, *names: str) -> None:
    """Let no file or folder of these names be read or listed."""
    opened, listed = os.open, Path.iterdir

    def open_file(path: str | Path, *flags: int, **named: int) -> int:
        if Path(path).name in names:
            refuse(path)
        return opened(path, *flags, **named)

    def list_folder(path: Path) -> Iterator[Path]:
        if path.name in names:
            refuse(path)
        return listed(path)

    patch.setattr(os, "open", open_file)
    patch.setattr(Path, "iterdir", list_folder)
