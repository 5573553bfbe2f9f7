import os
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import keep_failure, note_data
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.survey import State, SurveyedCell, survey
from tests.cells import WDBC, finish, results_in, some_cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Three trials are asked for."""
    return some_cell("seed=0", trials=3, paths=results_in(tmp_path))


def look(cell: Cell) -> SurveyedCell:
    (found,) = survey([cell])
    assert found.cell is cell
    return found


def fail(cell: Cell) -> None:
    keep_failure(cell.results, cell.key, cell.label, UsageError("why."))


def test_a_cell_that_nobody_has_begun_waits_and_looking_makes_nothing(cell: Cell) -> None:
    found = look(cell)

    assert (found.state, found.rows, found.n_missing, found.failure) == (State.WAITING, [], 3, None)
    assert not cell.results.exists()


def test_a_cell_whose_data_are_known_waits_too(cell: Cell) -> None:
    note_data(cell.results, cell.source, WDBC)

    assert look(cell).state is State.WAITING


def test_a_cell_with_all_trials_is_finished(cell: Cell) -> None:
    finish(cell)

    found = look(cell)
    assert (found.state, found.n_missing) == (State.FINISHED, 0)
    assert [row["trial"] for row in found.rows] == [0, 1, 2]


def test_trials_beyond_those_that_are_asked_for_are_not_shown(cell: Cell) -> None:
    finish(cell, trials=range(5))

    assert [row["trial"] for row in look(cell).rows] == [0, 1, 2]


def test_a_cell_that_lacks_a_trial_waits_with_what_it_has(cell: Cell) -> None:
    finish(cell, trials=[0, 2])

    found = look(cell)
    assert (found.state, found.n_missing) == (State.WAITING, 1)
    assert [row["trial"] for row in found.rows] == [0, 2]


def test_a_cell_that_a_living_process_has_is_running_whatever_else_is_known(cell: Cell) -> None:
    store = finish(cell, trials=[0])
    fail(cell)

    with store.claim():
        assert look(cell).state is State.RUNNING
        (token,) = (store.folder / "claim").iterdir()
        os.utime(token, (0, 0))
        assert look(cell).state is State.FAILED


def test_a_finished_cell_is_finished_whoever_has_it_and_whatever_went_wrong_before(cell: Cell) -> None:
    store = finish(cell)
    fail(cell)

    with store.claim():
        assert look(cell).state is State.FINISHED
        assert look(cell).failure is None


@pytest.mark.parametrize("data_known", [True, False])
def test_a_cell_that_failed_has_its_failure(cell: Cell, data_known: bool) -> None:
    if data_known:
        finish(cell, trials=[1])
    fail(cell)

    found = look(cell)

    assert found.state is State.FAILED
    assert str(found.failure) == "seed=0: why."
    assert len(found.rows) == data_known


@pytest.mark.parametrize("damaged", ["cell.json", "stacks/*/curves.parquet", "stacks/*/trials.json"])
def test_a_cell_with_a_damaged_record_is_not_finished(cell: Cell, damaged: str) -> None:
    store = finish(cell)
    next(store.folder.glob(damaged)).write_bytes(b"")

    assert look(cell).state is State.WAITING


def test_a_cell_without_its_description_is_not_finished(cell: Cell) -> None:
    (finish(cell).folder / "cell.json").unlink()

    assert look(cell).state is State.WAITING


def test_cells_of_several_results_folders_are_told_apart(tmp_path: Path) -> None:
    here, there = (some_cell(paths=results_in(tmp_path / name)) for name in ("here", "there"))
    finish(there)

    assert [found.state for found in survey([here, there])] == [State.WAITING, State.FINISHED]


def test_axes_are_those_of_the_cell(cell: Cell) -> None:
    assert look(cell).axes == cell.axes()
