"""The steps of an epoch, and what a fit is weighted by and watched for."""

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler

from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.data.trials import Noise30, Regime, Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.stack_modules import (
    TensorDecayAdam,
    TensorDecayAdamW,
    clip_each_trial,
    level,
    share_done,
    warmth,
)
from scarf_lightning.engine.supervision import Supervision
from scarf_lightning.errors import UsageError
from scarf_lightning.methods.fine_tuning import Dropout as DropoutMethod
from scarf_lightning.methods.fine_tuning import LabelSmoothing
from scarf_lightning.metrics import metric_named
from scarf_lightning.networks import Dropout, Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.networks.residual import ResNet
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.promises import assert_same_weights
from tests.stacks import MakeStack, finetune_module, task, unbalanced


@pytest.mark.parametrize(
    ("options", "of_rates", "of_shares"),
    [
        ({}, False, False),
        ({"schedule": "cosine"}, True, False),
        ({"warmup_steps": 3}, True, False),
        ({"dropout_schedule": "cosine"}, False, True),
    ],
)
def test_what_a_schedule_changes_is_a_tensor_in_a_capture(
    patients: Table, make_stack: MakeStack, options: dict[str, Any], of_rates: bool, of_shares: bool
) -> None:
    """A graph would freeze a number for good. The fused Adam takes no other tensor than one in single precision."""
    stack = make_stack(patients, range(2), network=ResNet(width=16))
    module = finetune_module(stack, FinetuneSettings(learning_rate=0.25, **options))
    torch.set_default_dtype(torch.float64)
    try:
        module.prepare_capture()
        rates = [group["lr"] for group in module.make_optimizer(captured=True).param_groups]
    finally:
        torch.set_default_dtype(torch.float32)
    shares = [layer.share for layer in module.modules() if isinstance(layer, Dropout)]

    assert {float(rate) for rate in rates} == {0.25}
    assert {getattr(rate, "dtype", None) for rate in rates} == {torch.float32 if of_rates else None}
    assert {isinstance(share, Tensor) for share in shares} == {of_shares}


def test_a_step_is_fused_where_each_trial_fills_whole_registers(patients: Table, make_stack: MakeStack) -> None:
    module = finetune_module(make_stack(patients, range(3), network=MLP(width=16)), FinetuneSettings())
    groups = module.make_optimizer().param_groups
    assert {group["fused"] for group in groups} == {True, False}
    for group in groups:
        assert {parameter[0].numel() % 16 == 0 for parameter in group["params"]} == {group["fused"]}


@pytest.mark.parametrize(
    ("network", "supervision"),
    [(MLP(width=16), Supervision()), (MLP(width=16), DropoutMethod(0.3)), (ResNet(width=16), Supervision())],
    ids=["plain", "dropout", "normalised"],
)
def test_a_frozen_encoder_stays_and_the_head_learns(
    patients: Table, make_stack: MakeStack, network: Network, supervision: Supervision
) -> None:
    """So do the running statistics of its normalisation, which a forward pass in training mode would move."""
    stack = make_stack(patients, range(2), network=network)
    pretrained = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    settings = FinetuneSettings(max_epochs=2, freeze="encoder", restore_best=False)
    fit, _ = stack.finetune(settings, stack.labelled(), pretrained, supervision=supervision)
    assert_same_weights(fit.part("classifier.encoder"), pretrained)
    for name, parameter in stack.networks.head([0, 1]).named_parameters():
        assert not torch.equal(fit.weights[f"classifier.head.{name}"], parameter)


SETTINGS = FinetuneSettings(max_epochs=3, batch_size=46)


@pytest.mark.parametrize("regime", [Noise30(1.0), Semi25()], ids=lambda each: each.name)
def test_training_is_stopped_by_the_true_labels_of_the_validation_rows(
    patients: Table, make_stack: MakeStack, regime: Regime
) -> None:
    """The kept weights are those of the best epoch; probabilities are those of each class."""
    stack = make_stack(patients, range(3), regime=regime)
    fit, classifier = stack.finetune(FinetuneSettings(max_epochs=8, batch_size=46), stack.labelled())
    probabilities = stack.predict(classifier, stack.data.validation)
    assert (probabilities.shape, probabilities.dtype) == ((3, 20, 3), np.float64)
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-12)
    error = (probabilities.argmax(axis=2) != patients.labels[stack.data.validation]).mean(axis=1)
    lowest = [min(r["validation_error"] for r in fit.curves if r["trial"] == trial) for trial in range(3)]
    np.testing.assert_allclose(error, lowest, atol=1e-12)


def test_a_fit_starts_from_the_pretrained_encoder_and_leaves_it_alone(patients: Table, make_stack: MakeStack) -> None:
    """Methods are paired in all that they share: the heads of control and of what was pre-trained start alike."""
    stack = make_stack(patients, [0, 4])
    pretrained = stack.pretrain(PretrainSettings(max_epochs=2), task()).part("encoder")
    before = {name: weight.clone() for name, weight in pretrained.items()}
    still = replace(SETTINGS, max_epochs=1, learning_rate=1e-30)
    scarf = stack.finetune(still, stack.labelled(), pretrained)[0]
    control, second = (stack.finetune(still, stack.labelled(), number=number)[0] for number in (0, 1))
    moved, _ = stack.finetune(replace(SETTINGS, restore_best=False), stack.labelled(), pretrained)
    for name, weight in before.items():
        assert torch.equal(pretrained[name], weight)
        torch.testing.assert_close(scarf.weights[f"classifier.encoder.{name}"], weight)
        assert not torch.equal(moved.weights[f"classifier.encoder.{name}"], weight), "all weights of f are trained"
    assert_same_weights(control.part("classifier.head"), scarf.part("classifier.head"), rounding=1e-6)
    first_layer = "classifier.head.layers.0.weight"
    assert not torch.equal(second.weights[first_layer], control.weights[first_layer]), "another fit, another head"


EPOCHS = 5


def trained_alone(stack: Stack, position: int, settings: FinetuneSettings) -> dict[str, torch.Tensor]:
    """Weights of one trial after so many steps on all of its rows at once."""
    alone = stack.of([position])
    classifier = finetune_module(alone, settings).classifier
    classifier.to(stack.hardware.dtype)
    x, labels = alone.raw(alone.data.labelled), torch.from_numpy(alone.data.labels[0])
    parameters = dict(classifier.named_parameters())
    spared = [name for name in parameters if name.endswith("bias")] if settings.decayed == "weights" else []
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    decayed, others = optimizer_groups = [
        {"params": [weight for name, weight in parameters.items() if name not in spared]},
        {"params": [parameters[name] for name in spared], "weight_decay": 0.0},
    ]
    betas = (0.9, settings.beta2)
    optimizer = kind(optimizer_groups, betas=betas, eps=settings.epsilon, weight_decay=settings.weight_decay)
    for step in range(EPOCHS):
        done = step / EPOCHS
        rate = settings.learning_rate * level(settings.schedule, done) * warmth(step, settings.warmup_steps)
        decayed["lr"] = others["lr"] = rate
        decayed["weight_decay"] = settings.weight_decay * level(settings.weight_decay_schedule, done)
        optimizer.zero_grad()
        F.cross_entropy(classifier(x)[0], labels, label_smoothing=settings.label_smoothing).backward()
        if settings.gradient_clip is not None:
            clip_grad_norm_(parameters.values(), settings.gradient_clip)
        optimizer.step()
    return {f"classifier.{name}": parameter.detach()[0] for name, parameter in parameters.items()}


@pytest.mark.parametrize(
    "options",
    [
        {"weight_decay": 0.01, "gradient_clip": 0.3, "schedule": "cosine"},
        {"beta2": 0.9, "schedule": "flat_cos"},
        {"optimizer": "adamw", "weight_decay": 2.0, "decayed": "weights", "weight_decay_schedule": "flat_cos"},
        {"weight_decay": 0.1, "decayed": "weights"},
        {"optimizer": "adamw", "weight_decay": 0.5},
        {"warmup_steps": 3, "schedule": "coslog4"},
        {"gradient_clip": 0.05},
        {"label_smoothing": 0.2},
    ],
    ids=" ".join,
)
def test_each_trial_is_trained_as_by_torchs_optimiser_alone_and_each_option_makes_a_difference(
    patients: Table, make_stack: MakeStack, options: dict[str, Any]
) -> None:
    stack = make_stack(patients, range(2), precision="64-true")
    plain = FinetuneSettings(max_epochs=EPOCHS, patience=None, restore_best=False, batch_size=1000, learning_rate=0.01)
    settings = replace(plain, **options)

    fit, _ = stack.finetune(settings, stack.labelled())

    for position in range(2):
        usual = trained_alone(stack, position, plain)
        for name, weight in trained_alone(stack, position, settings).items():
            torch.testing.assert_close(fit.weights[name][position], weight, rtol=0, atol=1e-9)
        assert any((fit.weights[name][position] - weight).abs().max() > 1e-6 for name, weight in usual.items())


def test_a_parameter_that_is_not_trained_has_no_part_in_the_norm_of_gradients() -> None:
    frozen, *trained = (torch.zeros(1, 2) for _ in range(3))
    for weight in trained:
        weight.grad = torch.ones(1, 2)
    clip_each_trial([frozen, *trained], 1.0)
    assert trained[1].grad is not None
    torch.testing.assert_close(trained[1].grad, torch.full((1, 2), 0.5))


@pytest.mark.parametrize(
    ("ours", "plain"), [(TensorDecayAdam, torch.optim.Adam), (TensorDecayAdamW, torch.optim.AdamW)]
)
def test_a_decay_in_a_tensor_is_the_plain_one(ours: type[torch.optim.Adam], plain: type[torch.optim.Adam]) -> None:
    first, second = (torch.linspace(-1, 1, 5).requires_grad_() for _ in range(2))
    optimizers = {
        ours([{"params": [first], "tensor_decay": torch.tensor(0.5)}], weight_decay=0.0): first,
        plain([second], weight_decay=0.5): second,
    }
    for _ in range(3):
        for optimizer, weight in optimizers.items():
            # Adam divides by the size of a gradient, so a decay shows where it turns one around.
            weight.grad = torch.full_like(weight, 0.1)
            optimizer.step()
    torch.testing.assert_close(first, second)


WATCHING_SETTINGS = FinetuneSettings(max_epochs=6, batch_size=46, patience=None)


def test_balanced_classes_train_on_the_cross_entropy_that_torch_weights_and_leave_validation_alone(
    patients: Table, make_stack: MakeStack
) -> None:
    stack = unbalanced(make_stack(patients, [2], precision="64-true"))
    settings = FinetuneSettings(max_epochs=1, batch_size=1000, learning_rate=1e-30, class_weight="balanced")

    fit, classifier = stack.finetune(settings, stack.labelled())
    plain, _ = stack.finetune(replace(settings, class_weight="none"), stack.labelled())

    labels = torch.from_numpy(stack.data.labels[0])
    weight = len(labels) / (3 * torch.bincount(labels, minlength=3).double())
    logits = stack.outputs(classifier, stack.data.labelled)[0]
    assert fit.curves[0]["train_loss"] == pytest.approx(F.cross_entropy(logits, labels, weight).item(), abs=1e-9)
    assert plain.curves[0]["train_loss"] != fit.curves[0]["train_loss"]
    assert plain.curves[0]["validation_loss"] == fit.curves[0]["validation_loss"]


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_one_hot_soft_targets_train_and_weigh_as_hard_ones(
    patients: Table, make_stack: MakeStack, class_weight: Literal["none", "balanced"]
) -> None:
    stack = unbalanced(make_stack(patients, [0, 1], precision="64-true"))
    settings = replace(SETTINGS, class_weight=class_weight)
    soft = stack.examples(stack.data.labelled, np.eye(3)[stack.data.labels])

    (hard_fit, _), (soft_fit, _) = stack.finetune(settings, stack.labelled()), stack.finetune(settings, soft)

    assert_same_weights(hard_fit.weights, soft_fit.weights, rounding=1e-9)


@pytest.mark.parametrize("metric", [metric.name for metric in Classes.metrics()])
def test_a_metric_is_measured_on_all_validation_rows_and_its_best_epoch_is_kept(
    patients: Table, make_stack: MakeStack, metric: str
) -> None:
    stack = make_stack(patients, [3])
    fit, classifier = stack.finetune(replace(WATCHING_SETTINGS, metric=metric), stack.labelled())

    values = [record[f"validation_{metric}"] for record in fit.curves]
    assert len(values) == 6
    best = int(np.argmax(metric_named(metric).sign * np.array(values)))
    assert fit.best_epochs.tolist() == [best + 1]
    (probabilities,) = stack.predict(classifier, stack.data.validation)
    direct = metric_named(metric).function(probabilities, patients.labels[stack.data.validation[0]])
    assert direct == pytest.approx(values[best], abs=1e-6)


def test_a_metric_that_the_validation_rows_do_not_define_is_refused(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [4])
    of_one_class = stack.data.validation_labels[0] == 1
    rows, labels = (each[:, of_one_class] for each in (stack.data.validation, stack.data.validation_labels))
    alone = replace(stack, data=replace(stack.data, validation=rows, validation_labels=labels))

    with pytest.raises(UsageError, match=r"finetune.metric=auroc is not defined on the validation rows of trial 4"):
        alone.finetune(replace(WATCHING_SETTINGS, metric="auroc"), alone.labelled())


@pytest.mark.parametrize(
    ("options", "epochs", "best"),
    [
        # 139 rows in batches of 46 are three steps an epoch. A network that stands still never improves on its first.
        *[
            ({"learning_rate": 1e-30, "patience": 3, "min_steps": steps}, of, 1)
            for steps, of in ((0, 5), (15, 5), (16, 6))
        ],
        pytest.param({"max_epochs": 2, "min_steps": 30}, 10, None, id="steps asked for go before the most epochs"),
        pytest.param({"max_steps": 2}, 1, None, id="whole epochs"),
        pytest.param({"max_epochs": 2, "max_steps": 31}, 11, None, id="in place of the most epochs"),
        pytest.param({"max_steps": 6, "validate_every": 10}, 2, 2, id="rarer validation judges the last epoch"),
    ],
)
def test_a_fit_takes_the_steps_that_it_is_asked_for(
    patients: Table, make_stack: MakeStack, options: dict[str, Any], epochs: int, best: int | None
) -> None:
    stack = make_stack(patients, [0, 1])
    settings = FinetuneSettings(**{"batch_size": 46, "max_epochs": 200, "patience": None} | options)
    fit, _ = stack.finetune(settings, stack.labelled())
    assert fit.epochs.tolist() == [epochs] * 2
    assert fit.steps.tolist() == [3 * epochs] * 2
    assert best is None or fit.best_epochs.tolist() == [best] * 2


def test_without_validation_rows_the_length_is_fixed_and_the_last_weights_are_kept(
    patients: Table, make_stack: MakeStack
) -> None:
    """Of both phases. They are the weights that the same epochs leave with validation rows."""
    stack = make_stack(patients, range(2))
    none = {name: getattr(stack.data, name)[:, :0] for name in ("watched", "validation", "validation_labels")}
    alone = replace(stack, data=replace(stack.data, **none))
    settings = FinetuneSettings(max_epochs=5, batch_size=46, patience=0)
    pretraining = PretrainSettings(max_epochs=5, batch_size=46, patience=0)
    last = {"patience": None, "restore_best": False}

    fit, _ = alone.finetune(settings, alone.labelled())
    pretrained = alone.pretrain(pretraining, task())
    watched, _ = stack.finetune(replace(settings, **last), stack.labelled())
    pretrained_watched = stack.pretrain(replace(pretraining, **last), task())

    for got, expected in ((fit, watched), (pretrained, pretrained_watched)):
        assert got.epochs.tolist() == got.best_epochs.tolist() == [5, 5]
        assert not any("validation_loss" in record for record in got.curves)
        assert_same_weights(got.weights, expected.weights)


@pytest.mark.parametrize(("fixed_below", "steps"), [(140, 27), (139, 15)])
def test_a_fit_on_few_rows_has_a_fixed_length(
    patients: Table, make_stack: MakeStack, fixed_below: int, steps: int
) -> None:
    """139 rows, in three steps an epoch."""
    stack = make_stack(patients, [0])
    settings = FinetuneSettings(max_epochs=5, batch_size=46, patience=None, fixed_below=fixed_below, fixed_steps=27)
    fit, _ = stack.finetune(settings, stack.labelled())
    assert fit.steps.tolist() == [steps]
    measured = ["validation_loss" in record for record in fit.curves]
    assert measured == ([False] * 8 + [True] if steps == 27 else [True] * 5)


def test_dropout_follows_its_schedule(patients: Table, make_stack: MakeStack) -> None:
    module = finetune_module(
        make_stack(patients, [0], network=ResNet(width=16)), FinetuneSettings(dropout_schedule="flat_cos")
    )
    module.scheduled_epochs = 4
    module.follow_schedules(3, module.make_optimizer())
    shares = [layer.share for layer in module.modules() if isinstance(layer, Dropout)]
    assert shares == pytest.approx([0.5] * len(shares))
    layer = Dropout(0.4)
    layer.share = 0.5
    assert (layer(torch.ones(100, 1000)) == 0).double().mean() == pytest.approx(0.2, abs=0.01)


def test_label_smoothing_is_the_methods_own(patients: Table, make_stack: MakeStack) -> None:
    """As a method it replaces the option of the phase, and both are the same loss."""
    stack, settings = make_stack(patients, [0, 1], precision="64-true"), SETTINGS
    by_phase, _ = stack.finetune(replace(settings, label_smoothing=0.1), stack.labelled())
    method = LabelSmoothing(0.1)
    for smoothing in (0.0, 0.3):
        phase = replace(settings, label_smoothing=smoothing)
        by_method, _ = stack.finetune(phase, method.examples(stack), supervision=method)
        assert_same_weights(by_method.weights, by_phase.weights, rounding=1e-9)


def test_numbers_are_not_smoothed(patients: Table, make_stack: MakeStack) -> None:
    labels = patients.labels.astype(np.float64)
    stack = make_stack(replace(patients, target=Number("y"), labels=labels), [0])
    plain, smoothed = (
        stack.finetune(replace(SETTINGS, label_smoothing=share), stack.labelled())[0].curves for share in (0.0, 0.2)
    )
    assert plain == smoothed


def test_a_loss_of_another_shape_is_refused(patients: Table, make_stack: MakeStack) -> None:
    class TooFew(Supervision):
        def compute_loss(self, logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
            return logits.square().mean()

    stack = make_stack(patients, [0, 1])
    with pytest.raises(
        UsageError, match=r"train loss by TooFew \(.*\) has the shape \(\) instead of one value for each"
    ):
        stack.finetune(FinetuneSettings(max_epochs=1), stack.labelled(), supervision=TooFew())


TIMES = [step / 40 for step in range(41)]


def rates_of(kind: type[LRScheduler], steps: int, *options: float) -> list[float]:
    """The learning rates of the steps under a scheduler of PyTorch, from 1 on."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = kind(optimizer, *options)  # type: ignore[call-arg]
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_cosine_and_warming_up_are_pytorchs() -> None:
    """From epoch to epoch; by default nothing warms up, and a schedule that is over stays at its end."""
    got = [level("cosine", share_done("cosine", 3 * epoch + 2, 3, 10)) for epoch in range(10)]
    assert got == pytest.approx(rates_of(CosineAnnealingLR, 10, 10))
    assert [warmth(step, 5) for step in range(8)] == pytest.approx(rates_of(LinearLR, 8, 0.2, 1.0, 4))
    assert [warmth(step, 0) for step in range(3)] == [1.0] * 3
    assert share_done("flat_cos", 100, 3, 10) == 1.0


def test_the_second_half_of_flat_cos_is_a_cosine() -> None:
    got = [level("flat_cos", 0.5 + done / 2) for done in TIMES]
    assert got == pytest.approx([level("cosine", done) for done in TIMES])


def test_coslog4_ends_each_cycle_at_zero_after_twice_the_time_of_the_one_before() -> None:
    ends = [0, 1 / 15, 3 / 15, 7 / 15, 1]
    assert [level("coslog4", end) for end in ends] == pytest.approx([0] * 5, abs=1e-12)
    peaks = [(math.sqrt(2) * 2**cycle - 1) / 15 for cycle in range(4)]
    assert [level("coslog4", peak) for peak in peaks] == pytest.approx([1] * 4)
