"""SCARF data augmentation (paper, section 4 and appendix)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..corruption import Corruption, Selection
from ..engine.encoder import Classifier
from ..engine.finetune import FinetuneModule
from ..engine.rows import BatchRows, CorruptionSource
from ..engine.setup import FitSetup
from ..randomness import Purpose, StackedGenerator
from .base import SingleFitMethod


@dataclass
class ScarfAugment(SingleFitMethod):
    """Cross-entropy on corrupted views of the labelled training rows, without any pre-training."""

    name: ClassVar[str] = "scarf_augment"
    pretrainable: ClassVar[bool] = False
    corruption: Corruption
    selection: Selection

    def module(self, setup: FitSetup) -> FinetuneModule:
        classifier = setup.classifier(learns_missing_values=self.corruption.learns_missing_values)
        source, random = setup.source(classifier.encoder), setup.random(Purpose.FINETUNE_CORRUPTION)
        return AugmentModule(classifier, self, source, random, **setup.training)


class AugmentModule(FinetuneModule):
    """Trains on views of the rows instead of the rows; validates on the rows.

    Args:
        classifier: f and h of T trials.
        augmentation: makes the views.
        source: what corruption draws from.
        random: stream of the views.
        training: the roster and the settings, as `StackModule` takes them.
    """

    def __init__(
        self,
        classifier: Classifier,
        augmentation: ScarfAugment,
        source: CorruptionSource,
        random: StackedGenerator,
        **training: Any,
    ) -> None:
        super().__init__(classifier, **training)
        self._augmentation, self._source, self._random = augmentation, source, random

    def logits(self, x: Tensor) -> Tensor:
        rows = BatchRows.of(x, self._source, self._random)
        view, _ = rows.corrupted(self._augmentation.corruption, self._augmentation.selection)
        return self.classifier.of_encoded(view)
