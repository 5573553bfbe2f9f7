"""Measures of embeddings against closed forms, and probes of pre-trainings against scikit-learn alone."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from scarf_lightning.data.table import Table
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.probing import Embedded, alignment, effective_rank, uniformity
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import PROBES
from scarf_lightning.options.settings import PretrainSettings
from tests.stacks import MakeStack, task

RANDOM = np.random.default_rng(5).normal(size=(40, 6))


def test_alignment_is_the_squared_distance_of_directions() -> None:
    axes = np.eye(3)
    for first, second, expected in (
        (RANDOM, RANDOM, 0.0),
        (RANDOM, 3 * RANDOM, 0.0),
        (RANDOM, -RANDOM, 4.0),
        (axes, np.roll(axes, 1, axis=0), 2.0),
    ):
        assert alignment(first, second) == pytest.approx(expected, abs=1e-12)


def test_uniformity_of_axes_of_one_point_and_of_opposite_points() -> None:
    for t in (0.5, 2.0):
        assert uniformity(np.eye(5), t) == pytest.approx(-2 * t)  # any two of them are sqrt(2) apart
        assert uniformity(np.tile([[3.0, 4.0]], (5, 1)), t) == pytest.approx(0.0)
    points = np.array([[1.0, 0], [1, 0], [-1, 0]])  # one pair at distance 0, two at 2
    assert uniformity(points) == pytest.approx(math.log((1 + 2 * math.exp(-8)) / 3))


def test_effective_rank_of_known_singular_values() -> None:
    """Equal ones have their number as effective rank."""
    for rank, scale in product(range(1, 7), (1e-3, 0.3, 1.0, 1e3)):
        assert effective_rank(scale * np.linalg.qr(RANDOM)[0][:, :rank]) == pytest.approx(rank)
    p = np.array([0.75, 0.25])
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(math.exp(-(p * np.log(p)).sum()))
    assert effective_rank(np.outer(np.ones(4), [1.0, 2.0])) == pytest.approx(1.0)
    assert effective_rank(np.zeros((3, 3))) == 0


THREE_EPOCHS = PretrainSettings(batch_size=64, max_epochs=3, patience=None)


@pytest.fixture
def stack(patients: Table, make_stack: MakeStack) -> Stack:
    return make_stack(patients, [0, 3])


def pretrained(stack: Stack, settings: PretrainSettings) -> Fit:
    return stack.pretrain(settings, task())


def by_scikit_learn(
    stack: Stack, fit: Fit, position: int, rows: NDArray[np.int64], labels: NDArray[np.int64]
) -> dict[str, float]:
    """The linear probe and the nearest neighbours of a trial, from the embeddings of a network of its own."""
    alone = stack.of([position])
    weights = {name: tensor[[position]] for name, tensor in fit.part("encoder").items()}
    train, held = (alone.embed(each, weights)[0] for each in (stack.data.labelled[[position]], rows[[position]]))
    truth = stack.data.labels[position]
    scaler = StandardScaler().fit(train)
    linear = LogisticRegression(max_iter=1000).fit(scaler.transform(train), truth)
    nearest = KNeighborsClassifier(5).fit(train, truth)
    return {
        "probe_linear": float(accuracy_score(labels[position], linear.predict(scaler.transform(held)))),
        "probe_knn": float(accuracy_score(labels[position], nearest.predict(held))),
        "probe_effective_rank": effective_rank(held),
    }


def test_curves_have_the_probes_of_every_second_epoch_on_validation_rows(stack: Stack) -> None:
    """An epoch's probes are those of the networks that a pre-training of that length ends with."""
    fit = pretrained(stack, replace(THREE_EPOCHS, probe=2))
    until_then = pretrained(stack, replace(THREE_EPOCHS, max_epochs=2, monitor="none"))
    for position, trial in enumerate(stack.trials):
        first, second, third = (record for record in fit.curves if record["trial"] == trial)
        assert set(first) == set(third) == set(second) - set(PROBES)
        found = {name: second[name] for name in PROBES}
        data = stack.data
        expected = by_scikit_learn(stack, until_then, position, data.validation, data.validation_labels)
        assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)
        assert 0 <= found["probe_alignment"] <= 4
        assert found["probe_uniformity"] < 0


def test_the_end_is_measured_on_test_rows(stack: Stack) -> None:
    fit = pretrained(stack, THREE_EPOCHS)
    found = stack.probed(THREE_EPOCHS, task(), fit.part("encoder"))
    assert {f"probe_{name}" for name in found} == set(PROBES)
    labels = stack.table.labels[stack.data.test]
    for position in range(len(stack.trials)):
        expected = by_scikit_learn(stack, fit, position, stack.data.test, labels)
        assert {name: found[name.removeprefix("probe_")][position] for name in expected} == pytest.approx(
            expected, rel=1e-4
        )


@pytest.mark.parametrize("probe", [0, 1, 2])
def test_a_probed_pretraining_has_the_same_losses_and_weights(stack: Stack, probe: int) -> None:
    plain, probed = pretrained(stack, THREE_EPOCHS), pretrained(stack, replace(THREE_EPOCHS, probe=probe))
    assert all(torch.equal(weight, probed.weights[name]) for name, weight in plain.weights.items())
    without = [{name: value for name, value in each.items() if name not in PROBES} for each in probed.curves]
    assert without == plain.curves


@pytest.mark.slow
def test_trials_that_have_stopped_are_probed_no_further(stack: Stack) -> None:
    """The trials stop after different numbers of epochs, and each has the probes of its own networks."""
    settings = PretrainSettings(batch_size=64, max_epochs=40, patience=0, learning_rate=0.02, probe=1)
    together = pretrained(stack, settings)
    assert len(set(together.epochs)) == 2, "both trials stop at once"
    for position, trial in enumerate(stack.trials):
        alone = pretrained(stack.of([position]), settings)
        assert _of(together.curves, trial) == pytest.approx(_of(alone.curves, trial), rel=1e-3)


def _of(curves: Sequence[dict[str, float]], trial: int) -> list[float]:
    return [record["probe_effective_rank"] for record in curves if record["trial"] == trial]


def test_labels_of_one_class_predict_that_class() -> None:
    """A logistic regression refuses them, and the neighbours all have it."""
    random = np.random.default_rng(0)
    held_labels = np.array([1, 1, 0, 1])
    embedded = Embedded(random.normal(size=(6, 3)), np.ones(6), random.normal(size=(4, 3)), held_labels, None, True)

    measures = embedded.measured(5)

    assert (measures["linear"], measures["knn"]) == (0.75, 0.75)


def test_probes_in_curves_need_validation_labels(stack: Stack) -> None:
    none = np.empty((2, 0), dtype=np.int64)
    without = replace(stack, data=replace(stack.data, validation=none, validation_labels=none))
    with pytest.raises(UsageError, match=r"pretrain\.probe=2 needs validation labels.* or pretrain\.probe=0"):
        pretrained(without, replace(THREE_EPOCHS, probe=2))
    pretrained(without, replace(THREE_EPOCHS, probe=0, max_epochs=1))
