"""Sweeps that several processes run at once and that are killed, put to sleep past a claim's timeout, or short of disk.

    python -m tools.faults.hazards FOLDER [--kills N] [--workers N] [--signals N] [--disks N] [--sleeps N] [--seed N]

In each round processes of `train.py` share a fresh results folder. They are disturbed at random moments and started
again, and then one is left to finish. What the last process says and leaves is compared with a sweep that nothing
disturbed. A JSON object a round is printed. One process may share its work with workers:

- of which N are killed: each kill may lose no more than the stack that the worker trained;
- or N signals come, each of `SIGNALS` in its turn: to a worker, to the run, or to all of them, as a terminal sends
  Ctrl-C and a scheduler SIGTERM. Nobody may wait then, nor anything be left that the next run waits for;
- or their disk is one of `DISKS`, until it gets room. To mount one needs root.

The processes are forked from this one, which has imported all that is slow and has trained nothing. A claim's timeout
is shortened in them where they are to oversleep it.
"""

import argparse
import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import torch  # noqa: F401 - imported before the processes are forked

from scarf_lightning.results import claims, load
from scarf_lightning.results.claims import folder_time, is_claimed
from scarf_lightning.training import CellTraining
from tests.composing import ROOT
from tests.processes import TINY, in_the_way, is_alive, n_records, soon, without_times

SWEEP = (
    "-m", "seed=0,1", "method=control,dropout", "pretrain=none,scarf", "trials=8", "trainer.trials_per_stack=1", *TINY,
)  # fmt: skip
N_STACKS = 2 * 2 * 2 * 8
LAUNCHERS = ("basic", "joblib")
BEGUN = "begun"
"""The file to which each stack that begins adds a line."""
KILLS_A_ROUND = 10
SLEEPS_A_ROUND = 5
SIGNALS_A_ROUND = 8
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
KILL_WORKER, KILL_RUN, INTERRUPT, TERMINATE = "KILL a worker", "KILL the run", "INT all", "TERM all"
SIGNALS = (KILL_WORKER, TERMINATE, KILL_RUN, INTERRUPT)
SENTENCES = {
    INTERRUPT: (128 + signal.SIGINT, "Interrupted; the same command goes on where it ended."),
    TERMINATE: (128 + signal.SIGTERM, "Ended by SIGTERM; the same command goes on where it ended."),
}
"""The status and the last line of a run that a signal ended."""
AT_ONCE = 5.0
"""Seconds within which a signal has done what it does."""
AS_IT_BEGINS, LONGEST_WAIT = 0.3, 4.0
"""The share of signals that come within so many seconds; the others come when another stack is finished."""
ROOM = "size=50m,nr_inodes=10000"
DISKS: tuple[tuple[str, float], ...] = (
    ("size=4k", 0), ("size=16k", 0), ("size=28k", 0), ("size=64k", 0), ("size=160k", 0), ("size=400k", 0),
    (f"{ROOM},nr_inodes=6", 0), (f"{ROOM},nr_inodes=20", 0), (f"{ROOM},nr_inodes=60", 0),
    (f"{ROOM},ro", 0), (f"{ROOM},ro", 0.4), (f"{ROOM},ro", 2.5), (f"{ROOM},ro", 4.0),
)  # fmt: skip
"""What a disk in memory is like, and how many seconds after the start of the run it becomes so."""


@dataclass
class Round:
    """What was done to a sweep, and what came of it.

    ``moments`` are the numbers of finished stacks when a process was disturbed; ``status`` is how the last one ended;
    ``slowest`` are the most seconds that it took until a signal had done what it does.
    """

    launcher: str
    kills: int = 0
    sleeps: int = 0
    signals: list[str] = field(default_factory=list)
    disk: str = ""
    slowest: float = 0.0
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


def signalled(signals: Sequence[str], folder: Path, draw: random.Random) -> Round:
    """Send a run and its workers signals at random moments, and start the run again where one has ended it."""
    done, results, log = Round(WORKERS), folder / "results", folder / "log"
    running = None
    for each in signals:
        if running is None or has_ended(running):
            if running is not None:
                wait(running)
            running = sweep(results, WORKERS, log=log)
            if not soon(lambda run=running: len(workers_of(run)) == TOGETHER, PATIENCE):
                break
        # While it begins, or at work.
        if draw.random() < AS_IT_BEGINS:
            time.sleep(draw.uniform(0, LONGEST_WAIT))
        else:
            at_work(results, draw)
        workers = workers_of(running)
        if len(workers) < TOGETHER:
            # The run is over.
            continue
        done.signals.append(each)
        done.moments.append(n_records(results))
        sent = time.monotonic()
        if each == KILL_WORKER:
            victim, finished = draw.choice(workers), n_records(results)
            os.kill(victim, signal.SIGKILL)
            # One that had no cell is not replaced, and the other one goes on.
            if not soon(
                lambda run=running, victim=victim, finished=finished: (
                    (not is_alive(victim) and len(workers_of(run)) == TOGETHER)
                    or n_records(results) > finished
                    or has_ended(run)
                ),
                AT_ONCE,
            ):
                done.wrong.append(f"{each}: the run waits")
        else:
            done.wrong += ended_by(each, running, workers, results, log)
            running = None
        done.slowest = max(done.slowest, time.monotonic() - sent)
    if running is not None and wait(running) is None:
        done.wrong.append("the run did not end")
    return ended(done, folder)


def ended_by(name: str, run: int, workers: Sequence[int], results: Path, log: Path) -> list[str]:
    """What is wrong with the end of a run and its workers by a signal."""
    wrong = []
    if name == KILL_RUN:
        os.kill(run, signal.SIGKILL)
    else:
        os.killpg(run, signal.SIGINT if name == INTERRUPT else signal.SIGTERM)
    if not soon(lambda: has_ended(run), AT_ONCE):
        wrong.append(f"{name}: the run goes on")
    status = wait(run)
    if name in SENTENCES:
        expected, sentence = SENTENCES[name]
        last = log.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2]
        if (status, last) != (expected, sentence):
            wrong.append(f"{name}: status {status}, {last!r}")
        wrong += [f"{name}: {path} is left" for path in results.glob("**/claim/*")]
    if not soon(lambda: not any(map(is_alive, workers)), AT_ONCE):
        wrong.append(f"{name}: a worker goes on")
    held = [path for path in results.glob("**/claim") if is_claimed(path.parent, folder_time(path.parent))]
    return wrong + [f"{name}: somebody waits for {path}" for path in held]


def short_of_disk(options: str, seconds: float, folder: Path) -> Round:
    """Let a run and its workers meet such a disk, give it room, and go on."""
    done, results, log = Round(WORKERS, disk=f"{options} after {seconds} s"), folder / "results", folder / "log"
    results.mkdir()
    mount(results, ROOM if seconds else options)
    try:
        running = sweep(results, WORKERS, log=log)
        if seconds:
            soon(lambda: workers_of(running), PATIENCE)
            time.sleep(seconds)
            mount(results, f"remount,{options}")
        if wait(running) is None:
            done.wrong.append("the run did not end")
        done.moments.append(n_records(results))
        mount(results, f"remount,rw,{ROOM}")
        ended(done, folder)
        kept = folder / "kept"
        shutil.copytree(results, kept)
    finally:
        subprocess.run(["umount", "-l", str(results)], check=True)
    results.rmdir()
    kept.rename(results)
    return done


def mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)


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
    done.wrong += [f"a process said {word}" for word in ("Traceback", "failed on", "Error:") if word in said]
    return done


def rounds(folder: Path, kills: int, workers: int, signals: int, disks: int, sleeps: int, seed: int) -> Iterator[Round]:
    """Disturb sweeps until so many processes were killed, with each launcher in turn, then so many workers, so many
    signals were sent, so many disks had no room, and so many processes overslept."""
    draw = random.Random(seed)
    to_send, to_mount = cycle(SIGNALS), cycle(DISKS)
    calm = folder / "calm"
    calm.mkdir(parents=True)
    assert wait(sweep(calm / "results", "basic", log=calm / "log")) == 0, (calm / "log").read_text()
    expected = without_times(load(calm / "results"))
    number = 0
    while kills > 0 or workers > 0 or signals > 0 or disks > 0 or sleeps > 0:
        place = folder / str(number)
        place.mkdir()
        launcher = LAUNCHERS[number % len(LAUNCHERS)]
        if kills > 0:
            done = killed(launcher, min(kills, KILLS_A_ROUND) - TOGETHER, place, draw)
            kills -= done.kills
        elif workers > 0:
            done = workers_killed(min(workers, KILLS_A_ROUND), place, draw)
            workers -= done.kills
        elif signals > 0:
            done = signalled(list(islice(to_send, min(signals, SIGNALS_A_ROUND))), place, draw)
            signals -= len(done.signals)
        elif disks > 0:
            done = short_of_disk(*next(to_mount), place)
            disks -= 1
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
    parser.add_argument("--signals", type=int, default=40)
    parser.add_argument("--disks", type=int, default=0)
    parser.add_argument("--sleeps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    counts = given.kills, given.workers, given.signals, given.disks, given.sleeps
    for each in rounds(given.folder.absolute(), *counts, given.seed):
        print(json.dumps(asdict(each) | ({} if each.wrong else {"said": ""})), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
