import os
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import CacheSettings, DatasetSettings
from scarf_lightning.results import (
    KnownData,
    keep_failure,
    note_data,
)
from scarf_lightning.sweeping.cell import Cell, State, distinct, survey
from tests.cells import DATA_HASH, WDBC, finish, results_in, some_cell


def test_a_cell_is_labelled_by_what_asks_for_it() -> None:
    assert some_cell("seed=1", "sweeps=some", "plan=true", "force=true", "corruption=mean").label == (
        "seed=1 corruption=mean"
    )
    assert some_cell("sweeps=some").label == some_cell().label == "defaults"


def test_equal_cells_have_one_key_before_their_data_are_known() -> None:
    mean = {"name": "mean", "rate": 0.6}

    assert some_cell(pretrain="none").key == some_cell("x", pretrain="none", corruption=mean, trials=9).key
    assert some_cell().key != some_cell(corruption=mean).key
    assert some_cell().key != some_cell(dataset=DatasetSettings("openml", 1510, "wdbc")).key


def test_stores_are_known_once_the_data_are(tmp_path: Path) -> None:
    cell = some_cell(paths=results_in(tmp_path), cache=CacheSettings(3.0))
    survey([cell])
    assert (cell.data, cell.store, cell.pretraining) == (None, None, None)

    note_data(cell.results, cell.source, WDBC, cell.source.stamps())
    survey([cell])

    store, pretraining = cell.store, cell.pretraining
    assert store.identity["data"] == pretraining.identity["data"] == WDBC.hash
    assert (store.results, pretraining.results, pretraining.max_gb) == (cell.results, cell.results, 3.0)
    survey([cell])
    assert cell.store is store, "it is made once"


def test_without_a_cache_there_is_no_place_for_a_pretraining() -> None:
    cell = some_cell(cache=CacheSettings(0.0))
    cell.locate(WDBC)
    assert (cell.store is None, cell.pretraining) == (False, None)


def test_equal_cells_in_one_results_folder_count_once_with_the_most_trials(tmp_path: Path) -> None:
    cells = [
        some_cell("a", trials=2),
        some_cell("b", trials=5),
        some_cell("c", trials=3),
        some_cell("as many as b", trials=5),
        some_cell("d", seed=1),
        some_cell("e", paths=results_in(tmp_path)),
    ]

    assert [cell.overrides for cell in distinct(cells)] == [("b",), ("d",), ("e",)]


@pytest.mark.parametrize(("n_columns", "is_one"), [(9, True), (10, False)])
def test_a_rate_that_selects_no_feature_is_the_cell_without_corruption(n_columns: int, is_one: bool) -> None:
    """Of 9 columns a rate of 0.1 selects none; so they have one store, and one pre-training."""
    few = some_cell(corruption={"name": "marginal", "rate": 0.1})
    none = some_cell(corruption={"name": "none"}, selection={"name": "exact"})
    for cell in (few, none):
        cell.locate(KnownData(DATA_HASH, 569, n_columns, n_columns))
    assert (few.folder == none.folder) is is_one
    assert (few.pretraining.fingerprint == none.pretraining.fingerprint) is is_one


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Three trials are asked for."""
    return some_cell("seed=0", trials=3, paths=results_in(tmp_path))


def state_of(cell: Cell) -> State:
    survey([cell])
    return cell.state


def fail(cell: Cell) -> None:
    keep_failure(cell.results, cell.key, cell.label, UsageError("why."))


def test_a_cell_that_nobody_has_begun_waits_and_looking_makes_nothing(cell: Cell) -> None:
    survey([cell])

    assert (cell.state, cell.stored.rows, len(cell.missing), cell.failure) == (State.WAITING, {}, 3, None)
    assert not cell.results.exists()


@pytest.mark.parametrize(
    ("trials", "state", "shown"),
    [
        ([], State.WAITING, []),
        ([0, 2], State.WAITING, [0, 2]),
        ([0, 1, 2], State.FINISHED, [0, 1, 2]),
        (range(5), State.FINISHED, [0, 1, 2]),
    ],
)
def test_a_cell_is_finished_with_all_trials_that_are_asked_for(
    cell: Cell, trials: list[int], state: State, shown: list[int]
) -> None:
    finish(cell, trials=trials)

    survey([cell])

    assert (cell.state, cell.missing) == (state, {0, 1, 2} - {*shown})


def test_a_cell_of_a_living_process_is_running_until_it_is_finished(cell: Cell) -> None:
    store = finish(cell, trials=[0])
    fail(cell)

    with store.claim():
        assert state_of(cell) is State.RUNNING
        (token,) = (store.folder / "claim").iterdir()
        os.utime(token, (0, 0))
        assert state_of(cell) is State.FAILED

    finish(cell)
    with store.claim():
        assert (state_of(cell), cell.failure) == (State.FINISHED, None)


def test_a_cell_that_failed_has_its_failure_whether_its_data_are_known_or_not(cell: Cell) -> None:
    for n_rows in (0, 1):
        if n_rows:
            finish(cell, trials=[1])
        fail(cell)

        assert (state_of(cell), str(cell.failure), len(cell.stored.rows)) == (State.FAILED, "seed=0: why.", n_rows)


def test_axes_are_what_a_cell_uses() -> None:
    axes = some_cell(pretrain="none").axes

    assert (axes["dataset"], axes["method"], axes["pretrain"]) == ("wdbc", "control", "none")
    assert "corruption" not in axes
