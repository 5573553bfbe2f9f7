"""Plain fine-tuning."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.stack import Stack
from .base import Method, Outcome, Supervision


@dataclass
class Control(Method):
    """Cross-entropy on the labelled training rows."""

    name: ClassVar[str] = "control"

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        fit, classifier = stack.finetune(supervision.settings, stack.labelled(), supervision.pretrained)
        return Outcome(fit, stack.predict(classifier, stack.data.test))
