"""The cores that a process may use."""

import os
from pathlib import Path

import pytest

from scarf_lightning import machine


@pytest.mark.parametrize(
    ("group", "files", "cores"),
    [
        ("0::/", {}, 8),
        ("0::/job", {"job/cpu.max": "max 100000"}, 8),
        ("0::/job", {"job/cpu.max": "300000 100000"}, 3),
        ("0::/job", {"job/cpu.max": "50000 100000"}, 1),
        ("0::/a/job", {"a/cpu.max": "250000 100000", "a/job/cpu.max": "400000 100000"}, 2),
        ("2:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "200000", "cpu/job/cpu.cfs_period_us": "100000"}, 2),
        ("2:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"}, 8),
        ("5:memory:/job", {"memory/job/cpu.cfs_quota_us": "100000", "memory/job/cpu.cfs_period_us": "100000"}, 8),
    ],
)
def test_a_control_group_limits_the_cores(
    group: str, files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"{group}\n", encoding="utf-8")
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    assert machine.usable_cores() == cores


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

    assert not machine.can_end_openmp_threads()
    monkeypatch.setattr(machine, "threadpool_info", lambda: [old | {"user_api": "blas"}])
    assert machine.can_end_openmp_threads()
