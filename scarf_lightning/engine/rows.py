"""What corruption and pre-training see of a mini-batch and of the training rows, in all trials of a stack."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..corruption import Corruption, Selection
from ..data.device_table import TrainingRows
from ..networks import Columns
from ..randomness import StackedGenerator
from ..roster import Roster
from .encoder import Encoder

MEAN_CHUNK = 1024


class CorruptionSource:
    """The training rows as corruption sees them, with what the encoder knows of them.

    Args:
        encoder: f, whose input layer encodes and whose missing values a view may take.
        rows: the training rows of each trial.
        roster: of the trials still here.
    """

    def __init__(self, encoder: Encoder, rows: TrainingRows, roster: Roster) -> None:
        self._encoder, self._rows, self._roster = encoder, rows, roster
        self._mean: Tensor | None = None

    @property
    def columns(self) -> Columns:
        """What the encoded columns are."""
        return self._encoder.columns

    @property
    def n_rows(self) -> int:
        return len(self._rows)

    def cells(self, positions: Tensor) -> Tensor:
        return self._rows.cells(positions)

    def distinct(self, shares: Tensor) -> Tensor:
        return self._rows.distinct(shares)

    def rows(self, positions: Tensor) -> Tensor:
        return self._rows.rows(positions)

    def encoded_rows(self, positions: Tensor) -> Tensor:
        return self.encode(self._rows.rows(positions))

    def mean(self) -> Tensor:
        if self._mean is None:
            chunks = [self.encode(chunk) for chunk in self._rows.chunks(MEAN_CHUNK)]
            total = sum(chunk.double().sum(dim=1, keepdim=True) for chunk in chunks)
            self._mean = torch.as_tensor(total / self.n_rows, dtype=chunks[0].dtype)
        return self._roster.of(self._mean)

    def missing_values(self) -> Tensor:
        assert self._encoder.missing is not None
        return self._encoder.missing

    def encode(self, raw: Tensor) -> Tensor:
        """Raw features ``(T, N, M)`` to encoded ones ``(T, N, D)``."""
        encoded: Tensor = self._encoder.one_hot(raw)
        return encoded


@dataclass(frozen=True)
class BatchRows:
    """A mini-batch, clean and to be corrupted: the `Rows` of a pre-training.

    **Shape.** ``raw`` is ``(T, N, M)``, ``encoded`` ``(T, N, D)``.
    """

    raw: Tensor
    encoded: Tensor
    source: CorruptionSource
    random: StackedGenerator

    @property
    def columns(self) -> Columns:
        return self.source.columns

    @classmethod
    def of(cls, raw: Tensor, source: CorruptionSource, random: StackedGenerator) -> "BatchRows":
        return cls(raw, source.encode(raw), source, random)

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        """A view of the rows, encoded, ``(T, N, D)``, and the mask of the selected features."""
        if corruption.space == "encoded":
            return corruption(self.encoded, self.source, self.random, selection)
        view, mask = corruption(self.raw, self.source, self.random, selection)
        return self.source.encode(view), mask
