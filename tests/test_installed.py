"""The wheel, as a user installs it: in an environment of its own, used in an empty folder."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from scarf_lightning.results import load
from tests.composing import ROOT
from tests.processes import FIRST_LINE

pytestmark = pytest.mark.slow

SOURCES = ("conf", "hydra_plugins", "scarf_lightning", "sweeps", "LICENSE", "README.md", "pyproject.toml", "setup.py")
ASKED = ["corruption=mean,marginal", "trials=2"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with our wheel; what we depend on it has from this one."""
    source, environment = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("environment")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(source / "dist"), str(source)]
    subprocess.run([*pip, *wheels], check=True)
    (wheel,) = (source / "dist").iterdir()
    shutil.rmtree(source / "scarf_lightning")
    venv.create(environment)
    commands = environment / "bin"
    subprocess.run([*pip, "--python", str(commands / "python"), "install", "--no-deps", str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )  # whose own .pth files do not count
    return commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def run(*command: str | Path, cwd: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HYDRA_", "OPENML_"))}
    ran = subprocess.run([*command], cwd=cwd, env=kept, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr.removeprefix(FIRST_LINE)) == (0, "")
    return ran.stdout


def lines_of_the_table(shown: str) -> list[list[str]]:
    return [line.split() for line in shown.splitlines() if line.split()[:1] in (["mean"], ["marginal"])]


def test_python_and_the_command_give_the_table_in_an_empty_folder(installed: Path, folder: Path) -> None:
    code = f"import scarf_lightning; print(scarf_lightning.__file__); print(scarf_lightning.run({ASKED}))"

    in_python = run(installed / "python", "-c", code, cwd=folder)

    assert Path(in_python.splitlines()[0]).is_relative_to(installed.parent)
    assert "[4 rows x " in in_python
    rows = lines_of_the_table(in_python)
    means = load(folder / "results").groupby("corruption")["accuracy"].mean()
    assert "; 2 trials each\n" in in_python
    assert [row[:2] for row in rows] == [[name, f"{means[name]:.4f}"] for name in ("mean", "marginal")]
    assert [path.name for path in folder.iterdir()] == ["results"]

    by_command = run(installed / "scarf-train", *ASKED, cwd=folder)

    assert lines_of_the_table(by_command) == rows
    assert "2 of 2 cells were finished already." in by_command


def test_sweeps_travel_with_it(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "scarf-train", "sweeps=quick", "plan=true", cwd=tmp_path)

    assert "21 cells: 21 waiting" in shown
    assert list(tmp_path.iterdir()) == []


def test_the_report_too(installed: Path, folder: Path) -> None:
    run(installed / "scarf-train", *ASKED, cwd=folder)

    shown = run(installed / "scarf-report", "results=results", cwd=folder)

    assert shown.splitlines()[-1] == f"The report is {folder / 'reports' / 'results' / 'index.html'}"
