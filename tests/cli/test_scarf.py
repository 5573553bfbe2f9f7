"""The one command with its sub-commands, in this process."""

import re
from importlib.metadata import entry_points, version
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.cli import commands
from scarf_lightning.cli.report_command import WrittenReport
from scarf_lightning.cli.scarf import MEANINGS, scarf
from scarf_lightning.data.targets import Number
from scarf_lightning.results import CellStore, load
from tests.cells import DATA_HASH, described, identity_of, some_config, some_record
from tests.processes import TINY, Process, here
from tests.reporting.store import fill_store


def run_scarf(*arguments: str, cwd: Path) -> Process:
    return here(scarf, *arguments, cwd=cwd)


def test_without_a_command_every_command_is_named_with_its_use(tmp_path: Path) -> None:
    alone, helped = run_scarf(cwd=tmp_path), run_scarf("--help", cwd=tmp_path)

    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == helped.stdout
    for name in MEANINGS:
        assert re.search(rf"^  {name}\s+[a-z]", alone.stdout, re.MULTILINE)
    assert "2 a mistake in the command; 3 undecided" in alone.stdout
    assert run_scarf("--version", cwd=tmp_path).stdout == f"scarf-lightning {version('scarf-lightning')}\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", MEANINGS)
def test_every_command_has_a_page_of_help(command: str, tmp_path: Path) -> None:
    assert run_scarf(command, "--help", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("trian a.csv", "scarf has no command trian. Did you mean train? Its commands are: "),
        ("check", "scarf check takes one MODULE."),
        ("check ./mine.py", "plugins names mine: No module named 'mine'."),
        ("results nowhere", "nowhere holds no results; train a cell first, or name another folder."),
        ("results a b", "scarf results takes one FOLDER."),
        ("train --trials 3", "--trials is not known; options have no dashes: trials=VALUE."),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(arguments: str, sentence: str, tmp_path: Path) -> None:
    ran = run_scarf(*arguments.split(), cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(sentence)
    assert ran.stderr.count("\n") == 1


def test_results_have_a_line_for_each_cell_with_what_differs(tmp_path: Path) -> None:
    fill_store(tmp_path / "mine", datasets=1, trials=2, pretrains=("none", "scarf"))
    of_number = CellStore(tmp_path / "mine", identity_of(some_config(pretrain="vime"), DATA_HASH))
    described(of_number, dataset="houses", target=Number("price"), options={"seed": 4, "loss.temperature": 2})
    of_number.add(some_record([0, 1], accuracy=None, rmse=93.6))

    ran = run_scarf("results", "mine", cwd=tmp_path)

    heading, *lines = ran.stdout.strip().splitlines()
    assert re.match(r"cell .* pretrain .*seed .*accuracy or rmse +std +trials", heading)
    assert "<NA>" not in ran.stdout
    trials = load(tmp_path / "mine")
    means = trials["accuracy"].fillna(trials["rmse"]).groupby(trials["fingerprint"].str[:6]).mean()
    cells = [line.split() for line in lines]
    assert {cell: float(mean) for cell, *_, mean, _, _ in cells} == pytest.approx(means.to_dict(), abs=1e-4)
    assert {n for *_, n in cells} == {"2"}


def test_the_command_is_installed() -> None:
    (script,) = entry_points(group="console_scripts", name="scarf")
    assert script.load() is scarf


def test_a_plan_is_told_in_words_as_by_train(tmp_path: Path) -> None:
    told = run_scarf("plan", "trials=3", *TINY, cwd=tmp_path)

    assert told.returncode == 0, told.stderr
    assert "1 cell: 1 waiting; 3 trials to train." in told.stdout


@pytest.mark.parametrize(
    ("answers", "status"),
    [([], 0), (["undecided"], 3), (["undecided", "helps"], 0)],
)
def test_a_report_says_by_its_status_whether_we_can_tell(
    answers: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = WrittenReport(tmp_path / "index.html", ["So it is."], [], pd.DataFrame({"answer": answers}), {})
    monkeypatch.setattr(commands, "run_report", lambda arguments: print("a table") or written)

    told = run_scarf("report", "results=results", cwd=tmp_path)

    assert (told.returncode, told.stdout) == (status, "a table\n")
