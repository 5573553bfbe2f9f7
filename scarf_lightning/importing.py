"""Imports of heavy packages."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, which would take a quarter of the time. It passes over modules later too, so
    that a forked process shares their memory with its parent."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
