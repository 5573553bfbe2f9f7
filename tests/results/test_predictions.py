"""What trials predicted: kept small, and read again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.results import (
    CellStore,
    Predictions,
    load_predictions,
)
from scarf_lightning.results.records import PREDICTIONS
from scarf_lightning.results.store import read_cell
from tests.cells import finish, results_in, some_cell, some_record
from tests.results.sealing import flip


def of(n: int) -> Classes:
    return Classes(tuple(str(name + 1) for name in range(n)))


def predicted(trial: int, n: int = 40, classes: int = 2) -> Predictions:
    random = np.random.default_rng(trial)
    rows = random.permutation(1000)[:n]
    return Predictions(trial, rows, random.integers(0, classes, n), random.dirichlet(np.ones(classes), n), of(classes))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def store(results: Path) -> CellStore:
    """A cell of three trials, the last of which has kept nothing."""
    store = finish(some_cell(paths=results_in(results.parent)), trials=[])
    store.add(replace(some_record([0, 1, 2]), predictions=[predicted(0), predicted(1)]))
    return store


def test_they_are_read_as_they_were(store: CellStore, results: Path) -> None:
    found = load_predictions(store.fingerprint, results)

    assert list(found) == ["trial", "row", "class", "probability_1", "probability_2"]
    for trial, part in found.groupby("trial"):
        expected = predicted(int(str(trial)))
        assert part["row"].tolist() == expected.rows.tolist()
        assert part["class"].tolist() == [("1", "2")[label] for label in expected.labels]
        np.testing.assert_array_equal(part.iloc[:, 3:], expected.values)
    assert found["trial"].unique().tolist() == [0, 1]
    assert found.index.tolist() == list(range(len(found))), "the rows of all trials have numbers of their own"


def test_whether_some_were_kept_is_told_without_reading_them_and_what_to_do_where_none_were(
    store: CellStore, results: Path
) -> None:
    assert read_cell(store.folder).kept(PREDICTIONS) == [True]

    none = finish(some_cell(seed=1, paths=results_in(results.parent)), trials=[0, 1])
    assert read_cell(none.folder).kept(PREDICTIONS) == [False]
    with pytest.raises(UsageError, match=r"has kept no predictions; train it again with force=true and a larger kee"):
        load_predictions(none.fingerprint, results)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["network", "library"])
def test_every_metric_made_again_equals_that_of_the_trial_to_the_bit(dtype: type) -> None:
    random, target = np.random.default_rng(0), of(3)
    labels = random.integers(3, size=200)
    # Two digits, so that there are ties, and classes that differ in the last digit of a float32.
    near = random.dirichlet(np.ones(3), 200).round(2) + random.random((200, 3)) * 1e-7
    probabilities = near.astype(dtype).astype(np.float64)
    given = Predictions(0, np.arange(200), labels, probabilities, target)

    (found,) = Predictions.of(given.frame(), target)

    np.testing.assert_array_equal(found.values, probabilities)
    assert (found.trial, found.rows.tolist()) == (0, list(range(200)))
    assert target.measured(found.values, found.labels) == target.measured(probabilities, labels)
    assert (given.frame()["0"].dtype == np.float32) is (dtype is np.float32)


def test_damage_is_named_and_nothing_is_measured_by_it(store: CellStore, results: Path) -> None:
    (file,) = results.rglob(PREDICTIONS)
    flip(file)

    with (
        pytest.warns(UserWarning, match=r"is left out: predictions\.parquet is damaged"),
        pytest.raises(UsageError, match="has kept no predictions"),
    ):
        load_predictions(store.fingerprint, results)
