"""Sweeps that several processes run at once and that are killed, or put to sleep past a claim's timeout, at random.

    python -m tools.faults.hazards FOLDER [--kills N] [--workers N] [--sleeps N] [--seed N]

In each round processes of `train.py` share a fresh results folder. They are disturbed at random moments and started
again, and then one is left to finish. Or one process shares its work with workers, of which N are killed: each kill may
lose no more than the stack that the worker trained. What the last process says and leaves is compared with a sweep that
nothing disturbed. A JSON object a round is printed.

The processes are forked from this one, which has imported all that is slow and has trained nothing. A claim's timeout
is shortened in them where they are to oversleep it.
"""

import argparse
import json
import os
import random
import runpy
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import torch  # noqa: F401 - imported before the processes are forked

from scarf_lightning.results import claims, load
from scarf_lightning.training import CellTraining
from tests.composing import ROOT
from tests.processes import TINY, in_the_way, n_records, without_times

SWEEP = (
    "-m", "seed=0,1", "method=control,dropout", "pretrain=none,scarf", "trials=8", "trainer.trials_per_stack=1", *TINY,
)  # fmt: skip
N_STACKS = 2 * 2 * 2 * 8
LAUNCHERS = ("basic", "joblib")
BEGUN = "begun"
"""The file to which each stack that begins adds a line."""
KILLS_A_ROUND = 10
SLEEPS_A_ROUND = 5
TOGETHER = 2
"""Processes that run the sweep at once."""
TIMEOUT, RENEWAL = 2.0, 0.3
"""Of claims, in seconds, where processes are put to sleep."""
OVERSLEEP = 1.5
"""How many timeouts a sleep lasts."""
WORKERS = "workers"
"""Stands beside the launchers for rounds in which single workers are killed."""
PATIENCE = 300.0
"""Seconds after which the last sweep counts as stuck."""


@dataclass
class Round:
    """What was done to a sweep, and what came of it.

    ``moments`` are the numbers of finished stacks when a process was disturbed; ``status`` is how the last one ended.
    """

    launcher: str
    kills: int = 0
    sleeps: int = 0
    moments: list[int] = field(default_factory=list)
    status: int | None = None
    wrong: list[str] = field(default_factory=list)
    said: str = ""


def sweep(results: Path, launcher: str, *, log: Path, short_timeout: bool = False) -> int:
    """Start a process that runs the sweep, in a group of its own, and notes each stack that begins; its number."""
    child = os.fork()
    if child == 0:
        _run(results, launcher, log, short_timeout)
    os.setpgid(child, child)  # by both, so that it is done before either goes on
    return child


def _run(results: Path, launcher: str, log: Path, short_timeout: bool) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(output, stream)
        if short_timeout:
            claims.STALE_AFTER, claims.RENEW_EVERY = TIMEOUT, RENEWAL
        note_stacks(log.parent / BEGUN)
        how = f"workers={TOGETHER}" if launcher == WORKERS else f"hydra/launcher={launcher}"
        sys.argv = [str(ROOT / "train.py"), *SWEEP, f"paths.results={results}", how]
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def note_stacks(file: Path) -> None:
    """Let this process and its forks note each stack that they begin to train."""
    run = CellTraining.run

    def noted(self: CellTraining, *trials: Any) -> Any:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{os.getpid()} {trials}\n")
        return run(self, *trials)

    patch.object(CellTraining, "run", noted).start()


def kill(process: int) -> None:
    """Kill a process with those that it started in its group, at once."""
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)


def killed(launcher: str, kills: int, folder: Path, draw: random.Random) -> Round:
    """Of the processes that run a sweep together, kill one after the other; the next one takes its place."""
    done, results, log = Round(launcher), folder / "results", folder / "log"
    running = [sweep(results, launcher, log=log) for _ in range(TOGETHER)]
    while done.kills < kills and n_records(results) < N_STACKS:
        at_work(results, draw)
        done.moments.append(n_records(results))
        victim = running.pop(0)
        kill(victim)
        done.kills += 1
        running.append(sweep(results, launcher, log=log))
    for each in running:
        kill(each)
    done.kills += len(running)
    return ended(done, folder)


def workers_killed(kills: int, folder: Path, draw: random.Random) -> Round:
    """Of the workers of a run, kill one after the other. A run that gives a cell up, after three kills, is started
    again."""
    done, results, log = Round(WORKERS), folder / "results", folder / "log"
    running = sweep(results, WORKERS, log=log)
    while done.kills < kills and n_records(results) < N_STACKS:
        finished = n_records(results)
        while n_records(results) == finished and not has_ended(running):
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 0.2))
        if has_ended(running):
            wait(running)
            running = sweep(results, WORKERS, log=log)
        elif alive := workers_of(running):
            done.moments.append(n_records(results))
            os.kill(draw.choice(alive), signal.SIGKILL)
            done.kills += 1
    if wait(running) is None:
        done.wrong.append("the run did not end")
    ended(done, folder)
    n_lost = len((folder / BEGUN).read_text(encoding="utf-8").splitlines()) - N_STACKS
    if n_lost > done.kills:
        done.wrong.append(f"{done.kills} kills lost {n_lost} stacks")
    return done


def has_ended(process: int) -> bool:
    """True if a process has ended; its status can still be waited for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def workers_of(process: int) -> list[int]:
    """The forks of a process that are alive; none if one of them ends meanwhile."""
    alive = []
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
        for child in children.split():
            stat = Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
            # The state follows the name of the program in parentheses, which may hold anything.
            state = stat.rpartition(")")[2].split()[0]
            if state != "Z":
                alive.append(int(child))
    except OSError:
        return []
    return alive


def asleep(launcher: str, sleeps: int, folder: Path, draw: random.Random) -> Round:
    """Put one of the processes that run a sweep together to sleep until its claims are stale, then wake it."""
    done, results, log = Round(launcher), folder / "results", folder / "log"
    running = [sweep(results, launcher, log=log, short_timeout=True) for _ in range(TOGETHER)]
    while done.sleeps < sleeps and n_records(results) < N_STACKS:
        at_work(results, draw)
        done.moments.append(n_records(results))
        sleeper = draw.choice(running)
        os.killpg(sleeper, signal.SIGSTOP)
        time.sleep(OVERSLEEP * TIMEOUT)
        os.killpg(sleeper, signal.SIGCONT)
        done.sleeps += 1
    for each in running:
        if (status := wait(each)) != 0:
            done.wrong.append(f"a process that was woken ended with {status}")
    return ended(done, folder)


def at_work(results: Path, draw: random.Random) -> None:
    """Wait until another stack is finished, and then for a random moment."""
    finished, deadline = n_records(results), time.monotonic() + PATIENCE
    while n_records(results) == finished < N_STACKS and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(draw.uniform(0, 0.5))


def wait(process: int) -> int | None:
    """How a process ended; None where it is stuck."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    kill(process)
    return None


def ended(done: Round, folder: Path) -> Round:
    """Let a last process finish the sweep, and look for what is wrong: failures, records twice, what is in the way."""
    results, log = folder / "results", folder / "last"
    before = {path.name for path in results.glob("*/stacks/[0-9]*")}
    done.status = wait(sweep(results, "basic", log=log, short_timeout=done.sleeps > 0))
    done.said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    if done.status != 0:
        done.wrong.append("the last process did not finish")
    if not before <= {path.name for path in results.glob("*/stacks/[0-9]*")}:
        done.wrong.append("a record is gone")
    if n_records(results) != N_STACKS:
        done.wrong.append(f"{n_records(results)} records of {N_STACKS}")
    done.wrong += [
        f"{path} is left" for path in in_the_way(results) if not path.startswith("chunks") and ".unfinished" not in path
    ]
    said = (folder / "log").read_text(encoding="utf-8", errors="replace")
    done.wrong += [f"a process said {word}" for word in ("Traceback", "failed on", "Error") if word in said]
    return done


def rounds(folder: Path, kills: int, workers: int, sleeps: int, seed: int) -> Iterator[Round]:
    """Disturb sweeps until so many processes were killed, with each launcher in turn, then so many workers, and so many
    processes overslept."""
    draw = random.Random(seed)
    calm = folder / "calm"
    calm.mkdir(parents=True)
    assert wait(sweep(calm / "results", "basic", log=calm / "log")) == 0, (calm / "log").read_text()
    expected = without_times(load(calm / "results"))
    number = 0
    while kills > 0 or workers > 0 or sleeps > 0:
        place = folder / str(number)
        place.mkdir()
        launcher = LAUNCHERS[number % len(LAUNCHERS)]
        if kills > 0:
            done = killed(launcher, min(kills, KILLS_A_ROUND) - TOGETHER, place, draw)
            kills -= done.kills
        elif workers > 0:
            done = workers_killed(min(workers, KILLS_A_ROUND), place, draw)
            workers -= done.kills
        else:
            done = asleep("basic", min(sleeps, SLEEPS_A_ROUND), place, draw)
            sleeps -= done.sleeps
        number += 1
        if not without_times(load(place / "results")).equals(expected):
            done.wrong.append("other numbers than those of a calm sweep")
        yield done


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--sleeps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    for each in rounds(given.folder.absolute(), given.kills, given.workers, given.sleeps, given.seed):
        print(json.dumps(asdict(each) | ({} if each.wrong else {"said": ""})), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
