"""An index of finished cells, ``results/index/<fingerprint>``, so that a sweep of thousands of them is skipped quickly.

Reading a record takes long: its text is parsed, and hashed in a form of its own. An entry holds what a run needs of a
cell and a hash of every byte that it was read from. These bytes are read and hashed each time, and if they are the
same ones, the record is as whole as it was. Whatever differs is read as if there were no index, and makes a new entry.
So the folder may be removed at any time. Of weights and predictions the sizes are compared, as `records` does. As for a
record, a hash says that an entry is what somebody wrote: its types and sizes are checked like a record's.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from ..data.targets import Target, target_from_plain
from .files import UNFINISHED, DamagedRecordError, read_bytes, temporary
from .records import LARGE, LARGEST, MOST_JSON, Fields, are_usable, check_fields
from .rows import Rows
from .store import ANYTHING, DESCRIPTION, kinds_of_columns, read_cell

FOLDER = "index"
VERSION = 1
"""Of the layout of entries."""
DIGEST = 64
"""Characters of a hash."""
HEADER: Fields = {"version": int, "state": str, "target": dict, "size": int, "others": list}
"""An entry but for its layout and its numbers."""


@dataclass(frozen=True, slots=True)
class CellSummary:
    """What a run needs of a cell.

    Attributes:
        rows: of its trials, by trial.
        target: what it predicts; None if it is not described.
        is_whole: whether it is described, and nothing in its folder is damaged.
        lacks_weights: whether a finished trial has kept none, where the weights are looked at.
    """

    rows: Rows
    target: Target | None
    is_whole: bool
    lacks_weights: bool = False


def read_summary(cell: Path, trials: int, *, weights: bool = False) -> CellSummary:
    """What a cell's folder holds of so many trials. A cell that has all of them is entered into the index.

    Args:
        cell: the folder.
        trials: how many are wanted.
        weights: check the hashes of weights and predictions too, without the index.
    """
    state = None if weights else _state(cell)
    if state is not None and (known := _known(cell, state, trials)) is not None:
        return known
    stored = read_cell(cell, weights=weights)
    target = None if stored.description is None else stored.target
    is_whole = target is not None and not stored.damaged
    rows = Rows.of([stored.rows[trial] for trial in range(trials) if trial in stored.rows])
    if target is not None and is_whole and len(rows) == trials and state is not None and state == _state(cell):
        with suppress(OSError):  # a folder that cannot be written to has no index
            _enter(cell, state, target, Rows.of([stored.rows[trial] for trial in sorted(stored.rows)]))
    return CellSummary(rows, target, is_whole, bool(stored.without_weights(range(trials))))


def _state(cell: Path) -> str | None:
    """A hash of all that `read_cell` reads of a cell; None if some of it cannot be read."""
    digest, place = sha256(cell.name.encode()), str(cell)
    try:
        for name, path in _files(place):
            content = b"" if name in LARGE else read_bytes(path, MOST_JSON)
            size = Path(path).stat().st_size if name in LARGE else len(content)
            digest.update(f"\0{path.removeprefix(place)}\0{size}\0".encode() + content)
    except (OSError, DamagedRecordError, UnicodeEncodeError):
        return None
    return digest.hexdigest()


def _files(cell: str) -> Iterator[tuple[str, str]]:
    """Names and paths of the files of a cell. Paths are texts: objects would take as long as reading."""
    yield DESCRIPTION, f"{cell}/{DESCRIPTION}"
    with os.scandir(f"{cell}/stacks") as entries:
        stacks = sorted(each.path for each in entries if each.is_dir() and not each.name.startswith(UNFINISHED))
    for stack in stacks:
        with os.scandir(stack) as entries:
            yield from sorted((each.name, each.path) for each in entries)


def _known(cell: Path, state: str, trials: int) -> CellSummary | None:
    """A cell in this state, if the index has it with this many trials."""
    try:
        content = read_bytes(_place(cell), MOST_JSON)
        if sha256(content[DIGEST:]).hexdigest().encode() != content[:DIGEST]:
            return None
        text, _, numbers = content[DIGEST:].partition(b"\n")
        header = json.loads(text)
        check_fields(header, HEADER)
        if (header["version"], header["state"]) != (VERSION, state):
            return None
        size, layout = header["size"], {name: (kept, place) for name, (kept, place) in dict(header["layout"]).items()}
        block = np.frombuffer(numbers, dtype="<f8").reshape(len(numbers) // 8 // size, size).astype(np.float64)
        rows = Rows(size, layout, block, header["others"])
        _check(rows)
        if rows.column("trial")[:trials] != list(range(trials)):
            return None
        return CellSummary(rows.first(trials), target_from_plain(header["target"]), is_whole=True)
    except (FileNotFoundError, DamagedRecordError, ArithmeticError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _check(rows: Rows) -> None:
    """Check the types of values, as a record's are checked.

    Raises:
        DamagedRecordError: one is not possible. Other errors are raised too.
    """
    kinds = kinds_of_columns()
    is_possible = bool(np.isfinite(rows.numbers).all()) and are_usable(rows.layout)
    for name, (kept, place) in rows.layout.items():
        if kept in ("float", "int"):
            types: set[type] = {float if kept == "float" else int}
            is_possible &= kept == "float" or bool((np.abs(rows.numbers[place]) < LARGEST).all())
        else:
            values = rows.others[place] if kept == "each" else [rows.others[place]]
            types = set(map(type, values))
            is_possible &= kept == "same" or len(values) == rows.size
        if not is_possible or not types <= kinds.get(name, ANYTHING):
            raise DamagedRecordError(f"it has no {name}")


def _enter(cell: Path, state: str, target: Target, rows: Rows) -> None:
    header = {
        "version": VERSION,
        "state": state,
        "target": target.plain(),
        "size": rows.size,
        "layout": rows.layout,
        "others": rows.others,
    }
    content = json.dumps(header).encode() + b"\n" + rows.numbers.astype("<f8").tobytes()
    place = _place(cell)
    place.parent.mkdir(exist_ok=True)
    with temporary(place) as file:
        file.write_bytes(sha256(content).hexdigest().encode() + content)
        file.replace(place)


def _place(cell: Path) -> Path:
    return cell.parent / FOLDER / cell.name
