"""Co-training (paper, appendix, "SCARF pre-training outperforms SCARF co-training")."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.variants import Variant
from .base import SingleFitMethod, Supervision


@dataclass
class Cotrain(SingleFitMethod):
    """Cross-entropy on the labelled training rows, plus a weighted pretext loss on the same batches."""

    name: ClassVar[str] = "cotrain"

    def variant(self, supervision: Supervision) -> Variant | None:
        assert supervision.cotraining is not None
        return supervision.cotraining
