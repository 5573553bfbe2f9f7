"""Memory that training needs, by a formula, and memory that is free."""

from dataclasses import dataclass

import torch
from torch import nn

from .. import machine
from ..data.datamodule import EVALUATION_ROWS
from ..data.splits import VALIDATION_SHARE
from ..data.table import Table
from ..networks import Columns, Network
from ..options.settings import NetworkSettings
from ..randomness import Streams
from .encoder import Networks
from .pretext_task import MOST_BYTES

OF_A_WEIGHT = 5
"""Numbers for each weight: itself, its gradient, Adam's two moments, and the best so far."""
START = 2**26
"""Bytes of the libraries and their buffers, which the first step takes."""
OF_A_ROW = 64
"""Bytes for each row and trial: its positions in the split, the epoch and the labelled rows, its label, predictions."""
OF_AN_ENCODED_CELL = 32
"""Bytes for each encoded cell that a model of another library gets, with temporary copies."""
OF_AN_EMBEDDED_NUMBER = 20
"""Bytes for each number of the embeddings that a model learns from: as it is, and standardised in float64."""
OF_A_PAIR = 24
"""Numbers for each pair of columns in a network whose columns look at one another."""


@dataclass(frozen=True)
class Demand:
    """Bytes that training needs: rather too many, one to four times what torch takes.

    Attributes:
        table: those of the table and the libraries.
        trial: those of each trial at once.
    """

    table: int
    trial: int

    @classmethod
    def of(
        cls,
        table: Table,
        network: Network | None,
        settings: NetworkSettings,
        dtype: torch.dtype,
        *,
        rows: int,
        views: int,
        embeds: bool,
        is_shared: bool,
    ) -> "Demand":
        """The demand of a cell.

        Args:
            table: as it is encoded.
            network: f; None if no network is trained.
            rows: that a step or a validation passes through f.
            views: of each validation row that are kept.
            embeds: another model learns from the embeddings of all rows.
            is_shared: one copy of the table serves all trials, which share their preprocessing.
        """
        n_rows, item = table.n_rows, dtype.itemsize
        of_values = n_rows * len(table.columns) * item
        of_table, of_trial = START + of_values, n_rows * OF_A_ROW
        if not is_shared:
            of_trial += of_values
        if network is None:
            return cls(of_table + n_rows * table.n_encoded * OF_AN_ENCODED_CELL, of_trial)
        columns = Columns.of(table.columns)
        networks = Networks(columns, table.target.n_outputs, Streams(0, 0), network, settings)
        # What a constructor draws comes from the user's stream, which is put back.
        with torch.random.fork_rng(devices=[]):
            f, h = network.build(columns, None), networks.plain_head()
        # g is about as large as h.
        n_weights = sum(each.numel() for module in (f, h, h) for each in module.parameters())
        n_at_once = max(rows, min(EVALUATION_ROWS, n_rows))
        of_trial += item * (OF_A_WEIGHT * n_weights + n_at_once * kept_numbers(f, network, columns))
        if embeds:
            of_trial += n_rows * networks.width * OF_AN_EMBEDDED_NUMBER
        of_views = int(VALIDATION_SHARE * n_rows) * views * table.n_encoded * item
        return cls(of_table, of_trial + min(MOST_BYTES, of_views))

    def needed(self, n_trials: int) -> int:
        """Bytes that ``n_trials`` at once need."""
        return self.table + n_trials * self.trial


def kept_numbers(f: nn.Module, network: Network, columns: Columns) -> int:
    """Numbers that a step keeps of a row in f: an input and an output of each layer; in a network whose cost grows by
    column, of each column and each pair of columns."""
    n_outputs = columns.n_encoded
    for weight in f.parameters():
        if weight.dim() > 1 and weight.numel():
            n_outputs += weight.numel() // min(weight.shape[-2:])
    if not network.costs_by_column:
        return 2 * n_outputs
    return columns.n_features * (2 * n_outputs + OF_A_PAIR * columns.n_features)


def trials_that_fit(demand: Demand, wanted: int, free: int) -> int:
    """Number of trials, at most ``wanted``, that can be trained at once in ``free`` bytes; 0 if not even one."""
    return max(0, min(wanted, (free - demand.table) // demand.trial))


def free_memory(device: torch.device, enough: int) -> int | None:
    """Bytes that this process may still take on a device; None if this is unknown. If they are not ``enough``, it first
    gives back what the C library kept of earlier cells."""
    if device.type == "cuda":
        # Torch keeps the blocks of tensors that are gone, and gives them to the next ones.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    left = min(machine.free_memory(), default=None)
    if left is not None and left < enough and machine.release_freed_memory():
        left = min(machine.free_memory())
    return left
