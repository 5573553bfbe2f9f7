"""Data hashes, remembered beside the results so that a finished cell is known without loading its data."""

import json
from pathlib import Path
from typing import Any, Protocol

from .files import write_whole


class HasFiles(Protocol):
    """Names data, and the local files that they are in."""

    @property
    def key(self) -> str: ...

    def files(self) -> tuple[Path, ...]: ...


def remembered_hash(results: Path, source: HasFiles) -> str | None:
    """The data's hash, if it was noted for files of these sizes and times; the data are not read."""
    path = _path(results, source)
    described = _describe(source)
    if not described or not path.exists():
        return None
    note = json.loads(path.read_text(encoding="utf-8"))
    return str(note["hash"]) if note["files"] == described else None


def remember_hash(results: Path, source: HasFiles, data_hash: str) -> None:
    """Note the hash of data that have just been loaded."""
    note = {"hash": data_hash, "files": _describe(source)}
    write_whole(_path(results, source), json.dumps(note, indent=2) + "\n")


def _path(results: Path, source: HasFiles) -> Path:
    return results / "datasets" / f"{source.key}.json"


def _describe(source: HasFiles) -> list[dict[str, Any]]:
    stats = [(path.name, path.stat()) for path in source.files()]
    return [{"name": name, "size": stat.st_size, "modified_ns": stat.st_mtime_ns} for name, stat in stats]
