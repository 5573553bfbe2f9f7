"""Where tables come from: one module a source. Opening a source imports no client and loads nothing."""

from pathlib import Path

from ...errors import UsageError
from .base import Source
from .openml import OpenMLSource
from .wdbc import WdbcSource

__all__ = ["Source", "open_source"]


def open_source(source: str, *, id: int | None, name: str | None, openml_cache: str | None) -> Source:
    """The source that a dataset's configuration names.

    Raises:
        UsageError: no such source, or it lacks the option that it needs.
    """
    if source == "wdbc":
        if id not in (None, WdbcSource.dataset_id):
            raise UsageError(f"dataset=wdbc is OpenML dataset {WdbcSource.dataset_id}; for {id} use dataset=openml.")
        return WdbcSource(name or "wdbc")
    if source == "openml":
        if id is None:
            raise UsageError("dataset=openml needs the dataset's id: add dataset.id=N.")
        return OpenMLSource(id, name, Path(openml_cache).expanduser() if openml_cache else None)
    raise UsageError(f"dataset.source={source} is not a source; the sources are openml, wdbc.")
