"""Mixup (Zhang et al. 2018, https://arxiv.org/abs/1710.09412; paper, section 4)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.datamodule import Batch
from ..engine.encoder import Classifier
from ..engine.finetune import FinetuneModule
from ..engine.lifting import per_trial
from ..engine.setup import FitSetup
from ..limits import Limit
from ..randomness import Purpose, StackedGenerator
from .base import SingleFitMethod


@dataclass
class Mixup(SingleFitMethod):
    """Cross-entropy on mixtures of encoded rows, of their labels and of their weights."""

    name: ClassVar[str] = "mixup"
    limits: ClassVar[dict[str, Limit]] = {"alpha": "(0, inf)"}
    alpha: float = 0.2

    def module(self, setup: FitSetup) -> FinetuneModule:
        return MixupModule(setup.classifier(), setup.random(Purpose.MIXUP), alpha=self.alpha, **setup.training)


class MixupModule(FinetuneModule):
    """Trains on l x + (1 - l) x' and l y + (1 - l) y', with x' another row of the batch and l ~ Beta(alpha, alpha).

    Rows are mixed encoded; a mini-batch of a trial has one l.

    Args:
        classifier: f and h of T trials.
        random: stream of the shares and of the partners.
        alpha: of the Beta distribution.
        training: the roster and the settings, as `StackModule` takes them.
    """

    def __init__(self, classifier: Classifier, random: StackedGenerator, *, alpha: float, **training: Any) -> None:
        super().__init__(classifier, **training)
        self._random, self._alpha = random, alpha

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        encoded = self.classifier.encoder.one_hot(batch.x)
        share, partner = self._shares(encoded.dtype), self._random.permutations(encoded.shape[1])
        logits = self.classifier.of_encoded(_mix(encoded, share, partner))
        hard = batch.targets.dim() == 2
        labels = F.one_hot(batch.targets, logits.shape[-1]) if hard else batch.targets
        mixed = _mix(labels.to(encoded.dtype), share, partner)
        weights = batch.weights
        if weights is not None:
            weights = _mix(weights.unsqueeze(-1), share, partner).squeeze(-1)
        losses: Tensor = per_trial(self.criterion, logits, mixed, weights)
        return losses

    def _shares(self, dtype: torch.dtype) -> Tensor:
        """l of each trial, ``(T, 1, 1)``, by the inverse of the Beta distribution."""
        from scipy.special import betaincinv

        uniform = self._random.uniform(1, 1)
        shares = betaincinv(self._alpha, self._alpha, uniform.double().cpu().numpy())
        return torch.from_numpy(shares).to(uniform.device, dtype)


def _mix(tensor: Tensor, share: Tensor, partner: Tensor) -> Tensor:
    """``share`` ``(T, 1, 1)`` of the rows ``(T, N, E)``, and the rest of those at ``partner`` ``(T, N)``."""
    return share * tensor + (1 - share) * tensor.gather(1, partner.unsqueeze(-1).expand(-1, -1, tensor.shape[-1]))
