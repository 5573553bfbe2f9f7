"""Memory that training needs, and memory that is free.

The largest steps of a stack run on the device ``meta``, which computes nothing, and the bytes that are alive in them
are counted. So a plugin's parts are counted too.
"""

import weakref
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .. import machine
from ..data.datamodule import EVALUATION_ROWS, Batch
from ..data.device_table import DeviceTable
from ..data.preprocessing import Preprocessing
from ..data.table import Table
from ..networks import Columns, Network
from ..options.settings import NetworkSettings
from ..pretexts import Pretext
from ..randomness import Kind, Roster, StackedGenerator, Streams, dtype_of
from .encoder import Classifier, Encoder, Networks
from .lifting import give_streams, lift
from .pretext_task import MOST_BYTES, CorruptionSource, PretextTask

META = torch.device("meta")
COPIES = 3
"""Copies of the weights outside of a step: Adam's two moments and the best so far."""
START = 2**26
"""Bytes of the libraries and their buffers, which the first step takes."""
OF_A_ROW = 48
"""Bytes for each row and trial: its positions in the split, the epoch and the labelled rows, its label, copies."""
OF_A_PREDICTION = 16
"""Bytes for each test row, output and trial: two numbers in float64."""
TEST_SHARE = 0.2
OF_AN_ENCODED_CELL = 32
"""Bytes for each encoded cell that a model of another library gets, with temporary copies."""
OF_AN_EMBEDDED_NUMBER = 16
"""Bytes for each number of the embeddings that a model learns from: in float64, and standardised."""
OF_A_STEP = 50_000
"""More bytes than any part has needed for a trial and a cell of its mini-batch; a transformer's attention takes half of
them on tables of 60 columns."""


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

    @cached_property
    def _networks(self) -> Networks:
        """Builds the networks; the weights that it draws are of no interest."""
        assert self.network is not None
        columns, n_outputs = Columns.of(self.table.columns), self.table.target.n_outputs
        return Networks(columns, n_outputs, Streams(0, 0), self.network, self.settings)

    def at_most(self, n_trials: int) -> int:
        """An upper bound for all parts of the package, without counting."""
        largest_batch = max([self.batch_size, *(size for _, size, _ in self.pretexts)])
        width = self.table.n_encoded
        # Attention compares each pair of columns, so its memory grows with their square.
        step_bytes = OF_A_STEP * n_trials * largest_batch * (width + width**2 // 60)
        return self.rows(n_trials) + MOST_BYTES + step_bytes

    def counted(self, n_trials: int) -> int:
        """The bytes that ``n_trials`` at once need."""
        n_bytes = self.rows(n_trials)
        if self.network is not None:
            n_bytes += self._step(self.network, n_trials)
        return n_bytes

    def _step(self, network: Network, n_trials: int) -> int:
        """Bytes of the largest step, with weights, gradients and moments."""
        networks = self._networks
        random = Nothing(n_trials)
        roster = Roster(n_trials, META)
        columns, width = networks.columns, networks.width
        vectors = np.zeros((n_trials, len(self.table.columns)))
        scaled = Preprocessing(vectors, vectors, vectors, is_shared=True)
        # A row stands for all: on `meta` no number is looked at.
        one_row = replace(self.table, values=self.table.values[:1])
        table = DeviceTable(one_row, scaled, device=META, dtype=self.dtype)

        def lifted(module: nn.Module) -> nn.Module:
            together = lift([module.to(META, self.dtype)] * n_trials)
            give_streams(together, random)
            return together

        def positions(size: int) -> Tensor:
            return torch.empty(n_trials, size, dtype=torch.int64, device=META)

        def batch(size: int) -> Tensor:
            return table.rows(positions(size), roster)

        with Alive() as alive:
            view_bytes = 0
            learns = any(pretext.learns_missing_values for pretext, *_ in self.pretexts)
            f = [network.build(columns, None).to(META, self.dtype)] * n_trials
            encoder = Encoder(columns, f, width, learns_missing_values=learns).to(META, self.dtype)
            give_streams(encoder, random)
            classifier = Classifier(encoder, lifted(networks.plain_head()))
            weights = sum(parameter.nbytes for parameter in classifier.parameters())
            # A step of each pretext task, and its validation.
            for pretext, size, passes in self.pretexts:
                g = lifted(networks.plain_pretrain_head(pretext))
                weights += sum(parameter.nbytes for parameter in g.parameters())
                source = CorruptionSource(encoder, table, positions(size), roster)
                task = PretextTask(pretext, encoder, g, source, random)
                torch.autograd.backward(task.losses(Batch(batch(size), None, None)).sum())
                # Phases are trained one after the other, and a phase has no gradients of the one before it.
                encoder.zero_grad()
                with torch.no_grad():
                    views = task.validation_views(batch(size), random, passes)
                    task.validation(views, error=False)
                    # A tenth of the rows validates, and its views are kept if they are not too large.
                    validation_bytes = views.n_bytes * self.table.n_rows // (10 * size)
                    view_bytes = max(view_bytes, min(MOST_BYTES, validation_bytes))
                    del views
            # A supervised step, and an evaluation.
            torch.autograd.backward(classifier(batch(self.batch_size)).square().sum())
            with torch.no_grad():
                classifier.eval()(batch(min(EVALUATION_ROWS, self.table.n_rows)))
        return int(alive.most) + view_bytes + COPIES * weights + START


def trials_that_fit(demand: Demand, wanted: int, free: int) -> int:
    """Number of trials, at most ``wanted``, that can be trained at once in ``free`` bytes; 0 if not even one."""
    # Counting takes a tenth of a second, and mostly a bound is enough.
    if demand.at_most(wanted) <= free:
        return wanted
    try:
        if demand.counted(wanted) <= free:
            return wanted
        # More trials never need less, so a few counts find the most.
        return bisect_right(range(1, wanted), free, key=demand.counted)
    except (RuntimeError, TypeError):
        # A part of a plugin needs numbers, which tensors on `meta` do not have.
        return wanted


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


class Nothing(StackedGenerator):
    """Draws of the right shape on ``meta``, which has no generators."""

    def __init__(self, n_trials: int) -> None:
        self.device, self._roster, self._leading = META, Roster(n_trials, META), None

    def _draw(self, kind: Kind, shape: tuple[int, ...]) -> Tensor:
        return torch.empty(len(self), *shape, dtype=dtype_of(kind), device=META)


class Alive(TorchDispatchMode):
    """Counts the bytes ``now`` alive of all tensors that are made within it, and the ``most`` that ever were."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.most = 0
        self._counted = set[int]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **kwargs or {})
        for tensor in tree_leaves(out):
            if not isinstance(tensor, Tensor) or tensor.device != META:
                continue
            # Views share the storage of another tensor, which counts once.
            storage = tensor.untyped_storage()
            if storage._cdata not in self._counted:
                self.now += storage.nbytes()
                self._counted.add(storage._cdata)
                weakref.finalize(storage, self._let_go, storage._cdata, storage.nbytes())
        self.most = max(self.most, self.now)
        return out

    def _let_go(self, address: int, n_bytes: int) -> None:
        """Count a storage no more: its last tensor is gone."""
        self._counted.remove(address)
        self.now -= n_bytes
