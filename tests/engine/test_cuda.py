"""The same stack on a CUDA device: its numbers and precisions. Run with `pytest -m gpu` on a machine that has one.

That each part trains there, and that no step waits, is in `test_one_device.py`.
"""

from typing import Any

import numpy as np
import pytest
import torch

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.strategies import Marginal, Mean
from scarf_lightning.data.table import Table
from scarf_lightning.engine import fit as fitting
from scarf_lightning.engine.fit import Fit
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.methods.test_every_method import made
from tests.promises import assert_same_weights
from tests.stacks import MakeStack, made_network, task

pytestmark = pytest.mark.gpu


@pytest.mark.filterwarnings("ignore:GPU available but not used")
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


def twice_and_one_by_one(run: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Fit, Fit, Fit]:
    """Two fits with captured steps, and one whose kernels are launched one by one."""
    captured = run(), run()
    monkeypatch.setattr(fitting, "capture_of", lambda device: None)
    return *captured, run()


ROUNDING = {"64-true": 1e-7, "32-true": 2e-3}
"""Of weights after 25 steps: what is rounded differently grows from step to step."""


@pytest.mark.parametrize("precision", ["64-true", "32-true"])
@pytest.mark.parametrize("network", ["mlp", "resnet", "realmlp", "ft_transformer"])
def test_captured_pre_training_is_that_of_kernels_launched_one_by_one(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, network: str, precision: str
) -> None:
    """The same kernels, and the same random numbers."""
    settings = PretrainSettings(batch_size=46, max_epochs=8, validation_passes=2)
    small = {"network": made_network(network), "precision": precision, "device": "cuda"}
    first, second, eager = twice_and_one_by_one(
        lambda: make_stack(patients, range(3), **small).pretrain(settings, task()), monkeypatch
    )
    assert (first.launches, second.launches) == ("captured", "captured")
    assert_same_weights(first.weights, second.weights)
    assert_same_weights(first.weights, eager.weights, rounding=ROUNDING[precision])


@pytest.mark.parametrize("method", ["control", "cotrain", "mixup"])
@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "coslog4", "warmup_steps": 3},
        {"optimizer": "adamw", "weight_decay": 0.1, "weight_decay_schedule": "flat_cos"},
        {"label_smoothing": 0.3, "label_smoothing_schedule": "flat_cos"},
        {"gradient_clip": 0.1, "metric": "auroc", "class_weight": "balanced"},
    ],
    ids=lambda each: ",".join(each),
)
def test_captured_methods_and_schedules_train_as_eager_ones(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], method: str
) -> None:
    phase = SupervisedPhase(FinetuneSettings(batch_size=46, max_epochs=8, patience=None, **settings))

    def run() -> Fit:
        fit: Fit = made(method).run(make_stack(patients, range(3), precision="64-true", device="cuda"), phase).fit
        return fit

    first, second, eager = twice_and_one_by_one(run, monkeypatch)
    assert first.launches == "captured"
    assert_same_weights(first.weights, second.weights)
    # A rate is a number of float32 in a captured step.
    assert_same_weights(first.weights, eager.weights, rounding=1e-6)
