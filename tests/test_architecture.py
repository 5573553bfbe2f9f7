"""Imports run one way. What each part of the package may use is said once, here."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import scarf_lightning

PACKAGE = Path(scarf_lightning.__file__).parent

GROUND = {"errors", "importing", "options", "randomness"}
"""Under everything: no networks and no data."""
MAY_USE = {
    **dict.fromkeys(GROUND | {"metrics", "intervals"}, GROUND),
    "machine": set(),
    "data": GROUND | {"metrics", "losses"},
    "losses": GROUND,
    "corruption": GROUND,
    "networks": GROUND,
    "pretexts": GROUND | {"corruption", "losses", "networks"},
    "engine": GROUND | {"machine", "screen", "metrics", "data", "corruption", "losses", "networks", "pretexts"},
    "methods": GROUND | {"data", "corruption", "losses", "pretexts", "engine"},
    "results": {"options", "metrics", "errors", "data.targets"},
    "sweeping": {
        "options",
        "results",
        "metrics",
        "machine",
        "importing",
        "data.sources",
        "data.table",
        "data.targets",
        "errors",
    },
    "cli": {
        "options",
        "data.reading.shown",
        "data.sources",
        "data.table",
        "errors",
        "importing",
        "intervals",
        "loggers",
        "metrics",
        "report",
        "results",
        "screen",
        "notebook",
        "sweeping",
        "estimators",
        "training",
        "engine",
        "importance",
        "data.targets",
    },
    "training": GROUND
    | {"options", "data", "engine", "loggers", "methods", "metrics", "results", "screen", "sweeping"},
    "report": {
        "options",
        "results",
        "sweeping",
        "metrics",
        "intervals",
        "errors",
        "importing",
        "notebook",
        "screen",
        "data.targets",
    },
    "loggers": {"options", "results", "metrics", "intervals", "errors", "importing", "screen", "report.levels"},
    "screen": set(),
    "notebook": set(),
    "lightning": GROUND | {"data", "engine", "estimators.preparing", "methods", "sweeping", "training"},
    "estimators": GROUND
    | {
        "data",
        "engine",
        "importance",
        "intervals",
        "losses",
        "methods",
        "metrics",
        "networks",
        "notebook",
        "report.statistics",
        "results",
        "screen",
        "sweeping",
        "training",
    },
    "importance": GROUND
    | {"corruption", "data", "engine", "intervals", "methods", "metrics", "networks", "report", "results", "training"},
}
"""Parts of the package by the parts that they may import, besides their own. ``options`` has a rule of its own: what a
registry looks up by name is imported when it is asked for, so only its imports at module level count."""

FRONT_DOORS = {"__init__.py": "cli"}
"""The package's public names are looked up when they are asked for, which leads to the top of the house."""
OPTIONS_MAY_USE = {"errors", "importing"}
KNOW_HYDRA = {"sweeping", "cli", "estimators"}
KNOW_LIGHTNING = {"data", "engine", "lightning", "training"}
FREE_OF_TORCH = {
    "options",
    "results",
    "sweeping",
    "report",
    "metrics",
    "intervals",
    "errors",
    "importing",
    "machine",
    "screen",
}
HEAVY = {"torch", "pytorch_lightning", "lightning_fabric", "openml", "sklearn", "pandas", "matplotlib", "wandb"}


@dataclass(frozen=True)
class Import:
    """One imported module, and whether importing the importer imports it."""

    module: str
    at_import_time: bool


def imports_of(source: str, module: str, *, is_package: bool = False) -> list[Import]:
    """All imports in a module's source, in functions and under TYPE_CHECKING too, by absolute names."""
    parents = module.split(".") if is_package else module.split(".")[:-1]
    found = []
    for node, at_import_time in _walk(ast.parse(source), at_import_time=True):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(name, at_import_time) for name in names]
    return found


def _walk(node: ast.AST, *, at_import_time: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
            isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        )
        now = at_import_time and not deferred
        yield child, now
        yield from _walk(child, at_import_time=now)


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_in(path: Path) -> list[Import]:
    dotted = ".".join([PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    return imports_of(path.read_text(encoding="utf-8"), dotted, is_package=path.name == "__init__.py")


def ours(imported: Import) -> str | None:
    """The dotted name below the package, or None for an import from elsewhere."""
    top, _, below = imported.module.partition(".")
    return below if top == PACKAGE.name else None


def is_among(name: str, allowed: set[str]) -> bool:
    return any(name == part or name.startswith(part + ".") for part in allowed)


def offences(path: Path) -> list[str]:
    """Imports of ours that the module's part may not have."""
    part = part_of(path)
    allowed = OPTIONS_MAY_USE if part == "options" else MAY_USE[part]
    if door := FRONT_DOORS.get(path.relative_to(PACKAGE).as_posix()):
        allowed = allowed | {door}
    names = [ours(found) for found in imports_in(path) if found.at_import_time or part != "options"]
    return [name for name in names if name is not None and not is_among(name, allowed | {part})]


def users_of(*libraries: str) -> set[str]:
    """The parts of the package that import one of these, wherever in their modules."""
    return {
        part_of(path) for path in modules() for found in imports_in(path) if found.module.partition(".")[0] in libraries
    }


def test_the_reading_of_imports_sees_every_kind() -> None:
    source = """
import os.path
from typing import TYPE_CHECKING
from ..errors import UsageError
from . import near
from .. import metrics
if TYPE_CHECKING:
    import torch
def late():
    from ..engine.stack import Stack
class Body:
    import json
try:
    import xgboost
except ImportError:
    pass
"""

    found = imports_of(source, "scarf_lightning.options.typed")

    assert [(each.module, each.at_import_time) for each in found] == [
        ("os.path", True),
        ("typing.TYPE_CHECKING", True),
        ("scarf_lightning.errors.UsageError", True),
        ("scarf_lightning.options.near", True),
        ("scarf_lightning.metrics", True),
        ("torch", False),
        ("scarf_lightning.engine.stack.Stack", False),
        ("json", True),
        ("xgboost", True),
    ]
    package = imports_of("from .store import CellStore", "scarf_lightning.results", is_package=True)
    assert package == [Import("scarf_lightning.results.store.CellStore", at_import_time=True)]


def test_every_part_of_the_package_has_a_rule() -> None:
    assert {part_of(path) for path in modules()} == {*MAY_USE, "__init__"}


def test_the_package_itself_imports_nothing_of_its_own() -> None:
    imported = [each.module for each in imports_in(PACKAGE / "__init__.py") if each.at_import_time]

    assert imported == ["importlib", "os", "typing.TYPE_CHECKING", "typing.Any"]


@pytest.mark.parametrize("part", sorted(MAY_USE))
def test_imports_run_one_way(part: str) -> None:
    of_part = [path for path in modules() if part_of(path) == part]
    assert of_part

    assert {path.name: found for path in of_part if (found := offences(path))} == {}


def test_the_picture_of_the_rooms_has_no_circle() -> None:
    """Taken away one after the other, each with nothing left above that uses it."""
    arrows = {part: {name.partition(".")[0] for name in used} & set(MAY_USE) - {part} for part, used in MAY_USE.items()}
    for part in GROUND | {"metrics"}:
        arrows[part] -= GROUND  # single modules, which the next test looks at one by one
    while arrows:
        ends = {part for part, used in arrows.items() if not used & set(arrows)}
        assert ends, f"a circle among {sorted(arrows)}"
        arrows = {part: used for part, used in arrows.items() if part not in ends}


def test_no_two_modules_import_each_other() -> None:
    """Imports in functions and under TYPE_CHECKING count too."""
    paths = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()
    }

    def home_of(name: str) -> str:
        """The module that an imported name is in: ``errors`` of ``errors.UsageError``."""
        return name if name in paths or not name else home_of(name.rpartition(".")[0])

    used = {
        module: {home_of(name) for found in imports_in(path) if (name := ours(found)) is not None} - {module}
        for module, path in paths.items()
    }
    try:
        list(TopologicalSorter(used).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other in a circle: {' <- '.join(error.args[1])}")


def test_trials_leave_in_one_place() -> None:
    """One class has a `keep`; whatever carries a trial axis asks it who is there."""
    found = [
        f"{path.stem}.{node.name}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and part_of(path) not in ("results", "report", "sweeping")
        and any(isinstance(child, ast.FunctionDef) and child.name == "keep" for child in node.body)
    ]
    assert found == ["randomness.Roster"]


def test_configuration_ends_at_train() -> None:
    assert users_of("hydra", "omegaconf") == KNOW_HYDRA
    below = [path for path in modules() if part_of(path) not in KNOW_HYDRA]
    assert [path.name for path in below if "DictConfig" in path.read_text(encoding="utf-8")] == []


def test_nobody_below_the_engine_but_the_data_knows_lightning() -> None:
    assert users_of("pytorch_lightning", "lightning", "lightning_fabric") <= KNOW_LIGHTNING
    assert "data" in users_of("pytorch_lightning")


def test_configuration_results_sweeping_and_reports_never_import_torch() -> None:
    assert not users_of("torch", "pytorch_lightning") & FREE_OF_TORCH


def test_what_runs_before_training_imports_nothing_heavy() -> None:
    light = [
        "scarf_lightning.options",
        "scarf_lightning.results",
        "scarf_lightning.loggers",
        "scarf_lightning.sweeping.expand",
        "scarf_lightning.sweeping.run",
        "scarf_lightning.cli.tables",
        "scarf_lightning.screen",
        "scarf_lightning.data.sources",
        "hydra_plugins.scarf_sweeper.sweeper",
    ]
    code = f"import sys, {', '.join(light)}; print(*sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    imported = set(ran.stdout.split())
    assert set(light) <= imported
    assert not imported & HEAVY


def test_parts_and_methods_import_torch_and_nothing_heavier() -> None:
    """Checking an option imports them; Lightning alone takes two seconds."""
    rooms = ("corruption", "losses", "networks", "pretexts", "methods")
    parts = [f"scarf_lightning.{part_of(path)}.{path.stem}" for path in modules() if part_of(path) in rooms]
    code = f"import sys, {', '.join(part.removesuffix('.__init__') for part in parts)}; print(*sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    assert "scarf_lightning.methods.rivals" in ran.stdout
    assert set(ran.stdout.split()) & HEAVY == {"torch"}


def test_an_estimator_is_imported_without_what_only_runs_and_reports_need() -> None:
    code = (
        "import sys; from scarf_lightning import ScarfClassifier, ScarfRegressor, ScarfTransformer; print(*sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    assert not set(ran.stdout.split()) & {"lightning", "matplotlib", "openml", "pytorch_lightning", "wandb"}
