"""What an attack is, and how it is judged.

An attack draws a hostile input and gives it to the package. It returns what became of it: ``used``, or the sentence
that refuses it. Anything else that it raises is a fault of the package, and so is an attack that takes too long or
ends its process. Each attack runs in a process of its own, forked from one that has imported the libraries.
"""

import importlib
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.machine import end_openmp_threads
from scarf_lightning.screen import escaped

SECONDS = 240.0
"""An attack that takes longer counts as endless. Three threads on two busy cores take more than a minute."""
MOST_MEMORY = 6 << 30
"""Bytes that an attack may ask for beside what its process has."""
LONGEST_SENTENCE = 1000
USED = "used"


class Kind(Protocol):
    """A module of attacks of one kind."""

    COUNT: int
    """How many attacks the whole count has."""

    def prepare(self, folder: Path) -> Any:
        """What all attacks start from."""

    def attack(self, prepared: Any, draw: random.Random, folder: Path) -> str:
        """One attack, in a folder of its own."""


KINDS = ("models", "records", "caches", "tables", "folders", "options", "sweeps", "changes")


@dataclass(frozen=True)
class Outcome:
    """What became of an attack: ``used``, a refusal, or what is wrong."""

    kind: str
    number: int
    seconds: float
    refusal: str = ""
    wrong: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.number}: {self.wrong or self.refusal or USED}"


def outcomes(name: str, numbers: Iterable[int], folder: Path) -> Iterator[Outcome]:
    """Attacks of one kind, by their numbers. An attack of a number is the same each time."""
    kind = cast(Kind, importlib.import_module(f"tools.fuzzing.{name}"))
    shared = folder / f"prepared-{name}"
    shared.mkdir()
    prepared = kind.prepare(shared)
    for number in numbers:
        place = folder / f"{name}-{number}"
        place.mkdir()
        yield _judged(kind, name, number, prepared, place)


def sentence_of(error: UsageError | UnfinishedError) -> str:
    """What an error says, which must be a sentence for people, without a character that a terminal acts on."""
    said = str(error)
    assert said, "it says nothing"
    assert all(line.rstrip().endswith((".", "?")) for line in said.splitlines()), f"it is no sentence: {said!r:.500}"
    assert "Traceback" not in said, said
    assert "\n" not in said, f"it has several lines: {said!r:.500}"
    assert len(said) < LONGEST_SENTENCE, f"it is {len(said)} characters long: {said:.500}"
    return escaped(said)


def _judged(kind: Kind, name: str, number: int, prepared: Any, place: Path) -> Outcome:
    log, started = place.with_suffix(".log"), time.monotonic()
    end_openmp_threads()
    child = os.fork()
    if child == 0:
        _attack(kind, f"{name} {number}", prepared, place, log)
    status = None
    while status is None and time.monotonic() - started < SECONDS:
        ended, code = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(code) if ended else None
        time.sleep(0.002)
    seconds = time.monotonic() - started
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Outcome(name, number, seconds, wrong=f"it did not end in {SECONDS:g} s")
    said = log.read_text(encoding="utf-8", errors="replace")
    if status != 0:
        return Outcome(name, number, seconds, wrong=f"the process ended with {status}:\n{said[-4000:]}")
    if "Traceback" in said:
        return Outcome(name, number, seconds, wrong=f"it wrote a traceback:\n{said[-4000:]}")
    result = json.loads((place.with_suffix(".json")).read_text())
    return Outcome(name, number, seconds, refusal="" if result == USED else result)


def _attack(kind: Kind, seed: str, prepared: Any, place: Path, log: Path) -> NoReturn:
    """Run one attack in this process, in a group of its own, and end."""
    status = 1
    try:
        os.setsid()
        warnings.simplefilter("default")  # as outside of pytest, which makes them errors
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(out, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, most))
        found = kind.attack(prepared, random.Random(seed), place)
        place.with_suffix(".json").write_text(json.dumps(found))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
