"""Records: folders of files that are whole or not there, also after a crash, and that know what they are records of.

A record's table of contents is the last file written. It holds the schema, the fingerprint of the cell or pre-training
that the record belongs to, the size and SHA-256 of every other file, and a SHA-256 of itself. So a copy that was cut
short, a flipped bit, a file of another cell and a file of another version are recognised.

- `read_file` checks the hash of the bytes that it returns.
- `read_record` checks that a record is whole, for instance to skip a finished cell. It checks the hash of every file
  except weights and predictions, the only large ones. Of these it checks the sizes, and the hashes on request.

A hash says that a file is what somebody wrote, not that this package did. So every file is read within limits: the
sizes that the table of contents gives, names of files in the record's own folder, values of the expected types and
ranges. Nothing in a file is interpolated, imported or run.
"""

import dataclasses
import errno
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..options.checking import typed

if TYPE_CHECKING:
    from .claims import Claim


UNFINISHED = ".unfinished-"
HOUR = 3600.0
SET_ASIDE = "set_aside"
PROBE = 1_000_000
"""Bytes of a file that is written to try a folder: about those of a record."""


class DamagedRecordError(Exception):
    """A record cannot be used; the message says why."""


class OtherVersionError(DamagedRecordError):
    """A record is whole, and of a version of the package that this one does not read."""


@contextmanager
def whole_folder(target: Path, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its name once everything in it has reached the disk.

    After an exception it is removed, and ``target`` does not appear. ``check`` is called last and may raise one too.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary(target) as folder:
        folder.mkdir()
        yield folder
        for path in folder.iterdir():
            _sync(path)
        _sync(folder)
        if check is not None:
            check()
        folder.rename(target)
    _sync(target.parent)


def write_whole(target: Path, content: str | bytes, *, is_synced: bool = True) -> None:
    """Write a file under a temporary name, bring it to the disk, and give it its name.

    Without ``is_synced`` a crash of the machine may leave it empty, and nothing waits for the disk.
    """
    refuse_links(target.parent)
    sync = _sync if is_synced else bool
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary(target) as file:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        sync(file)
        file.replace(target)
    sync(target.parent)


def read_bytes(path: Path | str, size: int) -> bytes:
    """The content of a regular file of at most this many bytes.

    Raises:
        DamagedRecordError: it is larger, or is a pipe, a device, a folder or a link in a circle, which never end.
        FileNotFoundError: there is no such file.
        OSError: it may not be read, or the file system fails. The record may be whole.
    """
    try:
        with _open_regular(path) as file:
            content = file.read(size + 1)
        if len(content) > size:
            raise ValueError(f"it is larger than {size:,} bytes")
        return content
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise DamagedRecordError(f"{Path(path).name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DamagedRecordError(f"{Path(path).name} cannot be read: {error}") from error


def _open_regular(path: Path | str) -> BinaryIO:
    """Open a regular file to read its bytes, without waiting for anything.

    Raises:
        ValueError: it is a pipe, a device or a folder, which may never end; or its name holds a null character.
        OSError: there is no such file, or it may not be read.
    """
    # A pipe would wait for somebody who writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is not a file")
    return os.fdopen(descriptor, "rb")


@contextmanager
def temporary(target: Path) -> Iterator[Path]:
    """A name beside ``target``, for what is to become it. Whatever has that name when the block ends is removed.

    SIGTERM and Ctrl-C may raise at any line, also at the line that makes the file.
    """
    # Not by `tempfile`: only the owner may read its files, and a results folder may be shared.
    path = target.parent / f"{UNFINISHED}{uuid4().hex}"
    try:
        yield path
    except OSError as error:
        if error.errno is not None and error.filename is None:
            # The error of a write does not name the file.
            error.filename = str(target)
        raise
    finally:

        def tidy() -> None:
            with suppress(FileNotFoundError):
                remove(path)

        surely(tidy)


def surely(clean_up: Callable[[], None]) -> None:
    """Tidy up, and once more if SIGTERM or Ctrl-C raised in the middle of it."""
    try:
        clean_up()
    except BaseException:
        clean_up()
        raise


def refuse_links(*paths: Path) -> None:
    """Refuse to write into what is a link: in a folder that someone gave you it may lead anywhere.

    Raises:
        UsageError: one of them is; it is named.
    """
    for path in paths:
        if path.is_symlink():
            raise UsageError(f"{path} is a link, and is not written through; remove it.")


def check_folder(results: Path, *, writable: bool) -> None:
    """Check that results can be in this folder, which need not exist. ``writable`` makes it, and tries a file in it.

    Raises:
        UsageError: it is a file or lies in one, its name is no text, something in it is a link, or nothing can be
            written to it.
    """
    ancestor = next(path for path in (results, *results.absolute().parents) if path.exists())
    if not ancestor.is_dir():
        raise UsageError(f"paths.results={results} cannot be used: {ancestor} is not a folder; name another one.")
    try:
        # Records hold the name as UTF-8.
        str(results.absolute()).encode()
        refuse_links(*results.iterdir() if ancestor == results else ())
        if writable:
            results.mkdir(parents=True, exist_ok=True)
            with temporary(results / "probe") as probe:
                probe.write_bytes(bytes(PROBE))
    except UnicodeEncodeError as error:
        raise UsageError(f"paths.results={results}: the name is not UTF-8; name another folder.") from error
    except OSError as error:
        raise UsageError(
            f"paths.results={results} cannot be written to: {error.strerror}; name another folder, or give the group "
            "rights to it, as by `chmod -R g+rwX` and `umask 002`."
        ) from error


def set_aside(results: Path, paths: Sequence[Path], reason: str) -> str:
    """Move records to where nothing looks for them: no result is ever deleted.

    They keep their places under ``results/set_aside/<time>/``, and the reason is kept beside them. The sentence names
    all three.
    """
    refuse_links(results / SET_ASIDE)
    place = results / SET_ASIDE / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:4]}"
    names = ", ".join(str(path.relative_to(results)) for path in paths)
    write_whole(place / "reason.txt", f"{names}: {reason}\n")
    for path in paths:
        target = place / path.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another process may just have set it aside.
        with suppress(FileNotFoundError):
            path.rename(target)
    return f"{names} is set aside in {place}: {reason}."


def remove_unfinished(folder: Path, now: float) -> None:
    """Remove the temporary files of killed processes. Writing takes seconds, so those older than an hour are dead, by
    the folder's clock."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            # Finished, or removed by another process.
            if path.stat().st_mtime < now - HOUR:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with everything in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


SCHEMA_VERSION = 3
"""Of the layout of files."""
SEAL = "sha256"
"""The field of a JSON file that holds the hash of all others."""
WEIGHTS = "weights.safetensors"
OF_FOLD = "fold_"
"""Before the number of a fold, the beginning of the names of its network's weights."""
PREDICTIONS = "predictions.parquet"
LARGE = (WEIGHTS, PREDICTIONS)
"""The files that may be large, and that a record of a cell need not have."""
LARGEST = 2**53
"""Whole numbers in a file are smaller: larger ones are not exact in float64, nor possible in an int64 column."""
MOST_JSON = 100_000_000
"""Bytes of a JSON file: a table with a million categories has a description of 20 MB."""
T = TypeVar("T")
Row = dict[str, Any]
"""Values by name, of a trial for instance."""
Fields = Mapping[str, Any]
"""Values by name that are read only."""
Arrays = Mapping[str, NDArray[Any]]
Files = Mapping[str, bytes]
"""The content of files, by their names."""


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


def sealed(content: Row) -> str:
    """JSON text of these fields and a hash of them; NaN is not allowed."""
    return json.dumps({**content, SEAL: _seal(content)}, indent=1, allow_nan=False) + "\n"


def from_json(content: bytes, name: str) -> Row:
    """The fields in a JSON text that somebody else may have written.

    Raises:
        DamagedRecordError: it has none, or values that are nested too deep, too large, or no text.
    """
    try:
        fields = json.loads(content.decode(), parse_int=_whole_number)
        # Such an escape may make half a character, which cannot be written in UTF-8.
        if b"\\ud" in content.lower():
            json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DamagedRecordError(f"{name} is torn") from error
    if not isinstance(fields, dict):
        raise DamagedRecordError(f"{name} has no fields")
    return fields


def _whole_number(text: str) -> int:
    number = int(text)
    if abs(number) >= LARGEST:
        raise ValueError(f"{text} is too large")
    return number


def read_json(path: Path) -> Row:
    """The fields in a file of JSON that somebody else may have written; raises what `read_sealed` does."""
    return from_json(read_bytes(path, MOST_JSON), path.name)


def read_sealed(path: Path) -> Row:
    """The fields that `sealed` was given.

    Raises:
        DamagedRecordError: the file is torn, or is not as it was written.
        FileNotFoundError: there is no such file.
    """
    content = read_json(path)
    seal = content.pop(SEAL, None)
    try:
        is_sealed = seal == _seal(content)
    except (ValueError, RecursionError) as error:
        raise DamagedRecordError(f"{path.name} is torn") from error
    # A file of an unknown schema may be sealed in another way. Its reader refuses it and names the schema.
    if not is_sealed and content.get("schema", SCHEMA_VERSION) == SCHEMA_VERSION:
        raise DamagedRecordError(f"{path.name} is damaged")
    return content


def write_record(
    folder: Path,
    contents: str,
    fingerprint: str,
    values: Row,
    files: Files,
    claim: "Claim | None" = None,
) -> None:
    """Write the files of a record, and last its table of contents. The folder appears whole or not at all.

    Args:
        folder: of the record.
        contents: name of the table of contents.
        fingerprint: of what the record belongs to.
        values: kept in the table of contents; NaN is not allowed.
        files: the content of each other file, by its name.
        claim: checked last, before the record appears.

    Raises:
        LostClaimError: another process has taken the claim over; nothing is kept.
    """
    table = sealed(table_of(files, fingerprint) | values)
    with whole_folder(folder, claim.check if claim else None) as draft:
        for name, content in {**files, contents: table.encode()}.items():
            (draft / name).write_bytes(content)


def table_of(files: Files, fingerprint: str) -> Row:
    """A table of contents: schema and fingerprint, and sizes and hashes of these files."""
    sizes = {name: len(content) for name, content in sorted(files.items())}
    hashes = {name: sha256(files[name]).hexdigest() for name in sizes}
    return {"schema": SCHEMA_VERSION, "fingerprint": fingerprint, "files": sizes, "hashes": hashes}


def read_record(folder: Path, contents: str, fingerprint: str, *, hashes: bool = False) -> Row:
    """The table of contents of a whole record. ``hashes`` checks the hashes of large files too.

    Raises:
        DamagedRecordError: it is torn or damaged, of another schema, or belongs to something else.
        FileNotFoundError: there is no such folder.
    """
    was_there = folder.exists()
    try:
        table = read_sealed(folder / contents)
    except FileNotFoundError:
        # Another process may publish it or set it aside at any moment.
        if not (was_there and folder.exists()):
            raise
        raise DamagedRecordError(f"{contents} is missing") from None
    check_contents(table, fingerprint)
    for name in table["files"]:
        if hashes or name not in LARGE:
            _content(folder, table, name)
        else:
            _check_size(folder, table, name)
    return table


def read_file(folder: Path, table: Row, name: str, parse: Callable[[bytes], T]) -> T:
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


def check_contents(table: Row, fingerprint: str) -> None:
    """Check the schema of a table of contents, what it belongs to, and the names and sizes of its files."""
    schema = table.get("schema")
    if schema != SCHEMA_VERSION:
        raise OtherVersionError(f"it has schema {schema!r:.20}, and this version reads {SCHEMA_VERSION}")
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


def fields_of(kind: type[T], content: Row) -> T:
    """The fields of a record that its readers rely on; it may have others besides.

    Raises:
        DamagedRecordError: one of them is missing, or of another type.
    """
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    record: T = parsed(kind, {name: value for name, value in content.items() if name in names}, "it")
    return record


def record_folders(parent: Path) -> list[Path]:
    """The records in a folder, by name, whole or damaged."""
    # A process may be writing a record, or may have died over it.
    paths = parent.iterdir() if parent.is_dir() else ()
    return sorted(path for path in paths if path.is_dir() and not path.name.startswith(UNFINISHED))


def _content(folder: Path, table: Row, name: str) -> bytes:
    """The bytes of a file, which are those that were written."""
    if name not in table["files"]:
        raise DamagedRecordError(f"it has no {name}")
    _check_size(folder, table, name)
    content = read_bytes(folder / name, table["files"][name])
    if table["hashes"][name] != sha256(content).hexdigest():
        raise DamagedRecordError(f"{name} is damaged")
    return content


def _check_size(folder: Path, table: Row, name: str) -> None:
    """Refuse a file of another size than the table of contents says."""
    try:
        size = (folder / name).lstat().st_size
    except FileNotFoundError:
        raise DamagedRecordError(f"{name} is missing") from None
    if size != table["files"][name]:
        raise DamagedRecordError(f"{name} is torn")


def fingerprint(fields: Row) -> str:
    """16 hexadecimal digits that name these fields."""
    return _seal(fields)[:16]


def _seal(content: Row) -> str:
    """A hash of the values; the layout of the text is free. Raises ValueError for NaN and infinity."""
    return sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def as_safetensors(arrays: Arrays) -> bytes:
    """Arrays by name as a file."""
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
