"""Plain fine-tuning."""

from dataclasses import dataclass
from typing import ClassVar

from .base import SingleFitMethod


@dataclass
class Control(SingleFitMethod):
    """Cross-entropy on the labelled training rows."""

    name: ClassVar[str] = "control"
