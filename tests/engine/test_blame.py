"""A part of a user's own that goes wrong while it trains is named, with the step and the column."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.corruption import SelectiveCorruption
from scarf_lightning.corruption.strategies import Exact, Marginal
from scarf_lightning.data.table import Table
from scarf_lightning.engine.fault_finder import FaultFinder
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.stack_modules import Pretraining
from scarf_lightning.errors import UsageError
from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.methods import SingleFitMethod, SupervisedPhase
from scarf_lightning.methods.fine_tuning import Cotrain
from scarf_lightning.networks import Network
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.pretexts.pretext import Views
from scarf_lightning.pretexts.scarf import OfOutputs
from tests.stacks import MakeStack, task

SHORT: dict[str, Any] = {"max_epochs": 3, "batch_size": 46, "validate_every": 3}
"""Three steps an epoch, and one validation at the end: the fifth call of a part is the fifth step."""
LATE = 5
"""The call from which on a part is wrong."""


def is_late(part: Any) -> bool:
    part.calls = getattr(part, "calls", 0) + 1
    return bool(part.calls >= LATE)


@dataclass
class LateView(SelectiveCorruption):
    """Its third column is NaN in the fifth call, in all trials or in the last one."""

    last_alone: bool = False

    def replacement(self, x: Tensor, source: Any, random: Any) -> Tensor:
        wrong = torch.zeros_like(x)
        if is_late(self) and self.calls == LATE:  # type: ignore[attr-defined]
            wrong[-1 if self.last_alone else slice(None), :, 2] = math.nan
        return x + wrong


@dataclass
class NarrowView(SelectiveCorruption):
    """It loses a column in the fifth step."""

    def __call__(self, x: Tensor, source: Any, random: Any, selection: Any) -> tuple[Tensor, Tensor]:
        view, mask = super().__call__(x, source, random, selection)
        return (view[..., 1:], mask[..., 1:]) if is_late(self) else (view, mask)

    def replacement(self, x: Tensor, source: Any, random: Any) -> Tensor:
        return x


@dataclass
class LateLoss(ContrastiveLoss):
    """It is infinite from the fifth step on."""

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        loss = (first - second).square().mean(dim=(-2, -1))
        return loss * math.inf if is_late(self) else loss


@dataclass
class LateGradient(ContrastiveLoss):
    """Its gradient is NaN in the fifth step, and the loss of that step is finite."""

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        loss = (first - second).square().mean(dim=(-2, -1))
        return loss + (loss * 0).sqrt() if is_late(self) else loss


@dataclass
class LongLoss(ContrastiveLoss):
    """It has a number for each row."""

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        return (first - second).square().mean(dim=-1)


@dataclass
class LateBatch(SingleFitMethod):
    """Its rows are NaN."""

    def make_batch(self, rows: Any, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return rows.encoded * math.nan, targets, weights


@dataclass
class NarrowBatch(SingleFitMethod):
    """Its rows lack a column."""

    def make_batch(self, rows: Any, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return rows.encoded[..., 1:], targets, weights


class LateLayer(nn.Module):
    """It divides by 0 from the fifth step on."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 4)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += self.training
        found: Tensor = self.linear(x)
        return found / 0 if self.calls >= LATE else found


@dataclass
class LateNetwork(Network):
    """Its layer is wrong later."""

    def build(self, columns: Any, data: Any) -> nn.Module:
        return LateLayer(columns.n_encoded)


@dataclass
class LateHead(OfOutputs):
    """Its g is wrong later. A class that has the name of a task would be another task of all tests."""

    def make_views(self, rows: Any) -> Views:
        return Views((rows.encoded, self.corrupted(rows)[0]))

    def head(self, width: int, columns: Any, layers: Any) -> nn.Module:
        return LateLayer(width)


def pretrain(stack: Stack, corruption: Any, loss: Any = None) -> Any:
    return stack.pretrain(PretrainSettings(**SHORT), task(corruption, loss or InfoNCE()))


@pytest.mark.parametrize(
    ("corruption", "loss", "words"),
    [
        (LateView(), None, "LateView (test_blame.LateView) gives nan in the column 'x2' at step 5 of"),
        (None, LateLoss(), "The loss by LateLoss (test_blame.LateLoss) is not finite at step 5 of"),
        (
            None,
            LateGradient(),
            "Weights are not finite at step 6 of pre-training, though the losses before it are: the gradient thr",
        ),
        (NarrowView(), None, "NarrowView) gives a view of the shape (2, 46, 11) for rows of the shape (2, 46, 12)"),
        (None, LongLoss(), "train loss by LongLoss (test_blame.LongLoss) has the shape (2, "),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_part_that_spoils_a_pretraining_is_named_with_its_step_and_column(
    patients: Table, make_stack: MakeStack, corruption: Any, loss: Any, words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        pretrain(make_stack(patients, [0, 1]), corruption, loss)
    print(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (LateBatch(), "LateBatch (test_blame.LateBatch) gives nan in the column 'x0' at step 1 of fine-tuning"),
        (NarrowBatch(), "NarrowBatch (test_blame.NarrowBatch) gives inputs of the shape (2, "),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_method_that_spoils_its_batch_is_named(
    patients: Table, make_stack: MakeStack, method: Any, words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        method.run(make_stack(patients, [0, 1]), SupervisedPhase(FinetuneSettings(**SHORT)))
    assert words in str(refused.value)


def test_a_network_that_spoils_its_outputs_is_named(patients: Table, make_stack: MakeStack) -> None:
    with pytest.raises(UsageError, match=r"The network by LateLayer \(.*\) gives numbers that .* at step 5 of"):
        pretrain(replace(make_stack(patients, [0, 1]), network=LateNetwork()), None)


def test_a_head_that_spoils_its_outputs_in_cotraining_is_named(patients: Table, make_stack: MakeStack) -> None:
    method = Cotrain(LateHead(Marginal(), Exact(), InfoNCE()), 0.5)
    with pytest.raises(UsageError, match=r"The network by LateLayer \(.*\) gives numbers that .* at step 5 of fine-t"):
        method.run(make_stack(patients, [0, 1]), SupervisedPhase(FinetuneSettings(**SHORT)))


def test_a_part_that_spoils_some_trials_is_named_and_the_others_train_on(
    patients: Table, make_stack: MakeStack
) -> None:
    stack = make_stack(patients, [3, 4, 5])
    fit = pretrain(stack, LateView(last_alone=True))
    assert fit.diverged.tolist() == [False, False, True]
    assert fit.epochs.tolist() == [3, 3, 2]
    [sentence] = stack.faults
    assert "gives nan in the column 'x2' at step 5 of pre-training" in sentence
    assert sentence.endswith("A trial that it spoils has diverged, and is in no mean.")


def test_nothing_is_looked_at_where_all_parts_are_ours(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    module = Pretraining()
    stack.begin_pretraining(module, PretrainSettings(**SHORT), task())
    assert not FaultFinder("pre-training", module, stack.faults).is_needed
    assert not module.keeps_evidence


def test_trials_that_diverge_with_parts_of_ours_are_marked_as_before(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    fit = stack.pretrain(PretrainSettings(learning_rate=1e12, epsilon=1e-30, **SHORT), task())
    assert (fit.diverged.tolist(), stack.faults) == ([True, True], [])
