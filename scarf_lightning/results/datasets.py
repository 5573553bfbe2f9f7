"""What was learnt of data when they were loaded, kept beside the results so that nothing need be loaded to know it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from .files import write_whole


class HasFiles(Protocol):
    """Names data, and the local files that they are in."""

    @property
    def key(self) -> str: ...

    def files(self) -> tuple[Path, ...]: ...


@dataclass(frozen=True)
class KnownData:
    """Data that were loaded once: the hash of their content, and their size, with ``n_encoded`` columns after one-hot
    encoding (None in a note of an earlier version)."""

    hash: str
    n_rows: int
    n_columns: int
    n_classes: int
    n_encoded: int | None = None


def known_data(results: Path, source: HasFiles) -> KnownData | None:
    """What is known of data, if it was noted for files of these sizes and times; the data are not read."""
    described = _describe(source)
    if not described:
        return None
    try:
        note = json.loads(_path(results, source).read_text(encoding="utf-8"))
        return KnownData(**note["data"]) if note["files"] == described else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # torn or older is as good as none: it is written anew
        return None


def note_data(results: Path, source: HasFiles, data: KnownData) -> None:
    """Note what data are that have just been loaded."""
    if known_data(results, source) != data:
        note = {"data": asdict(data), "files": _describe(source)}
        write_whole(_path(results, source), json.dumps(note, indent=2) + "\n")


def _path(results: Path, source: HasFiles) -> Path:
    return results / "datasets" / f"{source.key}.json"


def _describe(source: HasFiles) -> list[dict[str, Any]]:
    stats = [(path.name, path.stat()) for path in source.files()]
    return [{"name": name, "size": stat.st_size, "modified_ns": stat.st_mtime_ns} for name, stat in stats]
