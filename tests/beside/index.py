"""uv, which finds versions on the package index and installs them."""

import subprocess

import pytest

from tests.composing import ROOT

UV = ROOT / "build" / "uv" / "bin" / "uv"


def uv_pip(*arguments: str, stdin: str = "") -> str:
    """The output of ``uv pip``, run in the folder of the repository."""
    if not UV.is_file():
        pytest.fail("make beside installs uv first")
    command = [str(UV), "pip", arguments[0], "--quiet", *arguments[1:]]
    ran = subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout
