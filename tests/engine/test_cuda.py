"""The same stack on a CUDA device: its numbers and precisions. Run with `pytest -m gpu` on a machine that has one.

That each part trains there, and that no step waits, is in `test_one_device.py`.
"""

import numpy as np
import pytest
import torch

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.strategies import Marginal, Mean
from scarf_lightning.data.table import Table
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


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_a_trial_is_the_same_in_stacks_of_any_size_but_for_rounding(
    patients: Table, make_stack: MakeStack, fit_on: str
) -> None:
    """Its views are drawn from its own stream, whoever trains beside it."""
    alone, among = (
        make_stack(patients, trials, fit_on=fit_on, precision="64-true", device="cuda").pretrain(
            PretrainSettings(batch_size=46, max_epochs=5), task()
        )
        for trials in ([2], range(4))
    )
    for name, weight in alone.weights.items():
        torch.testing.assert_close(weight[0], among.weights[name][2], rtol=1e-6, atol=1e-9)
