"""The steps that `StackModule` takes itself, against those that Lightning would take, a mini-batch at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from scarf_lightning.data.datamodule import Batch, Examples, StackDataModule
from scarf_lightning.data.table import Table
from scarf_lightning.engine import stack as stacks
from scarf_lightning.engine.finetune import FinetuneModule
from scarf_lightning.engine.setup import FitSetup
from scarf_lightning.networks import Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.networks.resnet import ResNet
from scarf_lightning.settings import FitSettings
from tests.stacks import MakeStack


@dataclass
class Loader:
    start: Callable[[], Iterator[Examples]]
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Examples]:
        return self.start()


class BatchByBatch(StackDataModule):
    """Gives Lightning each mini-batch by itself."""

    def train_dataloader(self) -> Loader:  # type: ignore[override]
        return Loader(self.training_examples, self.steps_per_epoch)

    def val_dataloader(self) -> Loader:  # type: ignore[override]
        return Loader(self.validation_examples, len(list(self.validation_examples())))

    def on_after_batch_transfer(self, batch: Examples, dataloader_idx: int) -> Batch:  # type: ignore[override]
        return self.fetch(batch)


class ByLightning(FinetuneModule):
    """Leaves gradients and the optimiser to Lightning."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.automatic_optimization = True

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:  # type: ignore[override]
        losses = self.losses(batch)
        self._add("train_loss", losses.detach(), batch.x.shape[1])
        return losses.sum()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:  # type: ignore[override]
        super().validation_step(iter([batch]), batch_idx)


def by_lightning(setup: FitSetup) -> FinetuneModule:
    return ByLightning(setup.classifier(), **setup.training)


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-mixed"])
def test_training_is_bit_for_bit_lightnings_own(patients: Table, make_stack: MakeStack, precision: str) -> None:
    stack = make_stack(patients, range(3), precision=precision)
    settings = FitSettings(max_epochs=4, batch_size=46)
    fit, _ = stack.finetune(settings, stack.labelled())
    by_batches = replace(stack, datamodule=BatchByBatch(stack.datamodule.table))
    expected, _ = by_batches.finetune(settings, stack.labelled(), make=by_lightning)
    assert fit.curves == expected.curves
    assert len(fit.weights) > 0
    for name, weight in fit.weights.items():
        assert torch.equal(weight, expected.weights[name]), name


def test_adam_is_fused_where_a_trials_share_fills_whole_registers(patients: Table, make_stack: MakeStack) -> None:
    """All layers are 16 wide, but for the last one's three classes: 3 biases are left over."""
    module = stacks.plain(FitSetup(make_stack(patients, range(3)), FitSettings()))
    groups = module.configure_optimizers().param_groups
    sizes = {group["fused"]: {parameter[0].numel() for parameter in group["params"]} for group in groups}
    assert sizes == {True: {12 * 16, 16 * 16, 16, 16 * 3}, False: {3}}
    assert sum(len(group["params"]) for group in groups) == len(list(module.parameters()))


@pytest.mark.parametrize("network", [MLP(width=16), ResNet(width=16)], ids=lambda each: each.name)
def test_what_is_frozen_is_not_trained(patients: Table, make_stack: MakeStack, network: Network) -> None:
    """Nor are the running statistics of its normalisation, which a forward pass in training mode would move."""
    stack = make_stack(patients, range(2), network=network)
    before: dict[str, Tensor] = {}

    def frozen(setup: FitSetup) -> FinetuneModule:
        module = stacks.plain(setup)
        module.classifier.encoder.freeze()
        before.update({name: tensor.detach().clone() for name, tensor in module.state_dict().items()})
        return module

    fit, _ = stack.finetune(FitSettings(max_epochs=2), stack.labelled(), make=frozen)
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, fit.weights[name])}
    assert changed
    assert all(name.startswith("classifier.head") for name in changed)
