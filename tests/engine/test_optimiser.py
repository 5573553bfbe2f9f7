"""Options of the optimiser, against PyTorch's own in a loop over single networks."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR

from scarf_lightning.data.table import Table
from scarf_lightning.engine.setup import FitSetup
from scarf_lightning.engine.stack import Stack
from scarf_lightning.settings import FitSettings
from tests.stacks import MakeStack

EPOCHS = 6


def trained_alone(stack: Stack, position: int, settings: FitSettings) -> dict[str, torch.Tensor]:
    """Weights of one trial after so many steps on all of its rows at once."""
    alone = stack.of(position)
    classifier = FitSetup(alone, settings).classifier()
    classifier.to(stack.hardware.dtype)
    x, labels = alone.raw(alone.data.labelled), torch.from_numpy(alone.data.labels[0])
    parameters = list(classifier.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=settings.learning_rate, eps=settings.epsilon, weight_decay=settings.weight_decay
    )
    schedule = CosineAnnealingLR(optimizer, settings.max_epochs) if settings.schedule == "cosine" else None
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(classifier(x)[0], labels).backward()
        if settings.gradient_clip is not None:
            clip_grad_norm_(parameters, settings.gradient_clip)
        optimizer.step()
        if schedule is not None:
            schedule.step()
    return {f"classifier.{name}": parameter.detach()[0] for name, parameter in classifier.named_parameters()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1},
        {"gradient_clip": 0.05},
        {"schedule": "cosine"},
        {"weight_decay": 0.01, "gradient_clip": 0.3, "schedule": "cosine"},
    ],
    ids=" ".join,
)
def test_each_trial_is_trained_as_by_torchs_optimiser_alone(
    patients: Table, make_stack: MakeStack, options: dict[str, Any]
) -> None:
    stack = make_stack(patients, range(3), precision="64-true")
    fixed = {"max_epochs": EPOCHS, "patience": None, "restore_best": False, "batch_size": 1000, "learning_rate": 0.01}
    settings = FitSettings(**fixed, **options)  # type: ignore[arg-type]

    fit, _ = stack.finetune(settings, stack.labelled())

    for position in range(3):
        for name, weight in trained_alone(stack, position, settings).items():
            torch.testing.assert_close(fit.weights[name][position], weight, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "option", [{"weight_decay": 0.1}, {"gradient_clip": 0.05}, {"schedule": "cosine"}], ids=" ".join
)
def test_each_of_them_makes_a_difference(patients: Table, make_stack: MakeStack, option: dict[str, Any]) -> None:
    stack = make_stack(patients, range(2))
    plain, _ = stack.finetune(FitSettings(max_epochs=4), stack.labelled())
    other, _ = stack.finetune(FitSettings(max_epochs=4, **option), stack.labelled())
    assert plain.curves[-1]["train_loss"] != other.curves[-1]["train_loss"]
