"""The rows of finished cells, and an index of them in ``results/index/<fingerprint>``, so that thousands are skipped
quickly.

Reading a record takes long: its text is parsed, and hashed in a form of its own. An entry holds the rows of a cell, and
one hash of all bytes that they were read from. These bytes are read and hashed each time. If the hash is the same, the
record is as whole as it was. Otherwise it is read as if there were no index, and makes a new entry, so the folder may
be removed at any time. Weights and predictions are compared by their sizes alone, as in `records`. A hash only says
that an entry is what somebody wrote: its types and sizes are checked like a record's.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Target, target_from_plain
from .files import UNFINISHED, DamagedRecordError, read_bytes, temporary
from .records import LARGE, LARGEST, MOST_JSON, WEIGHTS, Fields, Row, are_usable, check_fields
from .store import ANYTHING, DESCRIPTION, kinds_of_columns, read_cell

FOLDER = "index"
VERSION = 1
"""Of the layout of entries."""
DIGEST = 64
"""Characters of a hash."""
HEADER: Fields = {"version": int, "state": str, "target": dict, "size": int, "others": list}
"""An entry but for its layout and its numbers."""
Layout = Mapping[str, tuple[str, int]]
"""How and where each column is kept: ``float`` and ``int`` are rows of a block of numbers, ``same`` is one value that
all rows have, ``each`` a list of values."""

_layouts: dict[tuple[Any, ...], Layout] = {}
"""The cells of a sweep have few layouts, and share them."""
FEW_STEPS = 100
"""Measured: with fewer steps networks lose accuracy. On iris it is 0.74 after 5 steps and 0.90 after 100."""
PHASES = {
    "pretrain": ("pre-training", "pretrain.min_steps=100"),
    "finetune": ("fine-tuning", "finetune.min_steps=100 finetune.monitor=loss"),
}
"""What each phase is called, and the options that train longer."""


class Rows(Sequence[Row]):
    """Rows that are kept by columns, in a fifth of the memory of a dictionary a trial. What a row lacks is None in it.

    Args:
        size: how many rows.
        layout: of the columns.
        numbers: a block ``(columns, size)``; whole numbers are below 2^53, so that float64 has them.
        others: values, and lists of values.
    """

    __slots__ = ("layout", "numbers", "others", "size")

    def __init__(self, size: int, layout: Layout, numbers: NDArray[np.float64], others: Sequence[Any]) -> None:
        self.size, self.layout = size, _layouts.setdefault(tuple(layout.items()), layout)
        self.numbers, self.others = numbers, others

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Rows":
        """Rows as columns."""
        layout, numbers, others = dict[str, tuple[str, int]](), list[list[Any]](), list[Any]()
        for name in dict.fromkeys(chain.from_iterable(rows)):
            values = [row.get(name) for row in rows]
            kinds = set(map(type, values))
            is_same = len(kinds) == 1 and kinds != {float} and values.count(values[0]) == len(values)
            if kinds == {float} or (kinds == {int} and not is_same):
                layout[name] = "float" if kinds == {float} else "int", len(numbers)
                numbers.append(values)
            else:
                layout[name] = "same" if is_same else "each", len(others)
                others.append(values[0] if is_same else values)
        return cls(len(rows), layout, np.array(numbers, dtype=np.float64).reshape(len(numbers), len(rows)), others)

    def column(self, name: str) -> list[Any]:
        """The value of each row; None where it has none."""
        if name not in self.layout:
            return [None] * self.size
        kept, place = self.layout[name]
        if kept == "same":
            return [self.others[place]] * self.size
        if kept == "each":
            return list(self.others[place])
        values: list[Any] = self.numbers[place].tolist()
        return values if kept == "float" else list(map(int, values))

    def first(self, size: int) -> "Rows":
        """The first rows."""
        if size >= self.size:
            return self
        lists = {place for kept, place in self.layout.values() if kept == "each"}
        others = [value[:size] if place in lists else value for place, value in enumerate(self.others)]
        return Rows(size, self.layout, self.numbers[:, :size].copy(), others)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        columns = [self.column(name) for name in self.layout]
        return (dict(zip(self.layout, values, strict=True)) for values in zip(*columns, strict=True))

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """What a run needs of a cell. It is whole if it is described, which tells its target, and nothing is damaged. It
    lacks weights if a finished trial has kept none; this is known only where weights are looked at."""

    rows: Rows
    target: Target | None
    is_whole: bool
    lacks_weights: bool = False


def read_summary(cell: Path, trials: int, *, weights: bool = False) -> CellSummary:
    """What a cell's folder holds of its first ``trials``. A cell that has all of them is entered into the index.
    ``weights`` checks the hashes of weights and predictions too, without the index."""
    state = None if weights else _state(cell)
    if (known := _known(cell, state, trials)) is not None:
        return known
    stored = read_cell(cell, weights=weights)
    target = None if stored.description is None else stored.target
    is_whole = target is not None and not stored.damaged
    rows = Rows.of([stored.rows[trial] for trial in range(trials) if trial in stored.rows])
    if target is not None and is_whole and len(rows) == trials and state is not None and state == _state(cell):
        with suppress(OSError):  # a folder that cannot be written to has no index
            _enter(cell, state, target, Rows.of([stored.rows[trial] for trial in sorted(stored.rows)]))
    kept = {row["trial"] for table in stored.stacks.values() if WEIGHTS in table["files"] for row in table["trials"]}
    return CellSummary(rows, target, is_whole, not kept.issuperset(rows.column("trial")))


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


def _known(cell: Path, state: str | None, trials: int) -> CellSummary | None:
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
    header = {"version": VERSION, "state": state, "target": target.plain(), "size": rows.size}
    header |= {"layout": rows.layout, "others": rows.others}
    content = json.dumps(header).encode() + b"\n" + rows.numbers.astype("<f8").tobytes()
    place = _place(cell)
    place.parent.mkdir(exist_ok=True)
    with temporary(place) as file:
        file.write_bytes(sha256(content).hexdigest().encode() + content)
        file.replace(place)


def _place(cell: Path) -> Path:
    return cell.parent / FOLDER / cell.name


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The value of each row; None where it has none."""
    return rows.column(name) if isinstance(rows, Rows) else [row.get(name) for row in rows]


def on_few_steps(cells: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A sentence on the phases in which the median trial made fewer than 100 steps, if there is one.

    On a small table an epoch has only one or two steps of the optimiser, so the patience may end a phase too soon.

    Args:
        cells: for each cell, the rows of its trials.
    """
    made, longer = [], []
    for phase, (called, options) in PHASES.items():
        steps = [[n for n in values_of(rows, f"{phase}_steps") if n is not None] for rows in cells]
        medians = [median(of_cell) for of_cell in steps if of_cell]
        few = [of_cell for of_cell in medians if of_cell < FEW_STEPS]
        if few:
            where = f" of {len(few)} of {len(medians)} cells" if len(medians) > 1 else ""
            least = f"{min(few):g}" + (f" to {max(few):g}" if max(few) > min(few) else "")
            made.append(f"{least} optimiser steps in {called}{where}")
            longer.append(options)
    if not made:
        return []
    return [
        f"The median trial made {' and '.join(made)}, fewer than {FEW_STEPS}: networks may have learnt too little. "
        f"{' '.join(longer)} trains longer."
    ]
