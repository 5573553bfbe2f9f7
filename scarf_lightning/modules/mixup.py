"""Fine-tuning on mixtures of rows (Zhang et al. 2018, https://arxiv.org/abs/1710.09412; paper, section 4)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.datamodule import Batch
from ..nn import Encoder, Head
from ..randomness import StackedGenerator
from .finetune import FinetuneModule


class MixupModule(FinetuneModule):
    """Trains on l x + (1 - l) x' and l y + (1 - l) y', with x' another row of the batch and l ~ Beta(alpha, alpha).

    Rows are mixed encoded; a mini-batch of a trial has one l.

    Args:
        encoder: f of T trials.
        head: h of T trials.
        random: stream of the shares and of the partners.
        alpha: of the Beta distribution.
        adam: Adam's options, as `FinetuneModule` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        random: StackedGenerator,
        *,
        alpha: float,
        **adam: float,
    ) -> None:
        super().__init__(encoder, head, leaving=(random,), **adam)
        self._random, self._alpha = random, alpha

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        encoder, head = self.classifier.encoder, self.classifier.head
        encoded = encoder.one_hot(batch.x)
        hard = batch.targets.dim() == 2
        labels = F.one_hot(batch.targets, head.n_out) if hard else batch.targets
        share, partner = self._shares(encoded.dtype), self._random.permutations(encoded.shape[1])
        mixed = [share * t + (1 - share) * _take(t, partner) for t in (encoded, labels.to(encoded.dtype))]
        return self.criterion(head(encoder.body(mixed[0])), mixed[1], batch.weights)

    def _shares(self, dtype: torch.dtype) -> Tensor:
        """l of each trial, ``(T, 1, 1)``, by the inverse of the Beta distribution."""
        from scipy.special import betaincinv

        uniform = self._random.uniform(1, 1)
        shares = betaincinv(self._alpha, self._alpha, uniform.double().cpu().numpy())
        return torch.from_numpy(shares).to(uniform.device, dtype)


def _take(tensor: Tensor, positions: Tensor) -> Tensor:
    """Rows of ``tensor`` ``(T, N, E)`` at ``positions`` ``(T, N)``."""
    return tensor.gather(1, positions.unsqueeze(-1).expand(-1, -1, tensor.shape[-1]))
