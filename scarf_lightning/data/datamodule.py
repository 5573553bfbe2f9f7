"""The LightningDataModule of a stack: batches are slices of an index, rows are fetched on the device."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from ..randomness import StackedGenerator
from .device_table import DeviceTable

EVALUATION_ROWS = 1024
"""Rows a trial in one evaluation batch: enough to keep a processor busy, little beside the training's memory."""


@dataclass(frozen=True)
class Examples:
    """Rows to train or validate on, for each of ``T`` trials.

    **Shape.** ``rows`` is int64 ``(T, n)``, row numbers of the table; ``targets`` is None, class numbers int64
    ``(T, n)``, or class probabilities ``(T, n, C)``; ``weights`` is None (all 1) or ``(T, n)``.
    """

    rows: Tensor
    targets: Tensor | None = None
    weights: Tensor | None = None

    def __len__(self) -> int:
        return self.rows.shape[1]

    def map(self, function: Callable[[Tensor], Tensor]) -> "Examples":
        """The same function of rows, targets and weights."""
        targets = None if self.targets is None else function(self.targets)
        weights = None if self.weights is None else function(self.weights)
        return Examples(function(self.rows), targets, weights)


@dataclass(frozen=True)
class Batch:
    """Examples with their raw features: ``x`` is ``(T, N, M)``, codes in the categorical columns."""

    x: Tensor
    targets: Tensor | None
    weights: Tensor | None


def batch_bounds(n: int, size: int, *, drop_last: bool = False) -> list[tuple[int, int]]:
    """Where each batch of ``size`` among ``n`` examples starts and ends.

    A last batch of one row joins the batch before it: alone it has nothing to be contrasted with. ``drop_last`` leaves
    an incomplete last batch out, unless it is the only one.
    """
    bounds = [(start, min(start + size, n)) for start in range(0, n, size)]
    if len(bounds) > 1 and bounds[-1][1] - bounds[-1][0] < size:
        if drop_last:
            bounds.pop()
        elif bounds[-1][1] - bounds[-1][0] == 1:
            bounds.pop()
            bounds[-1] = (bounds[-1][0], n)
    return bounds


class StackDataModule(pl.LightningDataModule):
    """Batches of a stack of trials for one phase.

    Args:
        table: the table on the device.
        train: examples to train on, on the same device.
        validation: examples to validate on; batched in their own fixed order.
        batch_size: rows a trial in a training batch.
        order: one random stream a trial; each epoch draws a fresh permutation from it.
        validation_batch_size: rows a trial in a validation batch.
        drop_last: see `batch_bounds`.
    """

    def __init__(
        self,
        table: DeviceTable,
        train: Examples,
        validation: Examples,
        *,
        batch_size: int,
        order: StackedGenerator,
        validation_batch_size: int = EVALUATION_ROWS,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        self.table = copy(table)  # trials leave this phase's view of the table, not the table
        self.train, self.validation, self.order = train, validation, order
        self._train_bounds = batch_bounds(len(train), batch_size, drop_last=drop_last)
        self._validation_bounds = batch_bounds(len(validation), validation_batch_size)

    def train_dataloader(self) -> "_Loader":
        return _Loader(len(self._train_bounds), self._shuffled)

    def val_dataloader(self) -> "_Loader":
        return _Loader(len(self._validation_bounds), lambda: _slices(self.validation, self._validation_bounds))

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        """Nothing to move: the index is on the device already."""
        return batch

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Batch:
        """Fetch the rows that the batch's index names."""
        return Batch(self.table.rows(batch.rows), batch.targets, batch.weights)

    def keep(self, positions: Sequence[int]) -> None:
        """Let the trials at all other positions leave."""
        index = torch.tensor(positions, device=self.table.device)
        self.train = self.train.map(lambda tensor: tensor[index])
        self.validation = self.validation.map(lambda tensor: tensor[index])
        self.order.keep(positions)
        self.table.keep(positions)

    def _shuffled(self) -> Iterator[Examples]:
        permutation = self.order.permutations(len(self.train)).to(self.table.device)
        for start, end in self._train_bounds:
            chosen = permutation[:, start:end]
            yield self.train.map(lambda tensor, chosen=chosen: _take(tensor, chosen))  # type: ignore[misc]


class _Loader:
    """What Lightning asks of a loader: a length, and a fresh pass at each ``iter``."""

    def __init__(self, length: int, start: Callable[[], Iterator[Examples]]) -> None:
        self._length, self._start = length, start

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Examples]:
        return self._start()


def _slices(examples: Examples, bounds: Sequence[tuple[int, int]]) -> Iterator[Examples]:
    for start, end in bounds:
        yield examples.map(lambda tensor, start=start, end=end: tensor[:, start:end])  # type: ignore[misc]


def _take(tensor: Tensor, positions: Tensor) -> Tensor:
    """Entries of ``tensor`` ``(T, n, ...)`` at ``positions`` ``(T, N)``."""
    trial = torch.arange(len(tensor), device=tensor.device).unsqueeze(1)
    return tensor[trial, positions]
