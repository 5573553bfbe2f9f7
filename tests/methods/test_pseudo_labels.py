"""Deep k-NN, self-training, tri-training: what they keep, what they add, how they vote."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.pseudo_labels import (
    DeepKNN,
    SelfTrain,
    TriTrain,
    agrees_with_neighbours,
    majority_vote,
)
from scarf_lightning.options.settings import FinetuneSettings
from tests.stacks import MakeStack

QUICK = SupervisedPhase(FinetuneSettings(max_epochs=1, batch_size=46))


@dataclass
class Fits:
    """The examples and the number of each fit, as they come, and the rows that were predicted.

    ``says`` gives the probabilities of rows ``(T, n)`` in place of a network, or None to ask the network.
    """

    examples: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    predicted: list[Any] = field(default_factory=list)
    predictions: list[Any] = field(default_factory=list)
    says: Callable[[Any], Any] | None = None


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Fits:
    seen, finetune, predict = Fits(), Stack.finetune, Stack.predict

    def noted(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        seen.examples.append(examples)
        seen.numbers.append(options["number"])
        return finetune(self, settings, examples, *given, **options)

    def scripted(self: Stack, classifier: Any, rows: Any) -> Any:
        seen.predicted.append(rows[0])
        seen.predictions.append(predict(self, classifier, rows) if seen.says is None else seen.says(rows))
        return seen.predictions[-1]

    monkeypatch.setattr(Stack, "finetune", noted)
    monkeypatch.setattr(Stack, "predict", scripted)
    return seen


@pytest.fixture(scope="module")
def semi(patients: Table, make_stack: MakeStack) -> Stack:
    """A trial in which a quarter of the training rows has labels."""
    return make_stack(patients, [0], regime=Semi25())


@pytest.fixture(scope="module")
def unlabelled(semi: Stack) -> Any:
    return np.setdiff1d(semi.data.train[0], semi.data.labelled[0])


def sure_of(classes: Any, highest: Any) -> Any:
    """Probabilities ``(1, n, 3)`` of rows: the class has the highest one, the others share the rest."""
    probabilities = np.repeat(((1 - highest) / 2)[:, None], 3, axis=1)
    probabilities[np.arange(len(highest)), classes] = highest
    return probabilities[None]


def confident(fits: Fits, rows_from_call: dict[int, Any]) -> Callable[[Any], Any]:
    """Row r is class r % 3 with probability 0.9 from the prediction on that names it; 0.7 before."""

    def says(rows: Any) -> Any:
        known = [row for call, its in rows_from_call.items() if call <= len(fits.predicted) for row in its]
        return sure_of(rows[0] % 3, np.where(np.isin(rows[0], known), 0.9, 0.7))

    return says


class TestNeighbours:
    @pytest.mark.parametrize("k", [1, 3, 8, 100])
    def test_against_a_loop(self, k: int) -> None:
        random = np.random.default_rng(k)
        features, labels = random.normal(size=(40, 3)), random.integers(3, size=40)
        expected = []
        for i in range(40):
            distances = np.linalg.norm(features - features[i], axis=1)
            others = [j for j in np.argsort(distances) if j != i][: min(k, 39)]
            counts = [sum(labels[j] == c for j in others) for c in range(3)]
            expected.append(counts[labels[i]] == max(counts))
        assert agrees_with_neighbours(features, labels, k, 3).tolist() == expected

    def test_a_point_is_no_neighbour_of_its_own_among_duplicates(self) -> None:
        labels = np.array([0, 1, 1, 1])
        for k in (1, 2, 3):
            agrees = agrees_with_neighbours(np.zeros((4, 2)), labels, k, 2)
            assert not agrees[0], "all others have the other label"
        assert agrees.tolist() == [False, True, True, True]
        assert agrees_with_neighbours(np.zeros((1, 2)), np.array([0]), 50, 2).tolist() == [True], "nobody disagrees"


def blobs(share: float, n: int = 400) -> tuple[Table, np.ndarray]:
    """Two blobs far apart; this share of labels is wrong. Which ones are is returned; nothing but distance tells."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=n)
    features = pd.DataFrame(random.normal(size=(n, 4)) + 6 * truth[:, None])
    wrong = random.random(n) < share
    labels = pd.Series(np.where(wrong, 1 - truth, truth), name="y")
    return Table.from_frame(features, labels, categorical=[False] * 4, name="blobs", source="made up"), wrong


@pytest.mark.parametrize("share", [pytest.param(0.1, marks=pytest.mark.slow), 0.3])
def test_deep_knn_drops_planted_wrong_labels(make_stack: MakeStack, fits: Fits, share: float) -> None:
    table, wrong = blobs(share)
    outcome = DeepKNN().run(make_stack(table, range(3)), SupervisedPhase(FinetuneSettings(max_epochs=5)))
    rows = [examples.rows.numpy()[0] for examples in fits.examples]
    for examples, its in zip(fits.examples, rows, strict=True):
        assert np.array_equal(examples.targets.numpy()[0], table.labels[its]), "labels are left as they are"
    before, kept = np.concatenate(rows[::2]), np.concatenate(rows[1::2])
    assert outcome.fits.tolist() == [2, 2, 2]
    assert fits.numbers == [1, 0] * 3, "the second model draws from streams of its own"
    assert wrong[before].sum() > 10
    assert wrong[kept].sum() <= 0.1 * wrong[before].sum(), "nine of ten wrong labels are dropped"
    assert (~wrong[kept]).sum() >= 0.9 * (~wrong[before]).sum(), "nine of ten right ones stay"


def test_self_training_adds_only_what_passes_the_threshold(semi: Stack, unlabelled: Any, fits: Fits) -> None:
    fits.says = confident(fits, {1: unlabelled[:10], 3: unlabelled[10:15]})
    outcome = SelfTrain(iterations=4).run(semi, QUICK)
    n = semi.data.labelled.shape[1]
    assert [len(examples) for examples in fits.examples] == [n, n + 10, n + 10, n + 15, n + 15]
    assert len(set(fits.numbers)) == 5, "every iteration starts afresh"
    final = fits.examples[-1]
    assert final.rows[0, n:].tolist() == unlabelled[:15].tolist()
    assert final.targets[0, n:].tolist() == (unlabelled[:15] % 3).tolist()
    assert final.targets[0, :n].tolist() == semi.data.labels[0].tolist(), "given labels stay"
    assert outcome.fits.tolist() == [5]


def test_a_vote_has_eight_tenths_of_the_weight_and_the_mean_the_rest() -> None:
    probabilities = np.array([[[0.6, 0.4, 0.0]], [[0.5, 0.2, 0.3]], [[0.0, 0.0, 1.0]]])
    by_hand = [0.8 * 2 / 3 + 0.2 * 1.1 / 3, 0.2 * 0.6 / 3, 0.8 / 3 + 0.2 * 1.3 / 3]
    np.testing.assert_allclose(majority_vote(probabilities), [by_hand], rtol=1e-12)


def test_tri_training_over_three_iterations(semi: Stack, unlabelled: Any, fits: Fits) -> None:
    """First all agree on even rows, then the first two on odd ones, with another class for even rows by then. It goes
    on while any model lacks a label."""

    def says(rows: Any) -> Any:
        iteration, model = divmod(len(fits.examples) - 1, 3)
        sure = rows[0] % 2 == 0 if iteration == 0 else np.full(len(rows[0]), model < 2)
        return sure_of(iteration % 3, np.where(sure, 0.8, 0.7))

    fits.says = says
    outcome = TriTrain(iterations=3).run(semi, QUICK)
    n, even, odd = semi.data.labelled.shape[1], unlabelled[unlabelled % 2 == 0], unlabelled[unlabelled % 2 == 1]
    added = [(examples.rows[0, n:].tolist(), examples.targets[0, n:].tolist()) for examples in fits.examples]
    once = (even.tolist(), [0] * len(even))
    then = (even.tolist() + odd.tolist(), [0] * len(even) + [1] * len(odd))
    assert added == [([], [])] * 3 + [once] * 3 + [once, once, then] * 2, "the third model alone is given odd rows"
    for start, final in zip(fits.examples[:3], fits.examples[9:], strict=True):
        assert start.rows.equal(final.rows[:, :n]), "one sample a model"
        assert start.targets[0].tolist() == semi.table.labels[start.rows[0]].tolist()
    assert outcome.fits.tolist() == [12]
