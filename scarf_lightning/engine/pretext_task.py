"""A pretext task at work: views of a batch, f and g, and the loss on what comes out."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..pretexts import Pretext
from ..randomness import StackedGenerator
from .encoder import Encoder
from .lifting import per_trial
from .rows import BatchRows, CorruptionSource


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
        losses: Tensor = per_trial(self._pretext.compute_loss, self._embed(views.inputs), views.targets)
        return losses

    def validation(self, raw: Tensor, random: StackedGenerator, n_passes: int, *, error: bool) -> dict[str, Tensor]:
        """Loss, and ``error`` where asked for, of ``n_passes`` mini-batches made of the same rows; means, ``(T,)``.

        Each pass is judged by itself. An input that is the same in all of them, as clean rows are, is embedded once.
        """
        rows = BatchRows.of(raw, self._source, random)
        passes = [self._pretext.make_views(rows) for _ in range(n_passes)]
        outputs = list(
            zip(*map(self._embed_passes, zip(*(views.inputs for views in passes), strict=True)), strict=True)
        )
        measures = {"loss": self._pretext.compute_loss} | ({"error": self._pretext.compute_error} if error else {})
        return {
            name: _mean([per_trial(measure, out, views.targets) for out, views in zip(outputs, passes, strict=True)])
            for name, measure in measures.items()
        }

    def _embed_passes(self, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
        if all(each is inputs[0] for each in inputs):
            return self._embed(inputs[:1]) * len(inputs)
        return self._embed(inputs)

    def _embed(self, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
        """What f and g make of each input. One pass over all of them costs less than one each."""
        out = self._head(self._encoder.body(torch.cat(list(inputs), dim=1)))
        if isinstance(out, tuple):
            return tuple(zip(*(part.chunk(len(inputs), dim=1) for part in out), strict=True))
        return tuple(out.chunk(len(inputs), dim=1))


def _mean(values: list[Tensor]) -> Tensor:
    """Mean of values ``(T,)``. Trials are made rows, so that their number does not decide the order of the sum."""
    return torch.stack(values, dim=-1).mean(dim=-1)
