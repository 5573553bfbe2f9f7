"""A temperature: what it is on data of a known truth, which rows it is fitted on, and what it leaves as it is."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import logit, softmax

from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import MethodResult, SupervisedPhase
from scarf_lightning.metrics import log_loss
from scarf_lightning.options.settings import FinetuneSettings
from scarf_lightning.randomness import Streams
from scarf_lightning.training import CellTraining
from scarf_lightning.training.temperature import fitted_temperature, folds_of, tempered, with_temperature
from tests.composing import config_of
from tests.promises import assert_same_numbers
from tests.short_training import hardware_of, trained, training_of


@pytest.mark.parametrize("sharpness", [3.0, 1.0, 0.4])
def test_of_many_rows_it_undoes_what_made_a_model_over_or_underconfident(sharpness: float) -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(50_000, 4))
    truth = softmax(logits, axis=1)
    labels = (truth.cumsum(axis=1) > random.random((len(truth), 1))).argmax(axis=1)
    predicted = softmax(sharpness * logits, axis=1)

    found = fitted_temperature(predicted, labels)

    assert found == pytest.approx(sharpness, rel=0.03)
    assert log_loss(tempered(predicted, found), labels) == pytest.approx(log_loss(truth, labels), abs=1e-4)


def test_of_one_confidence_it_is_that_at_which_confidence_is_the_share_of_right_rows() -> None:
    """Of two classes and a model that is always 99 % sure and right in 80 %: logit(.99) / T = logit(.8)."""
    labels = np.arange(100_000) % 5 == 0
    found = fitted_temperature(np.tile([0.99, 0.01], (100_000, 1)), labels.astype(np.int64))
    assert found == pytest.approx(logit(0.99) / logit(0.8), rel=1e-4)
    assert tempered(np.array([[0.99, 0.01]]), found)[0, 0] == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize("n", [1, 20, 400])
def test_few_rows_that_are_all_right_are_not_taken_for_certainty(n: int) -> None:
    """Of n right rows of two classes the confidence becomes (n + 1) / (n + 2), whatever it was."""
    for confidence in (0.6, 0.9, 0.9999):
        predicted = np.tile([confidence, 1 - confidence], (n, 1))
        found = fitted_temperature(predicted, np.zeros(n, dtype=np.int64))
        assert tempered(predicted, found)[0, 0] == pytest.approx((n + 1) / (n + 2), abs=1e-5)
    assert fitted_temperature(np.empty((0, 2)), np.empty(0, dtype=np.int64)) == 1


def test_rows_count_by_their_weights() -> None:
    random = np.random.default_rng(0)
    probabilities, labels = random.dirichlet(np.ones(3), 200), random.integers(3, size=200)
    twice = np.repeat(probabilities, 2, axis=0), np.repeat(labels, 2)
    weights = np.repeat(random.uniform(size=200), 2)
    assert fitted_temperature(*twice, weights) == pytest.approx(fitted_temperature(*twice, 7 * weights), rel=1e-6)
    assert fitted_temperature(*twice, np.ones(400)) == pytest.approx(fitted_temperature(*twice), rel=1e-6)
    # Rows without a weight move nothing, however wrong they are.
    worse = probabilities.copy()
    worse[100:] = np.eye(3)[(labels[100:] + 1) % 3]
    first = (np.arange(200) < 100).astype(float)
    assert fitted_temperature(worse, labels, first) == fitted_temperature(probabilities, labels, first)
    assert fitted_temperature(probabilities, labels, np.zeros(200)) == 1


PROBABILITIES = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0, 1))


@settings(max_examples=100)
@given(PROBABILITIES.filter(lambda p: bool((p.sum(axis=1) > 0.1).all())), st.floats(0.01, 100))
def test_the_most_probable_class_stays_and_rows_sum_to_one(raw: np.ndarray, temperature: float) -> None:
    probabilities = raw / raw.sum(axis=1, keepdims=True)
    scaled = tempered(probabilities, temperature)
    np.testing.assert_array_equal(scaled.argmax(axis=1), probabilities.argmax(axis=1))
    np.testing.assert_allclose(scaled.sum(axis=1), 1, atol=1e-12)
    assert tempered(probabilities, 1.0) is probabilities


def test_classes_that_differ_in_the_last_digit_stay_in_their_order() -> None:
    near = np.array([[0.5 - 1e-16, 0.5]])
    assert near[0, 0] < near[0, 1]
    assert tempered(near, 50.0).argmax() == 1


@settings(max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 5))
def test_each_class_is_spread_over_folds_whose_sizes_go_by_the_number_of_labels(labels: list[int], trial: int) -> None:
    n = len(labels)
    n_folds = min(5, n)
    folds = folds_of(np.array(labels), n_folds, trial, Streams(0, 100))
    assert np.bincount(folds, minlength=n_folds).tolist() == [len(range(fold, n, n_folds)) for fold in range(n_folds)]
    for label in set(labels):
        sizes = np.bincount(folds[np.array(labels) == label], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(folds, folds_of(np.array(labels), n_folds, trial, Streams(0, 100)))


@dataclass
class Remembering:
    """A method that remembers the rows of each run, and knows the labels that it was shown alone.

    It is no subclass of `Method`, which would make it a part of the axis.
    """

    runs: list[tuple[Stack, FinetuneSettings]] = field(default_factory=list)

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        self.runs.append((stack, phase.settings))
        data, n_classes = stack.data, stack.table.target.n_outputs
        predictions = np.full((*data.predicted.shape, n_classes), 0.01 / (n_classes - 1))
        for position in range(len(data.trials)):
            # Of a row that it has not seen it says the first class.
            places = np.searchsorted(data.labelled[position], data.predicted[position])
            seen = data.labelled[position][places.clip(max=data.labelled.shape[1] - 1)] == data.predicted[position]
            known = data.labels[position][places.clip(max=data.labelled.shape[1] - 1)]
            answers = np.where(seen, known, 0)
            predictions[position, np.arange(len(answers)), answers] = 0.99
        none = np.zeros(len(data.trials), dtype=bool)
        return MethodResult(predictions, None, np.ones(len(none), dtype=np.int64), np.ones(len(none)), none)


def remembering() -> Any:
    return Remembering()


def few_of(table: Table, trials: tuple[int, ...] = (0, 1, 2)) -> Stack:
    training = training_of(config_of("pretrain=none", "regime=few", "regime.labels=23", "trainer.threads=1"), table)
    return training.stack(trials)  # noqa: PD013 - no frame


def test_folds_predict_each_label_once_unseen_and_no_test_row(wdbc: Table) -> None:
    stack, method = few_of(wdbc), remembering()
    phase = SupervisedPhase(FinetuneSettings())
    outcome = method.run(stack, phase)
    result, temperatures = with_temperature(method, stack, phase, outcome)

    (whole, _), *folds = method.runs
    assert [each.data.predicted.shape[1] for each, _ in folds] == [5, 5, 5, 4, 4]
    for position in range(3):
        predicted = np.concatenate([each.data.predicted[position] for each, _ in folds])
        np.testing.assert_array_equal(np.sort(predicted), np.sort(whole.data.labelled[position]))
        for each, _ in folds:
            held = each.data.predicted[position]
            assert not np.isin(held, each.data.labelled[position]).any()
            assert not np.isin(whole.data.test[position], [*held, *each.data.labelled[position]]).any()
            # The labels moved with their rows.
            np.testing.assert_array_equal(each.data.labels[position], wdbc.labels[each.data.labelled[position]])
    # Right in its own rows, it would look for a T below 1; of rows that it has not seen it is sure and often wrong.
    assert (temperatures > 2).all()
    assert result.fits.tolist() == [6, 6, 6]
    assert result.seconds.tolist() == [6, 6, 6]


def table_of(features: np.ndarray, answers: np.ndarray) -> Table:
    frame = pd.DataFrame(features, columns=[f"x{m}" for m in range(features.shape[1])])
    target = pd.Series(np.array(["a", "b", "c"])[answers], name="answer")
    return Table.from_frame(frame, target, categorical=[False] * frame.shape[1], name="made", source="made up")


def test_a_class_that_did_not_train_does_not_count() -> None:
    """Fits without the only row of the third class give it next to no probability, whatever they are."""
    random = np.random.default_rng(0)
    table = table_of(random.normal(size=(200, 2)), np.arange(200) % 2 + (np.arange(200) % 20 == 1))
    stack = few_of(table, trials=(0,))
    labels = stack.data.labels[0].copy()
    labels[labels == 2] = 0
    labels[0] = 2
    alone = replace(stack, data=replace(stack.data, labels=labels[None]))
    # The same row with a class that others have makes the model wrong once more.
    common = replace(stack, data=replace(stack.data, labels=np.where(labels == 2, 1, labels)[None]))
    found = []
    for each in (alone, common):
        method, phase = remembering(), SupervisedPhase(FinetuneSettings())
        _, (temperature,) = with_temperature(method, each, phase, method.run(each, phase))
        found.append(temperature)
    wrong = int((labels == 1).sum())
    predicted = np.full((len(labels), 3), 0.005)
    predicted[:, 0] = 0.99
    of_others = fitted_temperature(predicted[1:], labels[1:])
    assert wrong > 5
    assert found[0] == pytest.approx(of_others, rel=1e-6)
    assert found[1] > found[0]


def test_a_fit_on_fewer_rows_has_the_length_of_the_fit_on_all(wdbc: Table) -> None:
    """Of 23 labels a bound of 20 is passed by all, and not by the 18 of a fold; a bound of 24 by neither."""
    for bound, of_folds in ((20, 0), (23, 0), (24, 24)):
        stack, method = few_of(wdbc), remembering()
        phase = SupervisedPhase(FinetuneSettings(fixed_below=bound))
        with_temperature(method, stack, phase, method.run(stack, phase))
        assert [each.fixed_below for _, each in method.runs] == [bound] + [of_folds] * 5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["control", "logistic", "bagging method.members=2", "probe"])
def test_the_classes_of_a_cell_stay_and_its_record_tells_the_temperature(method: str, wdbc: Table) -> None:
    overrides = ["pretrain=none", "regime=few", "regime.labels=30", *f"method={method}".split()]
    plain = trained(config_of(*overrides), wdbc)
    scaled = trained(config_of(*overrides, "finetune.temperature=true"), wdbc)

    for before, after in zip(plain.rows, scaled.rows, strict=True):
        for name in ("accuracy", "balanced_accuracy", "one_class", "n_labels", "finetune_epochs"):
            assert after[name] == before[name]
        assert after["log_loss"] != before["log_loss"]
        assert after["fits"] == 6 * before["fits"]
        assert "temperature" not in before
        assert after["temperature"] > 0
    for before, after in zip(plain.predictions, scaled.predictions, strict=True):
        temperature = scaled.rows[after.trial]["temperature"]
        np.testing.assert_array_equal(after.values, tempered(before.values, temperature))


def test_a_trial_has_the_same_temperature_alone_and_beside_others(wdbc: Table) -> None:
    config = config_of("pretrain=none", "regime=few", "finetune.temperature=true", "trainer.threads=1")
    together, alone = trained(config, wdbc, trials=[0, 1, 2]), trained(config, wdbc, trials=[1])
    assert_same_numbers(alone.rows[0]["temperature"], together.rows[1]["temperature"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["method=control", "method=xgboost method.max_depth=6 method.learning_rate=0.5"])
def test_an_overconfident_model_gets_better_probabilities_of_rows_that_it_has_not_seen(method: str) -> None:
    """Three rows of ten have the other class by chance, so no model has a log-loss below h(0.3) = 0.61 nats, and
    who fits every label has a far larger one."""
    random = np.random.default_rng(0)
    features = random.normal(size=(800, 6))
    table = table_of(features, np.where(random.random(800) < 0.3, features[:, 0] < 0, features[:, 0] > 0).astype(int))
    lengths = "finetune.fixed_below=1000 finetune.fixed_steps=120 finetune.learning_rate=0.01"
    if method != "method=control":
        lengths = ""
    config = f"pretrain=none regime=few regime.labels=100 trainer.threads=1 {lengths} {method}".split()

    losses = []
    for temperature in ("false", "true"):
        cell = config_of(*config, f"finetune.temperature={temperature}")
        training = CellTraining.prepare(cell, table, hardware_of(cell))
        rows = training.run([0, 1]).record([0, 1]).rows
        losses.append(np.mean([row["log_loss"] for row in rows]))
    entropy = -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))

    assert losses[0] > np.log(2) + 0.1, "worse than the class frequencies"
    assert losses[1] < losses[0] - 0.1
    assert losses[1] > entropy
