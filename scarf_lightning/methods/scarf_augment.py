"""SCARF data augmentation (paper, section 4 and appendix)."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.variants import Augmented, Variant
from .base import SingleFitMethod, Supervision


@dataclass
class ScarfAugment(SingleFitMethod):
    """Cross-entropy on corrupted views of the labelled training rows, without any pre-training."""

    name: ClassVar[str] = "scarf_augment"

    def variant(self, supervision: Supervision) -> Variant | None:
        assert supervision.augmentation is not None
        return Augmented(supervision.augmentation)
