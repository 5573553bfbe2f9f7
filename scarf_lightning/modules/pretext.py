"""A pretext task at work: views, f and g, and the loss on what comes out."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..losses import PretextLoss
from ..nn import Encoder
from ..randomness import StackedGenerator
from .views import PretextTask, ViewMaker


class Pretext:
    """Computes the loss of a pretext task for the trials of a stack. It owns no parameter: f and g are its module's.

    Args:
        task: what is learned.
        encoder: f.
        head: g.
        view_maker: makes the views that ``task`` asks for.
        random: stream of the training views.
    """

    def __init__(
        self, task: PretextTask, encoder: Encoder, head: nn.Module, view_maker: ViewMaker, random: StackedGenerator
    ) -> None:
        self._encoder, self._head, self._view_maker, self._random = encoder, head, view_maker, random
        self.loss: PretextLoss = task.loss
        self._corrupts_both = task.views == "both"

    def losses(self, raw: Tensor) -> Tensor:
        """Training loss of each trial, ``(T,)``, on a batch of raw rows ``(T, N, M)``."""
        encoded = self._encoder.one_hot(raw)
        first, second = self._views(raw, encoded, self._random)
        if not self.loss.sees_clean:
            return self.loss.loss(None, self._embed(second), encoded)
        # One pass over both views together costs less than two.
        clean, corrupted = self._embed(torch.cat([first, second], dim=1)).chunk(2, dim=1)
        return self.loss.loss(clean, corrupted, encoded)

    def validation(self, raw: Tensor, random: StackedGenerator, n_passes: int, *, error: bool) -> dict[str, Tensor]:
        """Loss, and ``error`` where asked for, of ``n_passes`` mini-batches made of the same rows; means, ``(T,)``.

        Each pass is judged by itself. Clean rows are the same in all of them, so they are embedded once.
        """
        encoded = self._encoder.one_hot(raw)
        views = [self._views(raw, encoded, random) for _ in range(n_passes)]
        seconds = self._embed(torch.cat([second for _, second in views], dim=1)).chunk(n_passes, dim=1)
        firsts: Sequence[Tensor | None] = [None] * n_passes
        if self._corrupts_both:
            firsts = self._embed(torch.cat([first for first, _ in views], dim=1)).chunk(n_passes, dim=1)
        elif self.loss.sees_clean:
            firsts = [self._embed(encoded)] * n_passes
        passes = list(zip(firsts, seconds, strict=True))
        metrics = {"loss": _mean([self.loss.loss(*views, encoded) for views in passes])}
        if error:
            metrics["error"] = _mean([self.loss.error(*views, encoded) for views in passes])
        return metrics

    def keep(self, positions: Sequence[int]) -> None:
        """Let the trials at all other positions leave."""
        self._view_maker.keep(positions)
        self._random.keep(positions)

    def _views(self, raw: Tensor, encoded: Tensor, random: StackedGenerator) -> tuple[Tensor, Tensor]:
        first = self._view_maker(raw, encoded, random) if self._corrupts_both else encoded
        return first, self._view_maker(raw, encoded, random)

    def _embed(self, encoded: Tensor) -> Tensor:
        out: Tensor = self._head(self._encoder.body(encoded))
        return out


def _mean(values: list[Tensor]) -> Tensor:
    """Mean of values ``(T,)``. Trials are made rows, so that their number does not decide the order of the sum."""
    return torch.stack(values, dim=-1).mean(dim=-1)
