"""What was learnt of data when they were loaded, kept beside the results so that nothing need be loaded to know it."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from .files import write_whole
from .records import DamagedRecordError, Fields, check_fields, read_sealed, sealed


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


FIELDS: Fields = {"hash": str, "n_rows": int, "n_columns": int, "n_classes": int}
"""Of a note on data."""


def known_data(results: Path, source: HasFiles) -> KnownData | None:
    """What is known of data, if it was noted for files of these sizes and times; the data are not read.

    A note that is damaged is as good as none, and named in a warning: the data are loaded again.
    """
    described = _describe(source)
    if not described:
        return None
    path = _path(results, source)
    try:
        note = read_sealed(path)
        check_fields(note, {"data": dict, "files": list})
        check_fields(note["data"], FIELDS)
    except FileNotFoundError:
        return None
    except DamagedRecordError as error:
        warnings.warn(f"{path} is left out: {error}; it is written anew when the data are loaded.", stacklevel=2)
        return None
    data = note["data"]
    known = KnownData(**{name: data[name] for name in FIELDS}, n_encoded=data.get("n_encoded"))
    return known if note["files"] == described else None


def note_data(results: Path, source: HasFiles, data: KnownData) -> None:
    """Note what data are that have just been loaded."""
    if known_data(results, source) != data:
        note = {"data": asdict(data), "files": _describe(source)}
        write_whole(_path(results, source), sealed(note))


def _path(results: Path, source: HasFiles) -> Path:
    return results / "datasets" / f"{source.key}.json"


def _describe(source: HasFiles) -> list[dict[str, Any]]:
    stats = [(path.name, path.stat()) for path in source.files()]
    return [{"name": name, "size": stat.st_size, "modified_ns": stat.st_mtime_ns} for name, stat in stats]
