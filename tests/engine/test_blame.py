"""A part of a user's own that goes wrong while it trains is named, and one of ours is not."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption import SelectiveCorruption
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.methods import SingleFitMethod, SupervisedPhase
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.stacks import MakeStack, task

SHORT: dict[str, Any] = {"max_epochs": 3, "batch_size": 46}


@dataclass
class LateView(SelectiveCorruption):
    """Its third column is NaN from the fifth step on."""

    def replacement(self, x: Tensor, source: Any, random: Any) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        wrong = torch.zeros(x.shape[-1])
        wrong[2] = math.nan if self.calls > 4 else 0.0
        return x + wrong


@dataclass
class LateLoss(ContrastiveLoss):
    """It is infinite from the fifth step on."""

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        loss = (first - second).square().mean(dim=(-2, -1))
        return loss * math.inf if self.calls > 4 else loss


@dataclass
class LateBatch(SingleFitMethod):
    """Its rows are NaN."""

    def make_batch(self, rows: Any, targets: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return rows.encoded * math.nan, targets, weights


@pytest.mark.parametrize(
    ("pretext", "words"),
    [
        (
            task(LateView()),
            r"LateView \(.*test_blame.LateView\) gives nan in column 3 of the table, at step \d+ or before",
        ),
        (
            task(None, LateLoss()),
            r"The loss by LateLoss \(.*test_blame.LateLoss\) is not finite at step \d+ or before",
        ),
    ],
)
def test_a_pretraining_whose_trials_all_diverge_names_the_users_part(
    patients: Table, make_stack: MakeStack, pretext: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        make_stack(patients, [0, 1]).pretrain(PretrainSettings(**SHORT), pretext)


def test_a_method_whose_rows_are_not_finite_is_named(patients: Table, make_stack: MakeStack) -> None:
    with pytest.raises(UsageError, match=r"LateBatch \(.*\) gives nan in column 1 of the table, .* of fine-tuning"):
        LateBatch().run(make_stack(patients, [0, 1]), SupervisedPhase(FinetuneSettings(**SHORT)))


def test_trials_that_diverge_with_parts_of_ours_are_marked_as_before(patients: Table, make_stack: MakeStack) -> None:
    fit = make_stack(patients, [0, 1]).pretrain(PretrainSettings(learning_rate=1e12, **SHORT), task(None, InfoNCE()))
    assert fit.diverged.dtype == bool
