"""What Algorithm 1 asks of the training loop: which rows are seen, which view is corrupted, what stays the same."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption.strategies import Marginal, Mean
from scarf_lightning.data.table import Table
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.pretext_task import PretextTask
from scarf_lightning.engine.stack_modules import Pretraining
from scarf_lightning.options.settings import PretrainSettings
from tests.promises import assert_same_weights
from tests.stacks import MakeStack, task

EPOCHS = 3


class Spy:
    """Keeps what the encoder is given, apart for training and validation, an entry an epoch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.training: list[list[Tensor]] = []
        self.validation: list[list[Tensor]] = []
        self.raw: list[Tensor] = []
        spy, embed = self, PretextTask._embed
        losses, metrics = Pretraining.losses, Pretraining.validation_metrics
        current: list[list[Tensor]] = []

        def spied_embed(task: PretextTask, x: Tensor) -> Tensor:
            current[-1].append(x.detach().clone())
            return embed(task, x)

        def spied_losses(module: Pretraining, batch: Any) -> Tensor:
            current.append([])
            spy.raw.append(batch.x)
            out = losses(module, batch)
            spy.training.append(current[-1])
            return out

        def spied_metrics(module: Pretraining, batch: Any) -> dict[str, Tensor]:
            current.append([])
            out = metrics(module, batch)
            spy.validation.append(current[-1])  # the clean rows first
            return out

        monkeypatch.setattr(PretextTask, "_embed", spied_embed)
        monkeypatch.setattr(Pretraining, "losses", spied_losses)
        monkeypatch.setattr(Pretraining, "validation_metrics", spied_metrics)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    return Spy(monkeypatch)


def pretrain(table: Table, make_stack: MakeStack, corruption: Any = None, **settings: Any) -> Fit:
    stack = make_stack(table, [0, 1])
    chosen = {"max_epochs": EPOCHS, "batch_size": 46, "patience": None} | settings
    return stack.pretrain(PretrainSettings(**chosen), task(corruption))


def test_each_epoch_shows_every_training_row_once_with_a_fresh_view(
    patients: Table, make_stack: MakeStack, spy: Spy
) -> None:
    """One view is corrupted, the other is the row itself, and no other row is seen."""
    pretrain(patients, make_stack)
    stack = make_stack(patients, [0, 1])
    one_hot, training = stack.networks.encoder([0]).one_hot, stack.raw(stack.data.train)
    assert [batch.shape[1] for batch in spy.raw] == [46, 46, 47] * EPOCHS, "one row joins the batch before"
    changes = []
    for start in range(0, 3 * EPOCHS, 3):
        seen = torch.cat(spy.raw[start : start + 3], dim=1)
        for t in range(2):
            assert sorted(seen[t].tolist()) == sorted(training[t].tolist())
        both = [views for (views,) in spy.training[start : start + 3]]
        clean, corrupted = (torch.cat([each.chunk(2, dim=1)[view] for each in both], dim=1) for view in (0, 1))
        assert torch.equal(clean, one_hot(seen))
        # In the order of the rows, to compare epochs.
        changes.append((corrupted - clean)[0][seen[0].sum(dim=1).argsort()])
    assert not torch.equal(spy.raw[0], spy.raw[3]), "in another order each epoch"
    assert changes[0].any()
    assert not torch.equal(changes[0], changes[1])


@pytest.mark.parametrize("corruption", [Marginal(), Mean()])
def test_validation_views_never_change(patients: Table, make_stack: MakeStack, spy: Spy, corruption: Any) -> None:
    pretrain(patients, make_stack, corruption)
    assert len(spy.validation) == EPOCHS, "twenty validation rows are one batch"
    clean, views = spy.validation[0]
    assert clean.shape[1] == 20
    assert views.shape[1] == 200, "ten passes"
    for other_clean, other_views in spy.validation[1:]:
        assert torch.equal(other_clean, clean)
        assert torch.equal(other_views, views)
    stack = make_stack(patients, [0, 1])
    rows = stack.raw(stack.data.validation)
    assert torch.equal(clean, stack.networks.encoder([0]).one_hot(rows)), "in their order"
    passes = views.chunk(10, dim=1)
    assert not torch.equal(passes[0], passes[1]), "each pass has views of its own"


def test_labels_are_not_seen(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    shuffled = replace(patients, labels=patients.labels[::-1].copy())
    relabelled = replace(stack, table=shuffled)
    settings = PretrainSettings(max_epochs=1)
    fits = [s.pretrain(settings, task()) for s in (stack, relabelled)]
    assert_same_weights(fits[0].weights, fits[1].weights)
