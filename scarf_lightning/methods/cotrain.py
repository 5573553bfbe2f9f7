"""Co-training (paper, appendix, "SCARF pre-training outperforms SCARF co-training")."""

from dataclasses import dataclass
from typing import ClassVar

from ..engine.cotrain import CotrainModule
from ..engine.finetune import FinetuneModule
from ..engine.setup import FitSetup
from ..pretexts import Pretext
from ..randomness import Purpose
from .base import SingleFitMethod


@dataclass
class Cotrain(SingleFitMethod):
    """Cross-entropy on the labelled training rows, plus a weighted pretext loss on the same batches.

    The pretext, with a corruption and a loss of its own, and the weight are what the axis ``cotrain`` says.
    """

    name: ClassVar[str] = "cotrain"
    pretext: Pretext
    weight: float

    def module(self, setup: FitSetup) -> FinetuneModule:
        classifier = setup.classifier(learns_missing_values=self.pretext.learns_missing_values)
        random = setup.random(Purpose.FINETUNE_CORRUPTION)
        head, task = setup.pretext_task(self.pretext, classifier.encoder, random)
        return CotrainModule(classifier, head, task, weight=self.weight, **setup.training)
