"""Co-training (paper, appendix, "SCARF pre-training outperforms SCARF co-training")."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.stack import Stack
from .base import Method, Outcome, Supervision


@dataclass
class Cotrain(Method):
    """Cross-entropy on the labelled training rows, plus a weighted pretext loss on the same batches."""

    name: ClassVar[str] = "cotrain"

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        assert supervision.cotraining is not None
        fit, classifier = stack.finetune(
            supervision.settings, stack.labelled(), supervision.pretrained, cotraining=supervision.cotraining
        )
        return Outcome(fit, stack.predict(classifier, stack.data.test))
