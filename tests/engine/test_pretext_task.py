"""Every pretext task in training: what it computes, and that the stack changes nothing."""

from dataclasses import replace
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
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.lifting import load_state
from scarf_lightning.engine.pretext_task import BatchRows, CorruptionSource, PretextTask, StaticViews
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.losses.loss import AlignUniform, BarlowTwins, Discrimination, InfoNCE, Reconstruction
from scarf_lightning.methods import Method, SupervisedPhase
from scarf_lightning.methods.fine_tuning import Cotrain, ScarfAugment
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from scarf_lightning.pretexts import Pretext, Views
from scarf_lightning.pretexts.others import SubTab, Vime
from scarf_lightning.pretexts.scarf import Autoencoder
from scarf_lightning.randomness import Roster, StackedGenerator
from scarf_lightning.training.cell_training import CellTraining
from tests.composing import config_of
from tests.promises import assert_same_numbers, assert_same_trials, assert_same_weights
from tests.stacks import MakeStack, task

TASKS: dict[str, Pretext] = {
    "scarf": task(),
    "both views, joint": task(Joint(), views="both"),
    "missing": task(Missing()),
    "Barlow Twins, single row, shared features": task(SingleRow(), BarlowTwins(), Shared()),
    "alignment and uniformity, zero, Bernoulli": task(Zero(), AlignUniform(), Bernoulli()),
    "auto-encoder": task(NoCorruption(), Reconstruction()),
    "denoising auto-encoder": task(Gaussian(), Reconstruction()),
    "discriminative": task(Marginal(), Discrimination()),
    "VIME with gaps": Vime(Marginal(), Exact()),
    "SubTab with gaps": SubTab(Joint(), Exact()),
}
ROUNDS = PretrainSettings(max_epochs=2, batch_size=46, patience=0)


@pytest.fixture
def gappy(patients: Table) -> Table:
    """The table with its gaps in view."""
    return OneHotEncoding(gaps=True).encode(patients)


@pytest.mark.parametrize("name", TASKS)
def test_a_trial_pretrains_alike_in_any_company_and_in_groups_of_any_size(
    patients: Table, gappy: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The losses of groups of trials are those of the stack, so large batches need memory for a group alone."""
    chosen, table = TASKS[name], gappy if "gaps" in name else patients
    settings = replace(ROUNDS, monitor="error" if chosen.has_error else "loss")
    whole = make_stack(table, range(3)).pretrain(settings, chosen)
    assert_same_trials(make_stack(table, [2]).pretrain(settings, chosen), whole, [2])

    sizes: list[int] = []
    compute_loss = type(chosen).compute_loss

    def spied(self: Any, outputs: Any, targets: Any) -> Tensor:
        loss = compute_loss(self, outputs, targets)
        sizes.append(len(loss))
        return loss

    monkeypatch.setattr(type(chosen), "compute_loss", spied)
    for limit, expected in ((2 * 47**2, [2, 1]), (1, [1] * 3)):
        sizes.clear()
        monkeypatch.setattr(pretext_task, "SIMILARITIES", limit)
        grouped = make_stack(table, range(3)).pretrain(replace(settings, max_epochs=1), chosen)
        assert sizes[: len(expected)] == expected
        losses = [record["train_loss"] for record in grouped.curves]
        assert_same_numbers(np.array(losses), np.array([each["train_loss"] for each in whole.curves[:3]]))


@pytest.mark.parametrize("method", [Cotrain(task(Missing()), 0.3), ScarfAugment(Joint(), Exact())], ids=repr)
def test_a_trial_fine_tunes_alike_in_any_company(patients: Table, make_stack: MakeStack, method: Method) -> None:
    phase = SupervisedPhase(FinetuneSettings(max_epochs=3, batch_size=46))
    alone, among = (method.run(make_stack(patients, trials), phase).fit for trials in ([2], range(4)))
    assert alone is not None
    assert among is not None
    assert_same_trials(alone, among, [2])


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


def test_f_sees_the_views_of_each_task(patients: Table, make_stack: MakeStack, calls: list[Tensor]) -> None:
    """Both views corrupted, each by itself; the row itself and its view; or one of these alone."""
    stack = make_stack(patients, [0])
    clean = sorted_rows(encoded_training_rows(stack)[0])

    def seen_of(chosen: Pretext) -> Tensor:
        calls.clear()
        one_step(stack, chosen)
        return calls[0]

    def is_clean(view: Tensor) -> bool:
        return np.array_equal(sorted_rows(view[0].numpy()), clean)

    first, second = seen_of(task(views="both")).chunk(2, dim=1)
    assert not torch.equal(first, second)
    assert (is_clean(first), is_clean(second)) == (False, False)
    for loss in (InfoNCE(), Discrimination()):
        first, second = seen_of(task(Marginal(), loss)).chunk(2, dim=1)
        assert (is_clean(first), is_clean(second)) == (True, False)
    assert is_clean(seen_of(task(NoCorruption(), Reconstruction())))
    assert not is_clean(seen_of(task(Gaussian(), Reconstruction())))


def test_an_auto_encoder_is_held_to_the_clean_rows(
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
    output, target = held[0]
    np.testing.assert_array_equal(sorted_rows(target[0].numpy()), sorted_rows(encoded_training_rows(stack)[0]))
    assert output.shape == target.shape == calls[0].shape, "g is as wide as the encoded row"
    assert 0.4 < (calls[0] - target).std() < 0.6
    expected = (output - target).square().mean().item()
    assert fit.curves[0]["train_loss"] == pytest.approx(expected, rel=1e-5)


def test_discriminative_scarf_gives_one_logit(patients: Table, make_stack: MakeStack) -> None:
    fit = one_step(make_stack(patients, [0]), task(Marginal(), Discrimination()))
    assert len(fit.part("head")) == 6, "two layers and a linear one after them"
    assert fit.weights["head.1.weight"].shape == (1, 16, 1)


def test_missing_values_are_learned_and_kept_with_the_encoder(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    fit = stack.pretrain(ROUNDS, task(Missing()))
    values = fit.part("encoder")["missing"]
    assert values.shape == (2, 1, stack.networks.columns.n_encoded)
    assert (values != 0).all()
    outcome = Cotrain(task(), 1.0).run(stack, SupervisedPhase(FinetuneSettings(max_epochs=1), fit.part("encoder")))
    assert np.isfinite(outcome.predictions).all()


def cotrained(stack: Stack, weight: float, chosen: Pretext) -> Fit:
    settings = FinetuneSettings(max_epochs=1, batch_size=200, restore_best=False)
    return Cotrain(chosen, weight).run(stack, SupervisedPhase(settings)).fit


def test_the_loss_of_cotraining_is_that_of_control_plus_the_weighted_one_of_pretraining(
    patients: Table, make_stack: MakeStack
) -> None:
    """One batch of all training rows, uncorrupted: in the first step the networks are the same whatever the weight."""
    stack, chosen = make_stack(patients, [0, 1], precision="64-true"), task(NoCorruption())
    alone = stack.pretrain(PretrainSettings(max_epochs=1, batch_size=200), chosen)
    settings = FinetuneSettings(max_epochs=1, batch_size=200, restore_best=False)
    control, _ = stack.finetune(settings, stack.labelled())
    fits = {weight: cotrained(stack, weight, chosen) for weight in (1e-300, 1.0, 3.0)}

    def losses(fit: Fit) -> np.ndarray:
        return np.array([record["train_loss"] for record in fit.curves])

    assert (np.abs(losses(alone)) > 1e-3).all()
    for weight, fit in fits.items():
        np.testing.assert_allclose(losses(fit), losses(control) + weight * losses(alone), rtol=1e-9)
    as_control = {name: fits[1e-300].weights[name] for name in control.weights}
    assert_same_weights(as_control, control.weights, rounding=1e-9)


@pytest.mark.parametrize("name", ["scarf", "denoising auto-encoder"])
def test_cotraining_trains_both_heads(patients: Table, make_stack: MakeStack, name: str) -> None:
    stack = make_stack(patients, [0])
    fit, fresh = (cotrained(stack, weight, TASKS[name]) for weight in (0.1, 1e-30))
    heads = [each for each in fresh.weights if each.startswith("pretrain_head")]
    assert any(not torch.equal(fit.weights[each], fresh.weights[each]) for each in heads)
    assert any("classifier.head" in each for each in fit.weights)


def test_augmentation_corrupts_training_rows_and_no_validation_rows(patients: Table, make_stack: MakeStack) -> None:
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
    "chosen",
    [
        pytest.param(task(views="both"), id="SCARF"),
        pytest.param(Vime(Marginal(), Bernoulli()), id="VIME", marks=pytest.mark.slow),
    ],
)
def test_validation_views_are_kept_up_to_a_limit_and_keeping_them_changes_no_number(
    chosen: Pretext, patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twenty validation rows there are three mini-batches; trials leave at different times."""
    settings = PretrainSettings(max_epochs=6, batch_size=8, patience=0, learning_rate=0.05)

    def train() -> Fit:
        made.clear()
        return make_stack(patients, range(4)).pretrain(settings, chosen)

    kept = train()
    assert len(made) == 3, "once, though trials left"
    assert len(set(kept.epochs)) > 1
    monkeypatch.setattr(pretext_task, "MOST_BYTES", 0)
    drawn_again = train()
    assert len(made) == 3 * kept.epochs.max()
    assert drawn_again.curves == kept.curves
    assert_same_weights(drawn_again.weights, kept.weights)


def test_the_limit_is_of_all_mini_batches_together_and_learned_values_are_made_anew(
    patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten passes and the clean rows: 11 x 20 rows of six numbers and six indicators, in float32, of two trials."""
    stack = make_stack(patients, range(2))
    size = 2 * 11 * 20 * stack.networks.columns.n_encoded * 4
    settings = PretrainSettings(max_epochs=2, batch_size=8, patience=None)
    for limit, chosen, times in ((size, task(), 1), (size - 1, task(), 2), (2 * size, task(Missing()), 2)):
        made.clear()
        monkeypatch.setattr(pretext_task, "MOST_BYTES", limit)
        stack.pretrain(settings, chosen)
        assert len(made) == 3 * times


def test_what_stands_in_several_places_is_kept_once() -> None:
    clean = torch.arange(24.0).view(3, 4, 2)
    noisy = [clean + 1, clean + 2]
    views = StaticViews.joined([Views((clean, each), (clean,)) for each in noisy])

    assert (views.parts, views.inputs[0] is clean, views.inputs[1].shape) == ((1, 2), True, (3, 8, 2))
    assert views.n_bytes == 4 * 24 * 3
    left = views.of(torch.tensor([2, 0]))
    assert torch.equal(left.inputs[0], clean[[2, 0]])
    assert torch.equal(left.inputs[1], torch.cat(noisy, dim=1)[[2, 0]])
    assert left.parts == views.parts
    assert left.targets[0][0] is left.targets[1][0] is left.inputs[0]
    assert left.n_bytes == 4 * 16 * 3


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
        number, gap = columns.encoded_columns(feature)
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


@pytest.mark.parametrize("option", ["pretrain.drop", "corruption.keep"])
def test_a_column_that_the_table_lacks_is_refused_before_anything_trains(option: str, patients: Table) -> None:
    config = config_of(f"{option}=[colours]", "trainer.accelerator=cpu")
    with pytest.raises(
        UsageError, match=rf"^{option} names 'colours', which .* Did you mean 'colour'\? The columns are: 'x0', "
    ):
        CellTraining.prepare(config, patients, hardware=None)  # type: ignore[arg-type]


def test_a_column_that_pretraining_does_not_see_is_constant_in_it(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    name = patients.columns[0].name
    seen = stack.without([name])
    places = stack.data.train
    assert len(np.unique(seen.raw(places)[..., 0].numpy())) == 1
    np.testing.assert_array_equal(seen.raw(places)[..., 1:], stack.raw(places)[..., 1:])
    assert stack.without(None) is stack
    settings = PretrainSettings(max_epochs=2, batch_size=32)
    blind, other = (stack.pretrain(replace(settings, drop=drop), task()) for drop in ([name], None))
    first = [next(iter(fit.part("encoder").values()))[0] for fit in (blind, other)]
    # Weights of a constant input learn as biases do, and those of the others learn otherwise.
    assert not torch.equal(torch.as_tensor(first[0]), torch.as_tensor(first[1]))


@pytest.mark.parametrize("kind", [Marginal, Joint, Zero, Mean, Gaussian], ids=lambda kind: kind.name)
def test_a_corruption_leaves_the_columns_that_it_keeps(
    kind: type[Corruption], gappy: Table, make_stack: MakeStack
) -> None:
    stack = make_stack(gappy, [0, 1])
    rows, roster = stack.on_device(stack.data.train), Roster(2)
    source = CorruptionSource(stack.networks.encoder(stack.trials), stack.datamodule.table, rows, roster)
    views = []
    for keep in ([gappy.columns[0].name], None):
        batch = BatchRows(stack.raw(stack.data.train), source, StackedGenerator([1, 2]))
        views.append(batch.corrupted(kind(keep=keep), Exact()))
    own = list(batch.columns.encoded_columns(0))
    kept, other = views
    assert torch.equal(kept[0][..., own], batch.encoded[..., own])
    assert not torch.equal(other[0][..., own], batch.encoded[..., own]), "else it would have been changed"
    others = [column for column in range(batch.columns.n_encoded) if column not in own]
    assert torch.equal(kept[0][..., others], other[0][..., others]), "the draws of the other columns stay"
