"""The cores and the memory that a process may use."""

import os
import threading
from pathlib import Path

import pytest

from scarf_lightning import machine


def control_groups(folder: Path, group: str, files: dict[str, str], patch: pytest.MonkeyPatch) -> None:
    """A machine of eight cores with 5,000 kB left, on which this process is in a group with these files."""
    written = {
        "proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    5000 kB",
        "proc/self/cgroup": f"3:pids:/else\n{group}",
    } | {f"cgroup/{name}": text for name, text in files.items()}
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    patch.setattr(machine, "PROC", folder / "proc")
    patch.setattr(machine, "CGROUP", folder / "cgroup")
    patch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


@pytest.mark.parametrize(
    ("group", "files", "cores"),
    [
        ("0::/", {}, 8),
        ("0::/job", {"job/cpu.max": "max 100000"}, 8),
        ("0::/job", {"job/cpu.max": "300000 100000"}, 3),
        ("0::/job", {"job/cpu.max": "50000 100000"}, 1),
        ("0::/a/job", {"a/cpu.max": "250000 100000", "a/job/cpu.max": "400000 100000"}, 2),
    ],
)
def test_a_control_group_limits_the_cores(
    group: str, files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control_groups(tmp_path, group, files, monkeypatch)
    assert machine.usable_cores() == cores


@pytest.mark.parametrize(
    ("group", "files", "left"),
    [
        ("0::/", {}, 5_000 * 1024),
        ("0::/job", {"job/memory.max": "max", "job/memory.current": "7"}, 5_000 * 1024),
        ("0::/job", {"job/memory.max": "1000", "job/memory.current": "700"}, 300),
        ("0::/job", {"job/memory.max": "1000", "job/memory.current": "1100"}, 0),
        ("0::/job", {"job/memory.max": "1000"}, 5_000 * 1024),
        ("0::/a/job", {"a/memory.max": "1000", "a/memory.current": "900", "a/memory.stat": "inactive_file 50"}, 150),
    ],
)
def test_the_memory_that_is_left_is_that_of_the_machine_or_of_the_tightest_control_group(
    group: str, files: dict[str, str], left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control_groups(tmp_path, group, files, monkeypatch)
    assert min(machine.free_memory()) == left


def test_the_affinity_mask_limits_the_cores() -> None:
    mask = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mask)})
        assert machine.usable_cores() == 1
    finally:
        os.sched_setaffinity(0, mask)


def test_an_openmp_that_cannot_end_its_threads_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the wheels of torch 2.4; the library of C has none of OpenMP's functions either."""
    old = {"user_api": "openmp", "filepath": "libc.so.6"}
    monkeypatch.setattr(machine, "threadpool_info", lambda: [old])

    machine.end_openmp_threads()


def test_who_cannot_fork_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str | None] = [machine.why_no_fork()]
    thread = threading.Thread(target=lambda: said.append(machine.why_no_fork()))
    thread.start()
    thread.join()
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    said.append(machine.why_no_fork())

    assert said == [None, "only the main thread may start them", "processes are forked on Linux alone"]
