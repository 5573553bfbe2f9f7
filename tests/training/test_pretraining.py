"""A pre-training that comes from the cache is, bit for bit, the one that would have been trained."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scarf_lightning.data.table import Table
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.stack import Stack
from scarf_lightning.options import Config
from scarf_lightning.results import PretrainingStore, StackRecord
from tests.cells import pretraining_identity_of
from tests.composing import config_of
from tests.promises import is_exact
from tests.short_training import short, trained

Find = Callable[[Config], PretrainingStore]


@pytest.fixture
def cache(tmp_path: Path, wdbc: Table) -> Find:
    """Where the pre-training of a cell is."""
    return lambda config: PretrainingStore(tmp_path, pretraining_identity_of(short(config), wdbc.hash), max_gb=1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, wdbc: Table) -> tuple[Path, StackRecord]:
    """A folder with the pre-trainings of trials 0 and 1, and the record of the cell that left them; only read."""
    folder, config = tmp_path_factory.mktemp("filled"), config_of()
    store = PretrainingStore(folder, pretraining_identity_of(short(config), wdbc.hash), max_gb=1)
    return folder, trained(config, wdbc, cache=store)


@pytest.fixture
def copied(filled: tuple[Path, StackRecord], tmp_path: Path) -> StackRecord:
    """The record of the cell whose pre-trainings are in the cache of the test."""
    shutil.copytree(filled[0], tmp_path, dirs_exist_ok=True)
    return filled[1]


@pytest.fixture
def pretrained_trials(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The trials of every pre-training that is trained."""
    seen: list[list[int]] = []
    train = Stack.pretrain

    def spy(stack: Stack, *arguments: Any) -> Fit:
        seen.append([int(trial) for trial in stack.data.trials])
        return train(stack, *arguments)

    monkeypatch.setattr(Stack, "pretrain", spy)
    return seen


def same(found: StackRecord, expected: StackRecord, trials: Sequence[int] | None = None) -> None:
    """Rows and curves are equal but for the supervised phase's seconds; of these trials, if they are named."""
    wanted = [row["trial"] for row in expected.rows] if trials is None else trials

    def rows(record: StackRecord) -> pd.DataFrame:
        frame = pd.DataFrame(list(record.rows)).drop(columns=["finetune_seconds", "pretrain_seconds"])
        return frame[frame["trial"].isin(wanted)].reset_index(drop=True)

    def curves(record: StackRecord) -> pd.DataFrame:
        frame = pd.DataFrame(list(record.curves))
        kept = frame[frame["trial"].isin(wanted)]
        return kept.sort_values(["phase", "trial", "epoch"]).reset_index(drop=True)

    exactly: Any = {"check_exact": True} if is_exact(str(expected.rows[0]["precision"])) else {"atol": 0.05}
    pd.testing.assert_frame_equal(rows(found), rows(expected), **exactly)
    pd.testing.assert_frame_equal(curves(found), curves(expected), **exactly)


@pytest.mark.parametrize(
    ("precision", "pretrain_name"),
    [
        ("32-true", "scarf"),
        pytest.param("64-true", "scarf_ae", marks=pytest.mark.slow),
        pytest.param("32-true", "scarf_disc", marks=pytest.mark.slow),
    ],
)
def test_with_the_cache_and_without_the_numbers_are_the_same(
    precision: str, pretrain_name: str, wdbc: Table, cache: Find, pretrained_trials: list[list[int]]
) -> None:
    config = config_of(f"trainer.precision={precision}", f"pretrain={pretrain_name}", "trainer.accelerator=cpu")
    without = trained(config, wdbc)

    first = trained(config, wdbc, cache=cache(config))
    second = trained(config, wdbc, cache=cache(config))

    same(first, without)
    same(second, without)
    assert [row["pretrain_seconds"] for row in second.rows] == [row["pretrain_seconds"] for row in first.rows]
    assert pretrained_trials == [[0, 1]] * 2


@pytest.mark.parametrize(
    "overrides",
    [
        ["method=dropout"],
        pytest.param(["method=cotrain"], marks=pytest.mark.slow),
        pytest.param(["method=self_train", "regime=semi25", "method.iterations=1"], marks=pytest.mark.slow),
        pytest.param(["regime=noise30", "method=distill"], marks=pytest.mark.slow),
        pytest.param(["regime=semi25", "finetune.batch_size=32", "network.head.width=4"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_one_pretraining_serves_every_method_and_regime(
    overrides: list[str], wdbc: Table, cache: Find, copied: StackRecord, pretrained_trials: list[list[int]]
) -> None:
    config = config_of(*overrides)

    found = trained(config, wdbc, cache=cache(config))

    assert pretrained_trials == []
    same(found, trained(config, wdbc))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 3, 0]])
def test_two_trials_and_then_others_train_the_missing_ones(
    order: list[int], wdbc: Table, cache: Find, copied: StackRecord, pretrained_trials: list[list[int]]
) -> None:
    config = config_of()

    found = trained(config, wdbc, trials=order, cache=cache(config))

    assert pretrained_trials == [[trial for trial in order if trial > 1]]
    assert [row["trial"] for row in found.rows] == order
    same(found, trained(config, wdbc, trials=order))


def test_a_damaged_trial_is_trained_again(
    wdbc: Table, cache: Find, copied: StackRecord, pretrained_trials: list[list[int]]
) -> None:
    config = config_of()
    file = cache(config).folder / "trials" / "0001" / "weights.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])

    with pytest.warns(UserWarning, match="trials/0001 is (left out|set aside in .*): weights.safetensors is torn"):
        again = trained(config, wdbc, cache=cache(config))

    assert pretrained_trials == [[1]]
    same(again, copied)
    assert file.read_bytes() == whole


def test_what_another_process_trained_while_this_one_waited_is_taken_from_it(
    wdbc: Table, cache: Find, pretrained_trials: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, claim = config_of(), PretrainingStore.claim

    def claim_late(self: PretrainingStore, *, waits: bool) -> Any:
        monkeypatch.setattr(PretrainingStore, "claim", claim)
        trained(config, wdbc, cache=cache(config))
        return claim(self, waits=waits)

    monkeypatch.setattr(PretrainingStore, "claim", claim_late)
    trained(config, wdbc, cache=cache(config))
    assert pretrained_trials == [[0, 1]]
