"""What a stack leaves where some of its trials diverge."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack_modules import Finetuning, Pretraining
from scarf_lightning.metrics import metrics
from scarf_lightning.results import PretrainingStore, StackRecord
from tests.cells import pretraining_identity_of
from tests.composing import config_of
from tests.promises import is_exact
from tests.short_training import short, trained

TRIALS, GONE = [0, 1, 2], 1
SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ("distill", "tri_train", "deep_knn")]


@pytest.fixture
def diverging(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes trial 1 of three diverge in the first epoch of a kind of module."""

    def make(kind: type[Any]) -> None:
        losses = kind.losses

        def spoiled(self: Any, batch: Any) -> torch.Tensor:
            value = losses(self, batch)
            factor = torch.ones_like(value)
            if len(value) == len(TRIALS):
                factor[GONE] = torch.inf
            return value * factor

        monkeypatch.setattr(kind, "losses", spoiled)

    return make


def numbers(record: StackRecord, trial: int) -> list[Any]:
    (row,) = (row for row in record.rows if row["trial"] == trial)
    return [value for name, value in row.items() if not name.endswith("_seconds")]


@pytest.mark.parametrize(("phase", "kind"), [("pretrain", Pretraining), ("finetune", Finetuning)])
def test_a_trial_that_diverges_says_so_and_the_others_are_kept(
    phase: str, kind: type[Any], wdbc: Table, diverging: Any, tmp_path: Path
) -> None:
    config = short(config_of("keep_weights=true"))
    cache = PretrainingStore(tmp_path, pretraining_identity_of(config, wdbc.hash), max_gb=1)
    calm = trained(config, wdbc, trials=TRIALS)
    diverging(kind)

    record = trained(config, wdbc, trials=TRIALS, cache=cache)

    assert [row["diverged"] for row in record.rows] == [None, phase, None]
    gone = record.rows[GONE]
    assert {gone[metric.name] for metric in metrics(("classes",))} == {None}
    assert gone[f"{phase}_epochs"] == 1
    assert gone["finetune_seconds"] > 0
    if is_exact():
        for trial in (0, 2):
            assert numbers(record, trial) == numbers(calm, trial)
    (curve,) = (each for each in record.curves if (each["phase"], each["trial"]) == (phase, GONE))
    assert np.isnan(curve["train_loss"])
    assert cache.missing(TRIALS) == ([GONE] if phase == "pretrain" else [])
    assert record.weights is not None
    assert all(np.isfinite(weight).all() for weight in record.weights.values())


@pytest.mark.parametrize("method", ["self_train", "cotrain", *SLOWER])
def test_all_of_a_methods_fits_may_diverge(method: str, wdbc: Table) -> None:
    options = ["method.iterations=1"] if method in ("self_train", "tri_train") else []
    config = config_of(f"method={method}", "regime=semi25", "finetune.learning_rate=1e12", *options)

    (row,) = trained(config, wdbc, trials=[0]).rows

    assert row["diverged"] == "finetune"
