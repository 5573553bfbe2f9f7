"""Where tables come from: one module a source. Opening a source imports no client and loads nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from .base import Source
from .file import FileSource
from .openml import OpenMLSource
from .wdbc import WdbcSource

if TYPE_CHECKING:
    from ..table import Table

__all__ = ["LastTable", "Source", "open_source"]

OPTIONS = {
    FileSource.name: {"path", "target", "categorical", "numeric"},
    OpenMLSource.name: {"id"},
    WdbcSource.name: {"id"},
}
"""What each source can be told, beside the name of its data."""


def open_source(
    source: str,
    *,
    name: str | None,
    openml_cache: str | None,
    id: int | None = None,
    path: str | None = None,
    target: str | None = None,
    categorical: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
) -> Source:
    """The source that a dataset's configuration names; all options but ``openml_cache`` are the configuration's.

    Raises:
        UsageError: no such source, or it lacks an option that it needs, or has one that it does not know.
    """
    if source not in OPTIONS:
        raise UsageError(f"dataset.source={source} is not a source; the sources are {', '.join(sorted(OPTIONS))}.")
    given = {"id": id, "path": path, "target": target, "categorical": categorical, "numeric": numeric}
    for option, value in given.items():
        if value is not None and option not in OPTIONS[source]:
            known = ", ".join(option for option in ("name", *given) if option in {"name", *OPTIONS[source]})
            raise UsageError(f"dataset.{option} is not an option of dataset.source={source}; its options are: {known}.")
    if source == WdbcSource.name:
        if id not in (None, WdbcSource.dataset_id):
            raise UsageError(f"dataset=wdbc is OpenML dataset {WdbcSource.dataset_id}; for {id} use dataset=openml.")
        return WdbcSource(name or "wdbc")
    if source == OpenMLSource.name:
        if id is None:
            raise UsageError("dataset=openml needs the dataset's id: add dataset.id=N.")
        return OpenMLSource(id, name, Path(openml_cache).expanduser() if openml_cache else None)
    if not path or not target:
        raise UsageError("dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C.")
    return FileSource(Path(path).expanduser(), target, tuple(categorical or ()), tuple(numeric or ()), name)


class LastTable:
    """Keeps the table that was loaded last: the cells of a dataset follow one another."""

    def __init__(self) -> None:
        self._source: Source | None = None

    def load(self, source: Source) -> "Table":
        """What the source loads.

        Raises:
            UsageError: see `Source.load`.
        """
        if source != self._source:
            self._table = source.load()
            self._source = source
        return self._table
