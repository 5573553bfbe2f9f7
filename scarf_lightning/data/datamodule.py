"""The table of a stack on its device, and the LightningDataModule that serves its batches: each is an index into it.

Lightning gets a whole pass over the validation rows as one item, the iterator over its mini-batches, and all epochs
until that pass as another: its loop costs a third of a millisecond an item, a third of a step of a small network.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import pytorch_lightning as pl
import torch
from torch import Tensor

from ..randomness import Roster, StackedGenerator
from .preprocessing import Preprocessing, refuse_too_large
from .table import Table
from .trials import EVALUATION_ROWS


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

    def __init__(self, table: "DeviceTable") -> None:
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
        """One epoch after the other. Each mini-batch is fetched when Lightning needs it."""
        while True:
            yield map(self.fetch, self.training_examples())

    def training_examples(self) -> Iterator[Examples]:
        """The mini-batches of an epoch, in a random order of their rows."""
        permutation = self.order.permutations(len(self._train))
        # Copies from memory that is not pinned block the host even if they are requested as non-blocking.
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
        examples = self._validation.map(self.roster.of)
        for start, end in self._validation_bounds:
            yield examples.between(start, end)


@dataclass(frozen=True)
class _Loader:
    """A loader for Lightning whose only item is a fresh iterator, which ``start`` makes."""

    start: Callable[[], Iterator[Any]]

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Iterator[Any]]:
        yield self.start()


class DeviceTable:
    """The table of a stack of ``T`` trials on the device, imputed and scaled as in each trial.

    Trials that share their preprocessing share one copy of the table; otherwise each trial has its own. Categorical
    columns hold their codes.

    Attributes:
        places: see `Table.places`.
        n_features: M, the number of raw columns.

    Raises:
        UsageError: a scaled value is larger than the number type can hold; its column is named.
    """

    def __init__(
        self, table: Table, preprocessing: Preprocessing, *, device: torch.device | str, dtype: torch.dtype
    ) -> None:
        self.device = torch.device(device)
        self.places = table.places
        n_rows, self.n_features = table.values.shape
        n_copies = 1 if preprocessing.is_shared else len(preprocessing.fill)
        copies = torch.empty(n_copies, n_rows, self.n_features, dtype=dtype, device=self.device)
        for trial in range(n_copies):
            scaled = torch.from_numpy(preprocessing.apply(table.values, trial)).to(dtype)
            refuse_too_large(table, ~scaled.isinf().any(dim=0).numpy())
            copies[trial] = scaled
        self._values = copies.flatten(0, 1)
        # The first row of each trial's own copy, (T,).
        self._first: Tensor | None = None
        if n_copies > 1:
            self._first = torch.arange(n_copies, device=self.device) * n_rows

    def rows(self, index: Tensor, roster: Roster) -> Tensor:
        """Whole rows: ``index`` ``(A, N)`` of row numbers, for each trial on the roster, gives ``(A, N, M)``."""
        return _select(self._values, self._locate(index, roster))

    def cells(self, index: Tensor, roster: Roster) -> Tensor:
        """Single cells: ``index`` ``(A, N, M)`` of row numbers, one for every cell, gives ``(A, N, M)``."""
        # In the flat table cell (r, m) is at place r * M + m.
        places = torch.add(self._column_numbers, self._locate(index, roster), alpha=self.n_features)
        return _select(self._values.view(-1), places)

    def of(self, positions: Sequence[int]) -> "DeviceTable":
        """The table of the trials at these positions; its values are the same copies."""
        part = copy(self)
        if self._first is not None:
            part._first = self._first[list(positions)]
        return part

    @cached_property
    def _column_numbers(self) -> Tensor:
        return torch.arange(self.n_features, device=self.device)

    def _locate(self, index: Tensor, roster: Roster) -> Tensor:
        """The places of rows ``(A, N, ...)`` of the table among the stored rows."""
        if self._first is None:
            return index
        first = roster.of(self._first)
        return index + first.view(-1, *[1] * (index.dim() - 1))


class TrainingRows:
    """The training rows of each trial: their row numbers in the table are int64 ``(T, n)``."""

    def __init__(self, table: DeviceTable, rows: Tensor, roster: Roster) -> None:
        self._table = table
        self._rows = rows
        self._roster = roster

    def __len__(self) -> int:
        return self._rows.shape[1]

    def cells(self, positions: Tensor) -> Tensor:
        """Raw values of single cells at ``positions`` ``(T, N, M)`` among the training rows."""
        return self._table.cells(self._table_rows(positions), self._roster)

    def rows(self, positions: Tensor) -> Tensor:
        """Raw rows at ``positions`` ``(T, N)`` among the training rows: ``(T, N, M)``."""
        return self._table.rows(self._table_rows(positions), self._roster)

    def _table_rows(self, positions: Tensor) -> Tensor:
        """The rows of the table at positions ``(T, N, ...)`` among the training rows."""
        rows = self._roster.of(self._rows)
        return rows.gather(1, positions.flatten(1)).view(positions.shape)

    def chunks(self, size: int) -> Iterator[Tensor]:
        """All training rows of all trials, stopped ones too, in their order, ``(T, <= size, M)`` at a time."""
        all_trials = Roster(len(self._rows), self._rows.device)
        for rows in torch.split(self._rows, size, dim=1):
            yield self._table.rows(rows, all_trials)


def _select(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]`` along the first axis, in a fraction of the time that indexing by several tensors would take."""
    selected = values.index_select(0, index.flatten())
    return selected.view(*index.shape, *values.shape[1:])
