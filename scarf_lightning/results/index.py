"""The rows of finished cells, and an index of them in ``results/index.sqlite``, so that thousands are skipped quickly.

Reading a record takes long: its text is parsed, and hashed in a form of its own. The index holds the rows of a cell
under the names, sizes and times of the files that they were read from. It is a cache: it may be removed at any time,
and what it does not hold is read from the records. It sees no bit that flips on the disk; a report reads the records.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ..data.targets import Target, target_from_plain
from .files import UNFINISHED
from .records import WEIGHTS, Row
from .store import DESCRIPTION, Stored, read_cell

FILE = "index.sqlite"
TABLE = "cells_1"
"""Of this layout; another layout has another table."""
COLUMNS = "(cell TEXT PRIMARY KEY, files TEXT, size INTEGER, target TEXT, rows TEXT)"
FIND = f"SELECT size, target, rows FROM {TABLE} WHERE cell = ? AND files = ?"
PATIENCE_S = 2
"""Time to wait for another process that writes into the index."""
MOST_UNWRITTEN = 1_000
"""Cells that are entered at once: an entry has some ten kilobytes."""
Entry = tuple[str, str, int, str, str]
"""The values of `COLUMNS`."""
FEW_STEPS = 100
"""Measured: with fewer steps networks lose accuracy. On iris it is 0.74 after 5 steps and 0.90 after 100."""
SETTLED = "practical"
"""The recipe whose patience in pre-training a race found to be long enough: ten in place of three changes accuracy by
-0.2 ± 0.2 points with 20 labels and by +0.2 ± 0.3 with 100 (study/recipe.md)."""
PHASES = {
    "pretrain": ("pre-training", "pretrain.min_steps=100"),
    "finetune": ("fine-tuning", "finetune.min_steps=100 finetune.monitor=loss"),
}
"""The name of each phase in a sentence, and the options that train longer."""


class Rows(Sequence[Row]):
    """Rows that are kept by columns, in less memory than a dictionary a trial. What a row lacks is None in it.

    Args:
        size: how many rows.
        columns: the values of each column: ``size`` of them, or the one that all rows have.
    """

    __slots__ = ("columns", "size")

    def __init__(self, size: int, columns: Mapping[str, Sequence[Any]]) -> None:
        self.size = size
        self.columns = columns

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Rows":
        """Rows as columns."""
        # Rows of one cell may have different fields, as those that diverged do.
        names = dict.fromkeys(chain.from_iterable(rows))
        return cls(len(rows), {name: [row.get(name) for row in rows] for name in names})

    def column(self, name: str) -> list[Any]:
        """The value of each row; None where it has none."""
        values = self.columns.get(name, [None])
        return list(values) if len(values) == self.size else [values[0]] * self.size

    def first(self, size: int) -> "Rows":
        """The first rows."""
        if size >= self.size:
            return self
        return Rows(size, {name: values[:size] for name, values in self.columns.items()})

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        for values in zip(*map(self.column, self.columns), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]


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


class Index:
    """The index of a results folder, opened once for many cells; what it is to learn is written at the end.

    Args:
        results: the folder.
    """

    def __init__(self, results: Path) -> None:
        self._file = results.absolute() / FILE
        self._entries: list[Entry] = []

    def __enter__(self) -> "Index":
        self._opened: sqlite3.Connection | None = None
        # Where there is none yet, or it is broken, the records are read.
        with suppress(sqlite3.Error):
            # Only to read: a folder may not be ours to write into.
            self._opened = sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)
        return self

    def __exit__(self, *error: object) -> None:
        self._write()
        if self._opened is not None:
            self._opened.close()

    def known(self, cell: Path, files: str, trials: int) -> CellSummary | None:
        """A cell with these files, if the index has it with this many trials."""
        if self._opened is None:
            return None
        try:
            found = self._opened.execute(FIND, (cell.name, files)).fetchone()
            if found is None:
                return None
            size, target, columns = found[0], json.loads(found[1]), json.loads(found[2])
            rows = Rows(size, columns)
            if rows.column("trial")[:trials] != list(range(trials)):
                return None
            return CellSummary(rows.first(trials), target_from_plain(target), is_whole=True)
        except sqlite3.Error:
            # Another process holds it, or it is broken: then all records are read, without waiting for it again.
            self._opened.close()
            self._opened = None
            return None
        # An entry that is not possible.
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None

    def enter(self, cell: Path, files: str, stored: Stored) -> None:
        """Enter a whole cell."""
        rows = Rows.of([stored.rows[trial] for trial in sorted(stored.rows)])
        columns = {}
        for name, values in rows.columns.items():
            # 1, 1.0 and True are equal, and not the same.
            is_same = len(set(map(repr, values))) == 1
            columns[name] = values[:1] if is_same else values
        self._entries.append((cell.name, files, len(rows), json.dumps(stored.target.plain()), json.dumps(columns)))
        if len(self._entries) >= MOST_UNWRITTEN:
            self._write()

    def _write(self) -> None:
        """Write what was entered. A folder that cannot be written to has no index, and a broken one is made anew."""
        entries, self._entries = self._entries, []
        if not entries:
            return
        try:
            _write(self._file, entries)
        except sqlite3.OperationalError:
            # It is held by another process, or cannot be written.
            return
        except sqlite3.DatabaseError:
            with suppress(OSError, sqlite3.Error):
                self._file.unlink()
                _write(self._file, entries)


def read_summary(cell: Path, trials: int, *, index: Index | None = None, weights: bool = False) -> CellSummary:
    """The first ``trials`` of a cell's folder. A cell that has all of them is entered into the index.

    ``weights`` checks the hashes of weights and predictions too, without the index.
    """
    if index is None:
        with Index(cell.parent) as opened:
            return read_summary(cell, trials, index=opened, weights=weights)
    # The index knows nothing of weights.
    files = None if weights else _files(cell)
    if files is not None:
        known = index.known(cell, files, trials)
        if known is not None:
            return known
    stored = read_cell(cell, weights=weights)
    target = None if stored.description is None else stored.target
    is_whole = target is not None and not stored.damaged
    rows = Rows.of([stored.rows[trial] for trial in range(trials) if trial in stored.rows])
    # What changed while it was read is read again the next time.
    if is_whole and len(rows) == trials and files is not None and files == _files(cell):
        index.enter(cell, files, stored)
    trials_with_weights: set[int] = set()
    for table in stored.stacks.values():
        if WEIGHTS in table["files"]:
            trials_with_weights.update(row["trial"] for row in table["trials"])
    lacks_weights = not trials_with_weights.issuperset(rows.column("trial"))
    return CellSummary(rows, target, is_whole, lacks_weights)


def _files(cell: Path) -> str | None:
    """The names, sizes and times of all files that `read_cell` reads of a cell; None if some cannot be looked at."""
    found = []
    try:
        description = (cell / DESCRIPTION).stat()
        found.append((DESCRIPTION, description.st_size, description.st_mtime_ns))
        with os.scandir(cell / "stacks") as stacks:
            for stack in stacks:
                # What is half-written is no part of the cell.
                if not stack.is_dir() or stack.name.startswith(UNFINISHED):
                    continue
                with os.scandir(stack) as files:
                    for file in files:
                        facts = file.stat()
                        found.append((f"{stack.name}/{file.name}", facts.st_size, facts.st_mtime_ns))
        return json.dumps(sorted(found))
    except OSError:
        return None


def _write(index: Path, entries: Sequence[Entry]) -> None:
    with closing(sqlite3.connect(index, timeout=PATIENCE_S)) as opened, opened:
        # It can be made again, so nothing waits for the disk.
        opened.execute("PRAGMA synchronous = OFF")
        opened.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} {COLUMNS}")
        opened.executemany(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?, ?)", entries)


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The value of each row; None where it has none."""
    if isinstance(rows, Rows):
        return rows.column(name)
    return [row.get(name) for row in rows]


class Trained(NamedTuple):
    """The rows of a cell's trials, with what decides how long they train.

    Attributes:
        rows: of the trials.
        recipe: of the cell.
        most_epochs: of pre-training.
    """

    rows: Sequence[Mapping[str, Any]]
    recipe: str = "paper"
    most_epochs: int = 0

    def steps(self, phase: str) -> list[float]:
        """The steps of each trial in a phase; none if there was no such phase, or if the recipe settled its length."""
        epochs = [n for n in values_of(self.rows, f"{phase}_epochs") if n is not None]
        if phase == "pretrain" and self.recipe == SETTLED and epochs and median(epochs) < self.most_epochs:
            return []
        # Cells without networks, or without this phase, make none.
        return [n for n in values_of(self.rows, f"{phase}_steps") if n is not None]


def few_steps_note(cells: Sequence[Trained]) -> list[str]:
    """A sentence on the phases in which the median trial made fewer than 100 steps, if there is one.

    On a small table an epoch has only one or two steps of the optimiser, so the patience may end a phase too soon.
    """
    steps_made, longer = [], []
    for phase, (called, options) in PHASES.items():
        medians = []
        for cell in cells:
            if steps := cell.steps(phase):
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
