"""Where tables come from. Opening a source imports no client and loads nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import UsageError, unknown_name
from ..targets import AUTO, check_kind
from .file import LISTS_OF_COLUMNS, FileSource
from .openml import OpenMLSource, OpenMLTaskSource
from .source import (
    ENDING,
    BundledSource,
    DiabetesSource,
    ReadTable,
    Source,
    SplitBy,
    Stamp,
    Stamps,
    WdbcSource,
)

__all__ = [
    "ENDING", "DiabetesSource", "FileSource", "ReadTable", "Source", "SplitBy", "Stamp",
    "Stamps", "WdbcSource", "open_source",
]  # fmt: skip

OF_A_FORMAT = ("separator", "decimal", "encoding", "sheet")
BUNDLED: dict[str, type[BundledSource]] = {source.name: source for source in (WdbcSource, DiabetesSource)}
"""What needs neither a file nor a network."""
OPTIONS = {
    FileSource.name: ("path", "target", *LISTS_OF_COLUMNS, *OF_A_FORMAT, "target_kind", "weight", "unlabelled"),
    OpenMLSource.name: ("id", "task", "target_kind"),
    WdbcSource.name: ("id",),
    DiabetesSource.name: (),
}
"""The options of each source, besides the name of its data."""

NEEDS_NOTHING = ("random", "stratified")
"""Splits that need nothing but the labels."""
OF_A_TASK = "task"


def open_source(
    source: str,
    *,
    name: str | None,
    openml_cache: str | None,
    split: Mapping[str, Any] | None = None,
    **given: Any,
) -> Source:
    """The source that the options of a dataset name. Options that are not set are None; so is the paper's split.

    Raises:
        UsageError: there is no such source, an option that it needs is missing, or it does not know an option.
    """
    if source not in OPTIONS:
        fault = f"dataset.source={source} is not a source"
        raise UsageError(unknown_name(fault, source, sorted(OPTIONS), "the sources"))
    for option, value in given.items():
        if value is not None and option not in OPTIONS[source]:
            fault = f"dataset.{option} is not an option of dataset.source={source}"
            raise UsageError(unknown_name(fault, option, ("name", *OPTIONS[source]), "its options"))
    kind = None if given.get("target_kind") == AUTO else given.get("target_kind")
    check_kind(kind)
    dataset_id, task = given.get("id"), given.get("task")
    split_by = _split_by(split or {}, source, task)
    if source == WdbcSource.name and dataset_id not in (None, WdbcSource.dataset_id):
        raise UsageError(
            f"dataset=wdbc is OpenML dataset {WdbcSource.dataset_id}; for {dataset_id} use dataset=openml."
        )
    # A bundled table is one table, so nothing of it can be chosen but its name.
    if source in BUNDLED:
        return BUNDLED[source](dataset_name=name)
    named: dict[str, Any] = {"dataset_name": name, "target_kind": kind, "split": split_by}
    if source == FileSource.name:
        path = _path(given.get("path"))
        if not path:
            raise UsageError(
                "dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C."
            )
        named |= _columns(given) | {option: given.get(option) for option in (*OF_A_FORMAT, "weight")}
        # A file that is there says which columns it has.
        target = given.get("target") or ""
        return FileSource(path, target, unlabelled=_path(given.get("unlabelled")), **named)
    if dataset_id is not None and task is not None:
        raise UsageError(
            f"dataset.id={dataset_id} and dataset.task={task} are both set; give one, for a task brings its dataset."
        )
    if dataset_id is None and task is None:
        raise UsageError("dataset=openml needs the id of a dataset, or of a task: set dataset.id=N or dataset.task=N.")
    named["cache"] = _path(openml_cache)
    if task is not None:
        return OpenMLTaskSource(task, is_split=(split or {}).get("name") == OF_A_TASK, **named)
    assert dataset_id is not None
    return OpenMLSource(dataset_id, **named)


def _columns(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The columns that options list."""
    return {option: tuple(given.get(option) or ()) for option in LISTS_OF_COLUMNS}


def _path(given: str | None) -> Path | None:
    return Path(given).expanduser() if given else None


def _split_by(split: Mapping[str, Any], source: str, task: int | None) -> SplitBy | None:
    """Fields of a split that its source must know."""
    kind = split.get("name", NEEDS_NOTHING[0])
    if kind == OF_A_TASK and task is None:
        raise UsageError("split=task takes the splits of an OpenML task; use it with dataset=openml dataset.task=N.")
    if kind in (*NEEDS_NOTHING, OF_A_TASK):
        return None
    if source in BUNDLED or (kind == "files" and source != FileSource.name):
        has = "no such columns" if source in BUNDLED else "no files of its own"
        raise UsageError(f"split={kind} does not go with dataset.source={source}, which has {has}; use dataset=csv.")
    needed = "test" if kind == "files" else "column"
    if not split.get(needed):
        raise UsageError(f"split={kind} needs split.{needed}; set it.")
    if kind != "files":
        return SplitBy(kind, split["column"])
    return SplitBy(kind, None, _path(split.get("validation")), _path(split["test"]))
