"""What is left to train, about how long it takes, and how both are told."""

from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options.run_settings import CacheSettings
from scarf_lightning.options.settings import DatasetSettings
from scarf_lightning.results import (
    KnownData,
    keep_failure,
    note_data,
)
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.cost import START_UP
from scarf_lightning.sweeping.plan import (
    Plan,
    make_plan,
    sentences,
)
from scarf_lightning.sweeping.sizes import Size
from tests.cells import DATA_HASH, WDBC, finish, results_in, some_cell, some_pretrained

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


def planned(cells: list[Cell]) -> Plan:
    return make_plan(survey(cells))


def test_of_a_sweep_that_was_not_begun_and_of_one_that_is_finished(cells: list[Cell]) -> None:
    plan = planned(cells)
    assert sentences(plan) == [
        "4 cells: 4 waiting; 12 trials to train.",
        "1 pre-training serves 2 cells: 0 of the trials are in the cache, 3 to train.",
        "Expected: about 10 s on one core.",
    ]
    assert plan.seconds_in_all == plan.seconds + START_UP

    for cell in cells:
        finish(cell)

    plan = planned(cells)
    assert sentences(plan) == ["4 cells: 4 finished; nothing is left to train."]
    assert (plan.seconds, plan.seconds_in_all, plan.cell_seconds()) == (0, 0, {})


def test_of_one_that_is_under_way(cells: list[Cell]) -> None:
    finish(cells[0])
    finish(cells[2], trials=[0])
    store, kept = cells[1].store(), cells[2].pretraining()
    kept.add([some_pretrained(trial) for trial in (0, 1)])
    keep_failure(cells[3].results, cells[3].key, "x", UsageError("y."))

    with store.claim():
        counts, shared, _ = sentences(planned(cells))

    assert counts == "4 cells: 1 finished, 1 running, 1 failed, 1 waiting; 8 trials to train."
    assert shared == "1 pre-training serves 2 cells: 2 of the trials are in the cache, 1 to train."


def test_of_one_cell_of_data_that_nobody_has_loaded(tmp_path: Path) -> None:
    dataset = DatasetSettings(source="openml", id=61)  # iris is none of the paper's datasets
    cell = some_cell(pretrain="none", trials=1, paths=results_in(tmp_path), dataset=dataset)

    assert sentences(planned([cell])) == [
        "1 cell: 1 waiting; 1 trial to train.",
        "Expected: about 10 s on one core.",
        "The size of 1 dataset is not known before it is loaded; 1,000 rows are assumed.",
    ]


def test_sizes_of_a_bundled_table_or_that_the_results_folder_knows_are_used(tmp_path: Path) -> None:
    cell = some_cell(pretrain="none", trials=1, paths=results_in(tmp_path))
    before = planned([cell])
    assert list(before.sizes.values()) == [Size(569, 30)]
    assert not [line for line in sentences(before) if "assumed" in line]

    note_data(cell.results, cell.source, KnownData(DATA_HASH, 100_000, 30), cell.source.stamps())
    assert planned([cell]).seconds > 10 * before.seconds


def test_a_pretraining_counts_once_and_its_cells_have_equal_parts_of_it(cells: list[Cell]) -> None:
    *alone, shared = planned(cells).groups

    of_cells = planned(cells).cell_seconds()
    assert [len(group.cells) for group in (*alone, shared)] == [1, 1, 2]
    assert planned(cells).seconds == pytest.approx(sum(of_cells.values()))
    assert of_cells[cells[2].key] == pytest.approx(shared.supervised[0] + shared.pretraining / 2)
    assert planned(cells[:3]).groups[-1].pretraining == pytest.approx(shared.pretraining)


def test_without_a_cache_every_cell_pretrains(cells: list[Cell]) -> None:
    uncached = [Cell(each.overrides, replace(each.config, cache=CacheSettings(max_gb=0))) for each in cells[2:]]
    (usual,) = planned(cells[2:]).groups

    one, other = planned(uncached).groups
    assert (one.n_to_train, other.n_to_train) == (3, 3)
    assert one.pretraining == pytest.approx(usual.pretraining)


def test_finished_cells_of_a_model_correct_what_is_expected_of_it_and_of_no_other(
    cells: list[Cell], tmp_path: Path
) -> None:
    rival = some_cell("xgboost", pretrain="none", method={"name": "xgboost"}, trials=3, paths=results_in(tmp_path))
    before = planned([*cells, rival]).cell_seconds()
    usual = before[cells[1].key]
    finish(cells[0], finetune_seconds=7 * usual / 3)

    after = planned([*cells, rival]).cell_seconds()
    assert after[cells[1].key] == pytest.approx(7 * usual)
    assert after[rival.key] == pytest.approx(before[rival.key])


def test_the_papers_datasets_are_planned_by_their_sizes_before_they_are_loaded(tmp_path: Path) -> None:
    cells = []
    for number, name in {40923: "Devnagari-Script", 11: "balance-scale"}.items():
        dataset = DatasetSettings("openml", number, name)
        cells.append(some_cell(dataset=dataset, paths=results_in(tmp_path)))
    plan = planned(cells)

    seconds = plan.cell_seconds()

    assert seconds[cells[0].key] > 100 * seconds[cells[1].key]
    assert not [line for line in sentences(plan) if "assumed" in line]
