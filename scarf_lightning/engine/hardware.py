"""The device, number type and process settings that a job trains with."""

import ctypes
import logging
import platform
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ..errors import UsageError
from ..settings import TF32, TrainerSettings
from .exactness import Promise, promise

DTYPES = {"32-true": torch.float32, "64-true": torch.float64, "bf16-mixed": torch.float32, TF32: torch.float32}
AMPERE = (8, 0)
"""The compute capability from which on Nvidia's GPUs multiply in TF32."""
CPU_STACK, ACCELERATOR_STACK = 10, 30


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
    def drawback(self) -> str | None:
        """A sentence on what this precision costs here instead of saving it, if it does."""
        if self.precision == "bf16-mixed" and self.device.type == "cpu" and not multiplies_bfloat16():
            return (
                "trainer.precision=bf16-mixed: this processor has no instructions for products in bfloat16 "
                "(AVX512-BF16 or AMX), which are slower here than those of 32-true."
            )
        if self.precision == TF32 and torch.cuda.get_device_capability(self.device) < AMPERE:
            return "trainer.precision=tf32: this GPU is older than Ampere, and its products are those of 32-true."
        return None

    @contextmanager
    def multiplying(self) -> Iterator[None]:
        """Products of float32 numbers within are rounded as ``precision`` says, whatever the process has set."""
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if self.precision == TF32 else "highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)

    @property
    def promise(self) -> Promise:
        """Whether a trial's numbers depend on the trials that are trained with it."""
        return promise(self.device, self.precision)

    def stack_size(self, trials_per_stack: int | str) -> int:
        """How many trials to train at once.

        ``auto``: on a CPU stacking saves overhead only, and a smaller stack loses less when a job is killed; where its
        kernels are not exact, each trial is trained alone. An accelerator trains thirty trials for little more than the
        price of one.
        """
        if isinstance(trials_per_stack, int):
            return trials_per_stack
        if self.device.type != "cpu":
            return ACCELERATOR_STACK
        return CPU_STACK if self.promise is Promise.EXACT else 1

    def stacks(self, trials: Sequence[int], trials_per_stack: int | str) -> list[list[int]]:
        """The trials to train at once, stack by stack, so that all of ``trials`` are trained.

        Where the kernels are exact these are the trials in their order. Else they are the whole blocks of trials that
        hold one of them, see `exactness`; the others of a block are trained as company, and not kept.
        """
        size = self.stack_size(trials_per_stack)
        if self.promise is Promise.EXACT:
            return [list(trials[start : start + size]) for start in range(0, len(trials), size)]
        firsts = sorted({trial - trial % size for trial in trials})
        return [list(range(first, first + size)) for first in firsts]


def multiplies_bfloat16() -> bool:
    """Whether this processor has instructions for products in bfloat16; one that is not x86 is believed to."""
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return not is_x86 or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def choose_hardware(settings: TrainerSettings) -> Hardware:
    """What the settings ask for, on this machine.

    Raises:
        UsageError: the machine has no such device, or the device no such precision.
    """
    device = choose_device(settings.accelerator)
    if settings.precision == TF32 and device.type != "cuda":
        raise UsageError(
            "trainer.precision=tf32: only Nvidia's GPUs multiply in TF32, and this trains on the processor; "
            "use 32-true or bf16-mixed."
        )
    return Hardware(device, settings.precision)


def choose_device(accelerator: str) -> torch.device:
    """The device of ``auto``, ``cpu`` or ``cuda``.

    Raises:
        UsageError: the machine has no such device.
    """
    if accelerator == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise UsageError("trainer.accelerator=cuda: torch finds no such device here; use auto or cpu.")
    return torch.device(accelerator)


def prepare_process(threads: int) -> None:
    """Set this process's threads, keep freed memory for the next step, and silence what a user cannot act on."""
    torch.set_num_threads(threads)
    if sys.platform == "linux":
        _keep_freed_memory()
    for name in ("pytorch_lightning", "lightning.fabric", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|lightning_utilities")


def _keep_freed_memory() -> None:
    """Tell glibc not to give freed blocks back: a step's buffers would be mapped and page-faulted anew every time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(mmap_threshold, 2**30)
