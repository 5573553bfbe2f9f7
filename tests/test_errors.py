"""Sentences for the user, and refusals of what is not installed."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import scarf_lightning
from scarf_lightning.errors import (
    EXTRAS,
    MOST_LISTED,
    UsageError,
    counted,
    did_you_mean,
    explained,
    require,
    require_report,
    unknown_name,
)
from tests.composing import ROOT

KNOWN = ("marginal", "mean", "gaussian", "joint")
MORE_MEMORY = "It needs more memory"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("margnal", KNOWN, "Did you mean marginal?"),
        ("guassian", KNOWN, "Did you mean gaussian?"),
        ("zebra", KNOWN, ""),
        ("", KNOWN, ""),
        ("mean", iter([]), ""),
        ("GPU", ["cpu", "cuda"], "Did you mean cuda?"),
        ("mse", ["mae", "rmse"], "Did you mean rmse?"),
        ("mse", ["mae"], ""),
        (" Marginl", KNOWN, "Did you mean marginal?"),
    ],
)
def test_a_near_name_or_that_of_other_tools_is_suggested_and_a_far_one_is_not(
    name: str, known: Iterable[str], said: str
) -> None:
    assert did_you_mean(name, known) == said


def test_a_refusal_asks_first_and_lists_last_and_of_many_names_the_first() -> None:
    many = [f"option_{n}" for n in range(40)]

    short = unknown_name("x.jiont is unknown", "jiont", KNOWN, "the parts of x")
    cut = unknown_name("optoin_31 is unknown", "optoin_31", many, "the options", full_list="scarf --help")
    alone = unknown_name("x is unknown", "x", many, "its columns", write=repr)

    assert short == "x.jiont is unknown. Did you mean joint? The parts of x are: marginal, mean, gaussian, joint."
    assert cut.startswith("optoin_31 is unknown. Did you mean option_31? The options are: option_0, option_1, ")
    assert cut.endswith(f", and {40 - MOST_LISTED} more; scarf --help lists them.")
    assert alone == f"x is unknown. Its columns are: {', '.join(map(repr, many[:MOST_LISTED]))}, and 20 more."
    assert unknown_name("x is unknown", "x", [], "its columns") == "x is unknown. Its columns are: none."


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("trials=0: it takes one."), "trials=0: it takes one."),
        (OSError(28, "No space left on device", "results/a"), "results/a: No space left on device."),
        (MemoryError(), "It needs more memory than there is; "),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), MORE_MEMORY),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"), MORE_MEMORY),
    ],
)
def test_what_is_no_fault_of_the_code_is_a_sentence(error: Exception, said: str) -> None:
    assert (explained(error) or "").startswith(said)
    assert explained(RuntimeError("shapes do not fit")) is None


def test_a_number_of_things() -> None:
    said = {0: "0 cells", 1: "1 cell", 2070: "2,070 cells", 2.5: "2.5 cells"}
    assert {n: counted(n, "cell") for n in said} == said


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
    code = "import sys; from scarf_lightning.errors import require_report; require_report('x'); print(*sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not {"matplotlib", "jinja2"} & set(ran.stdout.split())


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_report_without_its_packages_is_refused_before_anything_is_done(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    doors: dict[str, Callable[[], object]] = {
        "A thing": lambda: require_report("A thing"),
        "A report": lambda: scarf_lightning.report("quick"),
    }
    for thing, ask in doors.items():
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
