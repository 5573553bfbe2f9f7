"""Fine-tuning with dropout (Srivastava et al. 2014; paper, section 4)."""

import torch
from torch import Tensor

from ..nn import Encoder, Head
from ..randomness import StackedGenerator
from .finetune import FinetuneModule


class DropoutModule(FinetuneModule):
    """Leaves out units after every layer of f and every hidden layer of h while training; the others are scaled up.

    Args:
        encoder: f of T trials.
        head: h of T trials.
        random: stream of the units left out.
        rate: share of the units left out.
        adam: Adam's options, as `FinetuneModule` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        random: StackedGenerator,
        *,
        rate: float,
        **adam: float,
    ) -> None:
        super().__init__(encoder, head, leaving=(random,), **adam)
        self._random, self._rate = random, rate

    def logits(self, x: Tensor) -> Tensor:
        encoder, head = self.classifier.encoder, self.classifier.head
        embedded = self._leave_out(encoder.body(encoder.one_hot(x), self._leave_out))
        logits: Tensor = head(embedded, self._leave_out)
        return logits

    def _leave_out(self, x: Tensor) -> Tensor:
        kept = self._random.uniform(*x.shape[1:]) >= self._rate
        return torch.where(kept, x / (1 - self._rate), 0.0)
