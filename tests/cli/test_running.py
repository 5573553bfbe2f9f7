"""Sweeps that go on until they are answered, and the time limit of all."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.cli import running
from scarf_lightning.cli.signals import OutOfTime, alarm
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.plan import Plan
from scarf_lightning.training import CellTraining
from tests.processes import TINY

SWEEP = """\
title: T
trials: 2
rounds: [2, 3]
cells:
  - {regime: full, method: control, pretrain: [none, scarf]}
  - {regime: few, regime.labels: [20, 30, 90, 400], method: control, pretrain: [none, scarf]}
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(SWEEP, encoding="utf-8")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(120, 3)), columns=list("abc"))
    frame.assign(target=np.where(frame["a"] > 0, "yes", "no")).to_csv(tmp_path / "mine.csv", index=False)
    return [f"sweeps={tmp_path / 'mine.yaml'}", "dataset=mine.csv", "dataset.target=target", *TINY]


@pytest.mark.slow
def test_open_comparisons_get_more_trials_and_budgets_beyond_the_table_are_left_out(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    trials = scarf_lightning.run(asked)

    assert sorted(trials["regime.labels"].dropna().unique()) == [20, 30]
    assert set(trials.groupby("fingerprint")["trial"].count()) == {3}, "too few for any verdict: all go on"
    said = capsys.readouterr()
    assert "Left out: 90, 400 labels; mine has 84 to learn from." in said.err
    assert "So far: On mine, beside the network with no pre-training:" in said.err
    assert said.err.count("mine.csv: 120 rows") == 1

    page = scarf_lightning.report(asked)

    assert page.answer[0] == "On mine, beside the network with no pre-training:"
    assert (page.index.parent / "figures" / "label-curve.svg").exists()
    assert not any("unfinished" in note for note in page.notes)


@pytest.mark.slow
def test_trials_on_the_command_line_take_the_place_of_rounds(asked: list[str]) -> None:
    trials = scarf_lightning.run([*asked, "trials=4"])

    assert set(trials.groupby("fingerprint")["trial"].count()) == {4}


@pytest.mark.slow
def test_when_the_time_is_over_what_is_finished_is_shown_and_the_same_command_goes_on(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def over(*_: object) -> None:
        raise OutOfTime

    real, calls = running.run, []

    def once(*arguments: object, **others: object) -> object:
        calls.append(arguments)
        return real(*arguments, **others) if len(calls) == 1 else over()  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run", once)
    first = scarf_lightning.run([*asked, "time_limit=1h"])
    monkeypatch.undo()

    assert set(first["regime"]) == {"full"}
    assert "time_limit=1h is over; the same command goes on." in capsys.readouterr().err


@pytest.mark.slow
def test_few_labels_come_first_where_all_labels_take_longer_than_there_is_time(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Plan, "seconds", 2 * 3600.0)
    real, calls = running.run, []

    def recorded(request: ExpandedSweep, *others: Any) -> Any:
        calls.append([(cell.config.regime.get("labels"), cell.config.pretrain.name) for cell in request.cells])
        return real(request, *others)

    monkeypatch.setattr(running, "run", recorded)
    scarf_lightning.run([*asked, "time_limit=1h"])

    assert calls[:2] == [[(20, "none"), (30, "none")], [(None, "none"), (None, "scarf")]]
    said = capsys.readouterr().err
    assert "about 2 h on one core, longer than time_limit=1h, so few labels without pre-training come first" in said

    def unread(_: object) -> Any:
        raise AssertionError("a file was read although all of its cells are finished")

    monkeypatch.setattr(running, "read_files", unread)
    scarf_lightning.run([*asked, "time_limit=1h"])


def test_a_page_of_which_nothing_is_finished_says_so(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def over(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(CellTraining, "train", over)
    with pytest.raises(UnfinishedError, match="time_limit=1h was over before a trial was finished; raise it"):
        scarf_lightning.run([*asked, "time_limit=1h"])

    with pytest.raises(UsageError, match=r"^Nothing is finished yet: none of 10 cells has a trial"):
        scarf_lightning.report([f"sweeps={tmp_path / 'mine.yaml'}", *asked[1:3]])


def test_a_block_ends_when_its_time_is_over() -> None:
    def endless() -> None:
        with alarm(0.01):
            while True:
                pass

    with pytest.raises(OutOfTime):
        endless()


def test_a_block_without_a_limit_or_within_it_is_left_alone() -> None:
    with alarm(None):
        pass
    with alarm(3600):
        pass


@pytest.mark.parametrize("wrong", ["5", "ten", "5 days", "-3min"])
def test_a_limit_that_is_no_time_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"time_limit must be a time such as 90s, 10min or 2h, not "):
        scarf_lightning.plan([f"time_limit='{wrong}'"])


def test_a_run_without_rounds_that_is_out_of_time_says_so(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = running.run

    def over(*_: object, **__: object) -> None:
        raise OutOfTime

    def over_in_the_end(*arguments: object, **others: object) -> None:
        real(*arguments, **others)  # type: ignore[arg-type]
        raise OutOfTime

    monkeypatch.setattr(running, "run", over)
    with pytest.raises(UnfinishedError, match="time_limit=2min was over before a trial was finished; raise it"):
        scarf_lightning.run([*asked[1:], "time_limit=2min"])
    monkeypatch.setattr(running, "run", over_in_the_end)
    with pytest.raises(UnfinishedError, match="time_limit=2min is over; the same command goes on"):
        scarf_lightning.run([*asked[1:], "time_limit=2min", "trials=1"])
