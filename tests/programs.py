"""Programs that no Python package brings: without its program a test is skipped, unless CI_NEEDS_PROGRAMS=1."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest


def program(*names: str) -> str:
    """The path of the first of the names that is on the PATH."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or missing(f"None of the programs {', '.join(names)} is on the PATH")


def pdflatex() -> str:
    """The path of pdflatex, in a TeX that has the packages of our tables: its smallest installation lacks booktabs."""
    path = program("pdflatex")
    style = subprocess.run([program("kpsewhich"), "booktabs.sty"], capture_output=True, text=True)
    return path if style.stdout.strip() else missing("This TeX has no booktabs")


def compiled(document: Sequence[str], folder: Path) -> str:
    """What pdflatex writes while it makes a document of these lines. It must end well."""
    (folder / "t.tex").write_text("\n".join(document), encoding="utf-8")
    ran = subprocess.run(
        [pdflatex(), "-halt-on-error", "-interaction=nonstopmode", "t.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def missing(what: str) -> NoReturn:
    if os.environ.get("CI_NEEDS_PROGRAMS") == "1":
        pytest.fail(f"{what}, and CI_NEEDS_PROGRAMS=1 asks for it.")
    pytest.skip(f"{what}.")
