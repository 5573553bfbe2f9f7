"""What Hydra calls: one job."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from omegaconf import DictConfig

from ..sweeping.chunks import read_chunk
from .cells import train_cells


def train_job(job: DictConfig) -> None:
    """Train a chunk of the cells that our sweeper found unfinished; the store holds what came of them."""
    with ended_by_sigterm():
        train_cells(read_chunk(job.chunk.file))


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """A scheduler that wants the machine back sends SIGTERM: claims are given back, and finished stacks stay."""

    def end(*_: object) -> NoReturn:
        sys.exit(128 + signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
