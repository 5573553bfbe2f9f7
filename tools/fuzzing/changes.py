"""Tables that change while a sweep trains: no note and no cell ever has the hash of other data than were read.

A sweep of three cells runs in this process. At one of its moments, a call or a return in a function that reads data or
keeps results, one of its files is replaced, written over, appended to, truncated or touched. Afterwards each note must
say what its stamps show, each cell must be of a table that was whole, and a finished sweep must be of the last one.
"""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import scarf_lightning
from scarf_lightning.cli.show import Terminal
from scarf_lightning.data.sources import Source
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.results import described_cells, known_data
from scarf_lightning.results.records import read_sealed
from scarf_lightning.screen import Screen
from scarf_lightning.sweeping.cell import Cell, State, survey
from scarf_lightning.sweeping.chunks import Chunk
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.run import run
from scarf_lightning.training.cell_loop import CellLoop
from tests.composing import cells_of
from tools.fuzzing.attacking import USED, sentence_of

COUNT = 200
FILES = ("t.csv", "more.csv", "test.csv")
ROWS = {"t.csv": 60, "more.csv": 12, "test.csv": 24}
ASKED = (
    "dataset=csv", "dataset.path=t.csv", "dataset.target=y", "dataset.unlabelled=more.csv", "split=files",
    "split.test=test.csv", "scaling=zscore,minmax,none", "pretrain=none", "method=logistic", "trials=1",
    "trainer.accelerator=cpu",
)  # fmt: skip
PACKAGE = Path(scarf_lightning.__file__).parent
WATCHED = tuple(
    str(PACKAGE / part) for part in ("data/sources", "results", "sweeping/cell.py", "training/cell_loop.py")
)
"""Where a moment can be: in these files of the package."""
SPARE = 200
"""Moments by which a sweep may be shorter than another one; the last ones come after its last look."""
Moment = Callable[[], object]


class Quiet(Terminal):
    """Shows nothing."""

    def say(self, sentence: str) -> None: ...
    def doing(self, what: str) -> AbstractContextManager[object]:
        return nullcontext()

    def watching(self, *_: object) -> AbstractContextManager[None]:
        return nullcontext()

    def results(self, *_: object) -> None: ...


def prepare(folder: Path) -> tuple[Sequence[Cell], int]:
    """The cells of the sweep, and the number of moments in one that nothing disturbs."""
    cells = cells_of(*ASKED)
    counts = []
    for name in ("first", "second"):  # the first one imports modules too
        moments: list[None] = []
        (folder / name).mkdir()
        with chdir(folder / name):
            write_tables(np.random.default_rng(0))
            with at_each_moment(lambda moments=moments: moments.append(None)):
                sweep(cells)
            assert {each.state for each in survey(cells)} == {State.FINISHED}
        counts.append(len(moments))
    return cells, min(counts)


def attack(prepared: tuple[Sequence[Cell], int], draw: random.Random, folder: Path) -> str:
    cells, n_moments = prepared
    with chdir(folder):
        write_tables(np.random.default_rng(draw.randrange(2**32)))
        history = [state_of(cells[0].source)]
        moment, name, change = draw.randint(1, n_moments - SPARE), draw.choice(FILES), draw.choice(CHANGES)
        passed = 0

        def disturb() -> None:
            nonlocal passed
            passed += 1
            if passed == moment:
                change(Path(name), draw)
                history.append(state_of(cells[0].source))

        try:
            with at_each_moment(disturb):
                sweep(cells)
            fate = USED
        except (UsageError, UnfinishedError) as error:
            fate = " ".join(sentence_of(UsageError(line)) for line in str(error).splitlines())
        assert passed >= moment, "the sweep has ended before"
        check(cells, history, is_finished=fate == USED)
    return fate


def check(cells: Sequence[Cell], history: Sequence[tuple[Any, str]], *, is_finished: bool) -> None:
    """Compare what the store says with the ``history`` of the files: their stamps, and the hash of their table."""
    hashes = {digest for _, digest in history}
    for path in Path("results/datasets").glob("*.json"):
        note = read_sealed(path)
        there = [digest for stamps, digest in history if stamps == note["files"]]
        assert there, "the note has stamps that the files never had"
        assert there[-1] == note["data"]["hash"], "the note has a wrong hash"
    for _, stored in described_cells(Path("results")):
        assert stored.description is not None
        assert stored.description["identity"]["data"] in hashes, "a cell is of a table that never was"
    known = known_data(Path("results"), cells[0].source)
    assert known is None or known.hash == history[-1][1], "the files are taken for what they were"
    if is_finished and known is not None:  # else the files changed after the run had looked for the last time
        assert {each.state for each in survey(cells)} == {State.FINISHED}, "cells of the last table are missing"


def sweep(cells: Sequence[Cell]) -> None:
    """Train cells as a command does, in this process."""

    def launch(chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            CellLoop(shown=Screen(quiet=True)).train(chunk.cells)

    run(ExpandedSweep(list(cells)), launch, Quiet())


@contextmanager
def at_each_moment(act: Moment) -> Iterator[None]:
    """Within this context a function is called at each call and return in the watched files, also of a C function."""

    def look(frame: FrameType, event: str, what: object) -> None:
        if frame.f_code.co_filename.startswith(WATCHED):
            sys.setprofile(None)
            act()
            sys.setprofile(look)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def state_of(source: Source) -> tuple[Any, str]:
    """The stamps of the files, and the hash of the table in a copy of them; no hash if it cannot be read."""
    stamps = [asdict(stamp) for stamp in source.stamps()]
    copies = Path("copies")
    copies.mkdir()
    for name in FILES:
        if Path(name).exists():
            shutil.copyfile(name, copies / name)
    with chdir(copies):
        try:
            digest = source.load().hash
        except UsageError:
            digest = ""
    shutil.rmtree(copies)
    return stamps, digest


def write_tables(random: np.random.Generator) -> None:
    """Files of small tables whose rows have one length, so that shuffled labels leave the size as it was."""
    for name in FILES:
        Path(name).write_bytes(content(name, random))


def content(name: str, random: np.random.Generator) -> bytes:
    n = ROWS[name]
    frame = pd.DataFrame({column: random.integers(1000, 9999, n) for column in ("a", "b", "c")})
    if name != "more.csv":
        frame["y"] = random.permutation(np.resize(["no", "ok"], n))
    return frame.to_csv(index=False).encode()


def other(file: Path, draw: random.Random) -> bytes:
    return content(file.name, np.random.default_rng(draw.randrange(2**32)))


def move_over(file: Path, draw: random.Random) -> None:
    """A file of the same size and modification time takes its place."""
    before = file.stat()
    aside = file.with_name("aside")
    aside.write_bytes(other(file, draw))
    os.utime(aside, ns=(before.st_atime_ns, before.st_mtime_ns))
    aside.replace(file)


def write_over(file: Path, draw: random.Random) -> None:
    """Other content of the same size and modification time."""
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(other(file, draw))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def append(file: Path, draw: random.Random) -> None:
    with file.open("ab") as opened:
        opened.write(b"".join(other(file, draw).splitlines(keepends=True)[1:5]))


def truncate(file: Path, draw: random.Random) -> None:
    os.truncate(file, draw.randrange(file.stat().st_size))


def touch(file: Path, draw: random.Random) -> None:
    file.touch()


def remove(file: Path, draw: random.Random) -> None:
    file.unlink()


def link(file: Path, draw: random.Random) -> None:
    """A link to another file takes its place."""
    target = file.with_name(f"linked-{file.name}")
    target.write_bytes(other(file, draw))
    file.unlink()
    file.symlink_to(target)


CHANGES = (move_over, write_over, append, truncate, touch, remove, link)
