"""A cell, before and after its stacks are trained."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.data.splits import Random
from scarf_lightning.data.table import Table
from scarf_lightning.randomness import Purpose, Streams
from scarf_lightning.results import CellStore, read_cell
from scarf_lightning.training import CellTraining
from tests.composing import config_of
from tests.short_training import training_of


def test_a_cell_is_described_by_what_it_was_asked_for_and_read_from(wdbc: Table, tmp_path: Path) -> None:
    training = training_of(config_of("pretrain=scarf", "trials=2"), wdbc)
    store = CellStore(tmp_path, {"data": wdbc.hash})
    prepared = CellTraining.prepare(training.config, wdbc, training.hardware, store=store)

    replace(prepared, notes=["one column is constant"]).describe(["pretrain=scarf"])

    described = read_cell(store.folder).description
    assert described["overrides"] == ["pretrain=scarf"]
    assert described["reading"] == wdbc.report(["one column is constant"])
    assert described["config"]["trials"] == 2
    assert [column["name"] for column in described["columns"]] == [column.name for column in wdbc.columns]


def test_others_of_a_block_are_trained_too_and_not_recorded(wdbc: Table) -> None:
    trained = training_of(config_of("pretrain=none", "method=logistic"), wdbc).run([0, 5], [3, 0, 5])

    assert trained.stack.trials == (3, 0, 5)
    assert [row["trial"] for row in trained.record([0, 5]).rows] == [0, 5]


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_rows_are_split_shown_and_scaled_as_the_configuration_says(fit_on: str, wdbc: Table) -> None:
    chosen = (f"fit_on={fit_on}", "scaling=minmax", "regime=semi25", "seed=3", "pretrain=none")
    trials = (4, 1)

    data = CellTraining.stack(training_of(config_of(*chosen), wdbc), trials).data

    assert data.trials == trials
    assert data.labelled.shape == (2, round(0.25 * data.train.shape[1]))
    for position, trial in enumerate(trials):
        split = Random(copies="apart").split(wdbc, Streams(3, wdbc.n_labelled).numpy(trial, Purpose.SPLIT))
        np.testing.assert_array_equal(data.train[position], split.train)
        rows = wdbc.values if fit_on == "all" else wdbc.values[split.train]
        np.testing.assert_array_equal(data.preprocessing.shift[position], rows.min(axis=0))


@pytest.mark.parametrize(("copies", "n_at_once"), [("together", 1), ("apart", 3)])
def test_trials_whose_parts_differ_in_size_are_trained_one_by_one(
    copies: str, n_at_once: int, mixed_table: Table
) -> None:
    row = np.repeat(np.arange(24), [*[2] * 16, *[5] * 8])
    table = replace(mixed_table, values=mixed_table.values[row], labels=mixed_table.labels[row])

    training = training_of(config_of("method=logistic", "pretrain=none", f"split.copies={copies}"), table)

    assert [len(together) for _, together in training.stacks([0, 1, 2])] == [n_at_once] * (3 // n_at_once)
