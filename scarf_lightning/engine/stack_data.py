"""The rows and labels of a stack of trials, and the random streams that they draw from."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import DeviceTable, Examples, StackDataModule
from ..data.table import Table
from ..data.trials import TrialData
from ..networks import Columns, OneHot
from ..randomness import Roster, StackedGenerator, Streams
from .hardware import Hardware


@dataclass(frozen=True)
class StackData:
    """T trials of one table, on a device.

    Attributes:
        table: the whole table.
        data: rows, labels and preprocessing of each trial.
        streams: the random streams of all trials.
        hardware: device and number types.
        device_table: a copy of the table on the device to use; None makes one.
    """

    table: Table
    data: TrialData
    streams: Streams
    hardware: Hardware
    device_table: DeviceTable | None = field(default=None, kw_only=True)

    @cached_property
    def datamodule(self) -> StackDataModule:
        """The one copy of the table on the device, and the batches of the current fit."""
        device_table = self.device_table
        if device_table is None:
            device_table = DeviceTable(
                self.table, self.data.preprocessing, device=self.hardware.device, dtype=self.hardware.dtype
            )
        return StackDataModule(device_table)

    @property
    def trials(self) -> tuple[int, ...]:
        """The trials' numbers."""
        return self.data.trials

    def of(self, positions: Sequence[int]) -> Self:
        """A stack of the trials at these positions, on the same copy of the table; one may be there several times."""
        return replace(self, data=self.data.of(positions), device_table=self.datamodule.table.of(positions))

    def without(self, columns: Sequence[str] | None) -> Self:
        """The stack with these columns missing in every row. Its preprocessing, which imputes them, is the same."""
        if not columns:
            return self
        values = self.table.values.copy()
        values[:, self.table.places(columns, "pretrain.drop")] = np.nan
        return replace(self, table=replace(self.table, values=values), device_table=None)

    def labelled(self) -> Examples:
        """The training rows that are labelled in the regime, with their labels."""
        return self.examples(self.data.labelled, self.data.labels)

    def partly_labelled(self) -> Examples:
        """The rows of pre-training, with the labels of those that are labelled in the regime.

        Unlabelled rows carry a placeholder as label, and the weight 0.
        """
        data = self.data
        labels = np.zeros(data.pretrain.shape, dtype=data.labels.dtype)
        is_labelled = np.zeros(data.pretrain.shape)
        for trial in range(len(self.trials)):
            _, positions, label_rows = np.intersect1d(data.pretrain[trial], data.labelled[trial], return_indices=True)
            labels[trial, positions] = data.labels[trial, label_rows]
            is_labelled[trial, positions] = 1
        examples = self.examples(data.pretrain, labels)
        # A row without a label has the weight 0, so that its placeholder among the labels counts for nothing.
        weights = torch.from_numpy(is_labelled).to(self.hardware.device, self.hardware.dtype)
        if examples.weights is not None:
            weights = weights * examples.weights
        return replace(examples, weights=weights)

    def examples(self, rows: NDArray[np.int64], targets: NDArray[np.generic]) -> Examples:
        """Rows ``(T, n)`` with labels ``(T, n)`` or predictions ``(T, n, ...)`` as targets, on the device."""
        device, dtype = self.hardware.device, self.hardware.dtype
        encoded = torch.from_numpy(self.table.target.encode(targets, self.data.preprocessing.target))
        # Class numbers stay integers.
        encoded = encoded.to(device, dtype if encoded.is_floating_point() else None)
        weights = None
        if self.table.weights is not None:
            weights = torch.from_numpy(self.table.weights[rows]).to(device, dtype)
        return Examples(self.on_device(rows), encoded, weights)

    def row_weights(self, class_weight: str = "none") -> NDArray[np.float64] | None:
        """Weights of the labelled training rows, ``(T, n_labelled)``; None if all weigh the same."""
        weights = None
        if self.table.weights is not None:
            weights = self.table.weights[self.data.labelled]
        if class_weight == "none":
            return weights
        labels = self.data.labels
        balanced = self.table.target.balanced(labels, torch.from_numpy(labels)).numpy()
        return balanced if weights is None else balanced * weights

    def raw(self, rows: NDArray[np.int64]) -> Tensor:
        """``rows`` ``(T, n)`` imputed and scaled, ``(T, n, M)``, on the device."""
        return self._fetch(self.on_device(rows))

    def encoded(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(T, n)`` imputed, scaled and one-hot encoded, ``(T, n, D)``, for models that are no networks."""
        one_hot = self._one_hot.to(self.hardware.device)
        encoded: NDArray[np.float64] = one_hot(self.raw(rows)).double().cpu().numpy()
        return encoded

    def on_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)

    def _fetch(self, rows: Tensor) -> Tensor:
        return self.datamodule.table.rows(rows, Roster(len(rows), rows.device))

    def _training_rows(self, position: int) -> Tensor:
        """The encoded training rows ``(n, D)`` of the trial at a position."""
        # Trial by trial: the encoded rows of all trials at once may not fit into the memory.
        alone = self.of([position])
        raw = alone.raw(self.data.train[[position]])[0]
        encoded: Tensor = self._one_hot(raw.cpu())
        return encoded

    @property
    def _one_hot(self) -> OneHot:
        columns = Columns.of(self.table.columns)
        return OneHot(columns.n_categories, columns.gaps)

    def _training_targets(self, position: int) -> Tensor:
        """The encoded labels that training sees of the trial at a position."""
        encoded = self.table.target.encode(self.data.labels, self.data.preprocessing.target)
        return torch.from_numpy(encoded[position])

    @cached_property
    def _fitted(self) -> Tensor:
        """The target's parameters, fitted to the labels of each trial, float64 ``(T, K)``."""
        return torch.from_numpy(self.data.preprocessing.target).to(self.hardware.device)

    def _roster(self) -> Roster:
        return Roster(len(self.trials), self.hardware.device)

    def _random(self, purpose: str, roster: Roster, number: int = 0) -> StackedGenerator:
        """The trials' streams for a purpose, on the device."""
        return self.streams.torch(self.trials, purpose, fit=number, device=self.hardware.device, roster=roster)
