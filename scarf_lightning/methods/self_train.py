"""Self-training (Yarowsky 1995; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from ..engine.stack import Stack
from ..limits import Limit
from .base import MethodResult, RaggedMethod, SupervisedPhase
from .pseudo_labels import PseudoLabels


@dataclass
class SelfTrain(RaggedMethod):
    """Each iteration trains a fresh model, from the same pre-trained f, and labels the rows that it predicts with a
    probability above the threshold; a final model is trained on the final set. It ends early when all have a label."""

    name: ClassVar[str] = "self_train"
    limits: ClassVar[dict[str, Limit]] = {"threshold": "(0, 1)", "iterations": "[1, inf)"}
    needs_unlabelled_rows: ClassVar[bool] = True
    typical_fits: ClassVar[int] = 8
    threshold: float = 0.75
    iterations: int = 10

    def run_one(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        training = PseudoLabels.start(stack)
        earlier = []
        for iteration in range(1, self.iterations + 1):
            if len(training.unlabelled) == 0:
                break
            fit, classifier = phase.fit(stack, training.examples(stack), number=iteration)
            earlier.append(fit)
            probabilities = stack.predict(classifier, training.unlabelled[None])[0]
            training.add(probabilities.max(axis=1) > self.threshold, probabilities.argmax(axis=1))
        final, classifier = phase.fit(stack, training.examples(stack))
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), final, earlier)
