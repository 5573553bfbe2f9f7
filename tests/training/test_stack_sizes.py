"""One cell trained in stacks of several sizes, through `train.py`'s own function: what the store then holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.engine.hardware import Promise
from scarf_lightning.errors import UsageError
from scarf_lightning.results import load, load_cell
from scarf_lightning.training import CellTraining, TrainedStack
from tests.processes import TINY_CONTROL, without_times
from tests.promises import is_exact
from tests.storing import stored, write_csv

METHODS = {
    "control": ["pretrain=none", *TINY_CONTROL, "network.encoder.width=256"],
    "scarf": ["pretrain=scarf", "pretrain.max_epochs=2", *TINY_CONTROL],
    "self_train": [
        *("pretrain=scarf", "pretrain.max_epochs=2", "method=self_train", "method.iterations=1", "regime=semi25"),
        *TINY_CONTROL,
    ],
    "tri_train": ["pretrain=none", "method=tri_train", "method.iterations=1", "regime=semi25", *TINY_CONTROL],
}


def slowly(*methods: str) -> list[Any]:
    return [pytest.param(method, marks=pytest.mark.slow) for method in methods]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """300 rows, five classes, numbers and categories with gaps."""
    random, n = np.random.default_rng(188), 300
    labels = random.integers(5, size=n)
    frame = pd.DataFrame({f"x{m}": random.normal(size=n) + 0.4 * labels * random.normal() for m in range(6)})
    frame["species"] = np.array(list("abcdefgh"))[(labels + random.integers(8, size=n)) % 8]
    frame = frame.mask(random.random(frame.shape) < 0.05)
    return write_csv(tmp_path_factory.mktemp("trees"), frame, pd.Series(np.array(list("vwxyz"))[labels]))


def kept(results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All rows and curves of the one cell in a folder, but for the times."""
    rows = load(results)
    curves = load_cell(rows["fingerprint"][0], results).curves
    return without_times(rows), curves.sort_values(["phase", "trial", "epoch"], ignore_index=True)


def assert_equal(results: Path, others: Path) -> None:
    for found, expected in zip(kept(results), kept(others), strict=True):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.skipif(not is_exact(), reason="this processor's products depend on the size of a stack")
@pytest.mark.parametrize("method", ["control", *slowly("tri_train")])
def test_stacks_of_two_and_auto_leave_the_same_numbers(method: str, trees: list[str], tmp_path: Path) -> None:
    """Of three trials, so that one of them trains alone, beside one other, and among all."""
    for size in (2, "auto"):
        stored(tmp_path / str(size), *trees, *METHODS[method], "trials=3", f"trainer.trials_per_stack={size}")

    assert len(list(tmp_path.glob("*/*/stacks/*"))) == 2 + 1
    assert kept(tmp_path / "auto")[0]["log_loss"].nunique() == 3
    assert_equal(tmp_path / "auto", tmp_path / "2")


@pytest.fixture
def trained_together(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], list[int]]]:
    """The trials that are kept, and those that are trained, of every stack of a machine that is not exact."""
    seen, run = [], CellTraining.run

    def spy(training: CellTraining, trials: Sequence[int], company: Sequence[int]) -> TrainedStack:
        seen.append((list(trials), list(company)))
        return run(training, trials, company)

    monkeypatch.setattr("scarf_lightning.engine.hardware.promise", lambda *_: Promise.FIXED)
    monkeypatch.setattr(CellTraining, "run", spy)
    return seen


@pytest.mark.parametrize("method", ["control", *slowly("scarf", "self_train", "tri_train")])
@pytest.mark.slow
def test_where_products_are_not_exact_a_trial_is_always_trained_with_its_block(
    method: str, trees: list[str], tmp_path: Path, trained_together: list[tuple[list[int], list[int]]]
) -> None:
    overrides = [*trees, *METHODS[method], "trainer.trials_per_stack=2", "keep_weights=true"]
    stored(tmp_path / "at_once", *overrides, "trials=3")
    stored(tmp_path / "later", *overrides, "trials=1")
    store = stored(tmp_path / "later", *overrides, "trials=3")

    first, second = [0, 1], [2, 3]
    assert trained_together[:2] == [(first, first), ([2], second)]
    assert trained_together[2:] == [([0], first), ([1], first), ([2], second)]
    assert_equal(tmp_path / "later", tmp_path / "at_once")
    environments = [path.read_text() for path in store.folder.glob("stacks/*/environment.json")]
    assert all('"promise": "fixed"' in each and '"trials_per_stack": 2' in each for each in environments)


@pytest.mark.slow
@pytest.mark.skipif(not is_exact(), reason="this processor's products depend on the size of a stack")
def test_trials_that_do_not_fit_into_the_memory_at_once_train_in_smaller_stacks(
    trees: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = CellTraining.run, []

    def recorded(self: CellTraining, trials: Sequence[int], company: Sequence[int]) -> TrainedStack:
        made.append((list(company), self.warning))
        return real(self, trials, company)

    monkeypatch.setattr(CellTraining, "run", recorded)
    stored(tmp_path / "wide", "trials=3", *METHODS["control"], *trees)
    monkeypatch.setattr("scarf_lightning.training.cell_training.trials_that_fit", lambda *_: 2)
    stored(tmp_path / "tight", "trials=3", *METHODS["control"], *trees)

    said = "mine: 2 of the trials are trained at once, for which the memory that is left suffices; "
    said += "their numbers are the same."
    assert made == [([0, 1, 2], None), ([0, 1], said), ([2], said)]
    assert_equal(tmp_path / "tight", tmp_path / "wide")


def test_a_trial_that_does_not_fit_into_the_memory_is_refused_before_it_trains(
    trees: list[str], tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError, match=r"needs about 0\.1 GB for 1 trial at once, and trainer\.memory_gb=0\.001 allows less"
    ):
        stored(tmp_path, "trials=1", "trainer.memory_gb=0.001", *METHODS["control"], *trees)


def test_where_numbers_depend_on_the_stack_a_smaller_one_is_named_and_not_taken(
    trees: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scarf_lightning.engine.hardware.promise", lambda *_: Promise.FIXED)
    monkeypatch.setattr("scarf_lightning.training.cell_training.trials_that_fit", lambda *_: 3)
    with pytest.raises(UsageError, match=r" GB for 20 trials at once, and .* use trainer\.trials_per_stack=3, or "):
        stored(tmp_path, "trainer.trials_per_stack=20", "trials=1", *METHODS["control"], *trees)
