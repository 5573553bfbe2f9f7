"""A record: a folder of files that is whole or not there, and knows what it is a record of.

Its table of contents is the last file written: the schema, the fingerprint of what it belongs to, size and SHA-256 of
every other file, and a SHA-256 of itself. So a copy that was cut short, a flipped bit, a file of another cell or one of
an older version is recognised.

- Who reads a file has its hash checked on the bytes that are used (`read_file`).
- Who asks whether a record is whole (`read_record`), as for skipping a finished cell, has every file's hash checked but
  those of weights and predictions, the only large ones, which are judged by their size unless asked for.
- Records that were written before there were hashes are as good as their sizes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

from .claims import Claim
from .files import UNFINISHED, whole_folder

SCHEMA_VERSION = 2
"""Of the files' layout."""
SEAL = "sha256"
"""The field of a JSON file that holds the hash of all others."""
WEIGHTS = "weights.safetensors"
PREDICTIONS = "predictions.parquet"
LARGE = (WEIGHTS, PREDICTIONS)

T = TypeVar("T")
Fields = Mapping[str, type | UnionType]
"""Names of fields, and what their values are."""


class DamagedRecordError(Exception):
    """A record cannot be used; the message says why."""


def sealed(content: Mapping[str, Any]) -> str:
    """JSON text of these fields and a hash of them; NaN is not allowed."""
    return json.dumps({**content, SEAL: _seal(content)}, indent=1, allow_nan=False) + "\n"


def read_sealed(path: Path) -> dict[str, Any]:
    """What `sealed` was given, or the content of a file of before there were hashes.

    Raises:
        DamagedRecordError: it is torn, or not what was written.
        FileNotFoundError: there is no such file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except ValueError as error:
        raise DamagedRecordError(f"{path.name} is torn") from error
    if not isinstance(content, dict):
        raise DamagedRecordError("it has no schema")
    seal = content.pop(SEAL, None)
    of_this_schema = content.get("schema", SCHEMA_VERSION) == SCHEMA_VERSION  # another may be sealed otherwise
    if of_this_schema and seal not in (None, _seal(content)):
        raise DamagedRecordError(f"{path.name} is damaged")
    return content


@contextmanager
def new_record(
    folder: Path, contents: str, fingerprint: str, values: dict[str, Any], claim: Claim | None = None
) -> Iterator[Path]:
    """A folder to write a record's files into; leaving it writes the table of contents and gives it its name.

    Args:
        folder: the record's place.
        contents: name of its table of contents.
        fingerprint: of what the record belongs to.
        values: kept in the table of contents; NaN is not allowed.
        claim: checked last, before the record appears.

    Raises:
        LostClaimError: another process has taken the claim over; nothing is kept.
    """
    with whole_folder(folder, before=claim.check if claim else None) as unfinished:
        yield unfinished
        table = table_of(unfinished.iterdir(), fingerprint) | values
        (unfinished / contents).write_text(sealed(table), encoding="utf-8")


def table_of(files: Iterable[Path], fingerprint: str) -> dict[str, Any]:
    """What a table of contents says of files, and of what they belong to."""
    found = {path.name: path.read_bytes() for path in sorted(files)}
    return {
        "schema": SCHEMA_VERSION,
        "fingerprint": fingerprint,
        "files": {name: len(content) for name, content in found.items()},
        "hashes": {name: sha256(content).hexdigest() for name, content in found.items()},
    }


def read_record(folder: Path, contents: str, fingerprint: str, *, weights: bool = False) -> dict[str, Any]:
    """The table of contents of a whole record.

    Args:
        folder: the record's place.
        contents: name of its table of contents.
        fingerprint: of what it must belong to.
        weights: whether the hashes of weights and predictions are checked, too.

    Raises:
        DamagedRecordError: it is torn or damaged, of another schema, or belongs to something else.
        FileNotFoundError: there is no such folder.
    """
    try:
        table = read_sealed(folder / contents)
    except FileNotFoundError:
        if not folder.exists():
            raise
        if not (folder / contents).exists():  # else another process published it meanwhile
            raise DamagedRecordError(f"{contents} is missing") from None
        table = read_sealed(folder / contents)
    check_contents(table, fingerprint)
    for name in table["files"]:
        if name in LARGE and not weights:
            _check_size(folder, table, name)
        else:
            _content(folder, table, name)
    return table


def read_file(folder: Path, table: Mapping[str, Any], name: str, parse: Callable[[bytes], T]) -> T:
    """What a file of a record holds.

    Args:
        folder: the record's place.
        table: its table of contents, see `read_record`.
        name: of the file.
        parse: reads the bytes.

    Raises:
        DamagedRecordError: they are not those that were written, or cannot be read.
    """
    content = _content(folder, table, name)
    try:
        return parse(content)
    except Exception as error:  # each format has exceptions of its own
        raise DamagedRecordError(f"{name} cannot be read: {error}") from error


def check_contents(table: dict[str, Any], fingerprint: str) -> None:
    """Make sure of the schema and of what something is a record of.

    Raises:
        DamagedRecordError: one is another.
    """
    if "schema" not in table:
        raise DamagedRecordError("it has no schema")
    if table["schema"] != SCHEMA_VERSION:
        raise DamagedRecordError(f"it has schema {table['schema']}, and this version reads {SCHEMA_VERSION}")
    if table.get("fingerprint") != fingerprint:
        raise DamagedRecordError(f"it belongs to {table.get('fingerprint')}")
    table.setdefault("files", {})
    table.setdefault("hashes", {})
    check_fields(table, {"files": dict, "hashes": dict})


def check_fields(content: Any, kinds: Fields) -> None:
    """Make sure that these fields are there, and what they are: what carries no hash may lack any.

    Raises:
        DamagedRecordError: one is not.
    """
    for name, kind in kinds.items():
        if not isinstance(content, dict) or name not in content or not isinstance(content[name], kind):
            raise DamagedRecordError(f"it has no {name}")


def record_folders(parent: Path) -> list[Path]:
    """The records in a folder, by name, whole or damaged."""
    if not parent.exists():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith(UNFINISHED))


def _check_size(folder: Path, table: Mapping[str, Any], name: str) -> None:
    try:
        size = (folder / name).stat().st_size
    except FileNotFoundError:
        raise DamagedRecordError(f"{name} is missing") from None
    if size != table["files"].get(name, size):
        raise DamagedRecordError(f"{name} is torn")


def _content(folder: Path, table: Mapping[str, Any], name: str) -> bytes:
    _check_size(folder, table, name)
    content = (folder / name).read_bytes()
    if table["hashes"].get(name, digest := sha256(content).hexdigest()) != digest:
        raise DamagedRecordError(f"{name} is damaged")
    return content


def _seal(content: Mapping[str, Any]) -> str:
    """Of what the text means: its layout is free."""
    rest = {name: value for name, value in content.items() if name != SEAL}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
