"""The run of a search: values, failures, the best, and the same command again; training is made up."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli import searching
from scarf_lightning.cli.searching import TriedCell, run_search
from scarf_lightning.cli.show import Terminal
from scarf_lightning.cli.signals import OutOfTime
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.results import note_data
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.chunks import by
from scarf_lightning.sweeping.search import read_search
from tests.cells import WDBC, finish
from tests.composing import SWEEPS, _composer
from tests.launching import FakeLauncher, Train

pytest.importorskip("optuna", minversion="4")

RATE = "corruption.rate=interval(0.2,0.8)"


def rate_of(cell: Cell) -> float:
    return float(cell.config.corruption["rate"])


@pytest.fixture(autouse=True)
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell's value is its rate, and parts are not made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching, "check_parts", lambda cells: None)
    monkeypatch.setattr("scarf_lightning.sweeping.run.check_parts", lambda cells: None)
    monkeypatch.setattr(searching, "objective", lambda cell, name: rate_of(cell))


class Ran:
    """A search that has ended: the cells with a value, those that were launched, and what went wrong."""

    def __init__(
        self, *arguments: str, train: Train = finish, objective: str = "validation_error", **options: Any
    ) -> None:
        search = read_search(options, list(arguments) or [RATE], objective, _composer(), SWEEPS)
        launcher = FakeLauncher(train)
        self.tried, self.problem = list[TriedCell](), ""
        try:
            self.tried = run_search(search, by(launcher), Terminal(), "joblib")  # type: ignore[arg-type]
        except UnfinishedError as error:
            self.problem = str(error)
        self.cells = [each.surveyed.cell for each in self.tried]
        self.n_launched = sum(map(len, launcher.launched))


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "best"), [("validation_error", min), ("accuracy", max), ("log_loss", min)])
def test_the_best_is_shown_as_the_command_of_its_cell(
    objective: str, best: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(RATE, "trials=2", objective=objective, n_trials=4)

    assert ran.n_launched == len(ran.cells) == 4
    chosen = best(ran.cells, key=rate_of)
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(re.findall(r"^Try \d: ", shown.err, re.MULTILINE)) == 4
    assert lines[0].split() == ["try", objective, "corruption.rate"]
    assert lines[1].split()[1:] == [f"{rate_of(chosen):.4f}", str(rate_of(chosen))]
    number = ran.tried[0].number
    assert lines[5] == f"Best of 4 tries: {objective} {rate_of(chosen):.4f} in try {number}, the cell of"
    # The cells come back with their tries and values, the best first.
    rates = sorted(map(rate_of, ran.cells), reverse=best is max)
    assert [each.value for each in ran.tried] == [rate_of(cell) for cell in ran.cells] == rates
    assert sorted(each.number for each in ran.tried) == [0, 1, 2, 3]
    assert lines[6].endswith(f"train.py {' '.join(chosen.overrides)}")
    assert ("too good to be true" in shown.out) == (objective != "validation_error")
    assert lines[-2].startswith("The study search-")
    assert lines[-1] == f"Results are in {Path('results').absolute()}"


def test_the_same_command_goes_on_and_trains_no_finished_cell_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(n_trials=2).n_launched == 2
    assert Ran(n_trials=5).n_launched == 3
    assert "2 of 5 tries are in the study already." in capsys.readouterr().err

    again = Ran(n_trials=5)

    assert again.n_launched == 0
    assert len(again.cells) == 5


def test_equal_suggestions_are_one_cell() -> None:
    ran = Ran("corruption=mean,marginal", "corruption.rate=0.3,0.5", n_trials=6)

    assert ran.n_launched == len(ran.cells) <= 4


def test_tries_are_trained_together_if_so_many_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    launch, together = FakeLauncher.launch, list[int]()

    def counted(launcher: FakeLauncher, jobs: Any, **given: Any) -> Any:
        together.append(len(jobs))
        return launch(launcher, jobs, **given)

    monkeypatch.setattr(FakeLauncher, "launch", counted)
    assert Ran(n_trials=4, n_jobs=2).n_launched == 4
    assert together == [2, 2]


def test_a_cell_that_fails_is_a_failed_try_and_the_search_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def fail_once(cell: Cell) -> None:
        if not Path("failed").exists():
            Path("failed").touch()
            raise FloatingPointError("training diverged")
        finish(cell)

    first = Ran(train=fail_once, n_trials=3)
    assert "training diverged" in first.problem
    shown = capsys.readouterr()
    assert "Try 0 failed: " in shown.err
    assert "Best of 2 tries: " in shown.out

    assert len(Ran(n_trials=3).cells) == 3, "the same command makes up for it"


def test_a_value_that_is_no_number_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "objective", lambda cell, name: float("nan"))

    assert Ran(n_trials=1).problem.endswith("validation_error is not a number.")
    assert Ran(RATE, "recipe=practical", "finetune.fixed_below=0", n_trials=1).problem.endswith("is not a number.")


@pytest.mark.parametrize(("chosen", "launched"), [("finetune.fixed_below=1000", 1), ("finetune.fixed_below=0,1000", 3)])
def test_a_search_ends_after_a_try_that_no_row_validates_unless_others_have_some(
    chosen: str, launched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "objective", lambda cell, name: float("nan"))

    ran = Ran(RATE, "recipe=practical", chosen, n_trials=3)

    assert ran.n_launched == launched
    assert "and no row validates; set finetune.fixed_below=0." in ran.problem


def test_without_a_row_that_validates_nothing_is_trained() -> None:
    with pytest.raises(UsageError, match=r"^validation_error has no value with finetune.monitor=none, because no row"):
        Ran(RATE, "finetune.monitor=none", n_trials=1)
    assert not Path("results").exists()
    assert Ran(RATE, "finetune.monitor=none", objective="accuracy", n_trials=1).n_launched == 1


def test_the_time_ends_a_search_and_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def slow(cell: Cell) -> None:
        if list(Path("results").glob("*/stacks")):
            raise OutOfTime
        finish(cell)

    assert Ran(RATE, "time_limit=1h", train=slow, n_trials=3).problem == (
        "time_limit=1h is over; the same command goes on."
    )
    assert "Best of 1 try: " in capsys.readouterr().out
    assert len(Ran(n_trials=3).cells) == 3


def test_a_study_of_a_table_that_has_changed_is_refused() -> None:
    (cell,) = Ran(n_trials=1).cells
    note_data(cell.results, cell.source, replace(WDBC, hash="1" * 64), cell.source.stamps())

    with pytest.raises(UsageError, match=r"^The table or a plugin has changed since the tries of the study search-"):
        Ran(n_trials=2)


@pytest.mark.parametrize(
    ("objective", "options", "sentence"),
    [
        ("accuracy", {"direction": "minimize"}, "hydra.sweeper.direction=minimize would search for the worst accur"),
        ("log_loss", {"direction": "maximize"}, "hydra.sweeper.direction=maximize would search for the worst log_l"),
        ("rmse", {}, "objective=rmse is no metric of this target. Its metrics are: accuracy, "),
        ("nothing", {}, "objective=nothing is unknown. The objectives are: validation_error, accuracy, "),
    ],
)
def test_an_objective_that_cannot_be_searched_by_is_refused(
    objective: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Ran(objective=objective, **options)

    assert str(caught.value).startswith(sentence)
    assert not Path("results").exists()


def test_a_plan_trains_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(RATE, "plan=true", "trials=2", n_trials=3).n_launched == 0

    assert re.match(r"3 tries of 2 trials each, those that the study has among them: about ", capsys.readouterr().err)
    assert not Path("results").exists()
