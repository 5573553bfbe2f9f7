"""Habits of Lightning's users: each works, or is refused with the way to do it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pytorch_lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelSummary
from pytorch_lightning.loggers import CSVLogger
from torch import Tensor, nn

from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import FinetuneModule, PretrainModule, TableDataModule
from tests.lightning.test_modules import data_with_gaps
from tests.lightning.test_plain_lightning import FINE, SMALL, trainer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
M, C = 3, 2


def rows_of(data: TableDataModule) -> Tensor:
    return next(iter(data.test_dataloader())).x


def forward_of_rows(folder: Path) -> None:
    data = data_with_gaps()
    module = FinetuneModule(FINE, data=data).eval()
    rows = rows_of(data)
    assert (rows.shape, module(rows).shape) == ((24, M), (24, C))
    assert torch.equal(module.classifier(rows), module(rows))
    assert torch.equal(module.predict_step(next(iter(data.test_dataloader())), 0), module(rows).double().softmax(-1))


def an_optimizer_and_a_scheduler_of_ones_own(folder: Path) -> None:
    class Mine(PretrainModule):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
            return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)}

    fitting = trainer(LearningRateMonitor(), max_epochs=2, logger=CSVLogger(folder))
    fitting.fit(Mine(SMALL), data_with_gaps())
    assert fitting.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.025)


def a_training_step_of_ones_own(folder: Path) -> None:
    class Mine(FinetuneModule):
        def training_step(self, batch: Any, batch_idx: int) -> Tensor:
            assert batch.x.dim() == 2
            penalty = sum(weight.abs().sum() for weight in self.encoder.parameters())
            loss = self.losses(batch).sum() + 1e-3 * penalty
            self.log("mine", loss)
            return loss

    fitting = trainer(max_epochs=1)
    fitting.fit(Mine(FINE), data_with_gaps())
    assert fitting.callback_metrics["mine"] > 0


def a_linear_probe_on_a_frozen_encoder(folder: Path) -> None:
    """A module of one's own holds the pre-trained encoder."""
    data, pretraining = data_with_gaps(), PretrainModule(SMALL)
    trainer(max_epochs=1).fit(pretraining, data)
    batch = next(iter(data.test_dataloader()))
    probe = nn.Sequential(pretraining.encoder.requires_grad_(False), nn.Linear(8, C))
    nn.functional.cross_entropy(probe(batch.x), batch.targets).backward()
    assert probe[1].weight.grad is not None
    assert pretraining.encoder.body.layers[0].weight.grad is None


def export_of_the_forward_pass(folder: Path) -> None:
    data = data_with_gaps()
    module = FinetuneModule(FINE, data=data).eval()
    rows = rows_of(data)
    exported = torch.export.export(module, (rows,)).module()
    assert torch.allclose(exported(rows), module(rows), atol=1e-6)


def flags_of_the_trainer(folder: Path) -> None:
    data = data_with_gaps()
    for flags in ({"fast_dev_run": True}, {"overfit_batches": 1}, {"limit_val_batches": 0, "max_steps": 2}):
        trainer(ModelSummary(), **flags).fit(PretrainModule(SMALL), data)
    stopping = EarlyStopping("validation_error", patience=1)
    trainer(stopping, gradient_clip_val=1.0, accumulate_grad_batches=2).fit(FinetuneModule(FINE), data)


HABITS = [
    forward_of_rows,
    an_optimizer_and_a_scheduler_of_ones_own, a_training_step_of_ones_own, a_linear_probe_on_a_frozen_encoder,
    export_of_the_forward_pass, flags_of_the_trainer,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.__name__)
def test_habits_of_lightnings_users_work(habit: Callable[[Path], None], tmp_path: Path) -> None:
    habit(tmp_path)


@pytest.mark.parametrize(
    ("habit", "sentence"),
    [
        (
            lambda: FinetuneModule()(torch.ones(2, M)),
            r"no networks before it meets a table: give it data, as in FinetuneModule\(data=data\)",
        ),
        (lambda: PretrainModule(data=data_with_gaps())(torch.ones(2, 9)), r"takes rows as a tensor \(N, 3\)"),
        (lambda: PretrainModule(data=data_with_gaps(2))(torch.ones(2, M)), r"takes rows as a tensor \(2, N, 3\)"),
        (lambda: PretrainModule(data=data_with_gaps())(np.ones((2, M))), r"data\.rows\(frame\) .* and not ndarray"),
    ],
)
def test_habits_that_cannot_be_are_refused_with_the_way(habit: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        habit()
