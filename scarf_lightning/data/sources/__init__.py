"""Where tables come from. Opening a source imports no client and loads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ...errors import UsageError, unknown_name
from ...options.settings import expanded
from .file import ENDING, LISTS_OF_COLUMNS, FileSource
from .openml import OpenMLSource
from .source import (
    BundledSource,
    DiabetesSource,
    ReadTable,
    Source,
    Stamp,
    Stamps,
    WdbcSource,
)

__all__ = [
    "ENDING", "DiabetesSource", "FileSource", "ReadTable", "Source", "Stamp",
    "Stamps", "WdbcSource", "open_source",
]  # fmt: skip

BUNDLED: dict[str, type[BundledSource]] = {source.name: source for source in (WdbcSource, DiabetesSource)}
"""What needs neither a file nor a network."""
OPTIONS = {
    FileSource.name: tuple(field.name for field in fields(FileSource) if field.name not in ("dataset_name", "split")),
    OpenMLSource.name: ("id", "target_kind"),
    WdbcSource.name: ("id",),
    DiabetesSource.name: (),
}
"""The options of each source, besides the name of its data."""


def open_source(
    source: str,
    *,
    name: str | None,
    openml_cache: str | None,
    split: Mapping[str, Any] | None = None,
    size: Sequence[int] | None = None,
    **given: Any,
) -> Source:
    """The source that the options of a dataset name. Options that are not set are None; so is the paper's split.

    Raises:
        UsageError: an option that it needs is missing, or it does not know an option.
    """
    asked = {option: value for option, value in given.items() if value is not None}
    for option in asked:
        if option not in OPTIONS[source]:
            fault = f"dataset.{option} is not an option of dataset.source={source}"
            raise UsageError(unknown_name(fault, option, ("name", *OPTIONS[source]), "its options"))
    split_by = _split_by(split or {}, source)
    # A bundled table is one table, so nothing of it can be chosen but its name.
    if source in BUNDLED:
        if asked.get("id", WdbcSource.dataset_id) != WdbcSource.dataset_id:
            raise UsageError(f"dataset=wdbc is OpenML dataset {WdbcSource.dataset_id}; for others use dataset=openml.")
        return BUNDLED[source](dataset_name=name)
    named: dict[str, Any] = {"dataset_name": name, "target_kind": asked.pop("target_kind", None)}
    if source == OpenMLSource.name:
        if "id" not in asked:
            raise UsageError("dataset=openml needs the id of a dataset: set dataset.id=N.")
        return OpenMLSource(asked["id"], expanded(openml_cache) if openml_cache else None, **named)
    if not asked.get("path"):
        raise UsageError("dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C.")
    lists = {option: tuple(asked.get(option, ())) for option in LISTS_OF_COLUMNS}
    # A file that is there says which columns it has.
    asked["path"] = expanded(asked["path"])
    return FileSource(**{"target": "", "split": split_by} | asked | named | lists)


def _split_by(split: Mapping[str, Any], source: str) -> tuple[str, str] | None:
    """The name of a split and the column that it goes by; None if it needs nothing but the labels."""
    kind = split.get("name", "random")
    if kind in ("random", "stratified"):
        return None
    if source != FileSource.name:
        raise UsageError(f"split={kind} does not go with dataset.source={source}; use it with dataset=csv.")
    if not split.get("column"):
        raise UsageError(f"split={kind} needs split.column; set it.")
    return kind, split["column"]
