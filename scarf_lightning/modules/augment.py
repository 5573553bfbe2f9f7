"""SCARF data augmentation: supervised training on corrupted inputs (paper, section 4 and appendix)."""

from torch import Tensor

from ..nn import Encoder, Head
from ..randomness import StackedGenerator
from .finetune import FinetuneModule
from .views import ViewMaker


class AugmentModule(FinetuneModule):
    """Trains on views of the rows instead of the rows; validates on the rows.

    Args:
        encoder: f of T trials.
        head: h of T trials.
        view_maker: makes the views.
        random: stream of the views.
        adam: Adam's options, as `FinetuneModule` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        view_maker: ViewMaker,
        random: StackedGenerator,
        **adam: float,
    ) -> None:
        super().__init__(encoder, head, leaving=(view_maker, random), **adam)
        self._view_maker, self._random = view_maker, random

    def logits(self, x: Tensor) -> Tensor:
        encoder = self.classifier.encoder
        view = self._view_maker(x, encoder.one_hot(x), self._random)
        logits: Tensor = self.classifier.head(encoder.body(view))
        return logits
