"""A record: a folder of files that is whole or not there, and that knows what it is a record of.

Its table of contents is the last file written. It holds the schema, the fingerprint of the cell or pre-training that
the record belongs to, the size and SHA-256 of every other file, and a SHA-256 of itself. So a copy that was cut short,
a flipped bit, a file of another cell and a file of another version are recognised.

- `read_file` checks the hash of the bytes that it returns.
- `read_record` says whether a record is whole, for instance to skip a finished cell. It checks the hash of every file
  except weights and predictions, the only large ones, whose sizes it checks unless it is asked for more.

A hash says that a file is what somebody wrote, not that this package did. So every file is read within limits: the
sizes that the table of contents gives, names of files in the record's own folder, values of the expected types and
ranges. Nothing in a file is interpolated, imported or run.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

from ..options.checking import DEEPEST, are_usable, typed
from .claims import Claim
from .files import UNFINISHED, DamagedRecordError, OtherVersionError, UnreadableRecordError, read_bytes, whole_folder

SCHEMA_VERSION = 3
"""Of the layout of files."""
SEAL = "sha256"
"""The field of a JSON file that holds the hash of all others."""
WEIGHTS = "weights.safetensors"
PREDICTIONS = "predictions.parquet"
LARGE = (WEIGHTS, PREDICTIONS)
TEXTS = (".json", ".yaml")
"""Endings of files whose line ends may be those of another system."""
MOST_JSON = 100_000_000
"""Bytes of a JSON file: a table with a million categories has a description of 20 MB."""
NUMBER: set[type] = {int, float, NoneType}
"""Types of a number in a file; null stands for a missing one."""
T = TypeVar("T")
Row = dict[str, Any]
"""Values by name, of a trial for instance."""


@dataclass(frozen=True)
class Contents:
    """A table of contents.

    Attributes:
        fingerprint: of what the record belongs to.
        files: the size of each other file, in bytes.
        hashes: the SHA-256 of each.
    """

    fingerprint: str
    files: dict[str, int]
    hashes: dict[str, str]


def sealed(content: Mapping[str, Any]) -> str:
    """JSON text of these fields and a hash of them; NaN is not allowed."""
    return json.dumps({**content, SEAL: _seal(content)}, indent=1, allow_nan=False) + "\n"


def read_sealed(path: Path) -> dict[str, Any]:
    """The fields that `sealed` was given.

    Raises:
        DamagedRecordError: the file is torn, or is not as it was written.
        FileNotFoundError: there is no such file.
    """
    try:
        content = json.loads(read_bytes(path, MOST_JSON))
        is_sealed = isinstance(content, dict) and content.pop(SEAL, None) == _seal(content)
    except (ValueError, RecursionError) as error:
        raise DamagedRecordError(f"{path.name} is torn") from error
    if not isinstance(content, dict):
        raise DamagedRecordError("it has no schema")
    # A file of an unknown schema may be sealed in another way; its reader says which schema it has.
    if not is_sealed and content.get("schema", SCHEMA_VERSION) == SCHEMA_VERSION:
        raise DamagedRecordError(f"{path.name} is damaged")
    # A seal says that somebody wrote the file, and not that this package did.
    if not are_usable((content,), DEEPEST + 2):
        raise DamagedRecordError(f"{path.name} has values that are nested too deep, too large, or no text")
    return content


@contextmanager
def new_record(
    folder: Path, contents: str, fingerprint: str, values: dict[str, Any], claim: Claim | None = None
) -> Iterator[Path]:
    """A folder to write a record's files into. At the end it takes the name ``folder``, with a table of contents.

    Args:
        contents: name of the table of contents.
        fingerprint: of what the record belongs to.
        values: kept in the table of contents; NaN is not allowed.
        claim: checked last, before the record appears.

    Raises:
        LostClaimError: another process has taken the claim over; nothing is kept.
    """
    before = None
    if claim:
        before = claim.check
    with whole_folder(folder, before=before) as unfinished:
        yield unfinished
        # The table of contents comes last: it holds the sizes of all others.
        table = table_of(unfinished.iterdir(), fingerprint) | values
        (unfinished / contents).write_text(sealed(table), encoding="utf-8")


def table_of(files: Iterable[Path], fingerprint: str) -> dict[str, Any]:
    """A table of contents: schema and fingerprint, and sizes and hashes of these files."""
    sizes, hashes = {}, {}
    for path in sorted(files):
        content = path.read_bytes()
        sizes[path.name] = len(content)
        hashes[path.name] = sha256(content).hexdigest()
    return {"schema": SCHEMA_VERSION, "fingerprint": fingerprint, "files": sizes, "hashes": hashes}


def read_record(folder: Path, contents: str, fingerprint: str, *, weights: bool = False) -> dict[str, Any]:
    """The table of contents of a whole record. ``weights`` checks the hashes of weights and predictions too.

    Raises:
        DamagedRecordError: it is torn or damaged, of another schema, or belongs to something else.
        FileNotFoundError: there is no such folder.
    """
    try:
        table = read_sealed(folder / contents)
    except FileNotFoundError:
        if not folder.exists():
            raise
        if not (folder / contents).exists():
            raise DamagedRecordError(f"{contents} is missing") from None
        # Another process has just published it.
        table = read_sealed(folder / contents)
    check_contents(table, fingerprint)
    for name in table["files"]:
        if name in LARGE and not weights:
            _check_size(folder, table, name)
        else:
            _content(folder, table, name)
    return table


def read_file(folder: Path, table: Mapping[str, Any], name: str, parse: Callable[[bytes], T]) -> T:
    """A file of a record, parsed; the record's table of contents is ``table``, and ``parse`` may raise anything.

    Raises:
        DamagedRecordError: the record has no such file, its bytes are not those that were written, or cannot be read.
    """
    content = _content(folder, table, name)
    try:
        return parse(content)
    # Each format has exceptions of its own.
    except Exception as error:
        raise DamagedRecordError(f"{name} cannot be read: {error}") from error


def check_contents(table: dict[str, Any], fingerprint: str) -> None:
    """Check the schema of a table of contents, what it belongs to, and the names and sizes of its files."""
    if "schema" not in table:
        raise DamagedRecordError("it has no schema")
    if type(table["schema"]) is not int or table["schema"] != SCHEMA_VERSION:
        raise OtherVersionError(f"it has schema {table['schema']!r:.20}, and this version reads {SCHEMA_VERSION}")
    contents = fields_of(Contents, table)
    if contents.fingerprint != fingerprint:
        raise DamagedRecordError(f"it belongs to {contents.fingerprint:.80}")
    for name, size in contents.files.items():
        # A file elsewhere could be any file of the machine.
        if name in ("", ".", "..") or set(name) & set("/\\\0"):
            raise DamagedRecordError(f"it names {name!r:.80}, which is not a file of its folder")
        if size < 0 or name not in contents.hashes:
            raise DamagedRecordError(f"it has no size or hash of {name}")


def parsed(kind: Any, value: Any, place: str) -> Any:
    """A value of a file as this type, see `scarf_lightning.options.checking.typed`.

    Raises:
        DamagedRecordError: it is of another type, or has missing or unknown fields.
    """
    try:
        return typed(kind, value, place, exact=True)
    except ValueError as error:
        raise DamagedRecordError(str(error).removesuffix(".")) from error


def fields_of(kind: type[T], content: Mapping[str, Any], place: str = "it") -> T:
    """The fields of a record that its readers rely on; it may have others besides.

    Raises:
        DamagedRecordError: one of them is missing, or of another type.
    """
    if not isinstance(content, Mapping):
        raise DamagedRecordError(f"{place} has no fields")
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    own: T = parsed(kind, {name: content[name] for name in names if name in content}, place)
    return own


def record_folders(parent: Path) -> list[Path]:
    """The records in a folder, by name, whole or damaged."""
    if not parent.is_dir():
        return []
    folders = []
    for path in parent.iterdir():
        # A process may be writing a record, or may have died over it.
        if path.is_dir() and not path.name.startswith(UNFINISHED):
            folders.append(path)
    return sorted(folders)


def _check_size(folder: Path, table: Mapping[str, Any], name: str) -> None:
    """Refuse a file of another size than the table of contents says."""
    try:
        size = (folder / name).stat().st_size
    except FileNotFoundError:
        raise DamagedRecordError(f"{name} is missing") from None
    except OSError as error:
        raise UnreadableRecordError(f"{name} cannot be read: {error.strerror}") from error
    if size != table["files"][name]:
        raise DamagedRecordError(f"{name} is torn")


def _content(folder: Path, table: Mapping[str, Any], name: str) -> bytes:
    """The bytes of a file, which are those that were written."""
    if name not in table["files"]:
        raise DamagedRecordError(f"it has no {name}")
    size = table["files"][name]
    if name.endswith(TEXTS):
        content = _original_text(folder / name, size)
    else:
        _check_size(folder, table, name)
        content = read_bytes(folder / name, size)
    if table["hashes"][name] != sha256(content).hexdigest():
        raise DamagedRecordError(f"{name} is damaged")
    return content


def _original_text(path: Path, size: int) -> bytes:
    """A text as it was written, also after a copy, such as git's on Windows, that gave it other line ends."""
    try:
        # At most every character is a line end that takes two.
        content = read_bytes(path, 2 * size).replace(b"\r\n", b"\n")
    except FileNotFoundError:
        raise DamagedRecordError(f"{path.name} is missing") from None
    if len(content) != size:
        raise DamagedRecordError(f"{path.name} is torn")
    return content


def _seal(content: Mapping[str, Any]) -> str:
    """A hash of the values; the layout of the text is free. Raises ValueError for NaN and infinity."""
    others = dict(content)
    others.pop(SEAL, None)
    text = json.dumps(others, sort_keys=True, allow_nan=False)
    return sha256(text.encode()).hexdigest()
