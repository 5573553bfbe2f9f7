from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.config.schema import CacheSettings, DatasetSettings
from scarf_lightning.errors import UsageError
from scarf_lightning.results import keep_failure, note_data
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.phases import pretraining, supervised
from scarf_lightning.sweeping.plan import Plan, largest, make_plan, sentences
from scarf_lightning.sweeping.survey import survey
from tests.cells import WDBC, finish, results_in, some_cell, some_pretrained


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Two methods with and without pre-training, three trials each."""
    paths = results_in(tmp_path)
    found = [
        some_cell(f"{pretrain} {name}", pretrain=pretrain, method={"name": name}, trials=3, paths=paths)
        for pretrain in ("none", "scarf")
        for name in ("control", "dropout")
    ]
    note_data(found[0].results, found[0].source, WDBC)
    return found


def planned(cells: list[Cell]) -> Plan:
    return make_plan(survey(cells))


def test_of_a_sweep_that_was_not_begun(cells: list[Cell]) -> None:
    counts, shared, hours = sentences(planned(cells))

    assert counts == "4 cells: 0 finished, 0 running, 0 failed, 4 waiting; 12 trials are to be trained."
    assert shared == (
        "1 pre-training serves 2 cells; of the trials still needed 0 are in the cache and 3 are to be trained."
    )
    assert hours.startswith("Expected: 0.04 core minutes, 0.03 of them pre-training.")
    assert hours.endswith(" No cell is finished, so this is a rule of thumb.")


def test_of_one_that_is_under_way(cells: list[Cell]) -> None:
    finish(cells[0], finetune_seconds=0.05)
    finish(cells[2], trials=[0])
    store, kept = cells[1].store(), cells[2].pretraining()
    assert store is not None
    assert kept is not None
    kept.add([some_pretrained(trial) for trial in (0, 1)])
    keep_failure(cells[3].results, cells[3].key, "x", UsageError("y."))

    with store.claim():
        counts, shared, hours = sentences(planned(cells))

    assert counts == "4 cells: 1 finished, 1 running, 1 failed, 1 waiting; 8 trials are to be trained."
    assert shared == (
        "1 pre-training serves 2 cells; of the trials still needed 2 are in the cache and 1 are to be trained."
    )
    assert " On the finished cell the estimate is off by a factor of 1." in hours


def test_the_estimates_error_is_its_median_its_ninetieth_percentile_and_its_worst(cells: list[Cell]) -> None:
    """Of 1.1, 2 and 4 the median is 2; four fifths of the way from there to the last is 2 * 2^0.8."""
    plan = planned(cells)
    plan.model.errors = np.log([1.1, 4.0, 2.0])
    assert sentences(plan)[-1].endswith(" a factor of 2.00 (median), 3.48 (90 %), 4.00 (worst).")


def test_of_one_that_is_finished(cells: list[Cell]) -> None:
    for cell in cells:
        finish(cell)

    plan = planned(cells)

    assert sentences(plan)[0].startswith("4 cells: 4 finished, 0 running, 0 failed, 0 waiting; 0 trials are ")
    assert plan.hours == 0
    assert largest(plan, 10) == []


def test_without_pretraining_none_is_spoken_of(cells: list[Cell]) -> None:
    assert len(sentences(planned(cells[:2]))) == 2


def test_a_pretraining_is_expected_once_for_all_cells_that_start_from_it(cells: list[Cell]) -> None:
    phase = pretraining(cells[2])
    assert phase is not None
    fits = sum(supervised(cell).rule for cell in cells)

    assert planned(cells).hours * 3600 == pytest.approx(3 * (fits + phase.rule))
    assert planned(cells[:3]).pretrainings.seconds_to_train == pytest.approx(3 * phase.rule)


def test_without_a_cache_every_cell_trains_its_own(cells: list[Cell]) -> None:
    alone = planned([cells[2]]).pretrainings.seconds_to_train
    uncached = [
        some_cell(f"{name}", pretrain="scarf", method={"name": name}, trials=3, paths=cells[0].config.paths,
                  cache=CacheSettings(max_gb=0))
        for name in ("control", "dropout")
    ]  # fmt: skip

    plan = planned(uncached)

    assert (plan.pretrainings.n, plan.pretrainings.n_cells, plan.pretrainings.n_trials_to_train) == (2, 2, 6)
    assert plan.pretrainings.seconds_to_train == pytest.approx(2 * alone)


def test_thousands_are_told_apart(cells: list[Cell], tmp_path: Path) -> None:
    many = [some_cell(pretrain="none", seed=seed, trials=30, paths=results_in(tmp_path)) for seed in range(1200)]

    assert sentences(planned(many))[0] == (
        "1,200 cells: 0 finished, 0 running, 0 failed, 1,200 waiting; 36,000 trials are to be trained."
    )


def test_the_datasets_that_take_longest_come_first(tmp_path: Path) -> None:
    known = {1489: "phoneme", 1590: "adult", 11: "balance-scale"}
    cells = [
        some_cell(dataset=DatasetSettings("openml", number, name), paths=results_in(tmp_path), seed=seed)
        for seed in (0, 1)
        for number, name in known.items()
    ]

    rows = largest(planned(cells), 2)

    assert [row[:3] for row in rows] == [("adult", 48_842, 14), ("phoneme", 5_404, 5)]
    one_seed = largest(planned(cells[:3]), 2)
    assert [row[3] for row in rows] == pytest.approx([2 * row[3] for row in one_seed])
