"""A table on the device: a batch is an index into it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from .preprocessing import Preprocessing
from .scaling import ZScore
from .table import Table


@dataclass
class _Affine:
    """What still has to be done to a stored value of a trial, each ``(T, 1, M)``."""

    fill: Tensor
    scale: Tensor
    shift: Tensor


class DeviceTable:
    """The table of a stack of ``T`` trials, imputed and scaled as each trial does, one copy for all of them.

    Where all trials share their preprocessing, values are stored imputed and scaled. Where each has its own, values are
    stored z-scored over the whole table, so that float32 loses nothing of large numbers, with a mask of the missing
    ones, and the trials' vectors are applied to what is fetched. Categorical columns hold their codes.
    """

    def __init__(
        self, table: Table, preprocessing: Preprocessing, *, device: torch.device | str, dtype: torch.dtype
    ) -> None:
        self.device, self.dtype = torch.device(device), dtype
        self._affine: _Affine | None = None
        self._missing: Tensor | None = None
        if preprocessing.is_shared:
            stored = preprocessing.apply(table.values, 0)
        else:
            reference = Preprocessing.fit(table, [None], ZScore())
            stored = reference.apply(table.values, 0)
            mean, inverse = reference.shift, np.where(reference.scale == 0, 1.0, reference.scale)
            self._missing = torch.from_numpy(np.isnan(table.values)).to(self.device)
            self._affine = _Affine(
                fill=self._vectors((preprocessing.fill - mean) * inverse),
                scale=self._vectors(preprocessing.scale / inverse),
                shift=self._vectors((mean - preprocessing.shift) * preprocessing.scale),
            )
        self._values = torch.from_numpy(stored).to(self.device, dtype)

    @property
    def n_features(self) -> int:
        """M, the number of raw columns."""
        return self._values.shape[1]

    def rows(self, index: Tensor) -> Tensor:
        """Whole rows: ``index`` ``(T, N)`` of row numbers gives ``(T, N, M)``."""
        missing = None if self._missing is None else self._missing[index]
        return self._finish(self._values[index], missing)

    def cells(self, index: Tensor) -> Tensor:
        """Single cells: ``index`` ``(T, N, M)`` of row numbers, one for every cell, gives ``(T, N, M)``."""
        flat = index * self.n_features + self._column_numbers
        missing = None if self._missing is None else self._missing.view(-1)[flat]
        return self._finish(self._values.view(-1)[flat], missing)

    def keep(self, positions: Sequence[int]) -> None:
        """Let the trials at all other positions leave."""
        if self._affine is not None:
            index = torch.tensor(positions, device=self.device)
            fill, scale, shift = (v[index] for v in (self._affine.fill, self._affine.scale, self._affine.shift))
            self._affine = _Affine(fill, scale, shift)

    @cached_property
    def _column_numbers(self) -> Tensor:
        return torch.arange(self.n_features, device=self.device)

    def _vectors(self, array: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, self.dtype).unsqueeze(1)

    def _finish(self, stored: Tensor, missing: Tensor | None) -> Tensor:
        if self._affine is None or missing is None:
            return stored
        filled = torch.where(missing, self._affine.fill, stored)
        return filled * self._affine.scale + self._affine.shift


class TrainingRows:
    """The training rows of each trial, which corruption draws from.

    Args:
        table: the data module's view of the table, which lets trials leave when it does.
        rows: row numbers of the training rows, int64 ``(T, n)``.
        encode: the network's input layer, raw ``(T, N, M)`` to encoded ``(T, N, D)``.
    """

    def __init__(self, table: DeviceTable, rows: Tensor, encode: Callable[[Tensor], Tensor]) -> None:
        self._table, self._rows, self._encode = table, rows, encode
        self._mean: Tensor | None = None

    @property
    def n_rows(self) -> int:
        return self._rows.shape[1]

    def cells(self, positions: Tensor) -> Tensor:
        """Raw values of single cells at ``positions`` ``(T, N, M)`` among the training rows."""
        rows = self._rows.gather(1, positions.flatten(1)).view(positions.shape)
        return self._table.cells(rows)

    def mean(self) -> Tensor:
        """Mean of each encoded column over the training rows, ``(T, 1, D)``."""
        if self._mean is None:
            chunks = (self._encode(self._table.rows(rows)).double() for rows in torch.split(self._rows, 1024, dim=1))
            total = sum(chunk.sum(dim=1, keepdim=True) for chunk in chunks)
            self._mean = torch.as_tensor(total / self.n_rows, dtype=self._table.dtype)
        return self._mean

    def keep(self, positions: Sequence[int]) -> None:
        """Let the trials at all other positions leave; the data module tells the table."""
        index = torch.tensor(positions, device=self._rows.device)
        self._rows = self._rows[index]
        if self._mean is not None:
            self._mean = self._mean[index]
