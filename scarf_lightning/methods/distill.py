"""Self-distillation (Hinton et al. 2015; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from ..engine.stack import Stack
from .base import Method, MethodResult, SupervisedPhase


@dataclass
class Distill(Method):
    """A first model on the labelled rows; then a fresh one, from the same pre-trained f, on labelled and unlabelled
    rows with the first one's predictions as soft labels for both."""

    name: ClassVar[str] = "distill"
    typical_fits: ClassVar[int] = 2

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        first, teacher = phase.fit(stack, stack.labelled(), number=1)
        soft = stack.predict(teacher, stack.data.train)
        fit, classifier = phase.fit(stack, stack.examples(stack.data.train, soft))
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit, [first])
