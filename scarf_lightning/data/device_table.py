"""A table on the device: a batch is an index into it."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property

import torch
from torch import Tensor

from ..randomness import Roster
from .preprocessing import Preprocessing, refuse_too_large
from .table import Table


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
        return _select(self._values, self._stored(index, roster))

    def cells(self, index: Tensor, roster: Roster) -> Tensor:
        """Single cells: ``index`` ``(A, N, M)`` of row numbers, one for every cell, gives ``(A, N, M)``."""
        # In the flat table cell (r, m) is at place r * M + m.
        places = torch.add(self._column_numbers, self._stored(index, roster), alpha=self.n_features)
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

    def _stored(self, index: Tensor, roster: Roster) -> Tensor:
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
        return self._table.cells(self._of_table(positions), self._roster)

    def rows(self, positions: Tensor) -> Tensor:
        """Raw rows at ``positions`` ``(T, N)`` among the training rows: ``(T, N, M)``."""
        return self._table.rows(self._of_table(positions), self._roster)

    def _of_table(self, positions: Tensor) -> Tensor:
        """The rows of the table at positions ``(T, N, ...)`` among the training rows."""
        own = self._roster.of(self._rows)
        return own.gather(1, positions.flatten(1)).view(positions.shape)

    def chunks(self, size: int) -> Iterator[Tensor]:
        """All training rows of all trials, stopped ones too, in their order, ``(T, <= size, M)`` at a time."""
        everyone = Roster(len(self._rows), self._rows.device)
        for rows in torch.split(self._rows, size, dim=1):
            yield self._table.rows(rows, everyone)


def _select(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]`` along the first axis, in a fraction of the time that indexing by several tensors would take."""
    selected = values.index_select(0, index.flatten())
    return selected.view(*index.shape, *values.shape[1:])
