"""The part of the machine that this process may use: its cores and its memory, and forks that compute beside it.

A fork has what its parent has imported and read, so it begins at once.
"""

import ctypes
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

from threadpoolctl import threadpool_info

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
OMP_PAUSE_SOFT = 1
"""The kind of pause of OpenMP 5.0 that ends threads and keeps all settings."""
PARENT_DEATH_SIGNAL = 1
"""The option of Linux's ``prctl`` that sets the signal which a process gets when its parent dies."""


def usable_cores() -> int:
    """The cores that this process may keep busy, at least one.

    A scheduler or a container may allow fewer than the machine has: by the affinity mask, or by a quota of processor
    time of a control group.
    """
    cores = os.cpu_count() or 1
    # Linux has affinity masks; macOS and Windows do not.
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    # A quota of 1.5 cores keeps one core busy; a second process would only be throttled.
    return max(1, math.floor(min([cores, *cpu_quotas()])))


def cpu_quotas() -> Iterator[float]:
    """Processor seconds a second that each control group of this process may take, where it has a limit."""
    for group in control_groups():
        words = " ".join(lines(group / "cpu.max")).split()
        # The quota is "max" where there is no limit.
        if len(words) == 2 and words[0].isdecimal():
            yield int(words[0]) / int(words[1])


def free_memory() -> Iterator[int]:
    """Bytes that the machine has left, and that each control group of this process with a limit has left."""
    for line in lines(PROC / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
    for group in control_groups():
        limit, usage = number(group / "memory.max"), number(group / "memory.current")
        if limit is None or usage is None:
            continue
        # The kernel drops unused pages of files before it refuses memory.
        file_cache = 0
        for line in lines(group / "memory.stat"):
            if line.startswith("inactive_file "):
                file_cache += int(line.split()[1])
        yield max(0, limit - usage + file_cache)


def end_openmp_threads() -> None:
    """End the threads that OpenMP keeps in this process for its next computation; it starts them again when needed.

    A fork has a copy of the memory in which these threads are counted, and not the threads. Its first computation with
    several threads would wait for them for ever. A library that is too old keeps them.
    """
    # Packages bring a library each.
    for entry in threadpool_info():
        if entry["user_api"] == "openmp":
            library = ctypes.CDLL(entry["filepath"])
            if hasattr(library, "omp_pause_resource_all"):
                library.omp_pause_resource_all(OMP_PAUSE_SOFT)


def c_function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if the library lacks it, as musl and macOS lack those of glibc."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    # Windows has no library of the process itself.
    except (OSError, TypeError):
        return None


def keep_freed_memory() -> None:
    """Let glibc keep the blocks that are freed: otherwise each step's buffers are mapped and page-faulted again.

    Another C library does as it does.
    """
    mallopt = c_function("mallopt")
    # The parameters are glibc's, which alone has malloc_trim.
    if mallopt is None or c_function("malloc_trim") is None:
        return
    trim_threshold, mmap_threshold = -1, -3
    mallopt(trim_threshold, 2**31 - 1)
    mallopt(mmap_threshold, 2**30)


def release_freed_memory() -> bool:
    """Give back the blocks that glibc keeps; False for another C library, which keeps what it keeps."""
    trim = c_function("malloc_trim")
    if trim is None:
        return False
    trim(0)
    return True


def control_groups() -> Iterator[Path]:
    """The folders of this process's control group, of version 2, and of those around it."""
    for line in lines(PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        # Groups of version 1 name their controllers.
        if not controllers:
            innermost = CGROUP / path.strip("/")
            # A limit of any group around this one holds too. Folders above the root have no such files.
            yield from (innermost, *innermost.parents)


def number(file: Path) -> int | None:
    """The number in a file of the kernel; None if it holds none, such as ``max``."""
    text = "".join(lines(file))
    return int(text) if text.isdecimal() else None


def lines(file: Path) -> list[str]:
    """The lines of a file of the kernel; none if there is no such file."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, which would take a quarter of the time. It passes over modules later too, so
    that a forked process shares their memory with its parent."""
    gc.disable()
    try:
        yield
    finally:
        # A collection in a fork would write into the objects' counters, and so copy the shared memory.
        gc.freeze()
        gc.enable()


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
