"""Commands as a user starts them, with tiny networks, and what they leave on the disk."""

import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

from scarf_lightning.results import load
from scarf_lightning.results.records import UNFINISHED
from tests.composing import ROOT

TINY = (
    "pretrain.max_epochs=2",
    "finetune.max_epochs=2",
    "network.encoder.width=16",
    "network.encoder.depth=2",
    "network.pretrain_head.width=16",
    "network.head.width=16",
    "trainer.accelerator=cpu",
)
TINY_CONTROL = tuple(option for option in TINY if "pretrain" not in option)
"""Of cells without pre-training, which refuse its options."""
TIMES = ["pretrain_seconds", "finetune_seconds"]
MINUTES = 60.0

FIRST_LINES = re.compile(
    r"^(Reading the configuration \.\.\.|.* cells? to train; importing torch .* \.\.\.|\d+ workers train, on .*|"
    r"\d[\d,]* test rows? in each of .*)\n",
    re.MULTILINE,
)
"""What `train.py` says before it imports what takes long; the other lines are given back."""

Process = subprocess.CompletedProcess[str]


def environment() -> dict[str, str]:
    """This process's, without what would change what a command does."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYDRA_", "FORCE_", "TTY_", "OPENML_"))
    }


@contextmanager
def logging_kept() -> Iterator[None]:
    """``--info`` lets everything be logged from then on, and Hydra would tell all of every later command."""
    level, handlers = logging.root.level, list(logging.root.handlers)
    try:
        yield
    finally:
        logging.root.setLevel(level)
        logging.root.handlers = handlers


def here(command: Callable[[], int], *arguments: str, cwd: Path) -> Process:
    """A command of `scarf_lightning.cli.commands` in this process, which has imported all that it needs."""
    out, err = StringIO(), StringIO()
    with (
        chdir(cwd),
        logging_kept(),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", [f"{getattr(command, '__name__', 'train')}.py", *arguments]),
        patch.dict(os.environ, environment(), clear=True),
    ):
        try:
            status = command()
        # A page of help ends a command.
        except SystemExit as ended:
            status = int(ended.code or 0)
    return Process(arguments, status, out.getvalue(), FIRST_LINES.sub("", err.getvalue()))


def started(*overrides: str, cwd: Path, python_options: tuple[str, ...] = (), **how: Any) -> subprocess.Popen[str]:
    """`train.py`, running in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, *python_options, str(ROOT / "train.py"), *overrides],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **how,
    )


def train(*overrides: str, cwd: Path, minutes: float = 2, **how: Any) -> Process:
    """`train.py`, run to its end."""
    with started(*overrides, cwd=cwd, **how) as process:
        return ended(process, minutes)


def ended(process: subprocess.Popen[str], minutes: float = 2) -> Process:
    """What a process said by its end."""
    try:
        out, err = process.communicate(timeout=minutes * MINUTES)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Process(process.args, process.returncode, out, FIRST_LINES.sub("", err))


def soon(condition: Callable[[], object], seconds: float = MINUTES) -> bool:
    """True if the condition holds within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(condition())


def is_alive(pid: int) -> bool:
    """True if there is a process of this number that has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    # The state follows the name of the program in brackets, which may hold anything.
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=TIMES).reset_index(drop=True)


def assert_equal_rows(results: Path, others: Path) -> None:
    """The same cells and trials with the same numbers, but for the seconds that they took."""
    pd.testing.assert_frame_equal(without_times(load(results)), without_times(load(others)), check_exact=True)


def n_records(results: Path) -> int:
    """Published stacks."""
    return len(list(results.glob("*/stacks/[0-9]*")))


def in_the_way(results: Path) -> list[str]:
    """Claims, what is half-written, and what was set aside: after a sweep has ended there is none."""
    patterns = ("**/claim", f"**/{UNFINISHED}*", "set_aside", "chunks", "failures/*")
    return sorted(path.relative_to(results).as_posix() for pattern in patterns for path in results.glob(pattern))
