"""What is left to train, about how long it takes, and how both are told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import parts
from scarf_lightning.options.run_settings import CacheSettings
from scarf_lightning.options.settings import DatasetSettings, FinetuneSettings, NetworkSettings, PretrainSettings
from scarf_lightning.results import (
    KnownData,
    keep_failure,
    note_data,
)
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.plan import (
    ALONE,
    EPOCHS,
    FIT,
    ROW,
    START_UP,
    STEP,
    Plan,
    Size,
    make_plan,
    seconds_of_trial,
    sentences,
)
from tests.cells import DATA_HASH, WDBC, finish, results_in, some_cell, some_pretrained
from tests.composing import cells_of

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
    assert plan.seconds == START_UP + sum(group.seconds for group in plan.groups)

    for cell in cells:
        finish(cell)

    plan = planned(cells)
    assert sentences(plan) == ["4 cells: 4 finished; nothing is left to train."]
    assert (plan.seconds, plan.cell_seconds()) == (0, {})


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
    assert planned([cell]).groups[0].seconds > 10 * before.groups[0].seconds


def test_a_pretraining_counts_once_and_its_cells_have_equal_parts_of_it(cells: list[Cell]) -> None:
    *alone, shared = planned(cells).groups

    of_cells = planned(cells).cell_seconds()
    assert [len(group.cells) for group in (*alone, shared)] == [1, 1, 2]
    assert planned(cells).seconds == pytest.approx(START_UP + sum(of_cells.values()))
    assert of_cells[cells[2].key] == pytest.approx(shared.supervised[0] + shared.pretraining / 2)
    assert planned(cells[:3]).groups[-1].pretraining == pytest.approx(shared.pretraining)


def test_without_a_cache_every_cell_pretrains(cells: list[Cell]) -> None:
    uncached = [Cell(each.overrides, replace(each.config, cache=CacheSettings(max_gb=0))) for each in cells[2:]]
    (usual,) = planned(cells[2:]).groups

    one, other = planned(uncached).groups
    assert (one.n_to_train, other.n_to_train) == (3, 3)
    assert one.pretraining == pytest.approx(usual.pretraining)


def test_finished_cells_correct_what_is_expected_of_the_others(cells: list[Cell]) -> None:
    usual = planned(cells).cell_seconds()[cells[1].key]
    finish(cells[0], finetune_seconds=7 * usual / 3)
    assert planned(cells).cell_seconds()[cells[1].key] == pytest.approx(7 * usual)


def test_the_papers_datasets_are_planned_by_their_sizes_before_they_are_loaded() -> None:
    names = ("Devnagari-Script", "balance-scale")
    (large,), (small,) = (cells_of(f"dataset=cc18-{name}", "trials=1") for name in names)
    plan = planned([large, small])
    seconds = plan.cell_seconds()
    assert seconds[large.key] > 100 * seconds[small.key]
    assert not [line for line in sentences(plan) if "assumed" in line]


N_ROWS, TRAINED, STEPS = 10_000, 7000, 54
"""Rows of a table, those that train, and the steps of an epoch of 128 rows."""
EPOCH = STEPS * STEP + TRAINED * ROW["finetune"]
USUAL = FIT + EPOCHS["finetune"] * EPOCH
ROWS = EPOCHS["finetune"] * TRAINED * ROW["finetune"]
"""Of the rows of a usual fit."""
HALF: dict[str, Any] = {"name": "semi25", "labelled": 0.25}
FEW: dict[str, Any] = {"name": "few", "labels": 1750}
FIXED = FinetuneSettings(fixed_below=1000, fixed_steps=300)
LEARNT = FIT + ALONE + 11 * (34 * STEP + (0.25 + 1) / 2 * TRAINED * ROW["finetune"])
"""A fit of a method that labels rows, on ever more of them."""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, USUAL),
        ({"finetune": FinetuneSettings(patience=7)}, FIT + 22 * EPOCH),
        ({"finetune": FinetuneSettings(ties="last")}, FIT + 16.5 * EPOCH),
        ({"finetune": FinetuneSettings(validate_every=2)}, FIT + 22 * EPOCH),
        ({"finetune": FinetuneSettings(monitor="none")}, FIT + 200 * EPOCH),
        ({"finetune": FinetuneSettings(min_steps=54 * 55)}, FIT + 55 * EPOCH),
        ({"finetune": FinetuneSettings(max_steps=54 * 4)}, FIT + 4 * EPOCH),
        # Few rows train for their fixed number of steps; an epoch of few rows is a step.
        ({"finetune": FIXED, "regime": FEW | {"labels": 100}}, FIT + 300 * (STEP + 100 * ROW["finetune"])),
        # Supervised training sees the labels of the regime, pre-training all rows.
        *(({"regime": regime}, FIT + 11 * (13 * STEP + 1750 * ROW["finetune"])) for regime in (HALF, FEW)),
        *(
            (
                {"pretrain": PretrainSettings(name="scarf", rows=rows)},
                USUAL + FIT + EPOCHS["pretrain"] * (n // 128 * STEP + n * ROW["pretrain"]),
            )
            for rows, n in ((None, TRAINED), (1280, 1280))
        ),
        # Columns count beside the rest of the network, or by their number where it goes over columns.
        ({"n_columns": 30 + 1330}, USUAL + ROWS),
        ({"network": NetworkSettings(name="ft_transformer"), "n_columns": 15}, USUAL + 6.5 * ROWS),
        ({"network": NetworkSettings(name="resnet")}, USUAL + (parts("network")["resnet"].typical_cost - 1) * ROWS),
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
    return sum(seconds_of_trial(config, Size(N_ROWS, n_columns)).values())
