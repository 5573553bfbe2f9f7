"""Folds of the labels stop a fit, and say how far its network is believed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import sem

from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Number
from scarf_lightning.data.trials import Few
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import MethodResult, SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.metrics import log_loss, rmse
from scarf_lightning.options.combinations import unused_options
from scarf_lightning.options.settings import FinetuneSettings
from scarf_lightning.randomness import Purpose
from scarf_lightning.training import CellTraining
from scarf_lightning.training.folds import train_by_folds
from tests.composing import config_of
from tests.promises import assert_same_numbers, is_exact
from tests.reference import ReferenceTrial
from tests.short_training import short
from tests.stacks import MakeStack

FOLDS, PATIENCE = 3, 4
SETTINGS = FinetuneSettings(
    learning_rate=0.01, folds=FOLDS, batch_size=46, patience=PATIENCE, fixed_below=1000, fold_steps=60
)


def numbers(patients: Table) -> Table:
    noise = np.random.default_rng(0).normal(size=patients.n_rows)
    labels = 300 + 40 * np.nan_to_num(patients.values[:, 0]) + 90 * noise
    return replace(patients, labels=labels, target=Number("size"))


def noisy(patients: Table) -> Table:
    """Half of the labels are wrong, so that a network is believed in part."""
    labels = patients.labels.copy()
    labels[::2] = np.random.default_rng(2).permutation(labels[::2])
    return replace(patients, labels=labels)


def weighted(patients: Table) -> Table:
    return replace(patients, weights=np.random.default_rng(1).exponential(size=patients.n_rows))


@dataclass
class PlainTrial:
    """One trial, written a second time: each network by itself, and what each label is predicted without it."""

    stack: Stack
    position: int
    every: int = 4

    def __post_init__(self) -> None:
        stack, data = self.stack, self.stack.data
        self.trial, self.rows = data.trials[self.position], data.labelled[self.position]
        self.labels, self.is_number = data.labels[self.position], isinstance(stack.table.target, Number)
        self.mean, self.deviation = self.labels.mean(), self.labels.std()
        folds = self.fold_of_each()
        networks = [self.network(np.flatnonzero(folds != fold)) for fold in range(FOLDS + 1)]
        predict = self.train(networks)
        best, waited, self.epoch = np.inf, 0, 0
        self.losses: list[float] = []
        n_batches = len(self.batches(torch.arange(len(self.rows))))
        while waited <= PATIENCE * 4 / self.every and self.epoch < 60 // n_batches:
            # One validation in so many steps, or in an epoch that is longer.
            for _ in range(self.every // n_batches):
                next(predict)
                self.epoch += 1
            every = [self.predictions(network, self.rows) for network, *_ in networks]
            unseen = np.stack([every[fold][label] for label, fold in enumerate(folds)])
            loss = self.mixture_loss(unseen)
            self.losses.append((loss / self.deviation) ** 2 if self.is_number else loss)
            waited += 1
            if loss < best:
                best, waited, self.best_epoch, self.unseen = loss, 0, self.epoch, unseen
                self.tested = [self.predictions(network, data.test[self.position]) for network, *_ in networks]

    def fold_of_each(self) -> np.ndarray:
        """Labels in a random order, class by class, dealt one by one."""
        keys = self.stack.streams.numpy(self.trial, Purpose.FOLDS).permutation(len(self.labels))
        strata = self.stack.table.target.strata(self.labels)
        folds = np.full(len(keys), -1)
        queue = sorted(range(len(keys)), key=lambda label: (strata[label], keys[label]))
        for turn, label in enumerate(queue):
            folds[label] = turn % FOLDS
        return folds

    def network(self, shown: np.ndarray) -> tuple[Any, ...]:
        stack, data = self.stack, self.stack.data
        rows = data.train[self.position], data.validation[self.position]
        reference = ReferenceTrial(stack.table, *rows, stack.streams, self.trial, width=16, batch_size=46)
        widths = [16, 16, 1 if self.is_number else stack.table.target.n_outputs]
        reference.h = reference._network(widths, Purpose.HEAD, final_relu=False)
        parameters = [*reference.f.parameters(), *reference.h.parameters()]
        return reference, shown, torch.optim.Adam(parameters, lr=0.01, eps=1e-7)

    def batches(self, order: torch.Tensor) -> list[torch.Tensor]:
        batches = list(order.split(46))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    def train(self, networks: Sequence[tuple[Any, ...]]) -> Any:
        """Train each network for one epoch after the other."""
        order = torch.Generator().manual_seed(self.stack.streams.seed_of(self.trial, Purpose.FINETUNE_ORDER))
        while True:
            batches = self.batches(torch.randperm(len(self.rows), generator=order))
            for reference, shown, optimizer in networks:
                for batch in batches:
                    # The labels of the batch that are left out are not in it.
                    own = batch[np.isin(batch.numpy(), shown)]
                    optimizer.zero_grad()
                    self.loss(reference, own).backward()
                    optimizer.step()
            yield

    def loss(self, reference: ReferenceTrial, own: torch.Tensor) -> torch.Tensor:
        rows, table = self.rows[own.numpy()], self.stack.table
        outputs = reference.h(reference.f(reference.encode(reference.x[torch.from_numpy(rows)])))
        labels = torch.from_numpy(self.labels[own.numpy()])
        if self.is_number:
            losses = (outputs[:, 0] - (labels - self.mean) / self.deviation) ** 2
        else:
            losses = F.cross_entropy(outputs, labels, reduction="none")
        weights = torch.ones_like(losses) if table.weights is None else torch.from_numpy(table.weights[rows])
        return (weights * losses).sum() / weights.sum()

    def predictions(self, reference: ReferenceTrial, rows: np.ndarray) -> np.ndarray:
        reference.mean, reference.deviation = self.mean, self.deviation
        return reference.predict(rows)

    def mixture(self, share: float, predictions: np.ndarray) -> np.ndarray:
        """Predictions, mixed with the frequencies of the labels or their mean."""
        constant = self.mean
        if not self.is_number:
            constant = np.bincount(self.labels, minlength=predictions.shape[1]) / len(self.labels)
        return (1 - share) * predictions + share * constant

    def row_losses(self, predictions: np.ndarray) -> np.ndarray:
        if self.is_number:
            return (predictions - self.labels) ** 2
        return -np.log(predictions[range(len(self.labels)), self.labels])

    def mixture_loss(self, unseen: np.ndarray) -> float:
        """The smallest loss of a mixture, by twentieths."""
        metric = rmse if self.is_number else log_loss
        return min(metric(self.mixture(twentieth / 20, unseen), self.labels) for twentieth in range(20))


def trained(stack: Stack, **changes: Any) -> tuple[MethodResult, Stack, Any]:
    return train_by_folds(stack, Control(), SupervisedPhase(replace(SETTINGS, **changes)))


@pytest.mark.parametrize(
    ("made", "n_labels", "every", "averages"),
    [
        pytest.param(lambda table: table, 40, 8, True, id="classes"),
        pytest.param(numbers, 100, 4, False, id="numbers in batches"),
        pytest.param(lambda table: table, 100, 4, False, id="classes in batches", marks=pytest.mark.slow),
        pytest.param(numbers, 40, 8, True, id="numbers", marks=pytest.mark.slow),
        pytest.param(weighted, 40, 4, False, id="weights", marks=pytest.mark.slow),
        pytest.param(weighted, 100, 4, False, id="weights in batches", marks=pytest.mark.slow),
    ],
)
def test_it_is_a_plain_loop_over_single_networks(
    patients: Table, make_stack: MakeStack, made: Any, n_labels: int, every: int, averages: bool
) -> None:
    stack = make_stack(made(patients), [3, 8], precision="64-true", regime=Few(labels=n_labels))

    result, _, chosen = trained(stack, fold_every=every, fold_average=averages)

    steps_per_epoch = 1 if n_labels == 40 else 3
    for position, trial in enumerate(stack.trials):
        alone = PlainTrial(stack, position, every)
        assert chosen["finetune_chosen_steps"][position] == alone.best_epoch * steps_per_epoch
        tested = np.mean(alone.tested, axis=0) if averages else alone.tested[-1]
        expected = alone.mixture(chosen["mixed_share"][position], tested)
        np.testing.assert_allclose(result.predictions[position], expected, rtol=1e-7, atol=1e-9)
        assert result.fit.epochs[position] == alone.epoch
        of_trial = [record for record in result.fit.curves if record["trial"] == trial]
        losses = [record["validation_loss"] for record in of_trial if "validation_loss" in record]
        np.testing.assert_allclose(losses, alone.losses, rtol=1e-7)


@pytest.mark.parametrize("made", [noisy, numbers], ids=["classes", "numbers"])
def test_the_share_is_the_best_or_the_largest_within_a_standard_error(
    patients: Table, make_stack: MakeStack, made: Any
) -> None:
    stack = make_stack(made(patients), [3, 8], precision="64-true", regime=Few(labels=40))
    best, cautious = (trained(stack, fold_caution=caution)[2]["mixed_share"] for caution in (0, 1))

    for position in range(2):
        alone = PlainTrial(stack, position)
        shares = np.arange(20) / 20
        losses = np.array([alone.row_losses(alone.mixture(share, alone.unseen)) for share in shares])
        excess = losses - losses[losses.mean(axis=1).argmin()]
        near = [share for share, its in zip(shares, excess, strict=True) if its.mean() <= sem(its, ddof=0)]
        assert best[position] == pytest.approx(shares[losses.mean(axis=1).argmin()])
        assert cautious[position] == pytest.approx(max(near))
        assert cautious[position] > best[position] > 0


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda table: table, id="classes", marks=pytest.mark.slow),
        pytest.param(numbers, id="numbers"),
    ],
)
def test_a_trial_is_the_same_alone_and_in_any_stack(patients: Table, make_stack: MakeStack, made: Any) -> None:
    def of(trials: Sequence[int]) -> tuple[MethodResult, Stack, Any]:
        return trained(make_stack(made(patients), trials, regime=Few(labels=40), fit_on="train"), fold_steps=300)

    whole, _, chosen = of(range(5))
    assert len(set(whole.fit.epochs)) > 1, "trials must leave at different times for this to say anything"
    alone, _, chosen_alone = of([2])
    assert_same_numbers(alone.predictions[0], whole.predictions[2], precision="32-true", rounding=0.05)
    if is_exact():
        assert {name: each[0] for name, each in chosen_alone.items()} == {
            name: each[2] for name, each in chosen.items()
        }
        curves = [[record for record in fit.curves if record["trial"] == 2] for fit in (whole.fit, alone.fit)]
        assert curves[0] == curves[1]
        assert all(torch.equal(weight[0], whole.fit.weights[name][2]) for name, weight in alone.fit.weights.items())


@pytest.mark.parametrize("n_labels", [1, 2])
def test_fewer_labels_than_folds_train(patients: Table, make_stack: MakeStack, n_labels: int) -> None:
    result, _, chosen = trained(make_stack(patients, [0, 1], regime=Few(labels=n_labels)))

    assert np.isfinite(result.predictions).all()
    assert (chosen["finetune_chosen_steps"] > 0).all()


CELL = ("recipe=practical", "regime=few", "regime.labels=40", "finetune.folds=3", "finetune.fold_steps=30")


def short_training(table: Table, *overrides: str) -> CellTraining:
    """A cell with tiny networks whose fits have folds."""
    config = config_of(*CELL, *overrides)
    below = config.finetune.fixed_below
    short(config).finetune.fixed_below = below
    return CellTraining.prepare(config, table, Hardware(torch.device("cpu")))


def test_a_trial_is_pretrained_once_and_all_its_networks_start_from_there(
    wdbc: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretrained = []
    pretrain = Stack.pretrain

    def spy(stack: Stack, *arguments: Any) -> Any:
        pretrained.append(stack.trials)
        return pretrain(stack, *arguments)

    monkeypatch.setattr(Stack, "pretrain", spy)
    training = short_training(wdbc, "pretrain=scarf", "finetune.learning_rate=1e-12")

    outcome = training.run([0, 1])

    assert pretrained == [(0, 1)]
    assert outcome.outcome.fit is not None
    assert outcome.pretraining is not None
    start, end = outcome.pretraining.part("encoder"), outcome.outcome.fit.part("classifier")
    for name, weight in start.items():
        torch.testing.assert_close(end[f"encoder.{name}"], weight, rtol=0, atol=1e-7)


def test_a_record_has_the_steps_and_the_share(wdbc: Table) -> None:
    record = short_training(wdbc, "pretrain=none").run([0, 1]).record([0, 1])

    for row in record.rows:
        assert 0 < row["finetune_chosen_steps"] <= row["finetune_steps"] <= 30
        assert 0 <= row["mixed_share"] <= 1


def test_above_its_bound_validation_rows_stop_the_fit(wdbc: Table) -> None:
    record = short_training(wdbc, "pretrain=none", "finetune.fixed_below=40").run([0]).record([0])

    assert "finetune_chosen_steps" not in record.rows[0]
    assert record.rows[0]["n_validation"] > 0


@pytest.mark.parametrize("method", ["bagging", "mixup", "cotrain", "logistic"])
def test_a_method_that_folds_do_not_serve_keeps_its_length(method: str) -> None:
    config = config_of(*CELL, "pretrain=none", f"method={method}")

    assert config.folds_on(40) == 0
    assert {"finetune.folds", "finetune.fold_steps"} <= unused_options(config)
