"""One cell of the store, one trial of it, and predictions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import CellStore, StackRecord, load_cell, load_trials
from tests.cells import OF_WDBC, finish, results_in, some_cell, some_record


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def store(results: Path) -> CellStore:
    """A cell of which no trial is finished yet."""
    return finish(some_cell(paths=results_in(results.parent)), trials=[])


def with_weights(record: StackRecord) -> StackRecord:
    """A record with a network of two numbers a trial: its number, and ten times that."""
    trials = np.array([[row["trial"], 10.0 * row["trial"]] for row in record.rows])
    return replace(record, weights={"encoder.body": trials})


class TestCell:
    def test_it_is_what_the_store_was_given(self, store: CellStore, results: Path) -> None:
        first, second = some_record([2, 3]), some_record([0])
        for record in (first, second):
            store.add(record)

        cell = load_cell(store.fingerprint, results)

        assert cell.fingerprint == store.fingerprint
        assert cell.config == {"seed": 0}
        assert cell.description["identity"] == store.identity
        assert cell.description["columns"] == OF_WDBC["columns"]
        assert cell.trials["trial"].tolist() == [0, 2, 3]
        assert cell.trials["accuracy"].tolist() == [0.5, 0.52, 0.53]
        assert cell.trials["pretrain_epochs"].dtype == "Int64"
        curves = pd.DataFrame([*second.curves, *first.curves])
        keys = ["phase", "trial", "epoch"]
        pd.testing.assert_frame_equal(
            cell.curves.sort_values(keys, ignore_index=True), curves.sort_values(keys, ignore_index=True)
        )

    def test_a_cell_without_trials_is_empty_and_an_unknown_one_is_refused(
        self, store: CellStore, results: Path
    ) -> None:
        cell = load_cell(store.fingerprint, results)
        assert (len(cell.trials), len(cell.curves), list(cell.curves)) == (0, 0, ["phase", "trial", "epoch"])

        with pytest.raises(UsageError, match="results holds no cell 0123456789abcdef; "):
            load_cell("0123456789abcdef", results)


class TestTrial:
    def test_it_has_its_own_row_and_arrays(self, store: CellStore, results: Path) -> None:
        store.add(some_record([0, 1]))
        store.add(with_weights(some_record([3, 5])))

        trials = load_trials(store.fingerprint, results)

        assert [each.row["trial"] for each in trials] == [0, 1, 3, 5]
        trial = trials[-1]

        assert trial.row["accuracy"] == 0.55
        assert {name: array.tolist() for name, array in trial.preprocessing.items()} == {
            name: [3, 4, 5] for name in ("fill", "shift", "scale")
        }
        assert {name: array.tolist() for name, array in trial.weights.items()} == {"encoder.body": [5, 50]}
        assert trials[0].weights == {}, "they were not kept"
