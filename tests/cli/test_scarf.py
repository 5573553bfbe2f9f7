"""The one command with its sub-commands, in this process."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.metadata import entry_points, version
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from scarf_lightning.cli import scarf as module
from scarf_lightning.cli.scarf import SUB_COMMANDS, scarf
from scarf_lightning.sweeping.cost import START_UP
from tests.processes import TINY, Process, here
from tests.report.store import fill_store


def asked(*arguments: str, cwd: Path) -> Process:
    return here(scarf, *arguments, cwd=cwd)


def test_without_a_command_every_command_is_named_with_its_use(tmp_path: Path) -> None:
    alone, helped = asked(cwd=tmp_path), asked("--help", cwd=tmp_path)

    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == helped.stdout
    for name, each in SUB_COMMANDS.items():
        assert re.search(rf"^  {re.escape(f'{name} {each.usage}')}  +{re.escape(each.meaning)}$", alone.stdout, re.M)
    assert "2 a mistake in the command; 3 we cannot tell" in alone.stdout


@pytest.mark.parametrize("name", [name for name in SUB_COMMANDS if name != "predict"])
def test_every_command_has_a_page_of_help(name: str, tmp_path: Path) -> None:
    ran = asked(name, "--help", cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert f"scarf {name}" in ran.stdout
    assert "python train.py" not in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_command_is_answered_in_a_sentence(tmp_path: Path) -> None:
    ran = asked("anwser", "customers.csv", cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"scarf has no command anwser; it has: {', '.join(SUB_COMMANDS)}. Did you mean answer?\n"


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert asked("--version", cwd=tmp_path).stdout == f"scarf-lightning {version('scarf-lightning')}\n"


def test_pyproject_installs_the_command() -> None:
    text = (Path(module.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")

    assert 'scarf = "scarf_lightning.cli.scarf:scarf"' in text
    for point in entry_points(group="console_scripts"):
        if point.name == "scarf" and point.value.startswith("scarf_lightning"):
            assert point.load() is scarf


@pytest.mark.parametrize("flag", ["-sc", "--shell-completion"])
def test_the_completion_of_hydra_is_answered_with_ours(flag: str, tmp_path: Path) -> None:
    ran = asked("train", flag, "install=bash", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr == "scarf completes its words by a script of its own: scarf completion bash, or zsh.\n"


def test_options_of_an_axis_are_shown(tmp_path: Path) -> None:
    ran = asked("options", "corruption", cwd=tmp_path)

    assert ran.returncode == 0
    assert "corruption=marginal" in ran.stdout
    assert "corruption.rate" in ran.stdout


def test_an_axis_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    ran = asked("options", "corruptoin", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr.endswith("Did you mean corruption?\n")


def test_a_plan_as_json_has_its_cells_and_options(tmp_path: Path) -> None:
    ran = asked("plan", "corruption=mean,marginal", "trials=3", *TINY, "--json", cwd=tmp_path)

    plan = json.loads(ran.stdout)
    assert [cell["options"]["corruption"] for cell in plan["cells"]] == ["mean", "marginal"]
    assert [cell["state"] for cell in plan["cells"]] == ["waiting", "waiting"]
    assert plan["missing_trials"] == 6
    of_cells = sum(cell["core_hours"] for cell in plan["cells"])
    assert of_cells > 0
    assert plan["core_hours"] == pytest.approx(of_cells + START_UP / 3600)


def test_a_plan_in_words_is_that_of_train(tmp_path: Path) -> None:
    ran = asked("plan", "trials=3", *TINY, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert "1 cell: 1 waiting; 3 trials to train." in ran.stdout


def test_more_than_a_file_and_a_column_are_refused(tmp_path: Path) -> None:
    ran = asked("answer", "a.csv", "b", "c", cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "Name one file and the column to predict: scarf answer customers.csv plan.\n"


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which SCARF is as much better than no pre-training as in the paper, over 12 tables."""
    folder = tmp_path_factory.mktemp("answered")
    fill_store(folder / "results", datasets=12, trials=5, pretrains=("none", "scarf"))
    return folder


def report_in(folder: Path, *arguments: str) -> Process:
    return asked("report", "results=results", *arguments, cwd=folder)


def test_a_report_as_json_has_the_comparison_and_its_page(answered: Path) -> None:
    ran = report_in(answered, "--json", "out=as-json")

    found = json.loads(ran.stdout)
    assert (ran.returncode, found["state"]) == ((3, "open") if found["state"] == "open" else (0, "answered"))
    assert found["metric"] == "accuracy"
    (reference,) = [each for each in found["competitors"] if each["answer"] == "reference"]
    (scarf_,) = [each for each in found["competitors"] if each["answer"] != "reference"]
    assert reference["difference"] is None
    assert scarf_["mean_difference"] == pytest.approx(scarf_["accuracy"] - reference["accuracy"])
    assert Path(found["page"]).is_file()


def test_the_status_says_whether_we_can_tell(tmp_path: Path) -> None:
    # Two tables are too few for an answer over datasets.
    fill_store(tmp_path / "results", datasets=2, trials=3, pretrains=("none", "scarf"))

    assert report_in(tmp_path).returncode == 3


def test_a_report_of_one_cell_compares_nothing_and_ends_well(tmp_path: Path) -> None:
    fill_store(tmp_path / "results", datasets=1, trials=3, pretrains=("scarf",))

    assert report_in(tmp_path).returncode == 0


def test_commands_that_a_report_advises_are_those_of_scarf(tmp_path: Path) -> None:
    fill_store(tmp_path / "results", datasets=2, trials=3, pretrains=("none", "scarf"))

    said = report_in(tmp_path).stdout

    assert "scarf train" in said
    assert "python train.py" not in said


def test_the_older_commands_end_as_before(tmp_path: Path) -> None:
    from scarf_lightning.cli import commands

    fill_store(tmp_path / "results", datasets=2, trials=3, pretrains=("none", "scarf"))

    ran = here(commands.report, "results=results", cwd=tmp_path)

    assert ran.returncode == 0
    assert "python train.py" in ran.stdout


def test_predict_takes_its_arguments_from_the_command(tmp_path: Path) -> None:
    ran = asked("predict", "nowhere", "rows.csv", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr.startswith("nowhere is no model: there is no such folder")


def exits_with(command: Callable[[], int], *arguments: str, cwd: Path) -> tuple[object, str]:
    """The status with which argparse exits, and what it prints."""
    out = StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(out), patch.object(sys, "argv", ["scarf", *arguments]):
        try:
            return command(), out.getvalue()
        except SystemExit as ended:
            return ended.code, out.getvalue()


def test_the_help_of_predict_is_called_as_it_was_asked(tmp_path: Path) -> None:
    status, shown = exits_with(scarf, "predict", "--help", cwd=tmp_path)

    assert status == 0
    assert shown.startswith("usage: scarf predict")
