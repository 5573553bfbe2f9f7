"""A temperature for the probabilities of each trial, fitted on predictions of rows that did not train them.

The logarithms of the probabilities are divided by T > 0 (Guo, Pleiss, Sun and Weinberger 2017, arXiv:1706.04599)::

    p_c(T) = p_c^(1/T) / (p_1^(1/T) + ... + p_C^(1/T))

A T above 1 makes an overconfident model less sure; the most probable class stays. The labelled training rows of a trial
are cut into folds. The method runs once more without the labels of each fold and predicts it, and T is fitted on these
out-of-fold predictions, so that no label is given away and no test row is seen. It costs the supervised phase once more
for each fold.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.trials import TrialData
from ..engine.stack import Stack
from ..methods import Method, MethodResult, SupervisedPhase
from ..options.settings import TEMPERATURE_FOLDS
from ..randomness import Purpose, Streams

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALLEST = float(np.finfo(np.float64).eps)
"""The smallest probability, that of the metric log-loss."""
LARGEST = math.log(100)
"""The largest |log T|."""


def with_temperature(
    method: Method, stack: Stack, phase: SupervisedPhase, outcome: MethodResult
) -> tuple[MethodResult, Floats]:
    """The result of a method at the temperature of each trial, with the effort of all its fits; and these ``(T,)``.

    Args:
        method, stack, phase: that gave the result.
    """
    probabilities, counts, effort = _out_of_fold(method, stack, phase)
    weights = stack.table.weights
    temperatures, predictions = [], []
    for position, labels in enumerate(stack.data.labels):
        chosen = counts[position]
        row_weights = None if weights is None else weights[stack.data.labelled[position]][chosen]
        fitted = fitted_temperature(probabilities[position][chosen], labels[chosen], row_weights)
        temperatures.append(fitted)
        predictions.append(tempered(outcome.predictions[position], fitted))
    result = replace(
        outcome,
        predictions=np.stack(predictions),
        fits=outcome.fits + sum(each.fits for each in effort),
        seconds=outcome.seconds + sum(each.seconds for each in effort),
    )
    return result, np.array(temperatures)


def _out_of_fold(
    method: Method, stack: Stack, phase: SupervisedPhase
) -> tuple[Floats, NDArray[np.bool_], list[MethodResult]]:
    """Probabilities of the n labelled rows by fits without their folds, ``(T, n, C)``; which of them count, ``(T, n)``;
    and what these fits took."""
    data = stack.data
    n_trials, n = data.labels.shape
    probabilities = np.full((n_trials, n, stack.table.target.n_outputs), np.nan)
    counts = np.zeros((n_trials, n), dtype=bool)
    results: list[MethodResult] = []
    # One row cannot both train and be predicted.
    n_folds = min(TEMPERATURE_FOLDS, n) if n > 1 else 0
    pairs = zip(data.labels, data.trials, strict=True)
    folds = np.stack([folds_of(labels, n_folds, trial, stack.streams) for labels, trial in pairs])
    # A fit on fewer rows must not pass the bound below which its length is fixed, if that on all rows does not.
    settings = phase.settings
    if n + data.n_labels_inside >= settings.fixed_below:
        phase = replace(phase, settings=replace(settings, fixed_below=0))
    for fold in range(n_folds):
        is_held = folds == fold
        fold_stack = replace(stack, data=_fold_data(data, is_held), device_table=stack.datamodule.table)
        result = method.run(fold_stack, phase)
        results.append(result)
        # Every trial has as many rows in a fold.
        probabilities[is_held] = result.predictions.reshape(-1, probabilities.shape[-1])
        for position, labels in enumerate(data.labels):
            # A class that did not train has no probability to speak of, and a fit that diverged has none at all.
            is_taught = np.isin(labels, fold_stack.data.labels[position])
            is_finite = np.isfinite(probabilities[position]).all(axis=1)
            counts[position] |= is_held[position] & is_taught & is_finite & ~result.diverged[position]
    return probabilities, counts, results


def _fold_data(data: TrialData, is_held: NDArray[np.bool_]) -> TrialData:
    """Data of trials without the labels of some rows ``(T, n)``, equally many in each, and with them to predict."""
    n_trials = len(data.trials)

    def part(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        return values[mask].reshape(n_trials, -1)

    return replace(
        data,
        labelled=part(data.labelled, ~is_held),
        labels=part(data.labels, ~is_held),
        predicted=part(data.labelled, is_held),
    )


def folds_of(labels: Ints, n_folds: int, trial: int, streams: Streams) -> Ints:
    """The fold of each label, ``(n,)``: a random one, in which each class has its share within one row.

    Of n labels the sizes of the folds depend on n alone.
    """
    if not n_folds:
        return np.zeros(len(labels), dtype=np.int64)
    order = streams.numpy(trial, Purpose.FOLDS).permutation(len(labels))
    rows_by_class = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[rows_by_class] = np.arange(len(labels)) % n_folds
    return folds


def fitted_temperature(probabilities: Floats, labels: Ints, weights: Floats | None = None) -> float:
    """The T with the smallest mean cross-entropy over n rows.

    The true class of a row has the target (n + 1) / (n + C), each other class 1 / (n + C), as in Platt 1999: a few rows
    that happen to be all right would ask for a T of zero.

    Args:
        probabilities: ``(n, C)``.
        labels: ``(n,)``; of no label T is 1.
        weights: of the rows, ``(n,)``, of which only the relative size counts.
    """
    from scipy.optimize import minimize_scalar

    if not len(labels) or (weights is not None and not weights.any()):
        return 1.0
    n, n_classes = probabilities.shape
    targets = (n * np.eye(n_classes)[labels] + 1) / (n + n_classes)
    logits = np.log(np.maximum(probabilities, SMALLEST))
    # Relative to the most probable class, no exponent is too large.
    logits -= logits.max(axis=1, keepdims=True)
    target_logits = (targets * logits).sum(axis=1)

    def cost(log_temperature: float) -> float:
        sharpness = math.exp(-log_temperature)
        losses = np.log(np.exp(sharpness * logits).sum(axis=1)) - sharpness * target_logits
        return float(np.average(losses, weights=weights))

    found = minimize_scalar(cost, bounds=(-LARGEST, LARGEST), method="bounded", options={"xatol": 1e-8})
    return math.exp(found.x)


def tempered(probabilities: Floats, temperature: float) -> Floats:
    """Probabilities ``(n, C)`` at a temperature. The most probable class of each row stays."""
    if temperature == 1:
        return probabilities
    logits = np.log(np.maximum(probabilities, SMALLEST)) / temperature
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    scaled = powers / powers.sum(axis=1, keepdims=True)
    # Rounding can make two classes equal that differed in the last digit, and the first one would win.
    keeps = scaled.argmax(axis=1) == probabilities.argmax(axis=1)
    return np.asarray(np.where(keeps[:, None], scaled, probabilities))
