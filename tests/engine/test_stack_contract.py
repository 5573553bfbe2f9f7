"""Stack size changes nothing: a trial is the same alone, among others, after others have left, and in a plain loop.

Bit for bit where the processor's kernels are exact, see `scarf_lightning.engine.hardware`.
"""

from collections.abc import Sequence
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
from scarf_lightning.data.trials import Noise30, Semi25
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.networks.residual import ResNet
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.promises import assert_same_trials, is_exact
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
    corruption: Corruption | None = None,
    *,
    max_epochs: int = 12,
    batch_size: int = 46,
    monitor: str = "loss",
    **options: Any,
) -> Trained:
    common = {"max_epochs": max_epochs, "batch_size": batch_size, **options}
    pretraining = stack.pretrain(PretrainSettings(monitor=monitor, **common), task(corruption))
    outcome = Control().run(stack, SupervisedPhase(FinetuneSettings(**common), pretraining.part("encoder")))
    return Trained(stack, pretraining, outcome.fit, outcome.predictions)


def assert_same(part: Trained, whole: Trained) -> None:
    """Both fits of ``part`` are those of its trials in ``whole``, and so is every prediction."""
    positions = [whole.stack.data.trials.index(trial) for trial in part.stack.data.trials]
    precision = part.stack.hardware.precision
    for fit, of_whole in ((part.pretraining, whole.pretraining), (part.finetuning, whole.finetuning)):
        assert_same_trials(fit, of_whole, positions, precision=precision, rounding=ROUNDING[precision])
    assert not is_exact(precision) or np.array_equal(part.probabilities, whole.probabilities[positions])


CLIPPED = {"gradient_clip": 0.05, "weight_decay": 0.01, "schedule": "cosine"}
DECOUPLED = {
    "optimizer": "adamw", "weight_decay": 0.05, "decayed": "weights", "beta2": 0.95, "schedule": "coslog4",
    "warmup_steps": 5, "weight_decay_schedule": "flat_cos", "dropout_schedule": "flat_cos",
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "trained"),
    [
        ({}, {}),
        ({"regime": Semi25(), "fit_on": "train"}, {"corruption": Mean(), "monitor": "error"}),
        pytest.param({}, CLIPPED, marks=pytest.mark.slow),
        pytest.param({"network": ResNet(width=16)}, DECOUPLED, marks=pytest.mark.slow),
        pytest.param(
            {"regime": Noise30(), "fit_on": "train", "precision": "64-true"}, {"corruption": Marginal(0.3)},
            marks=pytest.mark.slow,
        ),
        pytest.param({"precision": "bf16-mixed"}, {}, marks=pytest.mark.slow),
    ],
    ids=["defaults", "means of few labels", "clipped", "decoupled", "noise", "bfloat16"],
)  # fmt: skip
def test_a_trial_is_the_same_alone_and_in_any_stack(
    patients: Table, make_stack: MakeStack, made: dict[str, Any], trained: dict[str, Any]
) -> None:
    def of(trials: Sequence[int]) -> Trained:
        return train(make_stack(patients, trials, **made), patience=0, **trained)

    whole = of(range(5))
    assert len(set(whole.finetuning.epochs)) > 1, "trials must leave at different times for this to say anything"
    last_to_leave = int(whole.finetuning.epochs.argmax())
    for trials in ([last_to_leave], range(3)):
        assert_same(of(trials), whole)


@pytest.mark.slow
def test_narrow_and_odd_networks_on_one_column(patients: Table, make_stack: MakeStack) -> None:
    """Shapes that fill no vector register, and products with a dimension of one."""
    column = replace(patients, columns=patients.columns[:1], values=patients.values[:, :1])
    for table, width in ((column, 5), (patients, 1)):
        whole = train(make_stack(table, range(6), width=width), Marginal(1.0))
        assert_same(train(make_stack(table, [4], width=width), Marginal(1.0)), whole)


@pytest.mark.slow
def test_five_and_twenty_five_are_thirty_at_full_width(make_stack: MakeStack) -> None:
    table = WdbcSource().load()
    whole, *parts = (
        train(make_stack(table, trials, width=256), max_epochs=2, batch_size=128)
        for trials in (range(30), range(5), range(5, 30), [17])
    )
    for part in parts:
        assert_same(part, whole)


def plain_loop(stack: Stack, position: int, dtype: torch.dtype, batch_size: int = 46) -> ReferenceTrial:
    """One trial of a stack as a network of `torch.nn` in a loop of its own."""
    data = stack.data
    rows = data.train[position], data.validation[position]
    return ReferenceTrial(
        stack.table, *rows, stack.streams, data.trials[position], dtype=dtype, width=16, batch_size=batch_size
    )


@pytest.mark.parametrize(
    "kind", ["classes", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("numbers", "weighted numbers"))]
)
def test_in_float64_it_is_a_plain_loop_to_the_end_of_training(
    patients: Table, make_stack: MakeStack, kind: str
) -> None:
    table, random = patients, np.random.default_rng(0)
    if kind != "classes":
        labels = 300 + 40 * np.nan_to_num(patients.values[:, 0]) + random.normal(size=patients.n_rows)
        weights = random.exponential(size=patients.n_rows) if kind == "weighted numbers" else None
        table = replace(patients, labels=labels, target=Number("size"), weights=weights)
    stack = make_stack(table, [3, 8], precision="64-true")
    # Small batches cut the validation rows too.
    batch_size = 8 if kind == "classes" else 46
    trained = train(stack, patience=0, max_epochs=9, batch_size=batch_size)
    for position, trial in enumerate(stack.data.trials):
        alone = plain_loop(stack, position, torch.float64, batch_size)
        phases = (
            (trained.pretraining, "validation_loss", alone.pretrain(max_epochs=9, patience=0)),
            (trained.finetuning, "validation_error", alone.finetune(max_epochs=9, patience=0)),
        )
        for fit, metric, history in phases:
            curve = [record[metric] for record in fit.curves if record["trial"] == trial]
            assert fit.epochs[position] == len(history["validation"])
            np.testing.assert_allclose(curve, history["validation"], rtol=0, atol=1e-9)
        expected = alone.predict(stack.data.test[position])
        np.testing.assert_allclose(trained.probabilities[position], expected, rtol=1e-9, atol=1e-9)
    assert kind == "classes" or 100 < expected.min() < expected.max() < 500
