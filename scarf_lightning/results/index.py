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
from .store import ANYTHING, DESCRIPTION, Stored, kinds_of_columns, read_cell

FOLDER = "index"
VERSION = 1
"""Version of the layout of entries."""
DIGEST = 64
"""Characters of a hash."""
HEADER: Fields = {"version": int, "state": str, "target": dict, "size": int, "others": list}
"""An entry but for its layout and its numbers."""
Layout = Mapping[str, tuple[str, int]]
"""How and where each column is kept: ``float`` and ``int`` are rows of a block of numbers, ``same`` is one value that
all rows have, ``each`` a list of values."""

_layouts: dict[tuple[Any, ...], Layout] = {}
"""The layouts that cells of this process have: those of a sweep have few, and share them."""
FEW_STEPS = 100
"""Measured: with fewer steps networks lose accuracy. On iris it is 0.74 after 5 steps and 0.90 after 100."""
PHASES = {
    "pretrain": ("pre-training", "pretrain.min_steps=100"),
    "finetune": ("fine-tuning", "finetune.min_steps=100 finetune.monitor=loss"),
}
"""The name of each phase in a sentence, and the options that train longer."""


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
        self.size = size
        self.layout = _layouts.setdefault(tuple(layout.items()), layout)
        self.numbers = numbers
        self.others = others

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Rows":
        """Rows as columns."""
        layout: dict[str, tuple[str, int]] = {}
        numbers: list[list[Any]] = []
        others: list[Any] = []
        # Rows of one cell may have different fields, as those that diverged do.
        for name in dict.fromkeys(chain.from_iterable(rows)):
            values = [row.get(name) for row in rows]
            kind = _kept_as(values)
            if kind in ("float", "int"):
                layout[name] = kind, len(numbers)
                numbers.append(values)
                continue
            layout[name] = kind, len(others)
            others.append(values[0] if kind == "same" else values)
        block = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(rows))
        return cls(len(rows), layout, block, others)

    def column(self, name: str) -> list[Any]:
        """The value of each row; None where it has none."""
        if name not in self.layout:
            return [None] * self.size
        kind, place = self.layout[name]
        if kind == "same":
            return [self.others[place]] * self.size
        if kind == "each":
            return list(self.others[place])
        values: list[Any] = self.numbers[place].tolist()
        if kind == "int":
            return list(map(int, values))
        return values

    def first(self, size: int) -> "Rows":
        """The first rows."""
        if size >= self.size:
            return self
        others = list(self.others)
        for kind, place in self.layout.values():
            if kind == "each":
                others[place] = others[place][:size]
        # A copy: a view would keep the whole block in memory.
        numbers = self.numbers[:, :size].copy()
        return Rows(size, self.layout, numbers, others)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        columns = [self.column(name) for name in self.layout]
        for values in zip(*columns, strict=True):
            yield dict(zip(self.layout, values, strict=True))

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]


def _kept_as(values: Sequence[Any]) -> str:
    """The kind of a column, see `Layout`."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return "float"
    is_same = len(kinds) == 1 and values.count(values[0]) == len(values)
    if is_same:
        return "same"
    return "int" if kinds == {int} else "each"


@dataclass(frozen=True, slots=True)
class CellSummary:
    """A cell, as far as a run needs it.

    Attributes:
        rows: of its finished trials.
        target: None if the cell is not described.
        is_whole: whether it is described and nothing is damaged.
        lacks_weights: whether a finished trial has kept none; known only where weights are looked at.
    """

    rows: Rows
    target: Target | None
    is_whole: bool
    lacks_weights: bool = False


def read_summary(cell: Path, trials: int, *, weights: bool = False) -> CellSummary:
    """The first ``trials`` of a cell's folder. A cell that has all of them is entered into the index.

    ``weights`` checks the hashes of weights and predictions too, without the index.
    """
    # The index knows nothing of weights.
    state = None
    if not weights:
        state = _state(cell)
        known = _known(cell, state, trials)
        if known is not None:
            return known
    stored = read_cell(cell, weights=weights)
    target = None
    if stored.description is not None:
        target = stored.target
    is_whole = target is not None and not stored.damaged
    rows = Rows.of([stored.rows[trial] for trial in range(trials) if trial in stored.rows])
    if is_whole and len(rows) == trials:
        _enter_unless_changed(cell, state, stored)
    with_weights: set[int] = set()
    for table in stored.stacks.values():
        if WEIGHTS in table["files"]:
            with_weights.update(row["trial"] for row in table["trials"])
    lacks_weights = not with_weights.issuperset(rows.column("trial"))
    return CellSummary(rows, target, is_whole, lacks_weights)


def _state(cell: Path) -> str | None:
    """A hash of all that `read_cell` reads of a cell; None if some of it cannot be read."""
    digest = sha256(cell.name.encode())
    place = str(cell)
    try:
        for name, path in _files(place):
            # Of the large files the size is enough, as in `read_record`.
            if name in LARGE:
                content = b""
                size = Path(path).stat().st_size
            else:
                content = read_bytes(path, MOST_JSON)
                size = len(content)
            digest.update(f"\0{path.removeprefix(place)}\0{size}\0".encode() + content)
    except (OSError, DamagedRecordError, UnicodeEncodeError):
        return None
    return digest.hexdigest()


def _files(cell: str) -> Iterator[tuple[str, str]]:
    """Names and paths of the files of a cell. Paths are texts: objects would take as long as reading."""
    yield DESCRIPTION, f"{cell}/{DESCRIPTION}"
    stacks = []
    with os.scandir(f"{cell}/stacks") as entries:
        for each in entries:
            if each.is_dir() and not each.name.startswith(UNFINISHED):
                stacks.append(each.path)
    for stack in sorted(stacks):
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
        # The files have changed since, or the entry is of another version.
        if (header["version"], header["state"]) != (VERSION, state):
            return None
        size = header["size"]
        # Lists of JSON are no keys of the layouts that cells share.
        layout = {}
        for name, (kind, place) in dict(header["layout"]).items():
            layout[name] = (kind, place)
        block = np.frombuffer(numbers, dtype="<f8")
        block = block.reshape(len(block) // size, size).astype(np.float64)
        rows = Rows(size, layout, block, header["others"])
        _check(rows)
        if rows.column("trial")[:trials] != list(range(trials)):
            return None
        target = target_from_plain(header["target"])
        return CellSummary(rows.first(trials), target, is_whole=True)
    # An entry may hold anything: then there is none.
    except (FileNotFoundError, DamagedRecordError, ArithmeticError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _check(rows: Rows) -> None:
    """Check the types of values, as a record's are checked.

    Raises:
        DamagedRecordError: one is not possible. Other errors are raised too.
    """
    if not np.isfinite(rows.numbers).all() or not are_usable(rows.layout):
        raise DamagedRecordError("it has numbers or names that no file may hold")
    types_of = kinds_of_columns()
    for name, (kind, place) in rows.layout.items():
        types: set[type]
        is_possible = True
        if kind == "float":
            types = {float}
        elif kind == "int":
            types = {int}
            is_possible = bool((np.abs(rows.numbers[place]) < LARGEST).all())
        elif kind == "each":
            types = set(map(type, rows.others[place]))
            is_possible = len(rows.others[place]) == rows.size
        else:
            types = {type(rows.others[place])}
            is_possible = kind == "same"
        if not is_possible or not types <= types_of.get(name, ANYTHING):
            raise DamagedRecordError(f"it has no {name}")


def _enter_unless_changed(cell: Path, state: str | None, stored: Stored) -> None:
    """Enter a whole cell into the index if its files are as they were before it was read."""
    if state is None or state != _state(cell):
        return
    rows = Rows.of([stored.rows[trial] for trial in sorted(stored.rows)])
    # A folder that cannot be written to has no index.
    with suppress(OSError):
        _enter(cell, state, stored.target, rows)


def _enter(cell: Path, state: str, target: Target, rows: Rows) -> None:
    """Write the entry of a cell: a hash, a header in JSON, a line feed, and the block of numbers."""
    header = {
        "version": VERSION,
        "state": state,
        "target": target.plain(),
        "size": rows.size,
        "layout": rows.layout,
        "others": rows.others,
    }
    numbers = rows.numbers.astype("<f8").tobytes()
    content = json.dumps(header).encode() + b"\n" + numbers
    place = _place(cell)
    # Another process may read the entry meanwhile, so it appears as a whole.
    place.parent.mkdir(exist_ok=True)
    with temporary(place) as file:
        file.write_bytes(sha256(content).hexdigest().encode() + content)
        file.replace(place)


def _place(cell: Path) -> Path:
    return cell.parent / FOLDER / cell.name


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The value of each row; None where it has none."""
    if isinstance(rows, Rows):
        return rows.column(name)
    return [row.get(name) for row in rows]


def on_few_steps(cells: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A sentence on the phases in which the median trial made fewer than 100 steps, if there is one.

    On a small table an epoch has only one or two steps of the optimiser, so the patience may end a phase too soon.

    Args:
        cells: for each cell, the rows of its trials.
    """
    steps_made, longer = [], []
    for phase, (called, options) in PHASES.items():
        medians = []
        for rows in cells:
            steps = [n for n in values_of(rows, f"{phase}_steps") if n is not None]
            # Cells without networks, or without this phase, make none.
            if steps:
                medians.append(median(steps))
        few = [n_steps for n_steps in medians if n_steps < FEW_STEPS]
        if not few:
            continue
        n_steps = f"{min(few):g}"
        if max(few) > min(few):
            n_steps += f" to {max(few):g}"
        where = ""
        if len(medians) > 1:
            where = f" of {len(few)} of {len(medians)} cells"
        steps_made.append(f"{n_steps} optimiser steps in {called}{where}")
        longer.append(options)
    if not steps_made:
        return []
    return [
        f"The median trial made {' and '.join(steps_made)}, fewer than {FEW_STEPS}: networks may have learnt too "
        f"little. {' '.join(longer)} trains longer."
    ]
