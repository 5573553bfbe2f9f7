"""SCARF data augmentation (paper, section 4 and appendix)."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.stack import Stack
from .base import Method, Outcome, Supervision


@dataclass
class ScarfAugment(Method):
    """Cross-entropy on corrupted views of the labelled training rows, without any pre-training."""

    name: ClassVar[str] = "scarf_augment"

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        assert supervision.augmentation is not None
        fit, classifier = stack.finetune(supervision.settings, stack.labelled(), augmentation=supervision.augmentation)
        return Outcome(fit, stack.predict(classifier, stack.data.test))
