import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import parts
from scarf_lightning.options.settings import (
    CacheSettings,
    DatasetSettings,
    FinetuneSettings,
    NetworkSettings,
    PretrainSettings,
)
from scarf_lightning.results import (
    KnownData,
    keep_failure,
    note_data,
)
from scarf_lightning.sweeping.cell import (
    EPOCHS,
    FIT,
    ROW,
    STEP,
    Cell,
    Job,
    State,
    distinct,
    plan_jobs,
    seconds_of_trial,
    sentences,
    survey,
)
from tests.cells import DATA_HASH, WDBC, finish, results_in, some_cell
from tests.composing import cells_of


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
    """The cell has three trials."""
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


# What the working folder's results hold takes no time.
pytestmark = pytest.mark.usefixtures("in_tmp")


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Two methods with and without pre-training, three trials each."""
    paths = results_in(tmp_path)
    found = [
        some_cell(f"{pretrain} {name}", pretrain=pretrain, method={"name": name}, trials=3, paths=paths)
        for pretrain in ("none", "scarf")
        for name in ("control", "dropout")
    ]
    note_data(found[0].results, found[0].source, WDBC, found[0].source.stamps())
    return found


def planned(cells: list[Cell]) -> list[Job]:
    return plan_jobs(survey(cells))


def seconds(cells: list[Cell]) -> float:
    """That planned cells are expected to take."""
    planned(cells)
    return sum(cell.seconds for cell in cells)


def test_of_a_sweep_that_was_not_begun_and_of_one_that_is_finished(cells: list[Cell]) -> None:
    planned(cells)
    assert sentences(cells) == [
        "4 cells: 4 waiting; 12 trials to train.",
        "Expected on one core: about 0:00:10 (h:mm:ss).",
    ]

    for cell in cells:
        finish(cell)

    assert planned(cells) == []
    assert sentences(cells) == ["4 cells: 4 finished; nothing is left to train."]


def test_of_one_that_is_under_way(cells: list[Cell]) -> None:
    finish(cells[0])
    finish(cells[2], trials=[0])
    keep_failure(cells[3].results, cells[3].key, "x", UsageError("y."))
    with finish(cells[1], trials=[]).claim():
        planned(cells)
        counts, _ = sentences(cells)

    assert counts == "4 cells: 1 finished, 1 running, 1 failed, 1 waiting; 8 trials to train."


def test_cells_that_share_a_pretraining_are_a_job_and_the_dataset_of_the_longest_is_first() -> None:
    chosen = [(31, 100, "scarf"), (61, 900, "none"), (31, 100, "none"), (61, 900, "scarf")]
    cells = []
    for number, n_rows, pretrain in chosen:
        dataset = DatasetSettings("openml", number, str(number), size=[n_rows, 5])
        for method in ("control", "dropout"):
            label = f"{number} {pretrain} {method}"
            cells.append(some_cell(label, dataset=dataset, pretrain=pretrain, method={"name": method}))

    jobs = planned(cells)

    assert [len(job.cells) for job in jobs] == [2, 1, 1, 2, 1, 1]
    assert [job.dataset for job in jobs] == ["openml-61"] * 3 + ["openml-31"] * 3


def test_sizes_that_the_results_folder_knows_are_used(tmp_path: Path) -> None:
    cell = some_cell(pretrain="none", trials=1, paths=results_in(tmp_path))
    before = seconds([cell])
    note_data(cell.results, cell.source, KnownData(DATA_HASH, 100_000, 30), cell.source.stamps())
    assert seconds([cell]) > 10 * before


def test_a_pretraining_counts_once_and_its_cells_have_equal_parts_of_it(cells: list[Cell]) -> None:
    planned(cells)
    pretraining = cells[2].seconds - cells[0].seconds
    assert cells[3].seconds == pytest.approx(cells[1].seconds + pretraining)
    planned(cells[2:3])
    assert cells[2].seconds - cells[0].seconds == pytest.approx(2 * pretraining)


def test_without_a_cache_every_cell_pretrains(cells: list[Cell]) -> None:
    uncached = [Cell(each.overrides, replace(each.config, cache=CacheSettings(max_gb=0))) for each in cells[2:]]

    assert [len(job.cells) for job in planned(uncached)] == [1, 1]
    assert seconds(uncached) > seconds(cells[2:])


def test_the_papers_datasets_are_planned_by_their_sizes_before_they_are_loaded() -> None:
    names = ("Devnagari-Script", "balance-scale")
    (large,), (small,) = (cells_of(f"dataset=cc18-{name}", "trials=1") for name in names)
    planned([large, small])
    assert large.seconds > 100 * small.seconds


N_ROWS, TRAINED, STEPS = 10_000, 7000, 54
"""Rows of a table, those that train, and the steps of an epoch of 128 rows."""
EPOCH = STEPS * STEP + TRAINED * ROW["finetune"]
PRETRAINING_EPOCH = STEPS * STEP + TRAINED * ROW["pretrain"]
USUAL = FIT + EPOCHS["finetune"] * EPOCH
ROWS = EPOCHS["finetune"] * TRAINED * ROW["finetune"]
"""Of the rows of a usual fit."""
HALF: dict[str, Any] = {"name": "semi25", "labelled": 0.25}
FIXED = FinetuneSettings(fixed_below=1000, fixed_steps=300)
LEARNT = FIT + 11 * (13 * STEP + 0.25 * TRAINED * ROW["finetune"])
"""A fit of a method that labels rows."""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, USUAL),
        ({"finetune": FinetuneSettings(patience=7)}, FIT + 22 * EPOCH),
        ({"finetune": FinetuneSettings(max_steps=54 * 4)}, FIT + 4 * EPOCH),
        # Few rows train for their fixed number of steps; an epoch of few rows is a step.
        ({"finetune": FIXED, "regime": {"name": "few", "labels": 100}}, FIT + 300 * (STEP + 100 * ROW["finetune"])),
        # Supervised training sees the labels of the regime, pre-training all rows.
        ({"regime": HALF}, FIT + 11 * (13 * STEP + 1750 * ROW["finetune"])),
        ({"pretrain": PretrainSettings(name="scarf")}, USUAL + FIT + EPOCHS["pretrain"] * PRETRAINING_EPOCH),
        # Columns count where the network goes over them.
        ({"n_columns": 900}, USUAL),
        ({"network": NetworkSettings(name="ft_transformer"), "n_columns": 15}, USUAL + 6.5 * ROWS),
        ({"method": {"name": "distill"}}, 2 * USUAL),
        ({"method": {"name": "self_train"}, "regime": HALF}, parts("method")["self_train"].typical_fits * LEARNT),
    ],
)
def test_a_fit_takes_so_much_for_each_step_and_each_row(chosen: dict[str, Any], expected: float) -> None:
    assert seconds_of(**chosen) == pytest.approx(expected)


def test_a_model_of_another_library_takes_what_it_says() -> None:
    of_fit, of_thousand_rows = parts("method")["xgboost"].typical_seconds
    assert seconds_of(method={"name": "xgboost"}, n_columns=60) == pytest.approx(of_fit + 14 * of_thousand_rows)


def seconds_of(*, n_columns: int = 30, **chosen: Any) -> float:
    """Expected of all phases of a trial on so many rows."""
    config = some_cell(**{"pretrain": "none", "regime": {"name": "full"}} | chosen).config
    return sum(seconds_of_trial(config, N_ROWS, n_columns))
