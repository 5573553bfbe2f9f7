"""Odd folders: read-only, full at a write, failing once, replaced in mid-run, foreign.

A command does its work, or says in a sentence what it met. No file of the user's is touched.
"""

import errno
import os
import random
import resource
import shutil
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from scarf_lightning.cli import commands
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.results import load, load_cell
from tests.processes import TINY, here
from tools.fuzzing.attacking import USED, sentence_of

COUNT = 300
ASKED = ("trials=1", "pretrain.max_epochs=1", "finetune.max_epochs=1", *TINY[2:], "pretrain=none,scarf")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "os.truncate", "os.link", "os.symlink")
MINE = "mine.txt"
OF_OTHERS = ("of others", "of others, below")
MADE: list[str] = []
"""The contents of files that others write in mid-run."""


def prepare(folder: Path) -> Path:
    """A results folder with two finished cells, one of which has a model, and rows to predict."""
    ran = here(commands.train, *ASKED, "keep_weights=true", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    names = load_model(_cell(folder)).description.reader.names
    (folder / "rows.csv").write_text("\n".join([",".join(names), ",".join("1" for _ in names)]) + "\n")
    for run in COMMANDS.values():
        copy = Path(shutil.copytree(folder, folder.with_name("warm")))
        run(copy)
        shutil.rmtree(copy)
    return folder


def attack(prepared: Path, draw: random.Random, folder: Path) -> str:
    place = Path(shutil.copytree(prepared, folder / "work"))
    for path in (place, place / "results", *sorted((place / "results").iterdir())[:2], place / "reports"):
        path.mkdir(exist_ok=True)
        (path / MINE).write_text("mine")
    command = draw.choice(sorted(COMMANDS))
    what = draw.choice([_read_only, _full, _small, _once, _replaced, _foreign])
    what(place, draw)
    before = _mine(folder)

    said = COMMANDS[command](place)

    HAZARDS.clear()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert _mine(folder) - before == Counter(MADE), f"{what.__name__} {command}: a file of the user's is touched"
    assert not before - _mine(folder), f"{what.__name__} {command}: a file of the user's is gone"
    return f"{what.__name__} {command}: {said}" if said else USED


def _mine(folder: Path) -> Counter[str]:
    """The contents of the user's files, wherever their folders were moved."""
    return Counter(path.read_text() for path in folder.rglob(MINE))


def _command(command: Callable[[], int], *arguments: str) -> Callable[[Path], str]:
    def run(place: Path) -> str:
        ran = here(command, *arguments, cwd=place)
        said = ran.stdout + ran.stderr
        assert "Traceback" not in said, said
        assert ran.returncode in (0, 1, 2), f"status {ran.returncode}: {said}"
        assert ran.returncode == 0 or ran.stderr.strip(), "it failed without a word"
        return ran.stderr.strip() if ran.returncode else ""

    return run


def _call(call: Callable[[Path], Any]) -> Callable[[Path], str]:
    def run(place: Path) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(place)
        except UsageError as error:
            return sentence_of(error)
        return ""

    return run


def _cell(place: Path) -> Path:
    found = sorted((place / "results").glob("*/cell.json")) if (place / "results").is_dir() else []
    return found[0].parent if found else place / "results" / "none"


COMMANDS: dict[str, Callable[[Path], str]] = {
    "train": _command(commands.train, *ASKED, "seed=1"),
    "train again": _command(commands.train, *ASKED, "keep_weights=true"),
    "train more": _command(commands.train, *ASKED, "trials=2"),
    "force": _command(commands.train, *ASKED, "keep_weights=true", "force=true"),
    "plan": _command(commands.train, *ASKED, "trials=3", "plan=true"),
    "report": _command(commands.report, "results=results"),
    "load": _call(lambda place: load(place / "results")),
    "load_cell": _call(lambda place: load_cell(_cell(place).name, place / "results")),
    "save": _call(lambda place: load_model(_cell(place)).save(place / "saved")),
}

Hazard = Callable[[], None]
HAZARDS: list[tuple[Path, Hazard]] = []
"""Below which folder something happens whenever it is changed."""


def _at_each_change(place: Path, hazard: Hazard, events: Collection[str] = (*CHANGES, "open")) -> None:
    """Call this before anything below a folder is written, made, renamed or removed by Python."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in events or not HAZARDS:
            return
        path, *rest = arguments
        if event == "open" and not (isinstance(rest[1], int) and rest[1] & WRITES):
            return
        for below, act in list(HAZARDS):
            if isinstance(path, (str, bytes)) and str(Path(os.fsdecode(path)).absolute()).startswith(str(below)):
                act()

    HAZARDS.append((place, hazard))
    sys.addaudithook(hook)


def _fail(
    place: Path, draw: random.Random, number: int, *, once: bool, events: Collection[str] = (*CHANGES, "open")
) -> None:
    """From a random change on, or at this one alone, the operating system refuses."""
    left = draw.choice([0, 1, 2, 3, draw.randrange(150)])

    def refuse() -> None:
        nonlocal left
        left -= 1
        if left == -1 or (left < 0 and not once):
            raise OSError(number, os.strerror(number), str(place))

    _at_each_change(place, refuse, events)


def _target(place: Path, draw: random.Random) -> Path:
    return draw.choice([place, place, place / "results", place / "results", place / "reports", _cell(place)])


def _read_only(place: Path, draw: random.Random) -> None:
    _fail(_target(place, draw), draw, draw.choice([errno.EROFS, errno.EACCES, errno.EPERM]), once=False)


def _full(place: Path, draw: random.Random) -> None:
    _fail(
        _target(place, draw), draw, draw.choice([errno.ENOSPC, errno.EDQUOT]), once=False, events=("os.mkdir", "open")
    )


def _once(place: Path, draw: random.Random) -> None:
    number = draw.choice([errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EMFILE, errno.ENAMETOOLONG, errno.EBUSY])
    _fail(_target(place, draw), draw, number, once=True)


def _small(place: Path, draw: random.Random) -> None:
    """No file may grow beyond a random size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = int(10 ** draw.uniform(0, 5.5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _replaced(place: Path, draw: random.Random) -> None:
    """In mid-run, something else takes the place of a folder."""
    target, left = _target(place, draw), draw.randrange(40)
    make = draw.choice(ODD)

    def replace() -> None:
        nonlocal left
        left -= 1
        if left == -1 and target.exists():
            target.rename(place.parent / "moved")
            make(target)
            MADE.extend(OF_OTHERS if make in (_folder_of_others, _link) else [])

    _at_each_change(place, replace)


def _foreign(place: Path, draw: random.Random) -> None:
    """From the start, something else is where a file or folder of ours goes."""
    cell = _cell(place)
    target = draw.choice([
        place / "results", place / "reports", place / "reports" / "results", cell, cell / "stacks", cell / "cell.json",
        cell / "claim", place / "results" / "pretrained", place / "results" / "datasets",
        place / "results" / "failures", place / "results" / "tables", place / "results" / "chunks",
        place / "results" / "set_aside", place / "predicted.csv", place / "saved", place / "rows.csv",
    ])  # fmt: skip
    if target.exists():
        target.rename(place.parent / "moved")
    draw.choice([*ODD, lambda path: path.mkdir()])(target)


def _folder_of_others(path: Path) -> None:
    (path / "sub").mkdir(parents=True)
    (path / MINE).write_text(OF_OTHERS[0])
    (path / "sub" / MINE).write_text(OF_OTHERS[1])


def _link(path: Path) -> None:
    elsewhere = path.with_name(f"elsewhere-{path.name}")
    _folder_of_others(elsewhere)
    path.symlink_to(elsewhere, target_is_directory=True)


ODD: list[Callable[[Path], object]] = [
    _folder_of_others, _link, os.mkfifo, lambda path: path.write_text("a file"),
    lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to(path.name),
]  # fmt: skip
