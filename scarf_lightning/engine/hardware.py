"""The device, number type, memory and process settings of a job, and what they promise about a trial's numbers.

A stack computes every trial as if it were alone. Whether the last bit agrees depends on the machine's kernels:

- ``exact``: they round a trial's products alike in any company. A trial's numbers are equal bit for bit alone, among
  ten, after others have left, and in 5 + 25 trials against 30.
- ``fixed``: they do not, or this is unknown, as on an accelerator, whose libraries choose kernels by the size of the
  batch. A trial is then always trained in the same company: with ``trials_per_stack=S``, trial t belongs to the block
  of S trials that starts at S * (t // S), and a block is always trained whole. Run again, killed and resumed, or
  extended from 5 trials to 30, a trial starts from the same block, and deterministic kernels give the same numbers.
  Another S gives numbers that agree up to rounding.

Both hold on one machine, for one number of threads, one precision and one setting of ``MKL_CBWR``.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .. import machine
from ..data.splits import VALIDATION_SHARE
from ..data.trials import EVALUATION_ROWS
from ..errors import UsageError, counted
from ..networks import Columns, Network
from ..options.settings import TF32, NetworkSettings, TrainerSettings
from ..randomness import Streams
from .encoder import Networks

if TYPE_CHECKING:
    # It imports pandas.
    from ..data.table import Table

DTYPES = {"32-true": torch.float32, "64-true": torch.float64, "bf16-mixed": torch.float32, TF32: torch.float32}
LOGGERS = ("pytorch_lightning", "lightning.fabric", "lightning_fabric")
"""Loggers that are silenced in training."""
AMPERE = 8
"""The major compute capability of Nvidia's first GPUs with TF32 products."""
CPU_STACK, ACCELERATOR_STACK = 10, 30

# What the kernels are tested by.
N_TRIALS = 6
WATCHED = 3
COMPANIES = ([3], [1, 3])
"""Positions that are computed without the others; all contain the watched trial."""
N_ROWS = (1, 47, 128)
"""A single row, an odd remainder, and the usual batch."""
LAYERS = [*product((5, 256), range(2, 12)), (2, 16), (16, 9), (16, 16), (256, 256)]
"""Inputs and outputs of a layer: heads of 2 to 11 classes, and others. Dimensions of one are padded to two before they
are multiplied, so they are not checked."""
MIXED_LAYERS = [(5, 16), (16, 9), (256, 5), (256, 256)]
"""In bfloat16 each shape costs milliseconds, because its kernel is compiled."""

# What training takes memory for.
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
VIEWS_BYTES = 2**28
"""Memory for the validation views of a stack; a wide table of a thousand rows would need several times as much."""


class Promise(StrEnum):
    """The dependence of a trial's numbers on the block of trials that it is trained with.

    Attributes:
        EXACT: they do not depend on it.
        FIXED: they do, so blocks have fixed borders."""

    EXACT = "exact"
    FIXED = "fixed"


def promise(device: torch.device, precision: str) -> Promise:
    """The promise of this device in this precision, with torch's present number of threads."""
    # An accelerator's libraries choose kernels by the size of the batch, see above.
    if device.type != "cpu":
        return Promise.FIXED
    return Promise.EXACT if _products_are_exact(precision, torch.get_num_threads()) else Promise.FIXED


@cache
def _products_are_exact(precision: str, threads: int) -> bool:
    """Test whether one of six trials is the same, bit for bit, in every company: 0.15 s in float32, 0.3 s in float64.

    The answer is kept for each number of ``threads``, and in no file: it also depends on whether torch computed a
    product before ``MKL_CBWR`` was set.
    """
    is_mixed = precision == "bf16-mixed"
    dtype = torch.float64 if precision == "64-true" else torch.float32
    with torch.enable_grad(), torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
        for inputs in _inputs(dtype, MIXED_LAYERS if is_mixed else LAYERS):
            stack_tensors = _step(inputs, range(N_TRIALS))[WATCHED]
            for company in COMPANIES:
                company_tensors = _step(inputs, company)[company.index(WATCHED)]
                if not all(map(torch.equal, company_tensors, stack_tensors)):
                    return False
    return True


def _inputs(dtype: torch.dtype, layers: Sequence[tuple[int, int]]) -> Iterator[list[Tensor]]:
    """Rows, weights, biases and the weights of the outputs in the loss, for each layer and batch."""
    random = torch.Generator().manual_seed(0)
    for (n_in, n_out), n_rows in product(layers, N_ROWS):
        # The last is the probe: without weights of its own all outputs would have the same gradient.
        shapes = ((n_rows, n_in), (n_in, n_out), (1, n_out), (n_rows, n_out))
        yield [torch.randn(N_TRIALS, *shape, generator=random, dtype=dtype) for shape in shapes]


def _step(inputs: Sequence[Tensor], company: Sequence[int]) -> list[list[Tensor]]:
    """Outputs and gradients of a linear layer and of its rows' similarities, for each trial of the company."""
    x, weight, bias, probe = (tensor[list(company)] for tensor in inputs)
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    # The two kinds of products in a training step: of rows and weights, and of rows and rows.
    out = torch.baddbmm(bias, x, weight)
    similarity = torch.bmm(out, out.transpose(1, 2))
    contrast = similarity.log_softmax(dim=-1).diagonal(dim1=1, dim2=2).sum()
    loss = (out * probe).sum() + contrast
    outputs_and_gradients = [out, similarity, *torch.autograd.grad(loss, leaves)]
    trial_tensors = []
    for trial in range(len(company)):
        trial_tensors.append([tensor[trial] for tensor in outputs_and_gradients])
    return trial_tensors


@dataclass(frozen=True)
class Hardware:
    """Where and in which precision to train. ``precision`` is in Lightning's words, or TF32."""

    device: torch.device
    precision: str = "32-true"

    @property
    def dtype(self) -> torch.dtype:
        """Of parameters and data."""
        return DTYPES[self.precision]

    @property
    def promise(self) -> Promise:
        """The dependence of a trial's numbers on the trials that are trained with it."""
        return promise(self.device, self.precision)

    def stack_size(self, trials_per_stack: int | str) -> int:
        """Number of trials to train at once.

        With ``auto``, an accelerator trains thirty, in little more time than one. On a CPU stacking saves overhead
        only, and a smaller stack loses less when a job is killed; inexact kernels train each trial alone.
        """
        if isinstance(trials_per_stack, int):
            return trials_per_stack
        if self.device.type != "cpu":
            return ACCELERATOR_STACK
        return CPU_STACK if self.promise is Promise.EXACT else 1

    def stacks(self, trials: Sequence[int], trials_per_stack: int | str) -> list[list[int]]:
        """The trials to train at once, stack by stack: all of ``trials``, in order.

        If the kernels are not exact, the stacks are the blocks that contain one of ``trials``, as a whole.
        """
        size = self.stack_size(trials_per_stack)
        if self.promise is Promise.EXACT:
            return [list(trials[start : start + size]) for start in range(0, len(trials), size)]
        # Blocks have fixed borders, so that a trial always trains beside the same ones.
        firsts = sorted({trial - trial % size for trial in trials})
        return [list(range(first, first + size)) for first in firsts]


def choose_hardware(settings: TrainerSettings) -> Hardware:
    """The hardware of these settings.

    Raises:
        UsageError: the machine has no such device, or the device no such precision.
    """
    device = choose_device(settings.accelerator, settings.device)
    if settings.precision == TF32 and (device.type != "cuda" or torch.cuda.get_device_capability(device)[0] < AMPERE):
        raise UsageError(
            "trainer.precision=tf32: only Nvidia's GPUs multiply in TF32, from Ampere on, and this trains on another "
            "device; use 32-true or bf16-mixed."
        )
    return Hardware(device, settings.precision)


def choose_device(accelerator: str, number: int | None = None) -> torch.device:
    """The device of ``auto``, ``cpu`` or ``cuda``, or the GPU of this number.

    Raises:
        UsageError: the machine has no such device.
    """
    if accelerator == "auto":
        accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no CUDA device here; choose auto or cpu.")
    if number is None:
        return torch.device(accelerator)
    if accelerator != "cuda":
        raise UsageError(
            f"trainer.device={number} is the number of a GPU, and this trains on the processor; leave it out."
        )
    n_devices = torch.cuda.device_count()
    if number >= n_devices:
        raise UsageError(f"trainer.device={number}: torch finds {counted(n_devices, 'GPU')} here, numbered from 0.")
    return torch.device(accelerator, number)


@contextmanager
def own_torch(precision: str = "32-true") -> Iterator[None]:
    """Within, torch is as in a fresh process, whatever the caller has set: numbers of float32 on the processor, whose
    products are rounded as `Hardware.precision` says, no autocast, and gradients. A state that is usual already costs
    nothing: a default device slows down every call."""
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        if dtype != torch.float32:
            stack.callback(torch.set_default_dtype, dtype)
            torch.set_default_dtype(torch.float32)
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("high" if precision == TF32 else "highest")
        # Torch 2.4 does not count the device of a `with` block as the default one.
        if torch.empty(0).device != torch.device("cpu"):
            stack.enter_context(torch.device("cpu"))
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        yield


def usable_gpus(settings: TrainerSettings) -> list[int]:
    """The numbers of the GPUs that processes with these settings may train on; none if the processor trains."""
    if settings.accelerator == "cpu":
        return []
    if settings.device is not None:
        return [settings.device]
    # `torch.cuda.is_available` would begin CUDA, which then cannot go on in a fork.
    numbers = list(range(torch.cuda.device_count()))
    # It cannot either where a notebook has begun CUDA.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        numbers = numbers[:1]
    # One process is enough to report that there is no GPU.
    return numbers or ([0] if settings.accelerator == "cuda" else [])


def is_exact(settings: TrainerSettings) -> bool:
    """True if a trial's numbers do not depend on the trials beside it."""
    if usable_gpus(settings):
        return False
    with own_torch(), torch_threads(settings.threads):
        return choose_hardware(settings).promise is Promise.EXACT


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Within, torch computes with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def prepare_process(threads: int) -> None:
    """Set this process's threads, keep freed memory for the next step, and silence messages that need no action."""
    torch.set_num_threads(threads)
    machine.keep_freed_memory()
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|lightning_utilities")


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
        table: "Table",
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
        n_weights = sum(weight.numel() for module in (f, h, h) for weight in module.parameters())
        n_at_once = max(rows, min(EVALUATION_ROWS, n_rows))
        of_trial += item * (OF_A_WEIGHT * n_weights + n_at_once * kept_numbers(f, network, columns))
        if embeds:
            of_trial += n_rows * networks.width * OF_AN_EMBEDDED_NUMBER
        of_views = int(VALIDATION_SHARE * n_rows) * views * table.n_encoded * item
        return cls(of_table, of_trial + min(VIEWS_BYTES, of_views))

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


def trials_that_fit(demand: Demand, n_planned: int, free: int) -> int:
    """Number of trials, at most ``n_planned``, that can be trained at once in ``free`` bytes; 0 if not even one."""
    return max(0, min(n_planned, (free - demand.table) // demand.trial))


def free_memory(device: torch.device, enough: int) -> int | None:
    """Bytes that this process may still take on a device; None if this is unknown. If they are not ``enough``, it first
    gives back what the C library kept of earlier cells."""
    if device.type == "cuda":
        # Torch keeps the blocks of tensors that are gone, and gives them to the next ones.
        n_reusable = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + n_reusable)
    n_bytes = min(machine.free_memory(), default=None)
    if n_bytes is not None and n_bytes < enough and machine.release_freed_memory():
        n_bytes = min(machine.free_memory())
    return n_bytes
