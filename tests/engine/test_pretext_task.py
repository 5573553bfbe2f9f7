"""Every pretext task in training: what it computes, and that the stack changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.strategies import (
    Bernoulli,
    Exact,
    Gaussian,
    Joint,
    Marginal,
    Mean,
    Missing,
    NoCorruption,
    Shared,
    SingleRow,
    Zero,
)
from scarf_lightning.data.preprocessing import OneHotEncoding
from scarf_lightning.data.table import Table
from scarf_lightning.engine import pretext_task
from scarf_lightning.engine.fitting import Fit
from scarf_lightning.engine.lifting import load_state
from scarf_lightning.engine.pretext_task import BatchRows, CorruptionSource, PretextTask, StaticViews
from scarf_lightning.engine.stack import Stack
from scarf_lightning.losses.loss import AlignUniform, BarlowTwins, Discrimination, InfoNCE, Reconstruction
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Cotrain, ScarfAugment
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.pretexts import Pretext, Views
from scarf_lightning.pretexts.others import SubTab, Vime
from scarf_lightning.pretexts.scarf import Autoencoder
from scarf_lightning.randomness import Roster, StackedGenerator
from tests.promises import assert_same_numbers, assert_same_start, is_exact
from tests.stacks import MakeStack, task

TASKS = {
    "scarf": task(),
    "both views": task(views="both"),
    "joint": task(Joint()),
    "missing": task(Missing()),
    "single row, shared features": task(SingleRow(), selection=Shared()),
    "zero, Bernoulli": task(Zero(), selection=Bernoulli()),
    "Barlow Twins": task(loss=BarlowTwins()),
    "alignment and uniformity": task(loss=AlignUniform()),
    "auto-encoder": task(NoCorruption(), Reconstruction()),
    "denoising auto-encoder": task(Gaussian(), Reconstruction()),
    "SCARF auto-encoder": task(Marginal(), Reconstruction()),
    "discriminative SCARF": task(Marginal(), Discrimination()),
}
QUICK = PretrainSettings(max_epochs=6, batch_size=46, patience=1)


def assert_trial_is_the_same(alone: Fit, among: Fit, position: int) -> None:
    for name, weight in alone.weights.items():
        assert_same_numbers(weight[0], among.weights[name][position])
    assert alone.epochs[0] == among.epochs[position]
    curve = [record for record in among.curves if record["trial"] == alone.curves[0]["trial"]]
    assert alone.curves == curve


@pytest.mark.parametrize("chosen", TASKS.values(), ids=TASKS)
def test_a_trial_pretrains_alike_in_any_company(patients: Table, make_stack: MakeStack, chosen: Pretext) -> None:
    settings = PretrainSettings(
        max_epochs=6, batch_size=46, patience=0, monitor="error" if chosen.has_error else "loss"
    )
    among = make_stack(patients, range(6)).pretrain(settings, chosen)
    alone = make_stack(patients, [4]).pretrain(settings, chosen)
    assert_trial_is_the_same(alone, among, 4)


@pytest.mark.parametrize("chosen", [*TASKS.values(), Vime(Marginal(), Exact()), SubTab(Marginal(), Exact())], ids=repr)
def test_losses_of_groups_of_trials_are_those_of_the_stack(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, chosen: Pretext
) -> None:
    """So that the similarities of large batches need memory for a group alone."""
    settings = PretrainSettings(max_epochs=2, batch_size=46)
    whole = make_stack(patients, range(5)).pretrain(settings, chosen)
    sizes: list[int] = []
    compute_loss = type(chosen).compute_loss

    def spied(self: Any, outputs: Any, targets: Any) -> Tensor:
        loss = compute_loss(self, outputs, targets)
        sizes.append(len(loss))
        return loss

    monkeypatch.setattr(type(chosen), "compute_loss", spied)
    for limit, expected in ((2 * 47**2, [2, 2, 1]), (1, [1] * 5)):
        sizes.clear()
        monkeypatch.setattr(pretext_task, "SIMILARITIES", limit)
        grouped = make_stack(patients, range(5)).pretrain(settings, chosen)
        assert sizes[: len(expected)] == expected
        for name, weight in whole.weights.items():
            assert_same_numbers(weight, grouped.weights[name])
        if is_exact():
            assert whole.curves == grouped.curves


def cotrained(stack: Stack) -> Fit:
    return Cotrain(task(Missing()), 0.3).run(stack, SupervisedPhase(FinetuneSettings(max_epochs=6, batch_size=46))).fit


def augmented(stack: Stack) -> Fit:
    method = ScarfAugment(Joint(), Exact())
    return method.run(stack, SupervisedPhase(FinetuneSettings(max_epochs=6, batch_size=46))).fit


@pytest.mark.parametrize("train", [cotrained, augmented])
def test_a_trial_fine_tunes_alike_in_any_company(
    patients: Table, make_stack: MakeStack, train: Callable[[Stack], Fit]
) -> None:
    assert_trial_is_the_same(train(make_stack(patients, [4])), train(make_stack(patients, range(6))), 4)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """All that f is given, in order."""
    seen: list[Tensor] = []
    embed = PretextTask._embed

    def spied(pretext_task: PretextTask, x: Tensor) -> Tensor:
        seen.append(x.detach().clone())
        return embed(pretext_task, x)

    monkeypatch.setattr(PretextTask, "_embed", spied)
    return seen


def one_step(stack: Stack, chosen: Pretext) -> Fit:
    """One epoch of one batch."""
    return stack.pretrain(PretrainSettings(max_epochs=1, batch_size=200, restore_best=False), chosen)


def encoded_training_rows(stack: Stack) -> np.ndarray:
    return stack.encoded(stack.data.train).astype(np.float32)


def sorted_rows(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(rows.T)]


def test_with_both_views_no_row_passes_clean(patients: Table, make_stack: MakeStack, calls: list[Tensor]) -> None:
    stack = make_stack(patients, [0])
    one_step(stack, task(views="both"))
    first, second = calls[0].chunk(2, dim=1)
    clean = sorted_rows(encoded_training_rows(stack)[0])
    assert not torch.equal(first, second), "corrupted independently"
    for view in (first, second):
        assert not np.array_equal(sorted_rows(view[0].numpy()), clean)


def test_an_auto_encoder_sees_corrupted_rows_only_and_is_held_to_the_clean_ones(
    patients: Table, make_stack: MakeStack, calls: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[Tensor, Tensor]] = []

    compute_loss = Autoencoder.compute_loss

    def spied(self: Autoencoder, outputs: tuple[Tensor, ...], targets: tuple[Tensor, ...]) -> Tensor:
        assert (len(outputs), len(targets)) == (1, 1)
        held.append((outputs[0].detach(), targets[0]))
        return compute_loss(self, outputs, targets)

    monkeypatch.setattr(Autoencoder, "compute_loss", spied)
    stack = make_stack(patients, [0])
    fit = one_step(stack, task(Gaussian(), Reconstruction()))
    assert calls[0].shape[1] == len(stack.data.train[0])
    output, target = held[0]
    np.testing.assert_array_equal(sorted_rows(target[0].numpy()), sorted_rows(encoded_training_rows(stack)[0]))
    assert output.shape == target.shape, "g is as wide as the encoded row"
    noise = calls[0] - target
    assert 0.4 < noise.std() < 0.6
    expected = (output - target).square().mean().item()
    assert fit.curves[0]["train_loss"] == pytest.approx(expected, rel=1e-5)


def test_the_classical_auto_encoder_sees_the_row_itself(
    patients: Table, make_stack: MakeStack, calls: list[Tensor]
) -> None:
    stack = make_stack(patients, [0])
    one_step(stack, task(NoCorruption(), Reconstruction()))
    np.testing.assert_array_equal(sorted_rows(calls[0][0].numpy()), sorted_rows(encoded_training_rows(stack)[0]))


def test_discriminative_scarf_sees_each_row_twice_and_gives_one_logit(
    patients: Table, make_stack: MakeStack, calls: list[Tensor]
) -> None:
    stack = make_stack(patients, [0])
    fit = one_step(stack, task(Marginal(), Discrimination()))
    clean, corrupted = calls[0].chunk(2, dim=1)
    np.testing.assert_array_equal(sorted_rows(clean[0].numpy()), sorted_rows(encoded_training_rows(stack)[0]))
    assert not torch.equal(clean, corrupted)
    heads = [name for name in fit.weights if name.startswith("head.")]
    assert len(heads) == 6, "two layers and a linear one after them"
    assert fit.weights["head.1.weight"].shape == (1, 16, 1)


def test_missing_values_are_learned_and_kept_with_the_encoder(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    fit = stack.pretrain(QUICK, task(Missing()))
    values = fit.part("encoder")["missing"]
    assert values.shape == (2, 1, stack.networks.columns.n_encoded)
    assert (values != 0).all()
    outcome = Cotrain(task(), 1.0).run(stack, SupervisedPhase(FinetuneSettings(max_epochs=1), fit.part("encoder")))
    assert np.isfinite(outcome.predictions).all()


class TestCotraining:
    def train(self, stack: Stack, weight: float, chosen: Pretext) -> Fit:
        settings = FinetuneSettings(max_epochs=1, batch_size=200, restore_best=False)
        return Cotrain(chosen, weight).run(stack, SupervisedPhase(settings)).fit

    def test_the_loss_is_supervised_plus_weighted(self, patients: Table, make_stack: MakeStack) -> None:
        """In the first step the networks are the same whatever the weight is."""
        stack = make_stack(patients, [0, 1], precision="64-true")
        losses = {
            weight: np.array([r["train_loss"] for r in self.train(stack, weight, task()).curves])
            for weight in (1e-12, 1.0, 3.0)
        }
        pretext = losses[1.0] - losses[1e-12]
        np.testing.assert_allclose(losses[3.0] - losses[1e-12], 3 * pretext, rtol=1e-9)
        assert (np.abs(pretext) > 1e-3).all()

    def test_what_is_weighted_is_the_loss_of_pretraining(self, patients: Table, make_stack: MakeStack) -> None:
        """One batch of all training rows, uncorrupted: the first step is that of pre-training and of the control."""
        stack = make_stack(patients, [0, 1], precision="64-true")
        alone = stack.pretrain(PretrainSettings(max_epochs=1, batch_size=200), task(NoCorruption()))
        with_it, without = (self.train(stack, weight, task(NoCorruption())) for weight in (2.0, 1e-300))
        added = [
            one["train_loss"] - other["train_loss"] for one, other in zip(with_it.curves, without.curves, strict=True)
        ]
        np.testing.assert_allclose(added, [2 * record["train_loss"] for record in alone.curves], rtol=1e-9)

    def test_a_vanishing_weight_is_control(self, patients: Table, make_stack: MakeStack) -> None:
        stack = make_stack(patients, [0], precision="64-true")
        settings = FinetuneSettings(max_epochs=1, batch_size=200, restore_best=False)
        control, _ = stack.finetune(settings, stack.labelled())
        fit = self.train(stack, 1e-300, task())
        assert fit.curves[0]["train_loss"] == pytest.approx(control.curves[0]["train_loss"], rel=1e-12)
        for name, weight in control.weights.items():
            torch.testing.assert_close(fit.weights[name], weight, atol=1e-9, rtol=0)

    @pytest.mark.parametrize("name", ["scarf", "auto-encoder", "denoising auto-encoder", "SCARF auto-encoder"])
    def test_both_heads_are_trained(self, patients: Table, make_stack: MakeStack, name: str) -> None:
        stack = make_stack(patients, [0])
        fit = self.train(stack, 0.1, TASKS[name])
        fresh = self.train(stack, 1e-30, TASKS[name])
        assert any(
            not torch.equal(fit.weights[n], w) for n, w in fresh.weights.items() if n.startswith("pretrain_head")
        )
        assert any("classifier.head" in n for n in fit.weights)


class TestAugmentation:
    def test_training_rows_are_corrupted_and_validation_rows_are_not(
        self, patients: Table, make_stack: MakeStack
    ) -> None:
        stack = make_stack(patients, [0, 1])
        settings = FinetuneSettings(max_epochs=2, batch_size=200, restore_best=False)
        zeros = ScarfAugment(Zero(1.0), Exact())  # every training row becomes nothing but zeros
        fit, classifier = stack.finetune(settings, stack.labelled(), supervision=zeros)
        first_layer = "classifier.encoder.body.layers.0.weight"
        fresh = stack.networks.encoder([0, 1])
        assert torch.equal(fit.weights[first_layer], fresh.body.layers[0].weight), "zeros give it no gradient"
        predicted = stack.predict(classifier, stack.data.validation).argmax(axis=2)
        error = (predicted != patients.labels[stack.data.validation]).mean(axis=1)
        recorded = [record["validation_error"] for record in fit.curves if record["epoch"] == 2]
        np.testing.assert_allclose(recorded, error)


def test_infonce_of_a_pass_is_that_of_its_rows_alone(patients: Table, make_stack: MakeStack) -> None:
    """The passes of a validation batch are not candidates of each other."""
    stack = make_stack(patients, [0], precision="64-true")
    fit = stack.pretrain(PretrainSettings(max_epochs=1, batch_size=200), task(NoCorruption(), InfoNCE()))
    encoder = stack.networks.encoder([0], fit.part("encoder")).double()
    head = stack.networks.pretrain_head([0], task()).double()
    load_state(head, fit.part("head"))
    (z,) = head(encoder(stack.raw(stack.data.validation)))
    assert fit.curves[0]["validation_loss"] == pytest.approx(InfoNCE()(z, z).item(), abs=1e-12)


SETTINGS = PretrainSettings(max_epochs=20, batch_size=8, patience=0)
"""Of twenty validation rows it makes three mini-batches; trials leave at different times."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The raw rows that views are made of, each time."""
    calls: list[Tensor] = []
    make = PretextTask.validation_views

    def counted(pretext_task: PretextTask, raw: Tensor, *args: object, **options: object) -> StaticViews:
        calls.append(raw)
        return make(pretext_task, raw, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PretextTask, "validation_views", counted)
    return calls


@pytest.mark.parametrize(
    "make_task",
    [
        pytest.param(task, id="one view", marks=pytest.mark.slow),
        pytest.param(lambda: task(views="both"), id="both views"),
        pytest.param(lambda: task(loss=Reconstruction()), id="auto-encoder", marks=pytest.mark.slow),
        pytest.param(lambda: task(loss=Discrimination()), id="discriminative", marks=pytest.mark.slow),
        pytest.param(lambda: Vime(Marginal(), Bernoulli()), id="vime"),
    ],
)
def test_keeping_views_changes_no_number(
    make_task: Callable[[], Pretext],
    patients: Table,
    make_stack: MakeStack,
    made: list[Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train() -> Fit:
        return make_stack(patients, range(6)).pretrain(SETTINGS, make_task())

    kept = train()
    assert len(made) == 3, "once, though trials left"
    assert len(set(kept.epochs)) > 1
    monkeypatch.setattr(pretext_task, "MOST_BYTES", 0)
    drawn_again = train()

    assert len(made) == 3 + 3 * kept.epochs.max()
    assert drawn_again.curves == kept.curves
    for name, weight in drawn_again.weights.items():
        assert torch.equal(weight, kept.weights[name])


def test_the_limit_is_of_all_mini_batches_together(
    patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten passes and the clean rows: 11 x 20 rows of six numbers and six indicators, in float32, of two trials."""
    encoded = make_stack(patients, [0]).encoded(make_stack(patients, [0]).data.train).shape[2]
    size = 2 * 11 * 20 * encoded * 4
    for limit, times in ((size, 1), (size - 1, 4)):
        made.clear()
        monkeypatch.setattr(pretext_task, "MOST_BYTES", limit)
        settings = PretrainSettings(max_epochs=4, batch_size=8, patience=None)
        make_stack(patients, range(2)).pretrain(settings, task())
        assert len(made) == 3 * times


def test_views_with_learned_values_are_made_anew(patients: Table, make_stack: MakeStack, made: list[Tensor]) -> None:
    settings = PretrainSettings(max_epochs=4, batch_size=8, patience=None)
    make_stack(patients, range(2)).pretrain(settings, task(Missing()))
    assert len(made) == 3 * 4


def test_what_stands_in_several_places_is_kept_once() -> None:
    clean = torch.arange(24.0).view(3, 4, 2)
    noisy = [clean + 1, clean + 2]
    views = StaticViews.of_passes([Views((clean, each), (clean,)) for each in noisy])

    assert (views.parts, views.inputs[0] is clean, views.inputs[1].shape) == ((1, 2), True, (3, 8, 2))
    assert views.n_bytes == 4 * 24 * 3
    left = views.of(torch.tensor([2, 0]))
    assert torch.equal(left.inputs[0], clean[[2, 0]])
    assert torch.equal(left.inputs[1], torch.cat(noisy, dim=1)[[2, 0]])
    assert left.parts == views.parts
    assert left.targets[0][0] is left.targets[1][0] is left.inputs[0]
    assert left.n_bytes == 4 * 16 * 3


@pytest.fixture
def gappy(patients: Table) -> Table:
    """The table with its gaps in view."""
    return OneHotEncoding(gaps=True).encode(patients)


@pytest.mark.parametrize("corruption", [Marginal(), Joint(), Zero(), Mean()], ids=lambda each: each.name)
def test_the_gap_of_a_number_is_replaced_with_it(gappy: Table, make_stack: MakeStack, corruption: Corruption) -> None:
    """Where a number of a view differs from its row, its gap is that of the row that it came from, or of none."""
    stack = make_stack(gappy, [0, 1])
    encoder = stack.networks.encoder(stack.trials)
    rows, roster = stack.on_device(stack.data.train), Roster(2)
    source = CorruptionSource(encoder, stack.datamodule.table, rows, roster)
    batch = BatchRows(stack.raw(stack.data.train), source, StackedGenerator([1, 2]))
    view, mask = batch.corrupted(corruption, Exact())

    columns = batch.columns
    assert any(columns.gaps)
    assert view.isfinite().all()
    clean = batch.encoded
    for feature, shows in enumerate(columns.gaps):
        if not shows:
            continue
        number, gap = columns.of_feature(feature)
        stays = view[..., number] == clean[..., number]
        # Of a row that keeps its number, the gap stays, unless a gap replaced a number that is 0.
        assert (view[..., gap] == clean[..., gap])[stays & (clean[..., number] != 0)].all()
        if corruption.name in ("marginal", "joint"):
            assert (view[..., number][view[..., gap] == 1] == 0).all()
            pairs = {tuple(pair) for pair in clean[..., [number, gap]].flatten(0, 1).tolist()}
            assert {tuple(pair) for pair in view[..., [number, gap]].flatten(0, 1).tolist()} <= pairs
        if corruption.name == "zero":
            assert (view[..., gap] == 0)[~stays].all()
    if corruption.space == "raw":
        assert torch.equal(mask.any(dim=-1), (view != clean).any(dim=-1))


def test_a_stack_with_gaps_in_view_trains_alike_in_any_company(gappy: Table, make_stack: MakeStack) -> None:
    settings = PretrainSettings(max_epochs=3, batch_size=46)
    for chosen in (task(Marginal()), Vime(Marginal(), Exact()), SubTab(Joint(), Exact())):
        whole = make_stack(gappy, range(3)).pretrain(settings, chosen)
        alone = make_stack(gappy, [1]).pretrain(settings, chosen)
        if not is_exact():
            assert_same_start(alone, whole, [1])
            continue
        for name, weight in alone.weights.items():
            assert torch.equal(weight[0], whole.weights[name][1]), name
