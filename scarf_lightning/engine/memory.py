"""Memory that training needs, by a formula, and memory that is free."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import torch

from .. import machine
from ..data.datamodule import EVALUATION_ROWS
from ..data.parts import TEST_SHARE, VALIDATION_SHARE
from ..data.table import Table
from ..networks import Columns, Network
from ..options.settings import NetworkSettings
from ..pretexts import Pretext
from ..randomness import Streams
from .encoder import Networks
from .pretext_task import MOST_BYTES

OF_A_WEIGHT = 5
"""Numbers for each weight: itself, its gradient, Adam's two moments, and the best so far."""
IN_A_STEP = 4
"""Rows that pre-training keeps in f for each row of a mini-batch: two views, and as much for g and the loss."""
VIEWS = 2
START = 2**26
"""Bytes of the libraries and their buffers, which the first step takes."""
OF_A_ROW = 48
"""Bytes for each row and trial: its positions in the split, the epoch and the labelled rows, its label, copies."""
OF_A_PREDICTION = 16
"""Bytes for each test row, output and trial: two numbers in float64."""
OF_AN_ENCODED_CELL = 32
"""Bytes for each encoded cell that a model of another library gets, with temporary copies."""
OF_AN_EMBEDDED_NUMBER = 16
"""Bytes for each number of the embeddings that a model learns from: in float64, and standardised."""


@dataclass(frozen=True)
class Demand:
    """Parts of a cell that determine the memory of training, except for the number of trials at once.

    Attributes:
        table: as it is encoded.
        network: f; None if no network is trained.
        pretexts: with the rows of a step, and how many views of these a validation takes at once.
        batch_size: rows of a supervised step.
        embeds: whether another model learns from the embeddings of all rows.
    """

    table: Table
    network: Network | None
    settings: NetworkSettings
    pretexts: tuple[tuple[Pretext, int, int], ...]
    batch_size: int
    embeds: bool
    dtype: torch.dtype

    def needed(self, n_trials: int) -> int:
        """Bytes that ``n_trials`` at once need: rather too many, one to four times what torch takes."""
        n_bytes = self.rows(n_trials)
        if self.network is not None:
            n_bytes += START + self._views(n_trials)
            n_bytes += n_trials * self.dtype.itemsize * (OF_A_WEIGHT * self._n_weights + self._largest_step)
        return n_bytes

    def rows(self, n_trials: int) -> int:
        """Bytes that grow with the rows of the table."""
        item = self.dtype.itemsize
        # The table is on the device once, for all trials.
        bytes_per_row: float = len(self.table.columns) * item
        row_bytes_per_trial = OF_A_ROW + TEST_SHARE * self.table.target.n_outputs * OF_A_PREDICTION
        bytes_per_row += n_trials * row_bytes_per_trial
        if self.network is None:
            bytes_per_row += OF_AN_ENCODED_CELL * self.table.n_encoded
        if self.embeds:
            bytes_per_row += self._networks.width * (n_trials * item + OF_AN_EMBEDDED_NUMBER)
        return int(self.table.n_rows * bytes_per_row)

    def _views(self, n_trials: int) -> int:
        """Bytes of the views that validate, which are kept if they are not too large."""
        passes = max((passes for *_, passes in self.pretexts), default=0)
        n_cells = int(VALIDATION_SHARE * self.table.n_rows) * self.table.n_encoded
        return min(MOST_BYTES, passes * VIEWS * n_cells * n_trials * self.dtype.itemsize)

    @property
    def _largest_step(self) -> int:
        """Numbers that one trial keeps in a step, a validation or an evaluation."""
        assert self.network is not None
        n_rows = max(self.batch_size, min(EVALUATION_ROWS, self.table.n_rows))
        for _, batch_size, passes in self.pretexts:
            n_rows = max(n_rows, (IN_A_STEP + passes) * batch_size)
        return n_rows * self.network.kept_numbers(self._networks.columns)

    @cached_property
    def _n_weights(self) -> int:
        """The weights of one trial, in f, h and each g."""
        assert self.network is not None
        networks = self._networks
        # What a constructor draws comes from the user's stream, which is put back.
        with torch.random.fork_rng(devices=[]):
            modules = [self.network.build(networks.columns, None), networks.plain_head()]
            modules += [networks.plain_pretrain_head(pretext) for pretext, *_ in self.pretexts]
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    @cached_property
    def _networks(self) -> Networks:
        """Builds the networks; the weights that it draws are of no interest."""
        assert self.network is not None
        columns, n_outputs = Columns.of(self.table.columns), self.table.target.n_outputs
        return Networks(columns, n_outputs, Streams(0, 0), self.network, self.settings)


def trials_that_fit(demand: Demand, wanted: int, free: int) -> int:
    """Number of trials, at most ``wanted``, that can be trained at once in ``free`` bytes; 0 if not even one."""
    return bisect_right(range(1, wanted + 1), free, key=demand.needed)


def free_memory(device: torch.device, enough: int) -> int | None:
    """Bytes that this process may still take on a device; None if this is unknown. If they are not ``enough``, it first
    gives back what the C library kept of earlier cells."""
    if device.type == "cuda":
        # Torch keeps the blocks of tensors that are gone, and gives them to the next ones.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    left = min(machine.free_memory(), default=None)
    if left is None or left >= enough:
        return left
    return min(machine.free_memory()) if machine.release_freed_memory() else left
