"""Commands that are process number 1, as in a container: `docker run IMAGE COMMAND` starts them so."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.composing import ROOT
from tests.processes import TINY, Process, assert_equal_rows, environment
from tests.programs import missing, program

pytestmark = [pytest.mark.container]

MINUTES = 5 * 60.0


@cache
def as_number_one() -> tuple[str, ...]:
    """The words before a command that make it number 1 of a space of process numbers of its own."""
    words = [program("unshare"), "--pid", "--fork", "--kill-child", "--mount-proc"]
    # Who is not root here is root in a space of users.
    if os.geteuid() != 0:
        words.append("--map-root-user")
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    tried = subprocess.run([*words, *command], capture_output=True, text=True)
    if tried.stdout != "1\n":
        missing(f"A process may have no numbers of its own here: {tried.stderr.strip()}")
    return tuple(words)


def ran(*command: str, cwd: Path) -> Process:
    cwd.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        command, cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MINUTES
    )


TRAIN, SCARF = str(ROOT / "train.py"), str(Path(sys.executable).with_name("scarf"))
COMMANDS = {
    "scarf, as in the image": [SCARF, "train", "pretrain=none,scarf", "trials=2", *TINY],
    "two workers": [sys.executable, TRAIN, "pretrain=none,scarf", "seed=0,1", "workers=2", "trials=2", *TINY],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_a_command_keeps_the_same_records_as_process_number_one(command: list[str], tmp_path: Path) -> None:
    contained, ordinary = tmp_path / "contained", tmp_path / "ordinary"

    inside = ran(*as_number_one(), *command, cwd=contained)
    outside = ran(*command, cwd=ordinary)

    assert (inside.returncode, outside.returncode) == (0, 0), inside.stderr
    assert "ended" not in inside.stderr
    assert_equal_rows(contained / "results", ordinary / "results")
