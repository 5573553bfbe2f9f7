"""The LightningDataModule of a stack: batches are slices of an index, rows are fetched on the device.

Lightning gets a whole pass over the validation rows as one item, the iterator over its mini-batches, and all epochs
until that pass as another: its loop costs a third of a millisecond an item, a third of a step of a small network.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import pytorch_lightning as pl
from torch import Tensor

from ..randomness import Roster, StackedGenerator
from .device_table import DeviceTable

EVALUATION_ROWS = 1024
"""Rows a trial in one evaluation batch: they keep a processor busy and need little memory beside the training."""


class Tensors:
    """Tensors with the trial axis in front, some of which may be missing."""

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same function of each of them."""
        return type(self)(**{name: each if each is None else function(each) for name, each in vars(self).items()})


@dataclass
class Examples(Tensors):
    """Rows to train or validate on, for each of ``T`` trials.

    **Shape.** ``rows`` is int64 ``(T, n)``, row numbers of the table; ``targets`` is None, class numbers int64
    ``(T, n)``, or class probabilities ``(T, n, C)``; ``weights`` is None (all 1) or ``(T, n)``.
    """

    rows: Tensor
    targets: Tensor | None = None
    weights: Tensor | None = None

    def __len__(self) -> int:
        return self.rows.shape[1]

    def between(self, start: int, end: int) -> "Examples":
        """The examples of each trial from position ``start`` up to ``end``."""
        return self.map(lambda tensor: tensor[:, start:end])

    def at(self, trial: Tensor, positions: Tensor) -> "Examples":
        """The examples at positions ``(T, n)`` of each trial, whose numbers are ``(T, 1)``."""
        return self.map(lambda tensor: tensor[trial, positions])


@dataclass
class Batch(Tensors):
    """Examples with their raw features: ``x`` is ``(T, N, M)``, codes in the categorical columns.

    Not frozen: Lightning converts the fields of a batch one by one.
    """

    x: Tensor
    targets: Tensor | None
    weights: Tensor | None


def batch_bounds(n: int, size: int) -> list[tuple[int, int]]:
    """Where each batch of ``size`` among ``n`` examples starts and ends.

    A last batch of one row joins the batch before it: alone it has nothing to be contrasted with.
    """
    starts = list(range(0, n, size))
    if len(starts) > 1 and n - starts[-1] == 1:
        del starts[-1]
    return list(pairwise([*starts, n]))


class StackDataModule(pl.LightningDataModule):
    """The table of a stack of trials, made once, and the batches of one fit after the other."""

    def __init__(self, table: DeviceTable) -> None:
        super().__init__()
        self.table = table

    def serve(
        self,
        train: Examples,
        validation: Examples,
        *,
        batch_size: int,
        order: StackedGenerator,
        roster: Roster,
        validation_batch_size: int = EVALUATION_ROWS,
    ) -> None:
        """Give the batches of a fit from here on.

        Args:
            train: examples to train on, on the table's device.
            validation: examples to validate on; batched in their own fixed order.
            batch_size, validation_batch_size: rows a trial in a batch.
            order: one random stream a trial, from which the permutations of its rows are drawn.
            roster: of the trials still here.
        """
        self._train = train
        self._validation = validation
        self.order = order
        self.roster = roster
        self._train_bounds = batch_bounds(len(train), batch_size)
        self._validation_bounds = batch_bounds(len(validation), validation_batch_size)

    @property
    def steps_per_epoch(self) -> int:
        return len(self._train_bounds)

    @property
    def n_validation(self) -> int:
        """Validation rows of each trial."""
        return len(self._validation)

    @property
    def n_validation_batches(self) -> int:
        return len(self._validation_bounds)

    def train_dataloader(self) -> "_Loader":
        return _Loader(self._epochs)

    def val_dataloader(self) -> "_Loader":
        return _Loader(lambda: map(self.fetch, self.validation_examples()))

    def fetch(self, examples: Examples) -> Batch:
        return Batch(self.table.rows(examples.rows, self.roster), examples.targets, examples.weights)

    def _epochs(self) -> Iterator[Iterator[Batch]]:
        """One epoch after the other. Each mini-batch is fetched when it is asked for."""
        while True:
            yield map(self.fetch, self.training_examples())

    def training_examples(self) -> Iterator[Examples]:
        """The mini-batches of an epoch, in a random order of their rows."""
        permutation = self.order.permutations(len(self._train))
        # From other memory than pinned the host waits for its copy, whatever it asks for.
        if self.table.device.type == "cuda":
            permutation = permutation.pin_memory()
        permutation = permutation.to(self.table.device, non_blocking=True)
        # Each trial has a permutation of its own, the one that it would have alone.
        trial = self.roster.index.unsqueeze(1)
        for start, end in self._train_bounds:
            yield self._train.at(trial, permutation[:, start:end])

    def validation_examples(self) -> Iterator[Examples]:
        """The mini-batches of a validation, in the order of its rows."""
        # Trials that have ended are not validated.
        here = self._validation.map(self.roster.of)
        for start, end in self._validation_bounds:
            yield here.between(start, end)


@dataclass(frozen=True)
class _Loader:
    """A loader for Lightning whose only item is a fresh iterator, which ``start`` makes."""

    start: Callable[[], Iterator[Any]]

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Iterator[Any]]:
        yield self.start()
