"""The three streams of a command: made such that whatever was done to them from outside, the command does its work."""

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from ..screen import HANDLER

NAMES = ("stdin", "stdout", "stderr")
"""In the order of their numbers."""


def prepare_streams() -> None:
    """Open streams that are closed, and write signs that a stream lacks in others."""
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            # The lowest number that is free, which is that of the closed stream.
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # A notebook, or a test, has streams of its own. A pipe shows a line when it is written.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors=HANDLER)


def is_reader_gone() -> bool:
    """True if nobody reads standard output, as after ``| head``. Nothing more is written to it then."""
    pipe = select.poll()
    pipe.register(sys.stdout, select.POLLOUT)
    is_gone = any(event & select.POLLERR for _, event in pipe.poll(0))
    if is_gone:
        _give_up_output()
    return is_gone


def give_up_full_output() -> None:
    """Write nothing more to a standard output that takes nothing, as on a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_output()


def _give_up_output() -> None:
    """Lead standard output nowhere. Python would flush what is left of it at the end, complain, and exit with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def written_together() -> Iterator[None]:
    """Write what the block prints at its end. Hydra logs it, and logging complains of each line that nobody reads."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            yield
    finally:
        sys.stdout.write(printed.getvalue())
