"""Methods that change a training step: targets, losses, mixtures, views and dropout."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import torch.nn.functional as F
from torch import Tensor

from scarf_lightning.data.datamodule import Batch
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control, Distill, Dropout, Mixup
from scarf_lightning.networks import Dropout as DropoutLayer
from scarf_lightning.options.settings import FinetuneSettings
from scarf_lightning.randomness import Purpose, StackedGenerator
from tests.stacks import MakeStack, finetune_module

SETTINGS = FinetuneSettings(max_epochs=3, batch_size=46)


class TestMixup:
    @pytest.mark.parametrize(("soft", "weighted"), [(False, False), (True, False), (False, True)])
    def test_loss_is_that_of_mixed_rows_labels_and_weights(self, exact: Stack, soft: bool, weighted: bool) -> None:
        raw = exact.raw(exact.data.labelled[:, :20])
        targets = F.one_hot(torch.from_numpy(exact.data.labels[:, :20]), 3).double()
        if soft:
            targets = 0.8 * targets + 0.2 / 3
        module = finetune_module(exact, FinetuneSettings(), supervision=Mixup()).double()
        weights = torch.linspace(0.5, 3, 20).double().expand(2, -1) if weighted else None
        loss = module.losses(Batch(raw, targets, weights))
        for t, trial in enumerate((0, 1)):
            generator = torch.Generator().manual_seed(exact.streams.seed_of(trial, Purpose.MIXUP))
            share = scipy.stats.beta.ppf(torch.rand(1, 1, generator=generator).item(), 0.2, 0.2)
            partner = torch.randperm(20, generator=generator)
            x, y = module.classifier.encoder.one_hot(raw)[t], targets[t]
            mixed_x, mixed_y = (share * a + (1 - share) * a[partner] for a in (x, y))
            both = torch.stack([mixed_x, mixed_x])  # the networks of both trials; this one's answer is taken
            logits = module.classifier.predict_encoded(both)[t]
            row_losses = F.cross_entropy(logits, mixed_y, reduction="none").detach().numpy()
            mixed = None if weights is None else (share * weights[t] + (1 - share) * weights[t][partner]).numpy()
            assert loss[t].item() == pytest.approx(np.average(row_losses, weights=mixed), rel=1e-9)

    def test_shares_follow_the_beta_distribution_and_a_large_alpha_mixes_evenly(self) -> None:
        random = StackedGenerator([7, 8])
        drawn = torch.cat([Mixup()._share(random, torch.float64).flatten() for _ in range(1000)]).numpy()
        assert scipy.stats.kstest(drawn, "beta", args=(0.2, 0.2)).pvalue > 1e-3
        even = Mixup(1e6)._share(random, torch.float64)
        assert even.shape == (2, 1, 1), "one a mini-batch and trial"
        assert (even - 0.5).abs().max() < 0.01


class TestDropout:
    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
        """What units were before and after some of them were left out, in training."""
        seen: list[tuple[Tensor, Tensor]] = []
        forward = DropoutLayer.forward

        def spied(self: DropoutLayer, x: Tensor) -> Tensor:
            out = forward(self, x)
            if self.training:
                seen.append((x, out))
            return out

        monkeypatch.setattr(DropoutLayer, "forward", spied)
        return seen

    def test_units_are_left_out_between_layers_and_not_of_the_logits(
        self, patients: Table, make_stack: MakeStack, calls: list[tuple[Tensor, Tensor]]
    ) -> None:
        stack = make_stack(patients, [0, 1], width=64)
        classifier = finetune_module(stack, SETTINGS, supervision=Dropout(0.25)).classifier
        x = stack.raw(stack.data.train)
        logits = classifier.train()(x)
        assert len(calls) == 5, "four layers of f, one hidden layer of h"
        for before, after in calls:
            active = before > 0
            dropped = (after == 0)[active].float().mean().item()
            assert dropped == pytest.approx(0.25, abs=0.02)
            kept = active & (after != 0)
            torch.testing.assert_close(after[kept], before[kept] / 0.75)
        masks = (calls[0][1] == 0) & (calls[0][0] > 0)
        assert not torch.equal(masks[0], masks[1]), "each trial leaves out its own"
        assert (logits != 0).all()
        predicted = classifier.eval()(x)
        assert not torch.equal(logits, predicted), "prediction leaves nothing out"
        assert torch.equal(classifier(x), predicted)

    def test_the_methods_rate_arrives_and_a_rate_of_zero_is_control(
        self, patients: Table, make_stack: MakeStack, calls: list[tuple[Tensor, Tensor]]
    ) -> None:
        stack = make_stack(patients, [0], width=64)
        Dropout().run(stack, SupervisedPhase(SETTINGS))
        shares = [(after == 0)[before > 0].double().mean().item() for before, after in calls]
        assert len(shares) == 3 * 3 * 5, "three epochs of three batches, five layers"
        assert np.mean(shares) == pytest.approx(0.04, abs=0.005), "the paper's rate"
        none, control = (m.run(stack, SupervisedPhase(SETTINGS)).predictions for m in (Dropout(0.0), Control()))
        assert np.array_equal(none, control)


def test_distillation_trains_on_soft_labels_of_all_training_rows(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    finetune = Stack.finetune

    def spied(self: Stack, settings: FinetuneSettings, examples: Any, *given: Any, **options: Any) -> Any:
        result = finetune(self, settings, examples, *given, **options)
        seen.append((examples, result[1], options["number"]))
        return result

    monkeypatch.setattr(Stack, "finetune", spied)
    stack = make_stack(patients, [0, 1], regime=Semi25())
    outcome = Distill().run(stack, SupervisedPhase(SETTINGS))
    (first, teacher, first_number), (second, _, second_number) = seen
    assert np.array_equal(first.rows.numpy(), stack.data.labelled)
    assert np.array_equal(first.targets.numpy(), stack.data.labels)
    assert np.array_equal(second.rows.numpy(), stack.data.train), "labelled and unlabelled"
    np.testing.assert_allclose(second.targets.numpy(), stack.predict(teacher, stack.data.train), atol=1e-6)
    assert first_number != second_number, "a fresh model"
    assert outcome.fits.tolist() == [2, 2]
    assert outcome.fit is not None
    assert (outcome.seconds > outcome.fit.seconds).all()
