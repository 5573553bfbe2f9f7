"""The device, number type and process settings that a job trains with."""

import ctypes
import logging
import sys
import warnings
from dataclasses import dataclass

import torch

from ..errors import UsageError

DTYPES = {"32-true": torch.float32, "64-true": torch.float64, "bf16-mixed": torch.float32}
CPU_STACK, ACCELERATOR_STACK = 10, 30


@dataclass(frozen=True)
class Hardware:
    """Where and in which precision to train. ``precision`` is in Lightning's words."""

    device: torch.device
    precision: str = "32-true"

    @property
    def dtype(self) -> torch.dtype:
        """Of parameters and data."""
        return DTYPES[self.precision]

    def stack_size(self, trials_per_stack: int | str) -> int:
        """How many trials to train at once.

        ``auto``: on a CPU stacking saves overhead only, and a smaller stack loses less when a job is killed; an
        accelerator trains thirty trials for little more than the price of one.
        """
        if isinstance(trials_per_stack, int):
            return trials_per_stack
        return CPU_STACK if self.device.type == "cpu" else ACCELERATOR_STACK


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
