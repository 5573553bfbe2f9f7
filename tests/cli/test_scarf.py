"""The one command with its sub-commands, in this process."""

import json
import re
from importlib.metadata import entry_points, version
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from scarf_lightning.cli import api, commands
from scarf_lightning.cli import scarf as module
from scarf_lightning.cli.report_command import WrittenReport
from scarf_lightning.cli.scarf import make_parser, scarf
from scarf_lightning.sweeping.cost import START_UP
from tests.composing import composing_once
from tests.processes import TINY, Process, here
from tests.reporting.store import fill_store

COMMANDS = list(make_parser().commands.choices)  # type: ignore[union-attr]


def asked(*arguments: str, cwd: Path) -> Process:
    return here(scarf, *arguments, cwd=cwd)


def test_without_a_command_every_command_is_named_with_its_use(tmp_path: Path) -> None:
    alone, helped = asked(cwd=tmp_path), asked("--help", cwd=tmp_path)

    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == helped.stdout
    for name in COMMANDS:
        assert re.search(rf"^    {name}\s+[a-z]", alone.stdout, re.MULTILINE)
    assert "2 a mistake in the command;\n3 we cannot tell" in alone.stdout
    assert asked("--version", cwd=tmp_path).stdout == f"scarf-lightning {version('scarf-lightning')}\n"


def test_every_command_has_a_page_of_help(tmp_path: Path) -> None:
    for name in COMMANDS:
        ran = asked(name, "--help", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert f"scarf {name}" in ran.stdout
        assert "python train.py" not in ran.stdout
    shown = asked("options", "corruption", cwd=tmp_path)
    assert shown.returncode == 0
    assert "corruption=marginal" in shown.stdout
    assert "corruption.rate" in shown.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("trian a.csv", "scarf has no command trian. Did you mean train? Its commands are: "),
        ("train -sc install=bash", "scarf completes its words by a script of its own: scarf completion bash, or zsh."),
        ("train --shell-completion install=bash", "scarf completes its words by a script of its own: scarf comple"),
        ("options corruptoin", "There is no axis corruptoin. Did you mean corruption? The axes are: "),
        ("completion fish", "argument SHELL: invalid choice: 'fish' (choose from "),
        ("completion bash zsh", "zsh is not known; scarf completion --help names what is."),
        ("check", "the following arguments are required: MODULE; scarf check --help says more."),
        ("results lst", "scarf results has no command lst. Did you mean ls? Its commands are: ls, drop, export."),
        ("doctor --all", "--all is not known; scarf doctor --help names what is."),
        ("train --trials 3", "--trials is not known; options have no dashes: trials=3."),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(arguments: str, sentence: str, tmp_path: Path) -> None:
    ran = asked(*arguments.split(), cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(sentence)
    assert ran.stderr.count("\n") == 1


def test_words_and_flags_come_in_any_order(tmp_path: Path) -> None:
    """argparse would take a list of words up to a flag."""
    fill_store(tmp_path / "results", datasets=1, trials=1, pretrains=("none", "scarf"))

    for arguments in ("pretrain=scarf --json results=results", "--json results=results pretrain=scarf"):
        ran = asked("results", "ls", *arguments.split(), cwd=tmp_path)
        (cell,) = json.loads(ran.stdout)["cells"]
        assert cell["options"]["pretrain"] == "scarf"


def test_pyproject_installs_the_command() -> None:
    text = (Path(module.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")

    assert '[project.scripts]\nscarf = "scarf_lightning.cli.scarf:scarf"\n\n' in text
    for point in entry_points(group="console_scripts"):
        if point.name == "scarf" and point.value.startswith("scarf_lightning"):
            assert point.load() is scarf


def test_a_plan_is_told_in_words_as_by_train_and_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "composing", composing_once)
    told = asked("plan", "trials=3", *TINY, cwd=tmp_path)
    ran = asked("plan", "corruption=mean,marginal", "trials=3", *TINY, "--json", cwd=tmp_path)

    assert told.returncode == 0, told.stderr
    assert "1 cell: 1 waiting; 3 trials to train." in told.stdout
    plan = json.loads(ran.stdout)
    assert [cell["options"]["corruption"] for cell in plan["cells"]] == ["mean", "marginal"]
    assert [cell["state"] for cell in plan["cells"]] == ["waiting", "waiting"]
    assert plan["missing_trials"] == 6
    of_cells = sum(cell["core_hours"] for cell in plan["cells"])
    assert of_cells > 0
    assert plan["core_hours"] == pytest.approx(of_cells + START_UP / 3600)


@pytest.mark.parametrize(
    ("answers", "status", "state"),
    [
        ([], 0, "answered"),
        (["reference", "cannot tell"], 3, "open"),
        (["reference", "cannot tell", "helps"], 0, "answered"),
    ],
)
def test_a_report_says_by_its_status_and_as_json_whether_we_can_tell(
    answers: list[str], status: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = WrittenReport(
        index=tmp_path / "index.html",
        answer=["So it is."],
        notes=[],
        summary=pd.DataFrame({"answer": answers}),
        effects=pd.DataFrame(),
        worths=pd.DataFrame({"competitor": ["SCARF"], "worth": [1.5]}),
        metric="accuracy",
        _material=Mock(),
        _made_by={},
    )
    monkeypatch.setattr(commands, "run_report", lambda arguments: print("a table") or written)

    told = asked("report", "results=results", cwd=tmp_path)
    ran = asked("report", "results=results", "--json", cwd=tmp_path)

    assert (told.returncode, told.stdout) == (status, "a table\n")
    assert (ran.returncode, ran.stderr) == (status, "a table\n")
    found = json.loads(ran.stdout)
    assert (found["state"], found["metric"], found["answer"]) == (state, "accuracy", ["So it is."])
    assert [each["answer"] for each in found["competitors"]] == answers
    assert found["page"] == str(tmp_path / "index.html")


@pytest.mark.slow
def test_commands_that_a_report_advises_are_those_of_the_command_that_made_it(tmp_path: Path) -> None:
    # Three trials are few, and more of them are advised.
    fill_store(tmp_path / "results", datasets=1, trials=3, pretrains=("none", "scarf"), keeps_predictions=False)

    ran = asked("report", "results=results", "--json", "out=as-json", cwd=tmp_path)
    older = here(commands.report, "results=results", cwd=tmp_path)

    assert "scarf train" in ran.stderr
    assert "python train.py" not in ran.stderr
    found = json.loads(ran.stdout)
    assert (ran.returncode, found["state"]) == (3, "open")
    (reference,) = [each for each in found["competitors"] if each["answer"] == "reference"]
    (scarf_,) = [each for each in found["competitors"] if each["answer"] != "reference"]
    assert reference["difference"] is None
    assert scarf_["difference"] == pytest.approx(scarf_["accuracy"] - reference["accuracy"])
    assert Path(found["page"]).is_file()
    assert older.returncode == 0
    assert "python train.py" in older.stdout
