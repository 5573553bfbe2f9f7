"""Stack size changes nothing: a trial is the same alone, among ten, after others have left, and in a plain loop.

Bit for bit where the processor's kernels are exact, see `scarf_lightning.engine.hardware`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.strategies import Marginal, Mean
from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Number
from scarf_lightning.data.trials import Noise30, Regime, Semi25
from scarf_lightning.engine.fitting import Fit
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.networks.residual import ResNet
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.promises import assert_same_start, is_exact
from tests.reference import ReferenceTrial
from tests.stacks import MakeStack, task

ROUNDING = {"32-true": 1e-3, "64-true": 1e-9, "bf16-mixed": 5e-2}
"""What one epoch may make of another order of summing."""


@dataclass
class Trained:
    """All that came of a stack."""

    stack: Stack
    pretraining: Fit
    finetuning: Fit
    probabilities: np.ndarray


def train(
    stack: Stack,
    corruption: Corruption,
    *,
    max_epochs: int = 40,
    batch_size: int = 46,
    monitor: str = "loss",
    **options: Any,
) -> Trained:
    pretraining = stack.pretrain(
        PretrainSettings(max_epochs=max_epochs, batch_size=batch_size, monitor=monitor, **options), task(corruption)
    )
    settings = FinetuneSettings(max_epochs=max_epochs, batch_size=batch_size, **options)
    outcome = Control().run(stack, SupervisedPhase(settings, pretraining.part("encoder")))
    return Trained(stack, pretraining, outcome.fit, outcome.predictions)


def assert_same(part: Trained, whole: Trained) -> None:
    """Every loss, epoch, weight and prediction of ``part`` is bit for bit that of ``whole``, where that is promised.

    Elsewhere the losses of the first epoch are, but for rounding: what it makes of later ones is not bounded.
    """
    positions = [whole.stack.data.trials.index(trial) for trial in part.stack.data.trials]
    precision = part.stack.hardware.precision
    if not is_exact(precision):
        for fit, of_whole in ((part.pretraining, whole.pretraining), (part.finetuning, whole.finetuning)):
            assert_same_start(fit, of_whole, positions, precision=precision, rounding=ROUNDING[precision])
        return
    assert np.array_equal(part.probabilities, whole.probabilities[positions])
    for fit, of_whole in ((part.pretraining, whole.pretraining), (part.finetuning, whole.finetuning)):
        assert np.array_equal(fit.epochs, of_whole.epochs[positions])
        assert np.array_equal(fit.best_epochs, of_whole.best_epochs[positions])
        chosen = set(part.stack.data.trials)
        by_trial = sorted((record for record in of_whole.curves if record["trial"] in chosen), key=_when)
        assert sorted(fit.curves, key=_when) == by_trial
        for name, weight in fit.weights.items():
            assert torch.equal(weight, of_whole.weights[name][positions]), name


def _when(record: dict[str, float]) -> tuple[float, float]:
    return record["trial"], record["epoch"]


@pytest.mark.parametrize(
    ("regime", "corruption", "fit_on", "precision", "monitor"),
    [
        (None, Marginal(), "all", "32-true", "loss"),
        (Semi25(), Mean(), "train", "32-true", "error"),
        pytest.param(Noise30(), Marginal(0.3), "train", "64-true", "loss", marks=pytest.mark.slow),
        pytest.param(None, Marginal(), "all", "bf16-mixed", "loss", marks=pytest.mark.slow),
    ],
)
def test_a_trial_alone_is_that_trial_among_ten(
    patients: Table,
    make_stack: MakeStack,
    regime: Regime | None,
    corruption: Corruption,
    fit_on: str,
    precision: str,
    monitor: str,
) -> None:
    options = {"regime": regime, "fit_on": fit_on, "precision": precision}
    among_ten = train(make_stack(patients, range(10), **options), corruption, monitor=monitor)
    assert len(set(among_ten.pretraining.epochs)) > 2, "trials must leave at different times for this to say anything"
    assert len(set(among_ten.finetuning.epochs)) > 2
    last_to_leave = int(among_ten.pretraining.epochs.argmax())
    for trial in (0, last_to_leave):
        assert_same(train(make_stack(patients, [trial], **options), corruption, monitor=monitor), among_ten)


@pytest.mark.slow
def test_narrow_and_odd_networks_on_one_column(patients: Table, make_stack: MakeStack) -> None:
    """Shapes that fill no vector register, and products with a dimension of one."""
    column = replace(patients, columns=patients.columns[:1], values=patients.values[:, :1])
    for table, width in ((column, 5), (patients, 1)):
        whole = train(make_stack(table, range(6), width=width), Marginal(1.0))
        assert_same(train(make_stack(table, [4], width=width), Marginal(1.0)), whole)


def test_also_with_clipped_gradients_decaying_weights_and_a_schedule(patients: Table, make_stack: MakeStack) -> None:
    options = {
        "gradient_clip": 0.05,
        "weight_decay": 0.01,
        "schedule": "cosine",
    }
    whole = train(make_stack(patients, range(10)), Marginal(), max_epochs=12, **options)
    assert_same(train(make_stack(patients, [4]), Marginal(), max_epochs=12, **options), whole)
    assert_same(train(make_stack(patients, range(5, 10)), Marginal(), max_epochs=12, **options), whole)


def test_also_with_decoupled_decay_schedules_and_smoothed_labels(patients: Table, make_stack: MakeStack) -> None:
    options = {
        "optimizer": "adamw",
        "weight_decay": 0.05,
        "decayed": "weights",
        "beta2": 0.95,
        "schedule": "coslog4",
        "warmup_steps": 5,
        "weight_decay_schedule": "flat_cos",
        "dropout_schedule": "flat_cos",
    }
    network = ResNet(width=16)
    whole = train(make_stack(patients, range(10), network=network), Marginal(), max_epochs=12, patience=1, **options)
    assert len(set(whole.finetuning.epochs)) > 1, "trials must leave at different times for this to say anything"
    alone = train(make_stack(patients, [4], network=network), Marginal(), max_epochs=12, patience=1, **options)
    assert_same(alone, whole)


def test_five_and_five_are_ten(patients: Table, make_stack: MakeStack) -> None:
    whole = train(make_stack(patients, range(10)), Marginal(), max_epochs=15)
    assert_same(train(make_stack(patients, range(5)), Marginal(), max_epochs=15), whole)
    assert_same(train(make_stack(patients, range(5, 10)), Marginal(), max_epochs=15), whole)


@pytest.mark.slow
def test_five_and_twenty_five_are_thirty_at_full_width() -> None:
    from tests.stacks import make_stack as fixture

    make: MakeStack = fixture.__wrapped__()
    table = WdbcSource().load()
    options = {"max_epochs": 12, "batch_size": 128}
    whole = train(make(table, range(30), width=256), Marginal(), **options)
    assert_same(train(make(table, range(5), width=256), Marginal(), **options), whole)
    assert_same(train(make(table, range(5, 30), width=256), Marginal(), **options), whole)
    assert_same(train(make(table, [17], width=256), Marginal(), **options), whole)


class TestAgainstAPlainLoop:
    """A network of `torch.nn` in a loop of its own."""

    def reference(self, stack: Stack, position: int, dtype: torch.dtype, width: int) -> ReferenceTrial:
        data = stack.data
        return ReferenceTrial(
            stack.table,
            data.train[position],
            data.validation[position],
            stack.streams,
            data.trials[position],
            dtype=dtype,
            width=width,
            batch_size=46,
        )

    def test_float64_to_the_end_of_training(self, patients: Table, make_stack: MakeStack) -> None:
        stack = make_stack(patients, [3, 8], precision="64-true")
        trained = train(stack, Marginal(), max_epochs=40)
        for position, trial in enumerate(stack.data.trials):
            alone = self.reference(stack, position, torch.float64, width=16)
            pretrained = alone.pretrain(max_epochs=40)
            finetuned = alone.finetune(max_epochs=40)
            for fit, history in ((trained.pretraining, pretrained), (trained.finetuning, finetuned)):
                assert fit.epochs[position] == len(history["validation"])
                metric = "validation_loss" if fit is trained.pretraining else "validation_error"
                curve = [record[metric] for record in fit.curves if record["trial"] == trial]
                np.testing.assert_allclose(curve, history["validation"], rtol=0, atol=1e-9)
            np.testing.assert_allclose(
                trained.probabilities[position], alone.predict(stack.data.test[position]), rtol=0, atol=1e-9
            )

    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_numbers_to_the_end_of_training(self, patients: Table, make_stack: MakeStack, is_weighted: bool) -> None:
        random = np.random.default_rng(0)
        labels = 300 + 40 * np.nan_to_num(patients.values[:, 0]) + random.normal(size=patients.n_rows)
        weights = random.exponential(size=patients.n_rows) if is_weighted else None
        table = replace(patients, labels=labels, target=Number("size"), weights=weights)
        stack = make_stack(table, [3, 8], precision="64-true")
        trained = train(stack, Marginal(), max_epochs=40)
        for position, trial in enumerate(stack.data.trials):
            alone = self.reference(stack, position, torch.float64, width=16)
            alone.pretrain(max_epochs=40)
            history = alone.finetune(max_epochs=40)
            curve = [each["validation_error"] for each in trained.finetuning.curves if each["trial"] == trial]
            np.testing.assert_allclose(curve, history["validation"], rtol=0, atol=1e-9)
            expected = alone.predict(stack.data.test[position])
            np.testing.assert_allclose(trained.probabilities[position], expected, rtol=1e-9)
            assert 100 < expected.min() < expected.max() < 500

    def test_float32_over_twenty_steps(self, patients: Table, make_stack: MakeStack) -> None:
        stack = make_stack(patients, [3, 8])
        trained = train(stack, Marginal(), max_epochs=7)  # three batches an epoch
        for position, trial in enumerate(stack.data.trials):
            history = self.reference(stack, position, torch.float32, width=16).pretrain(max_epochs=7, max_steps=20)
            steps = np.array(history["steps"][:18]).reshape(6, 3)
            epochs = (steps * [46, 46, 47]).sum(axis=1) / 139
            curve = [record["train_loss"] for record in trained.pretraining.curves if record["trial"] == trial]
            np.testing.assert_allclose(curve[:6], epochs, rtol=0, atol=1e-5)
