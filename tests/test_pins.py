"""The versions that are pinned can be installed wherever the package can."""

import re
import tomllib
from importlib.metadata import distributions

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.composing import ROOT


def test_every_pin_serves_the_oldest_python_that_is_allowed() -> None:
    """Pip installs none of them where one needs a newer Python: Debian 12 has 3.11.2."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (oldest,) = re.findall(r">=(3\.\d+)", project["requires-python"])
    pins = re.findall(r"^([^=\s]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    pinned = {(canonicalize_name(name), version) for name, version in pins}
    installed = {
        (canonicalize_name(each.name), each.version): each.metadata.get("Requires-Python") or ""
        for each in distributions()
    }

    wanted = {pin: installed[pin] for pin in pinned & installed.keys()}
    assert len(wanted) > 40
    assert {pin for pin, python in wanted.items() if f"{oldest}.0" not in SpecifierSet(python)} == set()


def test_the_image_installs_what_the_project_has() -> None:
    """Its torch has the project's bounds, its extras exist, and no file is left out that the wheel is made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (extras,) = re.findall(r"/source\[(\S+)\]", image)
    (torch,) = re.findall(r'"(torch\S+)"', image)
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    made_of = {
        "scarf_lightning", "hydra_plugins", "conf", "sweeps", "pyproject.toml", "setup.py", "README.md", "LICENSE",
    }  # fmt: skip

    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    assert torch in project["project"]["dependencies"]
    assert all((ROOT / name).exists() for name in made_of)
    assert not made_of & set(left_out)
