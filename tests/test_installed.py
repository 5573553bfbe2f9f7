"""What the package index gets: the source distribution, and the wheel that is built from it.

The wheel is installed in an environment of its own, and used in an empty folder.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import scarf_lightning
from scarf_lightning.cli.commands import OPEN
from scarf_lightning.results import load
from tests.composing import ROOT
from tests.processes import FIRST_LINES, TINY

pytestmark = pytest.mark.slow

MOST_PACKAGES = 45
"""An installation has this many at most, ours among them. On Linux a torch with CUDA brings its libraries besides."""
FITTED = """
from sklearn.datasets import load_iris
from scarf_lightning import ScarfClassifier, UsageError
import scarf_lightning

X, y = load_iris(return_X_y=True, as_frame=True)
classifier = ScarfClassifier(n_trials=1, options={"max_epochs": 2}).fit(X, y)
print(classifier.predict_proba(X).shape)
try:
    scarf_lightning.report(results="results")
except UsageError as error:
    print(error)
"""
OURS = ("conf", "hydra_plugins", "scarf_lightning", "sweeps")
OUTSIDE = ("docs", "notebooks", "paper", "study", "tests", "tools")
"""Folders of the repository that no user's installation has."""
REPORT = "needs the package matplotlib: pip install '.[report]' in a clone brings it."
REFUSED = {
    "dataset=openml dataset.id=31": "OpenML dataset 31 needs the package openml: pip install '.[openml]' in a clone "
    "brings it.",
    "logger=wandb seed=7": "logger=wandb needs the package wandb: pip install '.[wandb]' in a clone brings it.",
    "method=catboost": "method=catboost needs the package catboost: pip install '.[catboost]' in a clone brings it.",
}
ASKED = ["corruption=mean,marginal", "trials=2", *TINY]


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution of a copy of the repository, and the wheel that pip builds from it."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, source)
        elif file.name in (*OURS, *OUTSIDE):
            shutil.copytree(file, source / file.name, ignore=shutil.ignore_patterns("__pycache__"))
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(dist)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (sdist,) = dist.iterdir()
    wheels = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(dist), str(sdist)]
    subprocess.run([*PIP, *wheels], check=True)
    (wheel,) = dist.glob("*.whl")
    return sdist, wheel


def environment_with(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """The commands of a new environment that has this wheel and nothing else, and the folder of its packages."""
    venv.create(folder)
    subprocess.run([*PIP, "--python", str(folder / "bin" / "python"), "install", "--no-deps", str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    return folder / "bin", packages


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, distributions: tuple[Path, Path]) -> Path:
    """The commands of an environment with our wheel; what we depend on it has from this one."""
    commands, packages = environment_with(distributions[1], tmp_path_factory.mktemp("environment"))
    # The packages of this environment, whose own .pth files do not count.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return commands


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory, distributions: tuple[Path, Path]) -> Path:
    """The Python of an environment with our wheel and the packages that it requires, as this environment has them.

    None of an extra's is there.
    """
    commands, packages = environment_with(distributions[1], tmp_path_factory.mktemp("core"))
    for name in required(distributions[1]):
        known = distribution(name)
        # Of a source distribution an old pip, such as Debian's, knows the files before they were installed alone.
        tops = set((known.read_text("top_level.txt") or "").split())
        for top in tops | {file.parts[0] for file in known.files or () if file.parts[0] != ".."}:
            link, target = packages / top, Path(str(known.locate_file(top)))
            if target.exists() and not link.exists() and target.name != "__pycache__":
                link.symlink_to(target)
    return commands / "python"


def required(wheel: Path) -> set[str]:
    """The distributions that our wheel requires without an extra, and those that these require."""
    found, waiting = set[tuple[str, str]](), [(metadata(wheel).get_all("Requires-Dist") or [], "")]
    while waiting:
        lines, extra = waiting.pop()
        for requirement in map(Requirement, lines):
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            for of_it in ("", *requirement.extras):
                each = canonicalize_name(requirement.name), of_it
                if each not in found:
                    found.add(each)
                    waiting.append((distribution(requirement.name).requires or [], of_it))
    return {name for name, _ in found}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(file))


def test_they_hold_the_package_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    sdist, wheel = distributions
    with tarfile.open(sdist) as archive:
        in_sdist = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = archive.namelist()

    assert not in_sdist & set(OUTSIDE)
    assert {*OURS, "LICENSE", "README.md", "pyproject.toml", "setup.py"} <= in_sdist
    described = f"scarf_lightning-{scarf_lightning.__version__}.dist-info"
    assert {name.split("/")[0] for name in in_wheel} == {"hydra_plugins", "scarf_lightning", described}
    for folder in ("conf", "sweeps"):
        here = {str(file.relative_to(ROOT)) for file in (ROOT / folder).rglob("*.yaml")}
        assert {f"scarf_lightning/{name}" for name in here} <= set(in_wheel)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HYDRA_", "OPENML_"))}
    ran = subprocess.run([*command], cwd=cwd, env=kept, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, FIRST_LINES.sub("", ran.stderr)) == (status, "")
    return ran.stdout


def lines_of_the_table(shown: str) -> list[list[str]]:
    """The words of the table's rows: the name of a corruption and its accuracy."""
    return [row.split() for row in shown.splitlines() if re.match(r" *(mean|marginal) +[\d.]", row)]


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

    by_command = run(installed / "scarf", "train", *ASKED, cwd=folder)

    assert lines_of_the_table(by_command) == rows
    assert "2 of 2 cells were finished already." in by_command


def test_the_core_is_small_and_fits_and_trains(core: Path, distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """Whatever an extra brings is missing there, and named where it is needed."""
    assert len({"scarf-lightning", *required(distributions[1])}) <= MOST_PACKAGES

    fitted = run(core, "-c", FITTED, cwd=tmp_path)

    assert fitted.splitlines() == ["(150, 3)", f"A report {REPORT}"]
    shown = run(core.parent / "scarf", "train", *ASKED, cwd=tmp_path)
    assert len(lines_of_the_table(shown)) == 2
    for arguments, sentence in REFUSED.items():
        command = [core.parent / "scarf", "train", *arguments.split()]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr.splitlines()[-1]) == (2, sentence)


def test_sweeps_and_the_report_travel_with_it(installed: Path, folder: Path, tmp_path: Path) -> None:
    assert "21 cells: 21 waiting" in run(installed / "scarf", "train", "sweeps=quick", "plan=true", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []

    run(installed / "scarf", "train", *ASKED, cwd=folder)
    # Of two trials nothing can be told.
    shown = run(installed / "scarf", "report", "results=results", cwd=folder, status=OPEN)
    assert shown.splitlines()[-1] == f"The report is {folder / 'reports' / 'results' / 'index.html'}"
