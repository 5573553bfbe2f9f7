"""Sweeps that are killed or put to sleep at random moments equal a calm one; `tools.faults.hazards` does more of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.composing import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.launcher]

KILLS = int(os.environ.get("KILLS", "9"))
WORKERS = int(os.environ.get("WORKERS", "5"))
SIGNALS = int(os.environ.get("SIGNALS", "4"))
DISKS = int(os.environ.get("DISKS", "0"))
SLEEPS = int(os.environ.get("SLEEPS", "2"))


def test_what_was_disturbed_at_random_moments_equals_what_was_not(tmp_path: Path) -> None:
    counts = (
        f"--kills={KILLS}",
        f"--workers={WORKERS}",
        f"--signals={SIGNALS}",
        f"--disks={DISKS}",
        f"--sleeps={SLEEPS}",
    )
    ran = subprocess.run(
        [sys.executable, "-m", "tools.faults.hazards", tmp_path / "sweeps", *counts],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    seen = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [wrong for each in seen for wrong in each["wrong"]] == []
    assert sum(each["kills"] for each in seen) >= KILLS + WORKERS
    assert sum(len(each["signals"]) for each in seen) >= SIGNALS
    assert sum(bool(each["disk"]) for each in seen) >= DISKS
    assert sum(each["sleeps"] for each in seen) >= SLEEPS
