"""Deep k-NN, self-training, tri-training: what they keep, what they add, how they vote."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.pseudo_labels import (
    DeepKNN,
    PseudoLabels,
    SelfTrain,
    TriTrain,
    agreed_labels,
    agrees_with_neighbours,
    majority_vote,
)
from scarf_lightning.options.settings import FinetuneSettings
from tests.stacks import MakeStack

QUICK = SupervisedPhase(FinetuneSettings(max_epochs=2, batch_size=46))


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

    def test_one_point_has_nobody_to_disagree_with(self) -> None:
        assert agrees_with_neighbours(np.zeros((1, 2)), np.array([0]), 50, 2).tolist() == [True]


def blobs(share: float, n: int = 400) -> tuple[Table, np.ndarray]:
    """Two blobs far apart; this share of labels is wrong. Which ones are is returned; nothing but distance tells."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=n)
    features = pd.DataFrame(random.normal(size=(n, 4)) + 6 * truth[:, None])
    wrong = random.random(n) < share
    labels = pd.Series(np.where(wrong, 1 - truth, truth), name="y")
    return Table.from_frame(features, labels, categorical=[False] * 4, name="blobs", source="made up"), wrong


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_deep_knn_drops_planted_wrong_labels(
    make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    trained: list[np.ndarray] = []
    numbers: list[int] = []
    finetune = Stack.finetune

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        trained.append(examples.rows.numpy()[0])
        numbers.append(options["number"])
        assert np.array_equal(examples.targets.numpy()[0], table.labels[trained[-1]]), "labels are left as they are"
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    table, wrong = blobs(share)
    outcome = DeepKNN().run(make_stack(table, range(3)), SupervisedPhase(FinetuneSettings(max_epochs=5)))
    given_rows, kept = (np.concatenate(rows) for rows in (trained[::2], trained[1::2]))
    assert outcome.fits.tolist() == [2, 2, 2]
    assert numbers == [1, 0] * 3, "the second model draws from streams of its own"
    assert wrong[given_rows].sum() > 10
    assert wrong[kept].sum() <= 0.1 * wrong[given_rows].sum(), "nine of ten wrong labels are dropped"
    assert (~wrong[kept]).sum() >= 0.9 * (~wrong[given_rows]).sum(), "nine of ten right ones stay"


@pytest.mark.parametrize(("n_kept", "n_trained"), [(0, 139), (1, 139), (2, 2)])
def test_deep_knn_trains_on_all_where_it_would_keep_fewer_than_two(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch, n_kept: int, n_trained: int
) -> None:
    trained: list[int] = []
    finetune = Stack.finetune

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        trained.append(len(examples))
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    monkeypatch.setattr(
        "scarf_lightning.methods.pseudo_labels.agrees_with_neighbours", lambda _, labels, *rest: np.arange(139) < n_kept
    )
    DeepKNN().run(make_stack(patients, [0]), QUICK)
    assert trained == [139, n_trained]


def test_deep_knn_whose_first_model_diverges_trains_no_second_one(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, [0])
    result = DeepKNN().run(stack, SupervisedPhase(FinetuneSettings(max_epochs=2, learning_rate=1e12)))
    assert result.diverged.tolist() == [True]
    assert result.predictions[0].shape == (len(stack.data.predicted[0]), 3)


@dataclass
class Script:
    """Predictions of the unlabelled rows, one table of probabilities by row number for each fit."""

    confident: dict[int, list[int]]
    n_classes: int = 3
    calls: int = 0

    def predict(self, stack: Stack, classifier: Any, rows: np.ndarray) -> np.ndarray:
        """Row r is class r % 3 with probability 0.9 from the call on that names it; 0.7 before."""
        self.calls += 1
        known = {row for call, rows_of_call in self.confident.items() if call <= self.calls for row in rows_of_call}
        highest = np.array([0.9 if row in known else 0.7 for row in rows[0]])
        probabilities = np.repeat(((1 - highest) / (self.n_classes - 1))[:, None], self.n_classes, axis=1)
        probabilities[np.arange(len(highest)), rows[0] % self.n_classes] = highest
        return probabilities[None]


def spied_fits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The examples and the number of each fit, as they come."""
    trained: list[Any] = []
    finetune = Stack.finetune

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        trained.append((examples, options["number"]))
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    return trained


def test_self_training_adds_only_what_passes_the_threshold(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(patients, [0], regime=Semi25())
    unlabelled = np.setdiff1d(stack.data.train[0], stack.data.labelled[0]).tolist()
    script = Script({1: unlabelled[:10], 3: unlabelled[10:15]})
    trained = spied_fits(monkeypatch)
    monkeypatch.setattr(Stack, "predict", lambda stack, classifier, rows: script.predict(stack, classifier, rows))
    outcome = SelfTrain(iterations=4).run(stack, QUICK)
    n = stack.data.labelled.shape[1]
    assert [len(examples) for examples, _ in trained] == [n, n + 10, n + 10, n + 15, n + 15]
    assert len({number for _, number in trained}) == 5, "every iteration starts afresh"
    final = trained[-1][0]
    assert final.rows[0, n:].tolist() == unlabelled[:15]
    assert final.targets[0, n:].tolist() == [row % 3 for row in unlabelled[:15]]
    assert final.targets[0, :n].tolist() == stack.data.labels[0].tolist(), "given labels stay"
    assert outcome.fits.tolist() == [5]


def test_self_training_ends_when_all_have_a_label(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(patients, [0], regime=Semi25())
    script = Script({1: stack.data.train[0].tolist()})
    monkeypatch.setattr(Stack, "predict", lambda stack, classifier, rows: script.predict(stack, classifier, rows))
    assert SelfTrain(iterations=10).run(stack, QUICK).fits.tolist() == [2]


def test_self_training_keeps_a_label_that_it_would_no_longer_give(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th model is sure of class n - 1 for even rows; odd ones lie at the threshold, which is not above it."""
    stack = make_stack(patients, [0], regime=Semi25())
    predicted: list[np.ndarray] = []
    trained: list[Any] = []
    finetune = Stack.finetune

    def scripted(self: Stack, classifier: Any, rows: np.ndarray) -> np.ndarray:
        probabilities = np.full((*rows.shape, 3), 0.125)
        probabilities[..., len(predicted)] = np.where(rows % 2 == 0, 0.8, 0.75)
        predicted.append(rows[0])
        return probabilities

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        trained.append(examples)
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    monkeypatch.setattr(Stack, "predict", scripted)
    SelfTrain(iterations=2).run(stack, QUICK)
    unlabelled = np.setdiff1d(stack.data.train[0], stack.data.labelled[0])
    n, even, odd = stack.data.labelled.shape[1], unlabelled[unlabelled % 2 == 0], unlabelled[unlabelled % 2 == 1]
    assert [rows.tolist() for rows in predicted[:2]] == [unlabelled.tolist(), odd.tolist()]
    assert trained[-1].rows[0, n:].tolist() == even.tolist()
    assert (trained[-1].targets[0, n:] == 0).all()


@pytest.mark.parametrize(("method", "fits"), [(SelfTrain(), 1), (TriTrain(), 3)])
def test_without_unlabelled_rows_only_the_final_models_are_trained(
    patients: Table, make_stack: MakeStack, method: Any, fits: int
) -> None:
    assert method.run(make_stack(patients, [0, 1]), QUICK).fits.tolist() == [fits, fits]


def test_a_label_once_given_stays() -> None:
    training = PseudoLabels(np.array([1]), np.array([0]), np.array([5, 6, 7]))
    training.add(np.array([False, True, False]), np.array([9, 2, 9]))
    assert (training.rows.tolist(), training.labels.tolist(), training.unlabelled.tolist()) == ([1, 6], [0, 2], [5, 7])
    training.add(np.array([True, True]), np.array([1, 1]))
    assert (training.rows.tolist(), training.labels.tolist()) == ([1, 6, 5, 7], [0, 2, 1, 1])


def test_two_models_agree_where_both_are_confident_of_the_same_class() -> None:
    one = np.array([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.7, 0.3]])
    other = np.array([[0.9, 0.1], [0.1, 0.9], [0.7, 0.3], [0.9, 0.1]])
    assert agreed_labels(one, other, 0.75).tolist() == [True, False, False, False]


@given(st.lists(st.floats(1e-6, 1), min_size=9, max_size=9))
def test_two_votes_beat_the_third_whatever_its_probability(values: list[float]) -> None:
    probabilities = np.array(values).reshape(3, 1, 3)
    probabilities /= probabilities.sum(axis=2, keepdims=True)
    votes = np.bincount(probabilities.argmax(axis=2).ravel(), minlength=3)
    voted = majority_vote(probabilities)
    assert voted.sum() == pytest.approx(1)
    if votes.max() >= 2:
        assert voted.argmax() == votes.argmax()
    else:
        assert voted.argmax() == probabilities.mean(axis=0).argmax()


def test_a_vote_has_eight_tenths_of_the_weight_and_the_mean_the_rest() -> None:
    probabilities = np.array([[[0.6, 0.4, 0.0]], [[0.5, 0.2, 0.3]], [[0.0, 0.0, 1.0]]])
    by_hand = [0.8 * 2 / 3 + 0.2 * 1.1 / 3, 0.2 * 0.6 / 3, 0.8 / 3 + 0.2 * 1.3 / 3]
    np.testing.assert_allclose(majority_vote(probabilities), [by_hand], rtol=1e-12)


def test_tri_training_gives_each_model_what_the_other_two_agree_on(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(patients, [0], regime=Semi25())
    unlabelled = np.setdiff1d(stack.data.train[0], stack.data.labelled[0]).tolist()
    # From the second model on they are sure of ten rows: only the first model may be given them.
    script = Script({2: unlabelled[:10]})
    trained = spied_fits(monkeypatch)
    monkeypatch.setattr(Stack, "predict", lambda stack, classifier, rows: script.predict(stack, classifier, rows))
    outcome = TriTrain(iterations=1).run(stack, QUICK)
    n = stack.data.labelled.shape[1]
    assert [len(examples) for examples, _ in trained] == [n, n, n, n + 10, n, n]
    assert len({number for _, number in trained}) == 6
    samples = [examples.rows[0].tolist() for examples, _ in trained[:3]]
    assert all(set(sample) <= set(stack.data.labelled[0]) for sample in samples), "bootstrap samples"
    assert samples[0] != samples[1] != samples[2]
    assert outcome.fits.tolist() == [6]


def test_tri_training_over_three_iterations(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First all agree on even rows, then the first two on odd ones, with another class for even rows by then. It goes
    on while any model lacks a label."""
    stack = make_stack(patients, [0], regime=Semi25())
    trained: list[Any] = []
    finetune = Stack.finetune

    def scripted(self: Stack, classifier: Any, rows: np.ndarray) -> np.ndarray:
        iteration, model = divmod(len(trained) - 1, 3)
        sure = rows % 2 == 0 if iteration == 0 else np.full(rows.shape, model < 2)
        probabilities = np.full((*rows.shape, 3), 0.1)
        probabilities[..., iteration % 3] = np.where(sure, 0.8, 0.7)
        return probabilities

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        trained.append(examples)
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    monkeypatch.setattr(Stack, "predict", scripted)
    outcome = TriTrain(iterations=3).run(stack, QUICK)
    unlabelled = np.setdiff1d(stack.data.train[0], stack.data.labelled[0])
    n, even, odd = stack.data.labelled.shape[1], unlabelled[unlabelled % 2 == 0], unlabelled[unlabelled % 2 == 1]
    added = [(examples.rows[0, n:].tolist(), examples.targets[0, n:].tolist()) for examples in trained]
    once = (even.tolist(), [0] * len(even))
    then = (even.tolist() + odd.tolist(), [0] * len(even) + [1] * len(odd))
    assert added == [([], [])] * 3 + [once] * 3 + [once, once, then] * 2, "the third model alone is given odd rows"
    for start, later, final in zip(trained[:3], trained[3:6], trained[9:], strict=True):
        assert start.rows.equal(later.rows[:, :n]), "one sample a model"
        assert start.rows.equal(final.rows[:, :n])
        given_labels = dict(zip(stack.data.labelled[0].tolist(), stack.data.labels[0].tolist(), strict=True))
        assert start.targets[0].tolist() == [given_labels[row] for row in start.rows[0].tolist()]
    assert outcome.fits.tolist() == [12]


def test_tri_training_ends_when_all_have_a_label(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(patients, [0], regime=Semi25())
    script = Script({1: stack.data.train[0].tolist()})
    monkeypatch.setattr(Stack, "predict", lambda stack, classifier, rows: script.predict(stack, classifier, rows))
    assert TriTrain(iterations=10).run(stack, QUICK).fits.tolist() == [6]
