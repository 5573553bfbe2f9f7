"""A pretext task at work: views of a batch, f and g, and the loss on what comes out."""

from typing import Any

import torch
from torch import Tensor, nn

from ..pretexts import Pretext
from ..randomness import StackedGenerator
from .encoder import Encoder
from .lifting import per_trial
from .rows import BatchRows, CorruptionSource
from .static_views import StaticViews


class PretextTask:
    """Computes the loss of a pretext for the trials of a stack. It owns no parameter: f and g are its module's.

    Args:
        pretext: what is learned.
        encoder: f.
        head: g.
        source: what corruption draws from.
        random: stream of the training views.
    """

    def __init__(
        self, pretext: Pretext, encoder: Encoder, head: nn.Module, source: CorruptionSource, random: StackedGenerator
    ) -> None:
        self._pretext, self._encoder, self._head = pretext, encoder, head
        self._source, self._random = source, random

    def losses(self, raw: Tensor) -> Tensor:
        """Training loss of each trial, ``(T,)``, on a batch of raw rows ``(T, N, M)``."""
        views = self._pretext.make_views(BatchRows.of(raw, self._source, self._random))
        # One pass over all of them costs less than one each.
        outputs = self._embed(torch.cat(views.inputs, dim=1), len(views.inputs))
        losses: Tensor = per_trial(self._pretext.compute_loss, outputs, views.targets)
        return losses

    def validation_views(self, raw: Tensor, random: StackedGenerator, n_passes: int) -> StaticViews:
        """``n_passes`` mini-batches made of the same raw rows ``(T, N, M)``."""
        rows = BatchRows.of(raw, self._source, random)
        return StaticViews.of_passes([self._pretext.make_views(rows) for _ in range(n_passes)])

    def validation(self, views: StaticViews, *, error: bool) -> dict[str, Tensor]:
        """Loss, and ``error`` where asked for, of mini-batches of which each is judged by itself; means, ``(T,)``."""
        n_passes = len(views.targets)
        each_input = [self._embed(x, n) * (n_passes // n) for x, n in zip(views.inputs, views.parts, strict=True)]
        outputs = list(zip(*each_input, strict=True))
        measures = {"loss": self._pretext.compute_loss} | ({"error": self._pretext.compute_error} if error else {})
        return {
            name: _mean([per_trial(measure, out, targets) for out, targets in zip(outputs, views.targets, strict=True)])
            for name, measure in measures.items()
        }

    @property
    def views_stay(self) -> bool:
        """Whether views depend on nothing that is learned."""
        return not self._pretext.learns_missing_values

    def _embed(self, x: Tensor, n: int) -> tuple[Any, ...]:
        """What f and g make of each of ``n`` inputs, ``x`` ``(T, n * N, D)`` one after the other."""
        out = self._head(self._encoder.body(x))
        if isinstance(out, tuple):
            return tuple(zip(*(part.chunk(n, dim=1) for part in out), strict=True))
        return tuple(out.chunk(n, dim=1))


def _mean(values: list[Tensor]) -> Tensor:
    """Mean of values ``(T,)``. Trials are made rows, so that their number does not decide the order of the sum."""
    return torch.stack(values, dim=-1).mean(dim=-1)
