"""Imports of heavy packages."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import scarf_lightning
from scarf_lightning import UsageError
from scarf_lightning.importing import EXTRAS, require, require_report
from tests.composing import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
OF_DEVELOPERS = {"all", "dev", "docs", "notebooks", "tests"}
"""Extras that bring no package which the code of the product imports."""
OTHER_NAMES = {
    "wandb_workspaces": "wandb-workspaces",
    "hydra_plugins.hydra_joblib_launcher": "hydra-joblib-launcher",
    "hydra_plugins.hydra_optuna_sweeper": "hydra-optuna-sweeper",
    "xgboost": "xgboost-cpu",
}
OTHER_NAMES |= {"arff": "liac-arff"}
MODULES = {"scikit-learn": "sklearn", "hydra-core": "hydra", "pyyaml": "yaml", "pytorch-lightning": "pytorch_lightning"}
"""Packages of the core whose module has another name."""
IMPORTED = re.compile(r"^ *(?:from|import) ([a-z_0-9]+)", re.MULTILINE)
OF_THE_CORE = {
    "torch", "pytorch_lightning", "lightning_fabric", "hydra", "omegaconf", "scipy", "numpy", "pandas", "pyarrow",
    "sklearn", "rich", "safetensors", "yaml", "threadpoolctl", "joblib", "scarf_lightning",
}  # fmt: skip
OF_AN_EXTRA = {
    "xmltodict": "openml", "requests": "openml", "urllib3": "openml", "minio": "openml",
    "markupsafe": "report", "IPython": "notebooks",
}  # fmt: skip
"""Packages that a package of an extra brings."""


def named(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement)[0]


def test_every_package_is_brought_by_its_extra_and_one_extra_brings_all() -> None:
    for package, extra in EXTRAS.items():
        assert OTHER_NAMES.get(package, package) in map(named, OPTIONAL[extra]), package
    (everything,) = OPTIONAL["all"]
    assert {*re.findall(r"\w+", everything.partition("[")[2])} == {*OPTIONAL} - OF_DEVELOPERS >= {*EXTRAS.values()}


def test_the_package_imports_what_it_requires_and_nothing_else() -> None:
    """Each package of the core is needed, and whatever else is imported belongs to an extra."""
    sources = [*(ROOT / "scarf_lightning").rglob("*.py"), *(ROOT / "hydra_plugins").rglob("*.py")]
    imported = {name for file in sources for name in IMPORTED.findall(_code(file))}
    others = imported - {*sys.stdlib_module_names, "_typeshed"} - OF_THE_CORE - set(OF_AN_EXTRA)

    assert others <= {*EXTRAS, *OPTIONAL}
    core = {MODULES.get(name, name) for name in map(named, PROJECT["dependencies"])}
    assert core <= imported


def _code(file: Path) -> str:
    """The source without texts in three quotes."""
    return re.sub(r'"{3}.*?"{3}', "", file.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(UsageError) as caught:
        require("openpyxl", "t.xlsx")

    assert str(caught.value) == "t.xlsx needs the package openpyxl: pip install '.[xlsx]' in a clone brings it."


def test_what_is_installed_is_not_imported_to_find_it() -> None:
    code = "import sys; from scarf_lightning.importing import require_report; require_report('x'); print(*sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not {"matplotlib", "jinja2"} & set(ran.stdout.split())


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_report_without_its_packages_is_refused_before_anything_is_done(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    asked: dict[str, Callable[[], object]] = {
        "A thing": lambda: require_report("A thing"),
        "A report": lambda: scarf_lightning.report("quick"),
    }
    for thing, ask in asked.items():
        with pytest.raises(UsageError, match=rf"^{thing} needs the package {package}: pip install '\.\[report\]'"):
            ask()


def test_a_logger_without_its_package_is_refused_before_anything_trains(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)

    with pytest.raises(UsageError, match=r"^logger=wandb needs the package wandb: pip install"):
        scarf_lightning.run(["logger=wandb", "trials=1"])

    assert list(tmp_path.iterdir()) == []
