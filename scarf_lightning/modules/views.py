"""Corrupted views of a batch, as a pretext task asks for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..corruption import Corruption, Selection
from ..data.device_table import TrainingRows
from ..losses import PretextLoss
from ..nn import Encoder
from ..randomness import StackedGenerator

MEAN_CHUNK = 1024


@dataclass(frozen=True)
class Augmentation:
    """How a view is made: which features, and what takes their place."""

    corruption: Corruption
    selection: Selection


@dataclass(frozen=True)
class PretextTask:
    """What is learned without labels: from one corrupted view beside the clean row or from ``both``, by which loss."""

    augmentation: Augmentation
    loss: PretextLoss
    views: Literal["one", "both"] = "one"


class ViewMaker:
    """Makes views of the trials of a stack, encoded.

    Args:
        augmentation: how a view is made.
        encoder: f, whose input layer encodes a view and whose missing values a view may take.
        training_rows: what corruption draws from.
    """

    def __init__(self, augmentation: Augmentation, encoder: Encoder, training_rows: TrainingRows) -> None:
        self._augmentation = augmentation
        self._source = CorruptionSource(encoder, training_rows)
        self._encode = encoder.one_hot

    def __call__(self, raw: Tensor, encoded: Tensor, random: StackedGenerator) -> Tensor:
        """A view of the mini-batch ``raw`` ``(T, N, M)``, which is ``encoded`` ``(T, N, D)``: ``(T, N, D)``."""
        corruption, selection = self._augmentation.corruption, self._augmentation.selection
        if corruption.space == "encoded":
            return corruption(encoded, self._source, random, selection)[0]
        view: Tensor = self._encode(corruption(raw, self._source, random, selection)[0])
        return view

    def keep(self, positions: Sequence[int]) -> None:
        """Let the trials at all other positions leave."""
        self._source.keep(positions)


class CorruptionSource:
    """The training rows as corruption sees them, with what the encoder knows of them."""

    def __init__(self, encoder: Encoder, training_rows: TrainingRows) -> None:
        self._encoder, self._rows = encoder, training_rows
        self._mean: Tensor | None = None

    @property
    def n_rows(self) -> int:
        return len(self._rows)

    def cells(self, positions: Tensor) -> Tensor:
        return self._rows.cells(positions)

    def rows(self, positions: Tensor) -> Tensor:
        return self._rows.rows(positions)

    def encoded_rows(self, positions: Tensor) -> Tensor:
        encoded: Tensor = self._encoder.one_hot(self._rows.rows(positions))
        return encoded

    def mean(self) -> Tensor:
        if self._mean is None:
            chunks = [self._encoder.one_hot(chunk) for chunk in self._rows.chunks(MEAN_CHUNK)]
            total = sum(chunk.double().sum(dim=1, keepdim=True) for chunk in chunks)
            self._mean = torch.as_tensor(total / self.n_rows, dtype=chunks[0].dtype)
        return self._mean

    def missing_values(self) -> Tensor:
        assert self._encoder.missing is not None
        return self._encoder.missing

    def keep(self, positions: Sequence[int]) -> None:
        self._rows.keep(positions)
        if self._mean is not None:
            self._mean = self._mean[torch.tensor(positions, device=self._mean.device)]
