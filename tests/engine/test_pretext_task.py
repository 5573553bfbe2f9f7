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
from scarf_lightning.engine.pretext_task import BatchRows, CorruptionSource, PretextTask, StaticViews
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.losses.loss import AlignUniform, BarlowTwins, Discrimination, Reconstruction
from scarf_lightning.methods import SupervisedPhase
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
    monkeypatch.setattr(pretext_task, "SIMILARITIES", 2 * 47**2)
    grouped = make_stack(table, range(3)).pretrain(replace(settings, max_epochs=1), chosen)
    assert sizes[:2] == [2, 1]
    assert_same_numbers(*([record["train_loss"] for record in fit.curves[:3]] for fit in (grouped, whole)))


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

    def shown_clean(chosen: Pretext, n_views: int) -> list[bool]:
        calls.clear()
        one_step(stack, chosen)
        return [np.array_equal(sorted_rows(view[0].numpy()), clean) for view in calls[0].chunk(n_views, dim=1)]

    assert shown_clean(task(views="both"), 2) == [False, False]
    assert not torch.equal(*calls[0].chunk(2, dim=1))
    assert shown_clean(task(), 2) == [True, False]
    assert shown_clean(task(Marginal(), Discrimination()), 2) == [True, False]
    assert shown_clean(task(NoCorruption(), Reconstruction()), 1) == [True]
    assert shown_clean(task(Gaussian(), Reconstruction()), 1) == [False]


def test_an_auto_encoder_is_held_to_the_clean_rows(
    patients: Table, make_stack: MakeStack, calls: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Tensor] = []
    compute_loss = Autoencoder.compute_loss

    def spied(self: Autoencoder, outputs: tuple[Tensor, ...], targets: tuple[Tensor, ...]) -> Tensor:
        held.extend((*outputs, *targets))
        return compute_loss(self, outputs, targets)

    monkeypatch.setattr(Autoencoder, "compute_loss", spied)
    stack = make_stack(patients, [0])
    fit = one_step(stack, task(Gaussian(), Reconstruction()))
    output, target = held[:2]
    np.testing.assert_array_equal(sorted_rows(target[0].numpy()), sorted_rows(encoded_training_rows(stack)[0]))
    assert 0.4 < (calls[0] - target).std() < 0.6
    expected = (output - target).square().mean().item()
    assert fit.curves[0]["train_loss"] == pytest.approx(expected, rel=1e-5)


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


def test_augmentation_corrupts_training_rows_and_no_validation_rows(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0, 1])
    settings = FinetuneSettings(max_epochs=1, batch_size=200, restore_best=False)
    zeros = ScarfAugment(Zero(1.0), Exact())  # every training row becomes nothing but zeros
    fit, classifier = stack.finetune(settings, stack.labelled(), supervision=zeros)
    fresh = stack.networks.encoder([0, 1])
    assert torch.equal(fit.weights["classifier.encoder.body.layers.0.weight"], fresh.body.layers[0].weight)
    predicted = stack.predict(classifier, stack.data.validation).argmax(axis=2)
    error = (predicted != patients.labels[stack.data.validation]).mean(axis=1)
    np.testing.assert_allclose([record["validation_error"] for record in fit.curves], error)


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
def test_validation_views_are_kept_up_to_a_limit(
    chosen: Pretext, patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twenty validation rows there are three mini-batches. Trials leave at different times; no number changes."""
    settings = PretrainSettings(max_epochs=6, batch_size=8, patience=0, learning_rate=0.05)
    kept = make_stack(patients, range(4)).pretrain(settings, chosen)
    assert len(made) == 3
    assert len(set(kept.epochs)) > 1
    made.clear()
    monkeypatch.setattr(pretext_task, "VIEWS_BYTES", 0)
    drawn_again = make_stack(patients, range(4)).pretrain(settings, chosen)
    assert len(made) == 3 * kept.epochs.max()
    assert drawn_again.curves == kept.curves
    assert_same_weights(drawn_again.weights, kept.weights)


@pytest.mark.parametrize(("left", "chosen", "times"), [(0, task(), 1), (-1, task(), 2), (10_000, task(Missing()), 2)])
def test_the_limit_is_of_all_mini_batches_together_and_learned_values_are_made_anew(
    patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch,
    left: int, chosen: Pretext, times: int,
) -> None:  # fmt: skip
    """Ten passes and the clean rows: 11 x 20 rows of six numbers and six indicators, in float32, of two trials."""
    stack = make_stack(patients, range(2))
    size = 2 * 11 * 20 * stack.networks.columns.n_encoded * 4
    monkeypatch.setattr(pretext_task, "VIEWS_BYTES", size + left)
    stack.pretrain(PretrainSettings(max_epochs=2, batch_size=8, patience=None), chosen)
    assert len(made) == 3 * times


def test_what_stands_in_several_places_is_kept_once() -> None:
    clean = torch.arange(24.0).view(3, 4, 2)
    noisy = [clean + 1, clean + 2]
    views = StaticViews.joined([Views((clean, each), (clean,)) for each in noisy])

    assert (views.parts, views.inputs[0] is clean, views.n_bytes) == ((1, 2), True, 4 * 24 * 3)
    left = views.of(torch.tensor([2, 0]))
    assert torch.equal(left.inputs[1], torch.cat(noisy, dim=1)[[2, 0]])
    assert torch.equal(left.inputs[0], clean[[2, 0]])
    assert left.targets[0][0] is left.targets[1][0] is left.inputs[0]


@pytest.mark.parametrize("corruption", [Marginal(), Joint(), Zero(), Mean()], ids=lambda each: each.name)
def test_the_gap_of_a_number_is_replaced_with_it(batch: BatchRows, corruption: Corruption) -> None:
    """Where a number of a view differs from its row, its gap is that of the row that it came from, or of none."""
    view, _ = batch.corrupted(corruption, Exact())
    clean, columns = batch.encoded, batch.columns
    assert sum(columns.gaps) == 5
    for feature in range(5):
        number, gap = columns.encoded_columns(feature)
        stays = view[..., number] == clean[..., number]
        # Of a row that keeps its number, the gap stays, unless a gap replaced a number that is 0.
        assert (view[..., gap] == clean[..., gap])[stays & (clean[..., number] != 0)].all()
        if corruption.name in ("marginal", "joint"):
            assert (view[..., number][view[..., gap] == 1] == 0).all()
        if corruption.name == "zero":
            assert (view[..., gap] == 0)[~stays].all()


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
    places = stack.data.train
    seen, rows = stack.without([name]).raw(places), stack.raw(places)
    assert len(seen[..., 0].unique()) == 1
    assert torch.equal(seen[..., 1:], rows[..., 1:])
    assert stack.without(None) is stack
    blind, other = (
        stack.pretrain(PretrainSettings(max_epochs=1, drop=drop), task()).part("encoder") for drop in ([name], None)
    )
    assert not torch.equal(*(next(iter(weights.values())) for weights in (blind, other)))


@pytest.mark.parametrize("kind", [Marginal, Joint, Zero, Mean, Gaussian], ids=lambda kind: kind.name)
def test_a_corruption_leaves_the_columns_that_it_keeps(kind: type[Corruption], batch: BatchRows, gappy: Table) -> None:
    clean, own = batch.encoded, list(batch.columns.encoded_columns(0))
    others = [column for column in range(batch.columns.n_encoded) if column not in own]
    kept, _ = batch.corrupted(kind(keep=[gappy.columns[0].name]), Exact())
    batch.random = StackedGenerator([1, 2])
    other, _ = batch.corrupted(kind(), Exact())
    assert torch.equal(kept[..., own], clean[..., own])
    assert not torch.equal(other[..., own], clean[..., own]), "else it would have been changed"
    assert torch.equal(kept[..., others], other[..., others]), "the draws of the other columns stay"


def test_bins_are_the_same_however_many_rows_are_read_at_once(
    batch: BatchRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = batch.bins(4)
    batch._source._edges.clear()
    monkeypatch.setattr(pretext_task, "MEAN_CHUNK", 7)
    assert torch.equal(batch.bins(4), whole)


@pytest.fixture
def batch(gappy: Table, make_stack: MakeStack) -> BatchRows:
    """The training rows of two trials, with their gaps in view."""
    stack = make_stack(gappy, [0, 1])
    rows, encoder = stack.on_device(stack.data.train), stack.networks.encoder(stack.trials)
    source = CorruptionSource(encoder, stack.datamodule.table, rows, Roster(2))
    return BatchRows(stack.raw(stack.data.train), source, StackedGenerator([1, 2]))
