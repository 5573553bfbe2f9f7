"""The three streams of a command: made such that whatever was done to them from outside, the command does its work."""

import io
import logging
import os
import sys

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
            stream.reconfigure(line_buffering=True, errors="replace")
    # Hydra logs what its flags show, and logging would complain of each line that nobody reads.
    logging.raiseExceptions = False


def give_up_full_output() -> None:
    """Write nothing more to a standard output that takes nothing, as on a full disk or where nobody reads it.

    Python would flush what is left of it at the end, complain, and exit with status 120.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
