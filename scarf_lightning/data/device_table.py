"""A table on the device: a batch is an index into it."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

import torch
from torch import Tensor

from ..randomness import Roster
from .preprocessing import Preprocessing, clipped
from .table import ROWS_AT_A_TIME, Table


class DeviceTable:
    """The table of a stack of ``T`` trials, imputed and scaled as in each trial, one copy for all of them.

    If all trials share their preprocessing, values are stored imputed and scaled. Otherwise they are stored raw, in
    float64 so that large numbers lose nothing, and each trial's vectors are applied to the rows that are fetched.
    Categorical columns hold their codes.

    Raises:
        UsageError: a scaled value is larger than the number type can hold; its column is named.
    """

    def __init__(
        self, table: Table, preprocessing: Preprocessing, *, device: torch.device | str, dtype: torch.dtype
    ) -> None:
        self.device = torch.device(device)
        self.places = table.places
        self.dtype = dtype
        # Here, because only the device's number type decides what is too large.
        preprocessing.check_range(table, torch.finfo(dtype).max)
        # The arrays of each trial, (T, 1, M) or (T, M, 2, K), where they differ.
        self._own: dict[str, Tensor] = {}
        if preprocessing.is_shared:
            values = _finished(table, preprocessing, dtype)
        else:
            values = torch.from_numpy(table.values)
            for name, array in preprocessing.arrays().items():
                # Labels are scaled elsewhere.
                if name == "target":
                    continue
                own = torch.from_numpy(array)
                if name != "curve":
                    own = own.unsqueeze(1)
                self._own[name] = own.to(self.device)
        self._values = values.to(self.device)

    @property
    def n_features(self) -> int:
        """M, the number of raw columns."""
        return self._values.shape[1]

    def rows(self, index: Tensor, roster: Roster) -> Tensor:
        """Whole rows: ``index`` ``(A, N)`` of row numbers, for each trial on the roster, gives ``(A, N, M)``."""
        return self._finish(_select(self._values, index), roster)

    def cells(self, index: Tensor, roster: Roster) -> Tensor:
        """Single cells: ``index`` ``(A, N, M)`` of row numbers, one for every cell, gives ``(A, N, M)``."""
        # In the flat table cell (r, m) is at place r * M + m.
        places = torch.add(self._column_numbers, index, alpha=self.n_features)
        stored = _select(self._values.view(-1), places)
        return self._finish(stored, roster)

    def of(self, positions: Sequence[int]) -> "DeviceTable":
        """The table of the trials at these positions; its values are the same copy."""
        part = copy(self)
        part._own = {name: array[list(positions)] for name, array in self._own.items()}
        return part

    @cached_property
    def _column_numbers(self) -> Tensor:
        return torch.arange(self.n_features, device=self.device)

    def _finish(self, stored: Tensor, roster: Roster) -> Tensor:
        """Impute and scale rows that were stored raw."""
        if not self._own:
            return stored
        own = {name: roster.of(array) for name, array in self._own.items()}
        return imputed_and_scaled(stored, own).to(self.dtype)


def _finished(table: Table, preprocessing: Preprocessing, dtype: torch.dtype) -> Tensor:
    """The values of a table, imputed and scaled as in all trials, ``(n, M)``."""
    values = torch.empty(table.values.shape, dtype=dtype)
    # Block by block, so that no second table in float64 is needed.
    for start in range(0, len(values), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        scaled = preprocessing.apply(table.values[rows], 0)
        values[rows] = torch.from_numpy(scaled)
    return values


def imputed_and_scaled(values: Tensor, arrays: Mapping[str, Tensor]) -> Tensor:
    """Values ``(..., N, M)`` as `Preprocessing.apply` gives them. The arrays broadcast with them, but for ``curve``
    ``(..., M, 2, K)``."""
    filled = torch.where(values.isnan(), arrays["fill"], values)
    if "curve" in arrays:
        filled = along(filled, arrays["curve"])
    scaled = (filled - arrays["shift"]) * arrays["scale"]
    if "clip" in arrays:
        scaled = clipped(scaled, arrays["clip"])
    return scaled


def along(values: Tensor, curve: Tensor) -> Tensor:
    """Values ``(..., N, M)`` along a piecewise linear function of each column. Its knots are ``(..., M, 2, K)``:
    ascending numbers, and what they become. A column whose knots are all equal stays as it is."""
    numbers, ends = curve.unbind(-2)
    x = values.mT.clamp(numbers[..., :1], numbers[..., -1:])
    # The knot before each value is counted; a search would ask for contiguous knots.
    is_reached = x.unsqueeze(-1) >= numbers.unsqueeze(-2)
    n_intervals = numbers.shape[-1] - 1
    left_knot = (is_reached.sum(dim=-1) - 1).clamp(0, n_intervals - 1)
    start = numbers.gather(-1, left_knot)
    stop = numbers.gather(-1, left_knot + 1)
    low = ends.gather(-1, left_knot)
    high = ends.gather(-1, left_knot + 1)
    # Two knots may be at one number; the divisor of 1 stands for their distance of 0.
    is_apart = stop > start
    distance = torch.where(is_apart, stop - start, 1.0)
    share = torch.where(is_apart, (x - start) / distance, 0.0)
    curved = low + share * (high - low)
    is_curved = (numbers[..., :1] < numbers[..., -1:]).mT
    return torch.where(is_curved & ~values.isnan(), curved.mT, values)


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
        own = self._roster.of(self._rows)
        rows = own.gather(1, positions.flatten(1))
        return self._table.cells(rows.view(positions.shape), self._roster)

    def rows(self, positions: Tensor) -> Tensor:
        """Raw rows at ``positions`` ``(T, N)`` among the training rows: ``(T, N, M)``."""
        own = self._roster.of(self._rows)
        rows = own.gather(1, positions)
        return self._table.rows(rows, self._roster)

    def chunks(self, size: int) -> Iterator[Tensor]:
        """All training rows of all trials, stopped ones too, in their order, ``(T, <= size, M)`` at a time."""
        everyone = Roster(len(self._rows), self._rows.device)
        for rows in torch.split(self._rows, size, dim=1):
            yield self._table.rows(rows, everyone)


def _select(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]`` along the first axis, in a fraction of the time that indexing by several tensors would take."""
    selected = values.index_select(0, index.flatten())
    return selected.view(*index.shape, *values.shape[1:])
