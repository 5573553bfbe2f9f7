"""A fit by a `pl.Trainer` that goes on from an epoch's end ends with the weights of one that never stopped."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from scarf_lightning.lightning import CotrainModule, FinetuneModule, PretrainModule
from scarf_lightning.lightning.modules import PlainModule
from tests.lightning.test_encoders import data_with_gaps
from tests.lightning.test_plain_lightning import trainer

OPTIONS = ["network.encoder.width=8", "network.encoder.depth=2", "batch_size=32"]
HALF, WHOLE = 5, 7
"""Epochs, of three steps each."""

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
every_kind = pytest.mark.parametrize(
    "kind",
    [
        PretrainModule,
        pytest.param(FinetuneModule, marks=pytest.mark.slow),
        pytest.param(CotrainModule, marks=pytest.mark.slow),
    ],
)
every_size = pytest.mark.parametrize("trials", [1, pytest.param(30, marks=pytest.mark.slow)])


def trained(
    kind: type[PlainModule], *callbacks: pl.Callback, trials: int, checkpoint: Path | None = None, **options: Any
) -> tuple[dict[str, torch.Tensor], pl.Trainer]:
    """The weights of a fit and its trainer."""
    phase = "pretrain" if kind is PretrainModule else "finetune"
    schedules = [f"{phase}.schedule=flat_cos", f"{phase}.max_epochs={WHOLE}"]
    # Draws dropout masks.
    method = ["method=dropout"] if kind is FinetuneModule else []
    module, fitting = kind([*OPTIONS, *schedules, *method]), trainer(*callbacks, **options)
    fitting.fit(module, data_with_gaps(trials), ckpt_path=checkpoint, weights_only=True)
    return module.state_dict(), fitting


@cache
def whole(kind: type[PlainModule], trials: int) -> dict[str, torch.Tensor]:
    weights, _ = trained(kind, trials=trials, max_epochs=WHOLE)
    return weights


def check_equal(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        assert torch.equal(weight, theirs[name]), name


@every_kind
@every_size
def test_a_fit_that_goes_on_after_an_epoch_ends_with_the_same_weights(
    kind: type[PlainModule], trials: int, tmp_path: Path
) -> None:
    epochs = ModelCheckpoint(tmp_path, filename="{epoch}", save_top_k=-1)
    trained(kind, epochs, trials=trials, max_epochs=HALF)
    for epoch in (1, 4):
        resumed, _ = trained(kind, trials=trials, checkpoint=tmp_path / f"epoch={epoch}.ckpt", max_epochs=WHOLE)
        check_equal(resumed, whole(kind, trials))


@every_kind
@every_size
@pytest.mark.parametrize("monitor", ["train_loss", pytest.param("validation_loss", marks=pytest.mark.slow)])
def test_early_stopping_goes_on_and_ends_at_the_same_epoch(
    kind: type[PlainModule], trials: int, monitor: str, tmp_path: Path
) -> None:
    def stopping() -> EarlyStopping:
        # No epoch is better than the first one, so each waits.
        return EarlyStopping(monitor, min_delta=1e9, patience=7)

    straight, never_stopped = trained(kind, stopping(), trials=trials, max_epochs=50)
    trained(kind, stopping(), ModelCheckpoint(tmp_path, filename="last"), trials=trials, max_epochs=HALF)
    resumed, goes_on = trained(kind, stopping(), trials=trials, checkpoint=tmp_path / "last.ckpt", max_epochs=50)

    assert goes_on.current_epoch == never_stopped.current_epoch == 8
    check_equal(resumed, straight)
