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
from tests.short_training import QUICK
from tests.stacks import MakeStack, task

EVERY = options("method")
METHODS: dict[str, Any] = {name: cls for name, cls in EVERY.items() if Classes.is_among(cls.targets)}
OF_NUMBERS: dict[str, Any] = {name: cls for name, cls in EVERY.items() if Number.is_among(cls.targets)}
HEAVY = ("self_train", "tri_train")
"""They fit many networks, as many as the data ask for. Fast tests of their own say what each fit sees."""
QUICK_ONES = ("control", "distill", "ridge", "random_forest", "xgboost")
"""Those whose fast tests predict numbers: a network and two of them, and libraries of each kind."""
PARTS: dict[str, dict[str, Any]] = QUICK | {
    "cotrain": {"pretext": task(), "weight": 0.1},
    "scarf_augment": {"corruption": Marginal(), "selection": Exact()},
}


def made(name: str) -> Method:
    method: Method = EVERY[name](**PARTS.get(name, {}))
    if name in HEAVY:
        method.iterations, method.threshold = 2, 0.4  # type: ignore[attr-defined]
    return method


def run(name: str, stack: Stack) -> MethodResult:
    pretrained = None
    if EVERY[name].pretrainable:
        pretrained = stack.pretrain(PretrainSettings(max_epochs=1, batch_size=46), task()).part("encoder")
    return made(name).run(stack, SupervisedPhase(FinetuneSettings(max_epochs=2, batch_size=46), pretrained))


def planted(stack: Stack, labels: Any) -> Stack:
    """The same stack of one trial on a table with other labels where the trial may see none."""
    seen = np.concatenate([stack.data.labelled[0], stack.data.validation[0]])
    changed = labels.copy()
    changed[seen] = stack.table.labels[seen]
    return replace(stack, table=replace(stack.table, labels=changed))


CASES = [
    pytest.param(
        name,
        validation,
        marks=pytest.mark.slow if name in HEAVY or (validation == "inside" and name != "control") else (),
    )
    for name in METHODS
    for validation in ("outside", "inside")
]


@pytest.mark.parametrize(("name", "validation"), CASES)
def test_a_trial_comes_out_alike_in_any_company_and_whatever_labels_are_hidden(
    patients: Table,
    make_stack: MakeStack,
    name: str,
    validation: Literal["outside", "inside"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hidden are labels that the regime leaves out, those of test rows, and with validation inside those of the split's
    validation rows. All fits are counted, and see training rows only."""
    among_stack, alone_stack = (make_stack(patients, t, regime=Semi25(validation=validation)) for t in ([1, 2], [2]))
    data, fits, numbers = among_stack.data, {1: 0, 2: 0}, list[tuple[int, ...]]()
    finetune = Stack.finetune

    def spied(self: Stack, settings: Any, examples: Any, *given: Any, **options: Any) -> Any:
        for trial, rows in zip(self.data.trials, examples.rows.numpy(), strict=True):
            fits[trial] += 1
            place = among_stack.trials.index(trial)
            # Unlabelled rows are for these methods alone.
            allowed = data.usable if name in ("distill", *HEAVY) else data.labelled
            assert set(rows) <= set(allowed[place]) - {*data.test[place], *data.validation[place]}
        numbers.append((*self.data.trials, options["number"]))
        return finetune(self, settings, examples, *given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Stack, "finetune", spied)
        among = run(name, among_stack)
    assert among.fits.tolist() == ([1, 1] if name in ("probe", *RIVALS) else [fits[1], fits[2]])
    assert among.fit is not None or not METHODS[name].has_encoder, "an encoder is one that was fitted"
    if name not in HEAVY:  # in which it depends on the data
        assert among.fits.tolist() == [METHODS[name].typical_fits] * 2
    assert len(set(numbers)) == len(numbers), "every fit has its own streams"
    assert among.seconds.shape == (2,)
    assert (among.seconds > 0).all()
    assert (among.diverged.dtype, among.diverged.any()) == (bool, False)

    alone = run(name, planted(alone_stack, (patients.labels + 1) % 3))
    assert_same_numbers(alone.predictions[0], among.predictions[1], precision="32-true", rounding=1e-2)
    assert alone.fits[0] == among.fits[1]
    if is_exact() and alone.fit is not None and among.fit is not None:
        assert alone.fit.epochs[0] == among.fit.epochs[1]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in HEAVY else ()) for n in METHODS])
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


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK_ONES else pytest.mark.slow) for n in OF_NUMBERS]
)
def test_numbers_come_out_alike_in_their_own_unit_and_may_be_equal(
    sizes: Table, make_stack: MakeStack, name: str
) -> None:
    """In any company, and whatever numbers are hidden."""
    among = run(name, make_stack(sizes, [1, 2], regime=Semi25()))
    stack = make_stack(sizes, [2], regime=Semi25())
    alone = run(name, planted(stack, sizes.labels[::-1]))
    assert among.predictions.shape == (2, 40)
    assert 400 < among.predictions.min() < among.predictions.max() < 1600
    if is_exact():
        assert np.array_equal(alone.predictions[0], among.predictions[1])
    else:
        np.testing.assert_allclose(alone.predictions[0], among.predictions[1], rtol=1e-4)
    fitted = replace(stack.data.preprocessing, target=np.array([[7.0, 1.0]]))
    equal = replace(stack.data, labels=np.full_like(stack.data.labels, 7.0), preprocessing=fitted)
    np.testing.assert_allclose(run(name, replace(stack, data=equal)).predictions, 7, atol=3)
