"""Tri-training (Zhou and Li 2005; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..engine.stack import Stack
from ..limits import Limit
from ..randomness import Purpose
from .base import MethodResult, RaggedMethod, SupervisedPhase
from .pseudo_labels import PseudoLabels

MODELS = 3
VOTE_SHARE = 0.8
"""Weight of the votes in the probabilities, beside the mean prediction: high enough that two votes beat any third."""


def agreed_labels(one: NDArray[np.float64], other: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Where two models predict the same class and both exceed the threshold: ``(m, C)`` twice gives ``(m,)``."""
    same = one.argmax(axis=1) == other.argmax(axis=1)
    return np.asarray(same & (one.max(axis=1) > threshold) & (other.max(axis=1) > threshold))


def majority_vote(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities whose largest is the majority's class: three models' ``(3, n, C)`` to ``(n, C)``.

    Where all three differ, their mean decides.
    """
    n_classes = probabilities.shape[2]
    votes = np.eye(n_classes)[probabilities.argmax(axis=2)].mean(axis=0)
    return np.asarray(VOTE_SHARE * votes + (1 - VOTE_SHARE) * probabilities.mean(axis=0))


@dataclass
class TriTrain(RaggedMethod):
    """Three models, started on bootstrap samples of the labelled rows. Each iteration trains all three afresh, from the
    same pre-trained f, and gives each the rows that the other two label alike, both above the threshold. Three final
    models vote. It ends early when no model lacks a label."""

    name: ClassVar[str] = "tri_train"
    limits: ClassVar[dict[str, Limit]] = {"threshold": "(0, 1)", "iterations": "[1, inf)"}
    needs_unlabelled_rows: ClassVar[bool] = True
    has_encoder: ClassVar[bool] = False
    typical_fits: ClassVar[int] = 24
    threshold: float = 0.75
    iterations: int = 10

    def run_one(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        start = PseudoLabels.start(stack)
        sets = []
        for model in range(MODELS):
            random = stack.streams.numpy(stack.data.trials[0], Purpose.BOOTSTRAP, model)
            sample = random.integers(len(start.rows), size=len(start.rows))
            sets.append(PseudoLabels(start.rows[sample], start.labels[sample], start.unlabelled))
        unlabelled = start.unlabelled
        fits = []
        for iteration in range(1, self.iterations + 1):
            if not any(len(training.unlabelled) for training in sets):
                break
            predictions = []
            for model, training in enumerate(sets):
                fit, classifier = phase.fit(stack, training.examples(stack), number=MODELS * iteration + model)
                fits.append(fit)
                predictions.append(stack.predict(classifier, unlabelled[None])[0])
            for model, training in enumerate(sets):
                one, other = (predictions[m] for m in range(MODELS) if m != model)
                left = np.isin(unlabelled, training.unlabelled)
                agreed = agreed_labels(one[left], other[left], self.threshold)
                training.add(agreed, one[left].argmax(axis=1))
        votes = []
        for model, training in enumerate(sets):
            fit, classifier = phase.fit(stack, training.examples(stack), number=model)
            fits.append(fit)
            votes.append(stack.predict(classifier, stack.data.test)[0])
        final = fits[-MODELS]  # the first of the three stands for the final fit
        return MethodResult.of_fits(
            majority_vote(np.stack(votes))[None], final, [fit for fit in fits if fit is not final]
        )
