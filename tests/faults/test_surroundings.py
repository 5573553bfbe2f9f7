"""Commands in surroundings that are not ours: a checkout that is not installed, settings of the user's, a full disk."""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest

import scarf_lightning
from scarf_lightning.results import load
from tests.composing import ROOT
from tests.faults.test_disturbed_sweeps import NO_BYTECODE, no_longer_files
from tests.processes import TINY_CONTROL, environment, in_the_way, train

pytestmark = [pytest.mark.slow]

MINUTES = 5 * 60.0
NOT_INSTALLED = """
import importlib.metadata, runpy, sys

found = importlib.metadata.Distribution.discover.__func__


def discover(cls, **named):
    return (each for each in found(cls, **named) if each.metadata["Name"] != "scarf-lightning")


importlib.metadata.Distribution.discover = classmethod(discover)
try:
    importlib.metadata.version("scarf-lightning")
except importlib.metadata.PackageNotFoundError:
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("train.py", ["pretrain=none", "trials=1", *TINY_CONTROL]), ("train.py", ["--version"])],
)
def test_a_checkout_that_is_not_installed_does_the_same(program: str, arguments: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", NOT_INSTALLED, str(ROOT / program), *arguments],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=MINUTES,
    )
    assert ran.returncode == 0, ran.stderr
    if arguments == ["--version"]:
        assert ran.stdout == f"scarf-lightning {scarf_lightning.__version__}\n"
    else:
        assert len(load(tmp_path / "results")) == 1


@pytest.mark.parametrize("size", [100, 600])
def test_workers_on_a_full_disk_end_in_a_sentence(size: int, tmp_path: Path) -> None:
    sweep = ["pretrain=none", "seed=0,1,2,3", "workers=2", "trials=1", *TINY_CONTROL]

    def as_large() -> None:
        no_longer_files(size)

    full = train(*sweep, cwd=tmp_path, python_options=NO_BYTECODE, preexec_fn=as_large)

    assert full.returncode == 1
    assert "File too large" in full.stderr
    assert not re.search(r"Traceback|Process \w+-\d|ended early \(", full.stderr), full.stderr
    again = train(*sweep, cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert len(load(tmp_path / "results")) == 4
    assert in_the_way(tmp_path / "results") == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on which file systems of a test's own can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    while subprocess.run(["umount", "-l", str(folder)], capture_output=True).returncode == 0:
        pass


def mounted(disk: Path, options: str) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(disk)], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"no file system can be mounted: {mount.stderr.strip()}")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("size=16k", "No space left on device"),
        ("size=10m,nr_inodes=6", "No space left on device"),
        ("size=10m,nr_inodes=20", "No space left on device"),
        ("size=10m,ro", "Read-only file system"),
    ],
)
def test_workers_on_a_full_disk_end_in_a_sentence_and_go_on_later(
    options: str, reason: str, disk: Path, tmp_path: Path
) -> None:
    sweep = ["pretrain=none", "seed=0,1,2,3", "workers=2", "trials=1", *TINY_CONTROL, "paths.results=disk/r"]
    mounted(disk, options)

    without_room = train(*sweep, cwd=tmp_path)

    assert without_room.returncode in (1, 2)
    assert reason in without_room.stderr
    assert not re.search(r"Traceback|Process \w+-\d|ended early \(", without_room.stderr), without_room.stderr
    subprocess.run(["mount", "-o", "remount,rw,size=50m,nr_inodes=10000", str(disk)], check=True)
    again = train(*sweep, cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert len(load(disk / "r")) == 4
    assert in_the_way(disk / "r") == []


def test_settings_of_figures_are_ours_and_a_log_of_everything_has_none_of_hydras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.name)  # type: ignore[method-assign]
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        scarf_lightning.run(["pretrain=none", "trials=2", *TINY_CONTROL], verbose=False)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert not [name for name in logged if name.startswith("hydra")]

    with matplotlib.rc_context({"text.usetex": True, "figure.dpi": 7}):
        scarf_lightning.report(results="results")
    assert list(tmp_path.glob("reports/*/*.html"))
