"""What every method owes: the contract of the stack, no look at test labels, and all classes."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from scarf_lightning.corruption.strategies import Exact, Marginal
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.data.trials import Semi25
from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import Method, MethodResult, SupervisedPhase
from scarf_lightning.options.axes import parts as options
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.composing import RIVALS
from tests.promises import assert_same_numbers, is_exact
from tests.stacks import MakeStack, task

METHODS: dict[str, Any] = {name: cls for name, cls in options("method").items() if Classes.is_among(cls.targets)}
OF_NUMBERS: dict[str, Any] = {name: cls for name, cls in options("method").items() if Number.is_among(cls.targets)}
HEAVY = ("self_train", "tri_train")
LIGHT_FIRST = [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in METHODS]
"""Those that fit many networks are left to the slow tests."""
PARTS: dict[str, dict[str, Any]] = {
    "cotrain": {"pretext": task(), "weight": 0.1},
    "scarf_augment": {"corruption": Marginal(), "selection": Exact()},
    "random_forest": {"n_estimators": 10},
    "catboost": {"iterations": 10},
    "hist_gradient_boosting": {"max_iter": 5},
    "lightgbm": {"n_estimators": 5},
    "sklearn": {"options": {"n_estimators": 10}},
    "tabm": {"k": 4, "d_block": 8, "max_epochs": 3},
}


def made(name: str) -> Method:
    method: Method = options("method")[name](**PARTS.get(name, {}))
    if hasattr(method, "iterations") and hasattr(method, "threshold"):
        method.iterations, method.threshold = 2, 0.4
    return method


def run(name: str, stack: Stack) -> MethodResult:
    pretrained = None
    if options("method")[name].pretrainable:
        pretrained = stack.pretrain(PretrainSettings(max_epochs=2, batch_size=46), task()).part("encoder")
    return made(name).run(stack, SupervisedPhase(FinetuneSettings(max_epochs=3, batch_size=16), pretrained))


def test_those_that_are_never_pretrained() -> None:
    assert {name for name, method in METHODS.items() if not method.pretrainable} == {
        "scarf_augment",
        *RIVALS,
    } - {"ridge"}


@pytest.mark.parametrize("name", METHODS)
def test_a_trial_comes_out_alike_in_any_company(patients: Table, make_stack: MakeStack, name: str) -> None:
    among = run(name, make_stack(patients, range(4), regime=Semi25()))
    alone = run(name, make_stack(patients, [2], regime=Semi25()))
    assert_same_numbers(alone.predictions[0], among.predictions[2], precision="32-true", rounding=1e-2)
    assert alone.fits[0] == among.fits[2]
    if is_exact() and alone.fit is not None and among.fit is not None:
        assert alone.fit.epochs[0] == among.fit.epochs[2]


@pytest.mark.parametrize("validation", ["outside", "inside"])
@pytest.mark.parametrize("name", LIGHT_FIRST)
def test_labels_that_the_regime_hides_reach_no_fit(
    patients: Table, make_stack: MakeStack, name: str, validation: Literal["outside", "inside"]
) -> None:
    """Nor do those of test rows, and with validation inside those of the split's validation rows."""
    stack = make_stack(patients, [0], regime=Semi25(validation=validation))
    seen = np.concatenate([stack.data.labelled[0], stack.data.validation[0]])
    planted = (patients.labels + 1) % 3
    planted[seen] = patients.labels[seen]
    outcome = run(name, replace(stack, table=replace(patients, labels=planted)))
    assert np.array_equal(outcome.predictions, run(name, stack).predictions)


def test_self_and_tri_training_need_rows_without_a_label() -> None:
    needing = {name for name, method in METHODS.items() if method.needs_unlabelled_rows}
    assert needing == {"self_train", "tri_train"}


@pytest.mark.parametrize("name", LIGHT_FIRST)
def test_all_fits_are_counted_and_see_training_rows_only(
    patients: Table, make_stack: MakeStack, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = make_stack(patients, [0, 1], regime=Semi25())
    fits = {0: 0, 1: 0}
    numbers: list[tuple[int, ...]] = []
    finetune = Stack.finetune

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        for trial, rows in zip(self.data.trials, examples.rows.numpy(), strict=True):
            fits[trial] += 1
            assert set(rows) <= set(stack.data.train[trial])
            if name not in ("distill", "self_train", "tri_train"):
                assert set(rows) <= set(stack.data.labelled[trial]), "unlabelled rows are not for this method"
        numbers.append((*self.data.trials, options["number"]))
        return finetune(self, settings, examples, *given, **options)

    monkeypatch.setattr(Stack, "finetune", spied)
    outcome = run(name, stack)
    assert outcome.fits.tolist() == ([1, 1] if name in ("probe", *RIVALS) else [fits[0], fits[1]])
    assert outcome.fit is not None or not METHODS[name].has_encoder, "an encoder is one that was fitted"
    if name not in ("self_train", "tri_train"):  # in which it depends on the data
        assert outcome.fits.tolist() == [METHODS[name].typical_fits] * 2
    assert len(set(numbers)) == len(numbers), "every fit has its own streams"
    assert outcome.seconds.shape == (2,)
    assert outcome.diverged.dtype == bool
    assert not outcome.diverged.any()
    assert (outcome.seconds > 0).all()


@pytest.mark.parametrize("name", METHODS)
def test_a_class_missing_from_the_labelled_rows_is_legal(patients: Table, make_stack: MakeStack, name: str) -> None:
    stack = make_stack(patients, [0], regime=Semi25())
    labels = np.where(stack.data.labels == 1, 0, stack.data.labels)
    outcome = run(name, replace(stack, data=replace(stack.data, labels=labels)))
    assert outcome.predictions.shape == (1, 40, 3)
    np.testing.assert_allclose(outcome.predictions.sum(axis=2), 1, atol=1e-6)


@pytest.fixture(scope="module")
def sizes(patients: Table) -> Table:
    """The patients with a number to predict, which their columns tell something about."""
    signal = np.nansum(patients.values, axis=1)
    labels = 1000 + 50 * (signal - signal.mean()) / signal.std() + np.random.default_rng(0).normal(size=len(signal))
    return replace(patients, labels=labels, target=Number("size"))


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_come_out_alike_in_any_company_in_their_own_unit(
    sizes: Table, make_stack: MakeStack, name: str
) -> None:
    among = run(name, make_stack(sizes, range(4), regime=Semi25()))
    alone = run(name, make_stack(sizes, [2], regime=Semi25()))

    assert among.predictions.shape == (4, 40)
    assert 400 < among.predictions.min() < among.predictions.max() < 1600
    if is_exact():
        assert np.array_equal(alone.predictions[0], among.predictions[2])
    else:
        np.testing.assert_allclose(alone.predictions[0], among.predictions[2], rtol=1e-4)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_of_test_and_unlabelled_rows_reach_no_fit(sizes: Table, make_stack: MakeStack, name: str) -> None:
    stack = make_stack(sizes, [0], regime=Semi25())
    seen = np.concatenate([stack.data.labelled[0], stack.data.validation[0]])
    planted = sizes.labels[::-1].copy()
    planted[seen] = sizes.labels[seen]

    outcome = run(name, replace(stack, table=replace(sizes, labels=planted)))

    assert np.array_equal(outcome.predictions, run(name, stack).predictions)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_equal_numbers_are_legal(sizes: Table, make_stack: MakeStack, name: str) -> None:
    stack = make_stack(sizes, [0], regime=Semi25())
    labels = np.full_like(stack.data.labels, 7.0)
    fitted = replace(stack.data.preprocessing, target=np.array([[7.0, 1.0]]))

    outcome = run(name, replace(stack, data=replace(stack.data, labels=labels, preprocessing=fitted)))

    np.testing.assert_allclose(outcome.predictions, 7, atol=3)


def test_methods_that_serve_one_kind_say_why() -> None:
    one_kind = {name: cls for name, cls in options("method").items() if cls.targets}

    assert sorted(set(one_kind) - set(OF_NUMBERS)) == [
        "bitempered", "deep_knn", "label_smoothing", "logistic", "self_train", "tri_train",
    ]  # fmt: skip
    assert all(cls.why_not for cls in one_kind.values())
