"""Versions of our core and of another tool that go together, as `uv` finds them on the package index."""

import re

import pytest
from packaging.version import Version

from tests.beside.index import uv_pip
from tests.composing import ROOT

TOOLS = {
    "autogluon": "AutoGluon 1.6.3",
    "pytorch-tabular": "PyTorch Tabular 1.2.0",
    "tabpfn": "TabPFN 9.2.0",
    "pytabkit": "pytabkit 1.7.3",
    "skrub": "skrub 0.11.0",
    "mlflow": "MLflow 3.17.2",
    "ray": "Ray 2.60.0",
}
"""The name on the index, and what docs/installing.md says of it."""

pytestmark = pytest.mark.beside


@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("tool", TOOLS)
def test_versions_go_together(tool: str, python: str) -> None:
    """A tool's old releases may have no bounds, so the version is that of the documentation or a newer one."""
    options = ("--no-header", "--no-annotate", "--python-version", python)

    resolved = uv_pip("compile", *options, "pyproject.toml", "-", stdin=tool)

    (found,) = re.findall(rf"^{tool}==(\S+)$", resolved, re.MULTILINE)
    assert Version(found) >= Version(TOOLS[tool].split()[-1])
    assert TOOLS[tool] in (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
