"""A job array, with programs in the place of Slurm's: `tests/slurm` has a real one."""

import json
import os
import re
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.options.run_settings import ChunkSettings
from scarf_lightning.results.files import write_whole
from scarf_lightning.results.records import sealed
from scarf_lightning.sweeping import slurm
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.jobs import read_job
from scarf_lightning.sweeping.plan import make_plan
from scarf_lightning.sweeping.slurm import Array, Detached, Slurm, SlurmOptions, is_in_queue, known_arrays
from tests.cells import some_cell

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
    made.answer("sbatch", "17\n")
    made.answer("squeue", "17_0\n17_1\n", "17_1\n", "")
    return made


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "LOOK_EVERY", 0.0)


def cells(n: int) -> list[Cell]:
    return [some_cell(f"seed={seed}", seed=seed, chunk=ChunkSettings(minutes=0)) for seed in range(n)]


def launch(n: int, said: list[str] | None = None, **chosen: object) -> None:
    options = SlurmOptions(**chosen)  # type: ignore[arg-type]
    Slurm(options, (said if said is not None else []).append)(make_plan(survey(cells(n))).groups)


def test_an_array_has_a_task_a_job_and_is_waited_for(programs: Programs) -> None:
    said: list[str] = []
    launch(2, said, partition="fast", mem_gb=1.5, sbatch=["--exclude=n7"])

    (submitted,) = programs.calls("sbatch")
    assert submitted[0] == "--parsable"
    asked = {argument.partition("=")[0]: argument.partition("=")[2] for argument in submitted[1:-1]}
    assert asked["--array"] == "0-1%256"
    assert (asked["--partition"], asked["--mem"]) == ("fast", "1500M")
    assert asked["--exclude"] == "n7"
    assert "--requeue" in asked
    assert len(programs.calls("squeue")) == 3
    assert said == ["The job array 17 has 2 tasks."]
    assert not Path("results/chunks").exists()


def test_each_task_finds_its_cells(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(Detached, match=r"^The job array 17 is in the queue with 2 cells\."):
        launch(2, detach=True)

    ((folder, array),) = known_arrays(tmp_path / "results").items()
    assert array == Array(17, [cell.key for cell in cells(2)])
    for place, cell in enumerate(cells(2)):
        assert [each.key for each in read_job(str(folder / f"{place:05d}.json"))] == [cell.key]
    script = (folder / "task.sh").read_text(encoding="utf-8")
    assert re.search(r"^exec \S*python\S* -m scarf_lightning.cli.job \S+/chunks/[0-9a-f]{32}$", script, re.MULTILINE)


def test_an_array_in_the_queue_is_waited_for_before_another_is_submitted(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(Detached):
        launch(2, detach=True)
    programs.answer("squeue", "17_0\n17_1\n", "17_0\n", "")
    said: list[str] = []
    launch(3, said)

    assert len(programs.calls("sbatch")) == 1
    assert said == ["Waiting for the job array 17, which an earlier command left in the queue."]
    assert known_arrays(tmp_path / "results") == {}


@pytest.mark.parametrize("number", ["17", "--user=root", -1, None, 17.5])
def test_what_is_no_number_of_an_array_reaches_none_of_slurms_programs(
    number: object, programs: Programs, tmp_path: Path
) -> None:
    note = tmp_path / "results" / "chunks" / "some" / slurm.ARRAY
    write_whole(note, sealed({"number": number, "cells": [cell.key for cell in cells(1)]}))

    with pytest.warns(RecordWarning, match=rf"^{note} is left out: it names no job array"):
        launch(1)

    assert not any(str(number) in call for call in programs.calls("squeue")[:-1])
    assert not any(f"--jobs={number}" in call for call in programs.calls("squeue") if number != "17")
    assert note.exists()


@pytest.mark.parametrize("printed", ["", "Submitted batch job 17\n", ";cluster\n"])
def test_an_array_of_no_number_is_refused_and_leaves_nothing(printed: str, programs: Programs) -> None:
    programs.answer("sbatch", printed)

    with pytest.raises(UsageError, match=r"^sbatch printed '.*' in place of a job's number; see `squeue --me`\.$"):
        launch(1)

    assert not Path("results/chunks").exists()


def test_what_ends_the_waiting_cancels_the_array(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slurm.time, "sleep", interrupted)
    programs.answer("squeue", "17_0\n", "")

    with pytest.raises(KeyboardInterrupt):
        launch(2)

    assert programs.calls("scancel") == [["17"]]
    assert not Path("results/chunks").exists()


def test_the_log_of_tasks_that_finish_nothing_is_named(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def print_an_error(*_: object) -> None:
        (folder,) = known_arrays(tmp_path / "results")
        (folder / "0.log").write_text("bash: module: command not found\n", encoding="utf-8")

    monkeypatch.setattr(slurm, "_wait", print_an_error)

    with pytest.raises(RuntimeError, match=r"^No task of the job array 17 finished a cell; see .*/0\.log$"):
        launch(1)


def test_where_slurm_is_not_installed_a_sentence_says_so(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(in_tmp))

    with pytest.raises(UsageError, match=r"there is no squeue here; run this on a login node"):
        is_in_queue("17")


def test_options_have_limits() -> None:
    for name, value in (("timeout_min", 0), ("array_parallelism", 0), ("mem_gb", -1.0)):
        with pytest.raises(ValueError, match=name):
            replace(SlurmOptions(), **{name: value})  # type: ignore[arg-type]
