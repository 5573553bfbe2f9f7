"""Real sweeps that are killed, ended, short of disk, or have a cell that fails."""

import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from scarf_lightning.results import load
from tests.processes import TINY, ended, in_the_way, n_records, started, train

PARTS = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from scarf_lightning.corruption.strategies import Marginal

N_COLUMNS = 30  # of wdbc, and of no table that parts are tried on


@dataclass
class Broken(Marginal):
    name: ClassVar[str] = "broken"

    def replacement(self, x, source, random):
        if x.shape[-1] == N_COLUMNS and not Path("mended").exists():
            raise ZeroDivisionError("planted")
        return super().replacement(x, source, random)
"""

pytestmark = [pytest.mark.slow]


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    (tmp_path / "planted_parts.py").write_text(PARTS)
    return "plugins=[planted_parts]"


def when(condition: Callable[[], bool], process: subprocess.Popen[str], minutes: float = 3) -> None:
    """Wait until this has come true, while the process runs."""
    deadline = time.monotonic() + minutes * 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_planted_exception_stops_no_other_cell_and_is_named_until_it_is_mended(plugin: str, tmp_path: Path) -> None:
    sweep = ["-m", "corruption.name=broken,marginal", "pretrain=scarf,scarf_ae", "trials=1", plugin, *TINY]

    first = train(*sweep, cwd=tmp_path)

    assert first.returncode == 1
    frame = load(tmp_path / "results")
    finished = sorted(zip(frame["corruption"], frame["pretrain"], strict=True))
    assert finished == [("marginal", "scarf"), ("marginal", "scarf_ae")]
    assert len(re.findall(r"corruption\.name=broken .* failed on .*:\nTraceback", first.stderr)) == 2
    assert first.stderr.count("ZeroDivisionError: planted") == 2
    assert "corruption.name=marginal" not in first.stderr
    assert first.stdout.count("not finished") == 2
    failures = [path.read_text() for path in (tmp_path / "results" / "failures").iterdir()]
    assert len(failures) == 2
    assert all("ZeroDivisionError: planted" in failure for failure in failures)

    (tmp_path / "mended").touch()
    second = train(*sweep, cwd=tmp_path)

    assert (second.returncode, second.stderr) == (0, "")
    assert "2 of 4 cells were finished already." in second.stdout
    assert len(load(tmp_path / "results")) == 4
    assert in_the_way(tmp_path / "results") == []


NO_BYTECODE = ("-B",)
"""Python would keep a module's bytecode cut off, and fail on it ever after."""


def no_longer_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_fails_what_needs_it_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    """The weights of a pre-training need more than is left, rows and curves less."""
    sweep = ["-m", "pretrain=none,scarf", "trials=2", *TINY, "network.encoder.width=512"]

    full = train(*sweep, cwd=tmp_path, python_options=NO_BYTECODE, preexec_fn=partial(no_longer_files, 1_100_000))

    assert full.returncode == 1
    assert re.fullmatch(r"pretrain=scarf .*: results/pretrained/\w+/trials/000\d: File too large\.\n", full.stderr)
    assert set(load(tmp_path / "results")["pretrain"].fillna("none")) == {"none"}
    assert [path.split("/")[0] for path in in_the_way(tmp_path / "results")] == ["failures"]

    again = train(*sweep, cwd=tmp_path)

    assert (again.returncode, again.stderr) == (0, "")
    assert len(load(tmp_path / "results")) == 4
    assert in_the_way(tmp_path / "results") == []


def test_a_preempted_job_gives_its_claims_back_and_keeps_what_is_finished(tmp_path: Path) -> None:
    results = tmp_path / "results"
    cell = ["trainer.trials_per_stack=1", *TINY]

    with started("trials=500", *cell, cwd=tmp_path) as process:
        when(lambda: n_records(results) >= 2, process)
        process.send_signal(signal.SIGTERM)
        ran = ended(process)

    assert ran.returncode == 143
    assert in_the_way(results) == []
    finished = load(results)
    assert 2 <= len(finished) < 500
    kept = {path: path.stat().st_mtime_ns for path in results.glob("*/stacks/*")}
    # Each worker begins with another share of the trials.
    trials = set(finished["trial"])
    assert len(trials) == len(finished)

    n = next(n for n in range(1, 501) if n not in trials) + 1
    again = train(f"trials={n}", *cell, cwd=tmp_path)

    assert again.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert set(load(results)["trial"]) == trials | set(range(n))
