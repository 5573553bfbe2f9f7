"""A job array, with programs in the place of Slurm's: `tests/slurm` has a real one."""

import json
import os
import re
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping import launchers as slurm
from scarf_lightning.sweeping.cell import Cell, Job
from scarf_lightning.sweeping.launchers import Detached, Slurm, SlurmOptions, is_in_queue, read_job
from tests.cells import finish, some_cell

SCRIPT = """\
#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv) + "\\n")
answers = folder / pathlib.Path(sys.argv[0]).name
lines = answers.read_text().split("---\\n") if answers.exists() else [""]
if len(lines) > 1:
    answers.write_text("---\\n".join(lines[1:]))
if lines[0].startswith("error "):
    sys.exit(lines[0].removeprefix("error "))
sys.stdout.write(lines[0])
"""
"""Writes down its arguments, and gives one prepared answer after the other; the last one again and again."""


class Programs:
    """Programs that answer as they are told."""

    def __init__(self, folder: Path, python: str) -> None:
        self._folder = folder
        for name in ("sbatch", "squeue", "scancel"):
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(SCRIPT.format(python=python, folder=str(folder)), encoding="utf-8")
            program.chmod(program.stat().st_mode | stat.S_IEXEC)

    def answer(self, program: str, *texts: str) -> None:
        (self._folder / program).write_text("---\n".join(texts), encoding="utf-8")

    def calls(self, program: str) -> list[list[str]]:
        lines = (self._folder / "calls").read_text(encoding="utf-8").splitlines()
        calls = [json.loads(line) for line in lines]
        return [arguments for name, *arguments in calls if name.endswith(program)]


@pytest.fixture
def programs(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setenv("PATH", f"{in_tmp / 'bin'}:{os.environ['PATH']}")
    made = Programs(in_tmp, f"{sys.executable} -IS")
    # Nothing is in the queue before, two tasks and one after.
    made.answer("squeue", "", "17_0\n17_1\n", "17_1\n", "")
    monkeypatch.setattr(slurm, "LOOK_EVERY", 0.0)
    return made


def cells(n: int) -> list[Cell]:
    return [some_cell(f"seed={seed}", seed=seed) for seed in range(n)]


def launch(n: int, seconds: float = 1.0, *, finishes: bool = True, **chosen: Any) -> None:
    """A command with so many cells, of so many expected seconds each; its tasks end a trial, or none."""
    options = SlurmOptions(**{"least_min": 0.0} | chosen)
    jobs = [Job([cell]) for cell in cells(n)]
    for job in jobs:
        job.cells[0].seconds = seconds
    if finishes:
        finish(jobs[0].cells[0], trials=[0])
    Slurm(options, ["seed=0,1"])(jobs)


def test_an_array_has_a_task_a_job_and_is_waited_for(programs: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    launch(2, partition="fast", mem_gb=1.5, sbatch=["--exclude=n7"])

    (submitted,) = programs.calls("sbatch")
    options = {argument.partition("=")[0]: argument.partition("=")[2] for argument in submitted[:-1]}
    assert (options["--array"], options["--time"]) == ("0-1%256", "30")
    assert (options["--partition"], options["--mem"]) == ("fast", "1500M")
    assert options["--exclude"] == "n7"
    assert "--requeue" in options
    assert [call[-1] for call in programs.calls("squeue")] == [f"--name={options['--job-name']}"] * 4
    assert capsys.readouterr().err == "The job array has 2 tasks.\n"
    assert not Path("results/chunks").exists()


@pytest.mark.parametrize(
    ("n", "seconds", "chosen", "n_tasks", "minutes"),
    [
        (60, 60.0, {"least_min": 20.0}, 3, 60),
        (3, 7200.0, {"least_min": 20.0}, 3, 360),
        (3, 7200.0, {"timeout_min": 50}, 3, 50),
        (15, 60.0, {}, 8, 30),
    ],
    ids=["short ones are joined", "three times as long", "as the user asks", "no more than an array takes"],
)
def test_tasks_are_worth_their_place_in_the_queue(
    n: int,
    seconds: float,
    chosen: dict[str, Any],
    n_tasks: int,
    minutes: int,
    programs: Programs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm, "MOST_TASKS", 10)
    launch(n, seconds=seconds, **chosen)

    (submitted,) = programs.calls("sbatch")
    assert f"--array=0-{n_tasks - 1}%256" in submitted
    assert f"--time={minutes}" in submitted


def test_each_task_finds_its_cells(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(Detached, match=r"^The job array scarf-\w+ is in the queue\."):
        launch(2, detach=True)

    (folder,) = (tmp_path / "results" / "chunks").iterdir()
    for place, cell in enumerate(cells(2)):
        assert [each.key for each in read_job(folder / f"{place:05d}.json")] == [cell.key]
    script = (folder / "task.sh").read_text(encoding="utf-8")
    assert re.search(
        r"^exec \S*python\S* -m scarf_lightning.cli.job \S+/chunks/scarf-[0-9a-f]{16}$", script, re.MULTILINE
    )


def test_an_array_in_the_queue_is_waited_for_before_another_is_submitted(
    programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Detached):
        launch(2, finishes=False, detach=True)
    capsys.readouterr()
    launch(2)

    assert len(programs.calls("sbatch")) == 1
    sentence = capsys.readouterr().err
    assert re.match(r"Waiting for the job array scarf-\w+, which an earlier command left", sentence)
    assert not Path("results/chunks").exists()


def test_an_array_that_slurm_refuses_is_said_and_leaves_nothing(programs: Programs) -> None:
    programs.answer("sbatch", "error no such partition")

    with pytest.raises(UsageError, match=r"^sbatch: no such partition$"):
        launch(1)

    assert not Path("results/chunks").exists()


def test_what_ends_the_waiting_cancels_the_array(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slurm.time, "sleep", interrupted)
    programs.answer("squeue", "", "17_0\n", "")

    with pytest.raises(KeyboardInterrupt):
        launch(2)

    ((cancelled,),) = programs.calls("scancel")
    assert cancelled.startswith("--name=scarf-")
    assert not Path("results/chunks").exists()


def test_the_logs_of_tasks_that_finish_nothing_are_named_and_stay(programs: Programs) -> None:
    with pytest.raises(RuntimeError, match=r"^no task of the job array finished a trial; see .*/\*\.log$"):
        launch(1, finishes=False)
    assert Path("results/chunks").exists()


def test_where_slurm_is_not_installed_a_sentence_says_so(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(in_tmp))

    with pytest.raises(UsageError, match=r"there is no squeue here; run this on a login node"):
        is_in_queue("scarf-1")


def test_options_have_limits() -> None:
    for name, value in (("timeout_min", 0), ("array_parallelism", 0), ("mem_gb", -1.0)):
        with pytest.raises(ValueError, match=name):
            replace(SlurmOptions(), **{name: value})  # type: ignore[arg-type]
