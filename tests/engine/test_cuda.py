"""The same stack on a CUDA device. Run with `pytest -m gpu` on a machine that has one."""

from typing import Any

import numpy as np
import pytest
import torch

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.strategies import Marginal, Mean
from scarf_lightning.data.datamodule import Batch
from scarf_lightning.data.table import Table
from scarf_lightning.engine.modules import PretrainModule, StackModule
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.stacks import MakeStack, task

pytestmark = pytest.mark.gpu


def test_fine_tuning_agrees_with_the_cpu(patients: Table, make_stack: MakeStack) -> None:
    """Initial weights and batch order are drawn on the CPU whatever the device is."""
    settings = FinetuneSettings(max_epochs=10, batch_size=46)
    cpu, cuda = (
        Control().run(make_stack(patients, range(5), precision="64-true", device=device), SupervisedPhase(settings))
        for device in ("cpu", "cuda")
    )
    assert np.array_equal(cpu.fit.epochs, cuda.fit.epochs)
    np.testing.assert_allclose(cpu.predictions, cuda.predictions, atol=1e-7)


@pytest.mark.parametrize(("corruption", "fit_on"), [(Marginal(), "all"), (Mean(), "train")])
@pytest.mark.parametrize("precision", ["32-true", "tf32", "bf16-mixed"])
def test_pre_training_runs_and_trials_leave(
    patients: Table, make_stack: MakeStack, corruption: Corruption, fit_on: str, precision: str
) -> None:
    stack = make_stack(patients, range(10), fit_on=fit_on, precision=precision, device="cuda")
    fit = stack.pretrain(PretrainSettings(batch_size=46), task(corruption))
    assert len(set(fit.epochs)) > 1
    assert all(weight.is_cuda and torch.isfinite(weight).all() for weight in fit.weights.values())
    outcome = Control().run(stack, SupervisedPhase(FinetuneSettings(), fit.part("encoder")))
    np.testing.assert_allclose(outcome.predictions.sum(axis=2), 1, atol=1e-6)


def test_the_steps_of_an_epoch_wait_for_nothing(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first loss of an epoch to its last step nothing is asked of the device that the host must wait for."""
    losses, training_step, watched = PretrainModule.losses, StackModule.training_step, []

    def strict_losses(module: PretrainModule, batch: Batch) -> torch.Tensor:
        torch.cuda.set_sync_debug_mode("error")
        watched.append(batch.x.shape)
        return losses(module, batch)

    def relaxed_afterwards(*args: Any) -> None:
        try:
            training_step(*args)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(PretrainModule, "losses", strict_losses)
    monkeypatch.setattr(StackModule, "training_step", relaxed_afterwards)
    make_stack(patients, range(5), device="cuda").pretrain(PretrainSettings(batch_size=46, max_epochs=2), task())
    assert len(watched) > 4
