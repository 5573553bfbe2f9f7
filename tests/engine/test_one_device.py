"""Every part trains on one device, and no step makes the host wait.

The device ``meta``, which computes nothing, shows it everywhere; `pytest -m gpu` repeats it on a GPU with whole fits.
"""

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import cycle, zip_longest
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch
from torch import Tensor

from scarf_lightning.data.datamodule import StackDataModule
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine import stack as engine_stack
from scarf_lightning.engine.fit import PER_TRIAL, Fit, StackLoop
from scarf_lightning.engine.lifting import state
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.stack_modules import StackModule
from scarf_lightning.engine.watching import TrialStopping
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.pretexts import Pretext
from tests.engine.one_device import DEVICE, one_device
from tests.methods.test_every_method import made
from tests.stacks import MakeStack, made_network, made_pretext, task

SETTINGS: dict[str, Any] = {"batch_size": 46, "max_epochs": 1, "gradient_clip": 1.0}
OF_NETWORKS = [name for name, method in sorted(parts("method").items()) if "finetune" in method.uses]
"""Methods that train f; rivals are other libraries' models."""
PAIRS = [
    (pretext, loss)
    for pretext, cls in parts("pretrain").items()
    for kind in [get_type_hints(cls).get("loss")]
    for loss in ([None] if kind is None else [name for name, cls in parts("loss").items() if issubclass(cls, kind)])
]
"""Each pretext with each loss that serves it."""
CORRUPTIONS = list(zip(parts("corruption"), cycle(parts("selection"))))
QUICK = ("scarf", "vime", "mlp_plr", "label_smoothing")


def slow_but_for_some(walk: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Of each walk a few are quick; the others are left to the slow tests."""
    return [pytest.param(*each, marks=() if set(each) & set(QUICK) else pytest.mark.slow) for each in walk]


PRETEXTS = slow_but_for_some(
    (*pair, *chosen) for pair, chosen in zip_longest(PAIRS, CORRUPTIONS, fillvalue=("marginal", "exact"))
)
"""All of them, with each corruption and each selection once or more."""
NETWORKS = slow_but_for_some(zip_longest(sorted(parts("network")), OF_NETWORKS, fillvalue="mlp"))
"""Each network, and each method, most of them with the quickest network."""


def one_epoch(phase: str, module: StackModule, datamodule: StackDataModule, *_: Any, **given: Any) -> Fit:
    """In place of Lightning's loop: the steps of an epoch and a validation, and zeros for all that is measured."""
    module.to(DEVICE)
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    # The fused one refuses the device.
    module.make_optimizer = lambda **_: torch.optim.Adam(parameters, foreach=False)  # type: ignore[method-assign]
    stopping = TrialStopping(given["trials"], module.settings)
    loop = StackLoop(module, stopping, [], keeps_best=True, validate_every=1, max_epochs=1, validates=True)
    (epochs,), (validation,) = datamodule.train_dataloader(), datamodule.val_dataloader()
    with one_device():
        loop.training_step(epochs, 0)
        with torch.no_grad():
            loop.on_validation_epoch_start()
            loop.validation_step(validation, 0)
    assert all(parameter.grad is not None and parameter.grad.device.type == DEVICE for parameter in parameters)
    zeros: dict[str, Any] = dict.fromkeys(PER_TRIAL, np.zeros(len(given["trials"]), dtype=np.int64))
    weights = {name: torch.zeros_like(weight, device="cpu") for name, weight in state(module).items()}
    return Fit(weights, curves=[], **zeros)


def outputs(stack: Stack, classifier: Any, rows: Any) -> Tensor:
    """In place of the outputs on the device: zeros on the host."""
    with torch.no_grad():
        return torch.zeros_like(stack._chunked_outputs(classifier.eval(), rows), dtype=torch.float64, device="cpu")


def training_rows(stack: Stack, position: int) -> Tensor:
    """In place of the training rows that a network looks at."""
    width = stack.networks.columns.n_encoded
    return torch.arange(7.0 * width).view(7, width)


def strict_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let CUDA refuse all that the host would wait for in the steps of an epoch."""
    training_step = StackLoop.training_step

    def strict(*given: Any) -> None:
        with warnings.catch_warnings(action="ignore"):
            torch.cuda.set_sync_debug_mode("error")
        try:
            training_step(*given)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(StackLoop, "training_step", strict)


def computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of one epoch on ``meta``. It has no generators, so the processor's are used, no
    autocast, and nothing to wait for."""
    generator = torch.Generator
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch, "Generator", lambda *_: generator())
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda _: None)
    monkeypatch.setattr(engine_stack, "fit", one_epoch)
    monkeypatch.setattr(Stack, "outputs", outputs)
    monkeypatch.setattr(Stack, "_training_rows", training_rows)
    monkeypatch.setattr(Stack, "_target_parameters", torch.zeros(2, 0, dtype=torch.float64))


@pytest.fixture(params=[DEVICE, pytest.param("cuda", marks=pytest.mark.gpu)])
def on_device(
    request: pytest.FixtureRequest, patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Makes stacks of two trials with a small network on the device."""
    (computes_nothing if request.param == DEVICE else strict_steps)(monkeypatch)

    def make(network: str = "mlp", **given: Any) -> Stack:
        return make_stack(patients, range(2), network=made_network(network), device=request.param, **given)

    return make


def pretrain(stack: Stack, chosen: Pretext) -> Fit:
    settings = PretrainSettings(monitor="error" if chosen.has_error else "loss", validation_passes=2, **SETTINGS)
    fit = stack.pretrain(settings, chosen)
    # The edges of bins may be infinite.
    assert not any(weight.isnan().any() for weight in fit.weights.values())
    return fit


@pytest.mark.parametrize(("name", "loss", "corruption", "selection"), PRETEXTS)
@pytest.mark.slow
def test_pretexts_losses_corruptions_and_selections(
    on_device: Any, name: str, loss: str | None, corruption: str, selection: str
) -> None:
    chosen = made_pretext(name, loss=loss, corruption=corruption, selection=selection)
    pretrain(on_device(fit_on="train"), chosen)


@pytest.mark.parametrize(("network", "method"), NETWORKS)
@pytest.mark.slow
def test_networks_and_methods(on_device: Any, network: str, method: str) -> None:
    stack = on_device(network, regime=Semi25())
    encoder = pretrain(stack, task(views="both")).part("encoder")
    settings = FinetuneSettings(class_weight="balanced", **SETTINGS)
    outcome = made(method).run(stack, SupervisedPhase(settings, encoder))
    np.testing.assert_allclose(outcome.predictions.sum(axis=2), 1, atol=1e-6)
