"""Plain fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..modules.stack import Stack
from ..settings import FitSettings
from .base import Method, Outcome


@dataclass
class Control(Method):
    """Cross-entropy on the labelled training rows."""

    name: ClassVar[str] = "control"

    def run(self, stack: Stack, settings: FitSettings, pretrained: Mapping[str, Tensor] | None) -> Outcome:
        fit, classifier = stack.finetune(settings, stack.labelled(), pretrained)
        return Outcome(fit, stack.predict(classifier, stack.data.test))
