"""Other libraries' models, trained directly on the rows of a stack: what a rival must give."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from scarf_lightning.engine.stack import Stack
from scarf_lightning.methods import Method, MethodResult, SupervisedPhase
from scarf_lightning.options.settings import FinetuneSettings

PLAIN = SupervisedPhase(FinetuneSettings())
BALANCED = SupervisedPhase(FinetuneSettings(class_weight="balanced"))
STREAM = "another library's classifier"


def seed_of(stack: Stack, trial: int, stream: str = STREAM) -> int:
    return stack.streams.seed_of(trial, stream) % 2**31


def weights_of(stack: Stack, phase: SupervisedPhase, t: int) -> Any:
    """Weights of the labelled rows of a trial by their classes, or None."""
    return compute_sample_weight("balanced", stack.data.labels[t]) if phase is BALANCED else None


def raw(stack: Stack, rows: Any) -> Any:
    """Rows as they are preprocessed, with codes in categorical columns."""
    return stack.raw(rows).double().numpy()


def assert_it_is_its_librarys(
    method: Method,
    library: Callable[[int], Any],
    stack: Stack,
    *,
    phase: SupervisedPhase = PLAIN,
    inputs: Callable[[Stack, Any], Any] = Stack.encoded,
    rounding: float = 1e-6,
) -> MethodResult:
    """In each trial a method predicts what a model of the library predicts that is trained on the labelled rows alone.

    ``library`` makes the model from a seed, ``inputs`` gives rows ``(T, n)`` as it takes them.
    """
    outcome = method.run(stack, phase)
    train, test = (inputs(stack, rows) for rows in (stack.data.labelled, stack.data.test))
    for t, trial in enumerate(stack.trials):
        model = library(seed_of(stack, trial, getattr(method, "stream", STREAM)))
        weights = weights_of(stack, phase, t)
        model.fit(train[t], stack.data.labels[t], **({} if weights is None else {"sample_weight": weights}))
        expected = model.predict_proba(test[t]) if hasattr(model, "predict_proba") else model.predict(test[t])
        np.testing.assert_allclose(outcome.predictions[t], expected, rtol=rounding, atol=rounding)
    return outcome
