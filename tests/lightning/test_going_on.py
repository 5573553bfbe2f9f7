"""A fit by a `pl.Trainer` that goes on from an epoch's end ends with the weights of one that never stopped."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from scarf_lightning.lightning import CotrainModule, FinetuneModule, PretrainModule, TableDataModule
from scarf_lightning.lightning.modules import PlainModule
from tests.lightning.test_plain_lightning import trainer

KINDS = [PretrainModule, FinetuneModule, CotrainModule]
OPTIONS = ["network.encoder.width=8", "network.encoder.depth=2", "batch_size=32"]
HALF, WHOLE = 5, 7
"""Epochs, of three steps each."""

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@cache
def table() -> pd.DataFrame:
    """120 rows with gaps and a category, of which 84 train."""
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": random.choice(list("xyz"), 120)})
    frame["y"] = np.where(x[:, 0] + random.normal(size=120) > 0, "yes", "no")
    frame.loc[::7, "b"] = np.nan
    return frame


def trained(
    kind: type[PlainModule], *callbacks: pl.Callback, trials: int, checkpoint: Path | None = None, **options: Any
) -> tuple[dict[str, torch.Tensor], pl.Trainer]:
    """The weights of a fit and its trainer."""
    phase = "pretrain" if kind is PretrainModule else "finetune"
    schedules = [f"{phase}.schedule=flat_cos", f"{phase}.max_epochs={WHOLE}"]
    # Draws dropout masks.
    method = ["method=dropout"] if kind is FinetuneModule else []
    module, fitting = kind([*OPTIONS, *schedules, *method]), trainer(*callbacks, **options)
    fitting.fit(module, TableDataModule(table(), "y", trials=trials), ckpt_path=checkpoint, weights_only=True)
    return module.state_dict(), fitting


@cache
def whole(kind: type[PlainModule], trials: int) -> dict[str, torch.Tensor]:
    weights, _ = trained(kind, trials=trials, max_epochs=WHOLE)
    return weights


@cache
def half(kind: type[PlainModule], trials: int, folder: Path) -> Path:
    """The checkpoints of a fit of five epochs."""
    place = folder / f"{kind.__name__}_{trials}"
    epochs = ModelCheckpoint(place, filename="{epoch}", save_top_k=-1)
    trained(kind, epochs, trials=trials, max_epochs=HALF)
    return place


def check_equal(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        assert torch.equal(weight, theirs[name]), name


def cases(points: list[int], fast: set[tuple[Any, ...]]) -> list[Any]:
    """Each kind of module with 1 and 30 trials, at each point of the training; slow ones but for a few."""
    every = []
    for case in product(KINDS, (1, 30), points):
        every.append(pytest.param(*case, marks=() if case in fast else pytest.mark.slow))
    return every


@pytest.mark.parametrize(
    ("kind", "trials", "epoch"),
    cases([1, 2, 3, 4, 5], {(PretrainModule, 1, 2)}),
)
def test_a_fit_that_goes_on_after_an_epoch_ends_with_the_same_weights(
    kind: type[PlainModule], trials: int, epoch: int, folder: Path
) -> None:
    checkpoint = half(kind, trials, folder) / f"epoch={epoch - 1}.ckpt"
    resumed, _ = trained(kind, trials=trials, checkpoint=checkpoint, max_epochs=WHOLE)
    check_equal(resumed, whole(kind, trials))


@pytest.mark.parametrize(
    ("kind", "trials", "monitor", "point"),
    [
        pytest.param(*case, marks=() if case == (FinetuneModule, 1, "train_loss", "epoch=2") else pytest.mark.slow)
        for case in product(
            KINDS, (1, 30), ("train_loss", "validation_loss"),
            ("epoch=0", "epoch=1", "epoch=2", "epoch=3", "epoch=4"),
        )
    ],
)  # fmt: skip
def test_early_stopping_goes_on_and_ends_at_the_same_epoch(
    kind: type[PlainModule], trials: int, monitor: str, point: str, tmp_path: Path
) -> None:
    def stopping() -> EarlyStopping:
        # No epoch is better than the first one, so each waits.
        return EarlyStopping(monitor, min_delta=1e9, patience=7)

    straight, never_stopped = trained(kind, stopping(), trials=trials, max_epochs=50)
    epochs = ModelCheckpoint(tmp_path, filename="{epoch}", save_top_k=-1)
    trained(kind, stopping(), epochs, trials=trials, max_epochs=HALF)
    resumed, goes_on = trained(kind, stopping(), trials=trials, checkpoint=tmp_path / f"{point}.ckpt", max_epochs=50)

    assert goes_on.current_epoch == never_stopped.current_epoch == 8
    check_equal(resumed, straight)
