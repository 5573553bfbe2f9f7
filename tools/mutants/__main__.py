"""Faults put into the package one at a time: does a test notice?

    python -m tools.mutants [--only FILE] [--of changed|omitted|refactored] [--processes N] [--seed S] [--lines L]

Makes a mutant of every so many lines by each set of operators, the same ones for the same seed, and those that `chosen`
names; a third set is of faults that a refactoring makes. For each it runs the tests that stand guard over the mutated
module until one fails: quick ones, and then those that are marked slow. Those that failed run once more without any
mutant. A mutant is put into a copy of the project,
never into the project itself. Every test process is forked from one that has imported the libraries. Takes some
hours.
"""

import argparse
import importlib
import math
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

import pytest

from tools.mutants.chosen import PACKAGE, ROOT, guards_of, is_equivalent, modules, named_mutants, refactored_mutants
from tools.mutants.operators import CHANGED, SETS, Mutant, mutants_of

COPIED = (
    "scarf_lightning", "hydra_plugins", "paper", "study", "tests", "tools", "conf", "sweeps", "docs", "train.py",
    "report.py", "pyproject.toml", "README.md",
)  # fmt: skip
ROOMS_OF_THE_COPY = {"tests", "tools", "scarf_lightning", "paper"}
"""Packages that a test process imports from its copy, and not as the parent had them."""
PLUGINS = ("cacheprovider", "xdist", "anyio")
"""Of pytest. None of the tests needs them, and to import them takes as long as many a test."""
PYTEST_OPTIONS = (
    "-x", "-q", *(f"-pno:{name}" for name in PLUGINS), "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
SLOW = ("-m", "slow and not launcher and not notebook and not browser and not slurm and not gpu and not ray")
NONE_COLLECTED = 5
"""Pytest's exit status where a file has no such test."""
REFACTORING = "refactored"
"""The set of `refactored_mutants`, beside those of operators."""
GOAL = 0.95
MOST_SECONDS = 400.0
"""A mutant counts as killed when its tests take longer than this, and do not without it."""
MOST_BYTES = 6 << 30
"""Data of a test process; a mutant may ask for more without end."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: ``killed`` by the test ``by``, ``timed out``, ``survived``; or ``unjudged``, where it
    has no tests or what fails does so without it.
    """

    mutant: Mutant
    fate: str
    seconds: float
    by: str = ""

    @property
    def test(self) -> str:
        """The function, or the file that could not be imported, whose test killed it."""
        return self.by.partition("[")[0]

    def __str__(self) -> str:
        return f"{self.fate:9} {self.seconds:5.1f} s  {self.mutant}" + (f"  [{self.by}]" if self.by else "")


def main() -> int:
    options = _options()
    chosen = {of: _of_set(of, options) for of in options.of or (*SETS, REFACTORING)}
    # A set may have no mutant of the modules that are asked for.
    chosen = {of: of_set for of, of_set in chosen.items() if of_set}
    mutants = [each for of_set in chosen.values() for each in of_set]
    print(f"{len(mutants)} mutants of {len({mutant.file for mutant in mutants})} modules", flush=True)

    _import_libraries()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(options.processes, mp_context=get_context("fork")) as pool,
    ):
        verdicts = list(pool.map(partial(_judge, Path(folder)), mutants))
        failing = pool.submit(_failing, Path(folder), sorted({each.test for each in verdicts if each.test})).result()
    verdicts = [replace(each, fate="unjudged") if each.test in failing else each for each in verdicts]
    shares = []
    for of, of_set in chosen.items():
        fates = Counter(verdict.fate for verdict in verdicts if verdict.mutant in of_set)
        killed = fates["killed"] + fates["timed out"]
        shares.append(killed / len(of_set))
        print(f"{of}: {len(of_set)} mutants, {killed} killed ({shares[-1]:.1%}), {fates['timed out']} of them by time")
    for verdict in sorted(verdicts, key=lambda verdict: str(verdict.mutant)):
        if verdict.fate in {"survived", "unjudged"}:
            print(f"{verdict.fate}: {verdict.mutant}")
    return int(min(shares, default=1.0) < GOAL)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Does a test notice each small fault?")
    parser.add_argument("--only", action="append", metavar="FILE", help="a module, by its path in scarf_lightning")
    parser.add_argument("--of", action="append", choices=(*SETS, REFACTORING), help="a set; all without it")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=int, default=60, help="a mutant is made of every so many lines")
    return parser.parse_args()


def _of_set(of: str, options: argparse.Namespace) -> list[Mutant]:
    """The mutants of a set, of all modules or of those that are asked for."""
    if of == REFACTORING:
        return [mutant for mutant in refactored_mutants() if not options.only or mutant.file in options.only]
    mutants = []
    for module in options.only or modules():
        mutants += _of(module, of, options.seed, options.lines)
    return mutants


def _of(module: str, of: str, seed: int, lines: int) -> list[Mutant]:
    source = (PACKAGE / module).read_text(encoding="utf-8")
    possible = mutants_of(module, source, of)
    count = min(len(possible), round(source.count("\n") / lines))
    drawn = random.Random(f"{seed} {module}" if of == CHANGED else f"{seed} {module} {of}").sample(possible, count)
    named = named_mutants(module, source) if of == CHANGED else []
    return [mutant for mutant in drawn if not is_equivalent(mutant, source)] + named


def _import_libraries() -> None:
    """What is slow to import, once, so that every test process has it; what a fork could not share stays out."""
    os.environ["OMP_NUM_THREADS"] = "1"
    importlib.import_module("scarf_lightning")  # sets MKL_CBWR before anything computes
    for name in (
        "pytorch_lightning",
        "pandas",
        "pyarrow.parquet",
        "scipy.stats",
        "sklearn.metrics",
        "hydra",
        "rich",
        "hypothesis",
    ):
        __import__(name)


def _copy(folder: Path) -> Path:
    """This process's copy of the project."""
    copy = folder / str(os.getpid())
    if not copy.exists():
        copy.mkdir()
        for part in COPIED:
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy2)(ROOT / part, copy / part)
    return copy


def _judge(folder: Path, mutant: Mutant) -> Verdict:
    """The verdict on a mutant by its guards."""
    copy, tests = _copy(folder), guards_of(mutant)
    if not tests:
        return Verdict(mutant, "unjudged", 0.0)
    file = copy / "scarf_lightning" / mutant.file
    source = file.read_text(encoding="utf-8")
    file.write_text(mutant.apply(source), encoding="utf-8")
    seconds = 0.0
    for chosen in (tests, (*SLOW, *tests)):
        code, taken, said = _run(copy, chosen)
        seconds += taken
        if code not in (0, NONE_COLLECTED):
            break
    file.write_text(source, encoding="utf-8")
    by = next((line.split()[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))), "")
    fate = "timed out" if code is None else "survived" if code in (0, NONE_COLLECTED) else "killed"
    if code is None and _run(copy, chosen)[0] != 0:
        fate = "unjudged"
    verdict = Verdict(mutant, fate, seconds, by)
    print(verdict, flush=True)
    return verdict


def _failing(folder: Path, tests: list[str]) -> set[str]:
    """Which of these tests fail without any mutant."""
    if not tests:
        return set()
    _, _, said = _run(_copy(folder), ("--maxfail=0", "-m", "", *tests), limit=math.inf)
    failing = {each for each in tests if re.search(rf"^(FAILED|ERROR) {re.escape(each)}\b", said, re.MULTILINE)}
    if failing:
        print(f"{' '.join(failing)} fails without any mutant:\n{said}", flush=True)
    return failing


def _run(copy: Path, tests: tuple[str, ...], limit: float = MOST_SECONDS) -> tuple[int | None, float, str]:
    """The tests' exit status (None where they took longer than ``limit`` seconds), the seconds, and what they said."""
    log = copy / "log.txt"
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_pytest(copy, tests, log)
    status = None
    while status is None and time.monotonic() - started < limit:
        ended, code = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(code) if ended else None
        time.sleep(0.05)
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return status, time.monotonic() - started, log.read_text(encoding="utf-8", errors="replace")


def _be_pytest(copy: Path, tests: tuple[str, ...], log: Path) -> NoReturn:
    """Run the tests on the copy, in a process group of their own, and end."""
    status = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(copy)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # a mutant's bytecode could pass for the next one's
        sys.dont_write_bytecode = True
        sys.path[:] = [str(copy), *(place for place in sys.path if place not in {"", str(ROOT)})]
        for name in list(sys.modules):
            if name.split(".")[0] in ROOMS_OF_THE_COPY:
                del sys.modules[name]
        status = pytest.main([*PYTEST_OPTIONS, f"--basetemp={copy / 'temporary'}", *tests])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
