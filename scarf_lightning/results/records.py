"""A record: a folder of files that is whole or not there, and knows what it is a record of.

Its table of contents is the last file written: the schema, the fingerprint of what it belongs to, and the size of every
other file. So a copy that was cut short, a file of another cell or one of an older version is recognised.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .files import UNFINISHED, whole_folder

SCHEMA_VERSION = 2
"""Of the files' layout."""


class DamagedRecordError(Exception):
    """A record cannot be used; the message says why."""


@contextmanager
def new_record(folder: Path, contents: str, fingerprint: str, values: dict[str, Any]) -> Iterator[Path]:
    """A folder to write a record's files into; leaving it writes the table of contents and gives it its name.

    Args:
        folder: the record's place.
        contents: name of its table of contents.
        fingerprint: of what the record belongs to.
        values: kept in the table of contents; NaN is not allowed.
    """
    with whole_folder(folder) as unfinished:
        yield unfinished
        sizes = {path.name: path.stat().st_size for path in sorted(unfinished.iterdir())}
        table = {"schema": SCHEMA_VERSION, "fingerprint": fingerprint, "files": sizes} | values
        (unfinished / contents).write_text(json.dumps(table, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_record(folder: Path, contents: str, fingerprint: str) -> dict[str, Any]:
    """The table of contents of a whole record.

    Raises:
        DamagedRecordError: it is torn, of another schema, or belongs to something else.
        FileNotFoundError: there is no such folder.
    """
    try:
        table = json.loads((folder / contents).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not folder.exists():
            raise
        raise DamagedRecordError(f"{contents} is missing") from None
    except ValueError as error:
        raise DamagedRecordError(f"{contents} is torn") from error
    check_contents(table, fingerprint)
    for name, size in table["files"].items():
        path = folder / name
        if not path.exists():
            raise DamagedRecordError(f"{name} is missing")
        if path.stat().st_size != size:
            raise DamagedRecordError(f"{name} is torn")
    return dict(table)


def check_contents(table: Any, fingerprint: str) -> None:
    """Make sure of the schema and of what something is a record of.

    Raises:
        DamagedRecordError: one is another.
    """
    if not isinstance(table, dict) or "schema" not in table:
        raise DamagedRecordError("it has no schema")
    if table["schema"] != SCHEMA_VERSION:
        raise DamagedRecordError(f"it has schema {table['schema']}, and this version reads {SCHEMA_VERSION}")
    if table["fingerprint"] != fingerprint:
        raise DamagedRecordError(f"it belongs to {table['fingerprint']}")


def record_folders(parent: Path) -> list[Path]:
    """The records in a folder, by name, whole or damaged."""
    if not parent.exists():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith(UNFINISHED))
