"""Binning: the bins of a row's values are learnt, in place of the values."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from ..losses.loss import mean_squared_error
from ..networks import Columns
from ..options.option import option
from ..options.settings import LayerSettings
from . import CorruptingPretext, Rows, Views, head_of_width


class Apart(nn.Module):
    """Parts of the last axis, of these sizes, as a tuple."""

    acts_on_last_axis = True

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self._sizes = sizes

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(x, self._sizes, dim=-1)


@dataclass
class Binning(CorruptingPretext):
    """g estimates the bin of each number among ``n_bins`` that hold equally many training rows: its place, by squared
    error, or which one it is, by cross-entropy. A category is a bin by itself: its encoded columns are estimated, or
    which one it is.

    Differs from the paper: places are scaled as evenly filled bins have a standard deviation of 1, rather than by the
    training rows. The paper numbers categories; here the place of one has no meaning. One head estimates all columns,
    and its depth is that of any head here; the authors' decoders are of one layer. Rows are corrupted by default; the
    authors try it with and without.

    The place of a bin that is missed by one, and the logits of two bins, of which the first is right:

    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task = Binning(Marginal(), Exact())
    >>> task.compute_loss((torch.tensor([[0.0, 1.0]]),), targets=(torch.tensor([[0.0, 2.0]]),))
    tensor(0.5000)
    >>> task = Binning(Marginal(), Exact(), n_bins=2, estimates="class")
    >>> task.compute_loss(((torch.tensor([[2.0, 0.0]]),),), targets=(torch.tensor([[0]]),))
    tensor(0.1269)
    """

    name: ClassVar[str] = "binning"
    paper: ClassVar[str] = "Lee et al., 2024, arXiv:2405.07414"
    n_bins: int = option(10, "bins of each number", "[2, 1000]")
    estimates: Literal["place", "class"] = option("place", "the place of a bin in their order, or which bin it is")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """Places of bins and encoded categories, ``(..., N, D)``; or logits of the bins of all numbers, and of each
        column's categories, ``(..., N, M_numeric n_bins)`` and ``(..., N, C)``."""
        if self.estimates == "place":
            return head_of_width(columns.n_encoded, width, layers)
        sizes = [part.stop - part.start for part in columns.categorical]
        if columns.numeric:
            sizes.insert(0, len(columns.numeric) * self.n_bins)
        return nn.Sequential(head_of_width(sum(sizes), width, layers), Apart(sizes))

    def make_views(self, rows: Rows) -> Views:
        columns, bins = rows.columns, rows.bins(self.n_bins)
        view, _ = self.corrupted(rows)
        if self.estimates == "class":
            targets = []
            # In the order of the parts of g.
            if columns.numeric:
                targets.append(bins)
            for part in columns.categorical:
                targets.append(rows.encoded[..., part].argmax(dim=-1))
            return Views((view,), tuple(targets))
        # The numbers 0, ..., B - 1 have a mean of (B - 1) / 2 and a variance of (B^2 - 1) / 12.
        mean = (self.n_bins - 1) / 2
        deviation = math.sqrt((self.n_bins**2 - 1) / 12)
        places = ((bins - mean) / deviation).to(rows.encoded.dtype)
        # The target is the encoded row, with the place of its bin in place of each number.
        target = list(rows.encoded.unbind(dim=-1))
        number_places = places.unbind(dim=-1)
        for column, place in zip(columns.numeric, number_places, strict=True):
            target[column] = place
        return Views((view,), (torch.stack(target, dim=-1),))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        if self.estimates == "place":
            return mean_squared_error(outputs[0], targets[0])
        losses = []
        n_features = 0
        for logits, codes in zip(outputs[0], targets, strict=True):
            if codes.dim() == logits.dim():
                # The bins of all numbers, (..., N, M_numeric).
                logits = logits.unflatten(-1, (-1, self.n_bins))
            else:
                # The codes of one column, (..., N).
                logits, codes = logits.unsqueeze(-2), codes.unsqueeze(-1)
            log_probabilities = logits.log_softmax(dim=-1)
            index = codes.unsqueeze(-1)
            log_likelihoods = log_probabilities.gather(-1, index).squeeze(-1)
            # Summed here and divided below, so that each column counts alike, however its logits are grouped.
            column_log_likelihoods = log_likelihoods.mean(dim=-2)
            losses.append(-column_log_likelihoods.sum(dim=-1))
            n_features += codes.shape[-1]
        # Stacked along the last axis, so that the number of trials does not decide the order of the sum.
        return torch.stack(losses, dim=-1).sum(dim=-1) / n_features
