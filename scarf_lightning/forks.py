"""Forks: copies of this process that compute beside it, on a core of their own.

A fork has what its parent has imported and read, so it begins at once.
"""

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.process import BaseProcess

from .machine import c_function

PARENT_DEATH_SIGNAL = 1
"""The option of Linux's ``prctl`` that sets the signal which a process gets when its parent dies."""


def why_no_fork() -> str | None:
    """The reason why this process cannot fork others that compute, if there is one."""
    # Frameworks of macOS may crash in a fork, and Windows has none.
    if sys.platform != "linux":
        return "processes are forked on Linux alone"
    # The kernel ends a fork with the thread that made it, see `end_with_parent`.
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread may start them"
    if multiprocessing.current_process().daemon:
        return "this process is itself a worker"
    return None


def end_with_parent(parent: int) -> None:
    """Let Linux kill this fork when its parent dies, whatever it dies of.

    Elsewhere a fork ends when it next looks for work, see `why_no_fork`.

    Args:
        parent: its number, from before the fork. In a container it may be 1.
    """
    prctl = c_function("prctl")
    if prctl is not None:
        prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    # The parent may have died before the kernel was asked, and another process has adopted this one.
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)


def ending(process: BaseProcess) -> str:
    """The words on how a process ended: by which signal, or with which status."""
    code = process.exitcode
    # Python negates the number of the signal that ended a process.
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"
