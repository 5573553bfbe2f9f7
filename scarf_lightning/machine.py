"""The part of the machine that this process may use: its cores and its memory."""

import ctypes
import math
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from threadpoolctl import threadpool_info

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
OMP_PAUSE_SOFT = 1
"""The kind of pause of OpenMP 5.0 that ends threads and keeps all settings."""


def usable_cores() -> int:
    """The cores that this process may keep busy, at least one.

    A scheduler or a container may allow fewer than the machine has: by the affinity mask, or by a quota of processor
    time of a control group (versions 1 and 2).
    """
    cores = os.cpu_count() or 1
    # Linux has affinity masks; macOS and Windows do not.
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    # A quota of 1.5 cores keeps one core busy; a second process would only be throttled.
    return max(1, math.floor(min([cores, *cpu_quotas()])))


def processor() -> str:
    """The processor's name, with its family and model: virtual machines call several of them by one name."""
    fields = dict[str, str]()
    for line in lines(PROC / "cpuinfo"):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    if "model name" not in fields:
        return platform.processor() or platform.machine()
    return f"{fields['model name']} (family {fields.get('cpu family')}, model {fields.get('model')})"


def cpu_quotas() -> Iterator[float]:
    """Processor seconds a second that each control group of this process may take, where it has a limit."""
    for group, is_first_version in control_groups("cpu"):
        # Version 1 has a file each and -1 for no limit, version 2 one file and "max".
        if is_first_version:
            quota = number(group / "cpu.cfs_quota_us")
            period = number(group / "cpu.cfs_period_us")
        else:
            quota, period = _pair(group / "cpu.max")
        if quota is not None and period:
            yield quota / period


def free_memory() -> Iterator[int]:
    """Bytes that the machine has left, and that each control group of this process with a limit has left."""
    for line in lines(PROC / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
    for group, is_first_version in control_groups("memory"):
        limit, used = "max", "current"
        if is_first_version:
            limit, used = "limit_in_bytes", "usage_in_bytes"
        most = number(group / f"memory.{limit}")
        taken = number(group / f"memory.{used}")
        if most is None or taken is None:
            continue
        # The kernel drops unused pages of files before it refuses memory.
        cached = 0
        for line in lines(group / "memory.stat"):
            if line.startswith("inactive_file "):
                cached += int(line.split()[1])
        yield max(0, most - taken + cached)


def end_openmp_threads() -> None:
    """End the threads that OpenMP keeps in this process for its next computation; it starts them again when needed.

    A fork has a copy of the memory in which these threads are counted, and not the threads. Its first computation with
    several threads would wait for them for ever. A library that is too old keeps them.
    """
    for library in _openmp():
        if hasattr(library, "omp_pause_resource_all"):
            library.omp_pause_resource_all(OMP_PAUSE_SOFT)


def can_end_openmp_threads() -> bool:
    """True if every OpenMP that is loaded can: the function is of OpenMP 5.0, and the wheels of torch 2.4 and of
    scikit-learn 1.6 bring an older one."""
    return all(hasattr(library, "omp_pause_resource_all") for library in _openmp())


def c_function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None where that has none of this name, as musl and macOS lack those of glibc."""
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


def control_groups(controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of this process's control groups and of those around them, and whether they are of version 1."""
    for line in lines(PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Version 2 names no controllers: one tree of groups has all of them.
        root = CGROUP / controller if controllers else CGROUP
        innermost = root / path.strip("/")
        # A limit of any group around this one holds too. Folders above the root have no such files.
        for group in (innermost, *innermost.parents):
            yield group, bool(controllers)


def number(file: Path) -> int | None:
    """The number in a file of the kernel; None if it holds none, such as ``max`` or ``-1``."""
    text = "".join(lines(file))
    return int(text) if text.isdecimal() else None


def lines(file: Path) -> list[str]:
    """The lines of a file of the kernel; none if there is no such file."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _openmp() -> Iterator[ctypes.CDLL]:
    """The OpenMP libraries that this process has loaded; packages bring one each."""
    for library in threadpool_info():
        if library["user_api"] == "openmp":
            yield ctypes.CDLL(library["filepath"])


def _pair(file: Path) -> tuple[int | None, int | None]:
    """Quota and period of ``cpu.max``; None for ``max``, which is no limit."""
    words = " ".join(lines(file)).split()
    if len(words) != 2 or not words[0].isdecimal():
        return None, None
    return int(words[0]), int(words[1])
