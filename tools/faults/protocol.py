"""Processes that follow the store's protocol and are killed on the way, at a step that is counted.

    python -m tools.faults.protocol SCENARIO FAULT EVERY FOLDER

Kills or fails one process after the other, each one step later than the one before, in a fresh folder, until one gets
through; each time the same work is then done again undisturbed. What was seen is printed, a JSON object a line.

It imports no torch, and every process is forked from one that has imported all that is slow, so that a step takes
milliseconds.
"""

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow.parquet  # noqa: F401 - imported before the processes are forked
import safetensors.numpy  # noqa: F401

from scarf_lightning.results import CellStore, PretrainingStore, identity, pretraining_identity
from scarf_lightning.results.files import UNFINISHED
from tests.cells import DATA_HASH, OF_WDBC, some_config, some_pretrained, some_record

TRIALS = range(5)
STACK = 2
OF_FILES = {
    "open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "os.listdir", "os.scandir", "os.truncate",
    "os.link", "os.symlink", "os.chmod", "shutil.rmtree", "shutil.move", "pathlib.Path.glob", "glob.glob",
}  # fmt: skip
"""What Python reports before it touches a file."""


@dataclass(frozen=True)
class Seen:
    """What one process that was disturbed left, and what an undisturbed one made of it.

    ``step`` is where it was disturbed; ``ended`` how it ended; ``published`` the trials that were finished then,
    ``claims`` and ``unfinished`` the claims and temporary files that it left. Then, after the work was done again:
    ``again`` how that ended, ``trained_again`` the trials that it trained, ``records`` how many whole records each
    trial has, ``left`` claims, ``aside`` what was set aside and why, and ``not_old`` the temporary files
    that a third process leaves when they are older than an hour.
    """

    step: int
    ended: str
    published: list[int]
    claims: list[str]
    unfinished: list[str]
    again: str
    trained_again: list[int]
    records: list[int]
    left: list[str]
    aside: list[str]
    not_old: list[str]


class Cell:
    """The work on one cell, as `train.py` does it, with made-up records."""

    def __init__(self, folder: Path) -> None:
        self.results, self.log = folder / "results", folder / "trained"
        self.store = CellStore(self.results, identity(some_config(), DATA_HASH))

    def work(self) -> None:
        with self.store.claim() as claim:
            assert claim is not None
            self.store.mend()
            self.store.describe(dataset="wdbc", dataset_id=1510, source="somewhere", **OF_WDBC)
            missing = self.store.missing(TRIALS)
            for start in range(0, len(missing), STACK):
                stack = missing[start : start + STACK]
                note(self.log, stack)
                record = some_record(stack)
                self.store.add(record, claim)

    def published(self) -> list[int]:
        return sorted(set(TRIALS) - set(self.store.missing(TRIALS)))

    def records(self) -> list[int]:
        stacks = (self.store.folder / "stacks").glob("[0-9]*/trials.json")
        rows = [row["trial"] for path in stacks for row in json.loads(path.read_text())["trials"]]
        for path in (self.store.folder / "stacks").glob("[0-9]*/curves.parquet"):
            assert pd.read_parquet(path)["trial"].isin(TRIALS).all()
        return [rows.count(trial) for trial in TRIALS]


class Pretraining:
    """The work on one pre-training."""

    max_gb = 1.0

    def __init__(self, folder: Path) -> None:
        self.results, self.log = folder / "results", folder / "trained"
        self.store = PretrainingStore(self.results, pretraining_identity(some_config(), DATA_HASH), self.max_gb)

    def work(self) -> None:
        with self.store.claim() as claim:
            missing = self.store.missing(TRIALS)
            note(self.log, missing)
            self.store.add([some_pretrained(trial) for trial in missing], claim)

    def published(self) -> list[int]:
        return sorted(set(TRIALS) - set(self.store.missing(TRIALS)))

    def records(self) -> list[int]:
        found = self.store.load(TRIALS)
        return [sum(name == f"{trial:04d}" for name in self._names()) * (trial in found) for trial in TRIALS]

    def _names(self) -> list[str]:
        return [path.name for path in (self.store.folder / "trials").iterdir()]


class Evicting(Pretraining):
    """A cache that has room for two and a half trials."""

    max_gb = 2.5 * 208 / 1e9


def start_afresh(_: Any) -> None:
    """Nothing is there."""


def after_a_dead_process(work: "Cell | Pretraining") -> None:
    """A process that has the claim was killed."""

    def die_with_it() -> None:
        with work.store.claim():
            die()

    assert forked(die_with_it) == "killed"
    assert len(list((work.store.folder / "claim").iterdir())) == 1


def after_damage(work: "Cell | Pretraining") -> None:
    """Some was finished, and then two records were damaged."""
    work.work()
    work.log.unlink()
    if isinstance(work, Cell):
        (stack,) = work.store.folder.glob("stacks/0002-*")
        damaged = [stack / "curves.parquet", work.store.folder / "cell.json"]
    else:
        damaged = [work.store.folder / "trials" / "0001" / name for name in ("weights.safetensors", "curve.json")]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-5])


SCENARIOS: dict[str, tuple[type[Cell | Pretraining], Callable[[Any], None]]] = {
    "cell": (Cell, start_afresh),
    "cell-takeover": (Cell, after_a_dead_process),
    "cell-damage": (Cell, after_damage),
    "pretraining": (Pretraining, start_afresh),
    "pretraining-takeover": (Pretraining, after_a_dead_process),
    "pretraining-damage": (Pretraining, after_damage),
    "pretraining-evicting": (Evicting, start_afresh),
}


def note(log: Path, trials: list[int]) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.writelines(f"{trial}\n" for trial in trials)


def trained(log: Path) -> list[int]:
    return [int(line) for line in log.read_text(encoding="utf-8").split()] if log.exists() else []


def forked(action: Callable[[], object]) -> str:
    """Run this in a process of its own; how it ended: finished, failed, stopped or killed."""
    child = os.fork()
    if child == 0:
        _in_child(action)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed"
    return {0: "finished", 1: "failed", 2: "stopped"}[os.WEXITSTATUS(status)]


def _in_child(action: Callable[[], object]) -> NoReturn:
    try:
        action()
    except Exception:  # what it was is for the process that started it to judge by what is left
        os._exit(1)
    except BaseException:
        os._exit(2)
    os._exit(0)


def end_at(step: int, results: Path, end: Callable[[], object]) -> None:
    """From now on, end so before this many things have been done to files in the results folder."""
    steps = count()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OF_FILES and not _lies_elsewhere(arguments, results) and next(steps) == step:
            end()

    sys.addaudithook(watch)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _lies_elsewhere(arguments: tuple[Any, ...], results: Path) -> bool:
    """Names without a folder are those of files in a folder that is being removed."""
    paths = [Path(each) for each in arguments if isinstance(each, str | os.PathLike)]
    return any(path.is_absolute() and not path.is_relative_to(results) for path in paths)


def limit_files(size: int, on_excess: signal.Handlers) -> None:
    """From now on no file gets longer: the process dies in the write, or the write fails."""
    signal.signal(signal.SIGXFSZ, on_excess)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


FAULTS: dict[str, Callable[[int, Path], None]] = {
    "kill": partial(end_at, end=die),
    "stop": partial(end_at, end=sys.exit),  # as SIGTERM and Ctrl-C end it: by an exception
    "kill-in-write": lambda size, _: limit_files(size, signal.SIG_DFL),
    "full-disk": lambda size, _: limit_files(size, signal.SIG_IGN),
}


def disturb(scenario: str, fault: str, step: int, folder: Path) -> Seen:
    """Disturb one process at this step, then do its work again."""
    make, prepare = SCENARIOS[scenario]
    work = make(folder)
    prepare(work)

    def disturbed() -> None:
        FAULTS[fault](step, work.results)
        work.work()

    ended, published, n_trained = forked(disturbed), work.published(), len(trained(work.log))
    claims, unfinished = found(work, "claim"), found(work, f"{UNFINISHED}*")
    again = forked(work.work)
    trained_again, records, left = trained(work.log)[n_trained:], work.records(), found(work, "claim")
    aside = sorted(set_aside(work))
    for path in work.results.rglob(f"{UNFINISHED}*"):
        os.utime(path, (0, 0))
    assert forked(work.work) == "finished"
    not_old = [path for path in found(work, f"{UNFINISHED}*") if not path.startswith("set_aside")]
    return Seen(step, ended, published, claims, unfinished, again, trained_again, records, left, aside, not_old)


def set_aside(work: "Cell | Pretraining") -> Iterator[str]:
    """Each record that was set aside, and the reason; a process killed in between has written the reason alone."""
    for reason in work.results.glob("set_aside/*/reason.txt"):
        records, _, why = reason.read_text().strip().partition(": ")
        for record in records.split(", "):
            if (reason.parent / record).exists():
                yield f"{(work.results / record).relative_to(work.store.folder)}: {why}"


def found(work: "Cell | Pretraining", pattern: str) -> list[str]:
    return sorted(path.relative_to(work.results).as_posix() for path in work.results.rglob(pattern))


def disturb_everywhere(scenario: str, fault: str, every: int, folder: Path) -> Iterator[Seen]:
    """Disturb one process after the other, each this many steps later, until one finishes."""
    for step in count(0, every):
        seen = disturb(scenario, fault, step, folder / str(step))
        shutil.rmtree(folder / str(step))
        yield seen
        if seen.ended == "finished":
            return


if __name__ == "__main__":
    assert not {"torch", "pytorch_lightning"} & set(sys.modules)
    for each in disturb_everywhere(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]).absolute()):
        print(json.dumps(asdict(each)), flush=True)
