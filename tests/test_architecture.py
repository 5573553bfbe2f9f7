"""Imports run one way. What each part of the package may use is said once, here."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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
    "forks": {"errors", "machine"},
    "data": GROUND | {"metrics", "losses"},
    "losses": GROUND,
    "corruption": GROUND,
    "networks": GROUND,
    "pretexts": GROUND | {"corruption", "losses", "networks"},
    "engine": GROUND
    | {"machine", "screen", "metrics", "data", "corruption", "losses", "networks", "pretexts"},
    "methods": GROUND | {"data", "corruption", "losses", "pretexts", "engine"},
    "results": {"options", "metrics", "errors", "data.targets"},
    "sweeping": {
        "options", "results", "metrics", "forks", "machine", "importing", "data.arguments", "data.requests",
        "data.sources", "data.table", "data.targets", "errors",
    },
    "cli": {
        "options", "data.reading.shown", "data.sources", "data.table", "data.targets", "errors",
        "forks", "importing", "intervals", "loggers", "machine", "metrics", "reporting", "results", "screen",
        "notebook", "sweeping", "estimators", "training", "trying", "engine", "verdicts", "version",
    },
    "trying": GROUND
    | {
        "data", "engine", "networks", "methods", "metrics",
    },
    "training": GROUND
    | {
        "corruption", "data", "engine", "loggers", "losses", "methods", "metrics", "pretexts", "results", "screen",
        "sweeping", "version",
    },
    "verdicts": {"errors", "intervals", "metrics"},
    "reporting": {
        "options", "results", "sweeping", "metrics", "intervals", "errors", "importing", "notebook", "screen",
        "data.targets", "verdicts", "version",
    },
    "loggers": {"options", "results", "metrics", "intervals", "errors", "importing", "screen", "reporting.levels"},
    "screen": set(),
    "version": set(),
    "notebook": set(),
    "lightning": GROUND
    | {"data", "engine", "estimators.preparing", "methods", "networks", "sweeping", "training", "trying"},
    "estimators": GROUND
    | {
        "data", "engine", "intervals", "networks", "notebook", "results", "screen", "sweeping", "training", "trying",
        "version",
    },
}  # fmt: skip
"""Parts of the package by the parts that they may import, besides their own. ``options`` has a rule of its own: what a
registry looks up by name is imported when it is asked for, so only its imports at module level count."""

FRONT_DOORS = {"__init__.py": "cli"}
"""The package's public names are looked up when they are asked for, which leads to the top of the house."""
OPTIONS_MAY_USE = {"errors", "importing"}
KNOW_HYDRA = {"sweeping", "cli"}
KNOW_LIGHTNING = {"data", "engine", "lightning", "loggers", "training"}
FREE_OF_TORCH = {
    "options", "results", "sweeping", "reporting", "verdicts", "metrics", "intervals", "errors", "importing", "forks",
    "machine", "screen", "version",
}  # fmt: skip
HEAVY = {"torch", "pytorch_lightning", "lightning_fabric", "openml", "sklearn", "pandas", "matplotlib", "wandb"}
BEFORE_TRAINING = [
    "options", "results", "loggers", "sweeping.expand", "sweeping.run", "cli.tables", "screen", "data.sources",
]  # fmt: skip
ROOMS_OF_PARTS = ("corruption", "losses", "networks", "pretexts", "methods")


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


def name_of(path: Path) -> str:
    """The dotted name of a module below the package; the package itself has none."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


PATHS = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
"""All modules of the package."""


@cache
def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def imports_in(path: Path) -> list[Import]:
    dotted = f"{PACKAGE.name}.{name_of(path)}".removesuffix(".")
    return imports_of(source_of(path), dotted, is_package=path.name == "__init__.py")


def ours(imported: Import) -> str | None:
    """The dotted name below the package, or None for an import from elsewhere."""
    top, _, below = imported.module.partition(".")
    return below if top == PACKAGE.name else None


def home_of(name: str) -> str:
    """The module that an imported name is in: ``errors`` of ``errors.UsageError``."""
    return name if name in PATHS else home_of(name.rpartition(".")[0])


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
        part_of(path)
        for path in PATHS.values()
        for found in imports_in(path)
        if found.module.partition(".")[0] in libraries
    }


def brought_by(*names: str) -> set[str]:
    """The libraries that our modules import when these are imported, by our sources: what they bring is not seen."""
    waiting, seen, libraries = {"", *names}, set[str](), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for found in imports_in(PATHS[name]):
            below = ours(found)
            if not found.at_import_time:
                continue
            if below is None:
                libraries.add(found.module.partition(".")[0])
                continue
            home = home_of(below)
            # A package is imported before its modules.
            above = {home.rpartition(".")[0]} if home else set()
            waiting |= ({home} | above) - seen
    return libraries


def imported_in_a_process(code: str) -> set[str]:
    """All modules that a new process has imported after this code, those of other libraries among them."""
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    ran = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_imports_run_one_way() -> None:
    assert {part_of(path) for path in PATHS.values()} == {*MAY_USE, "__init__"}, "every part has a rule"
    wrong = {name: offences(path) for name, path in PATHS.items() if name}
    assert {name: found for name, found in wrong.items() if found} == {}
    of_the_package = [each.module for each in imports_in(PATHS[""]) if each.at_import_time]
    version = "scarf_lightning.version.__version__"
    assert of_the_package == ["importlib", "os", "typing.TYPE_CHECKING", "typing.Any", version]


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
    used = {
        module: {home_of(name) for found in imports_in(path) if (name := ours(found)) is not None} - {module}
        for module, path in PATHS.items()
    }
    try:
        list(TopologicalSorter(used).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other in a circle: {' <- '.join(error.args[1])}")


def test_hydra_lightning_and_torch_are_known_where_they_may_be() -> None:
    assert users_of("hydra", "omegaconf") == KNOW_HYDRA
    below = [path for path in PATHS.values() if part_of(path) not in KNOW_HYDRA]
    assert [path.name for path in below if "DictConfig" in source_of(path)] == []
    assert users_of("pytorch_lightning", "lightning", "lightning_fabric") <= KNOW_LIGHTNING
    assert "data" in users_of("pytorch_lightning")
    assert not users_of("torch", "pytorch_lightning") & FREE_OF_TORCH


def test_our_modules_import_nothing_heavy_before_it_is_needed() -> None:
    parts = [name for name, path in PATHS.items() if part_of(path) in ROOMS_OF_PARTS]

    assert not brought_by(*BEFORE_TRAINING) & HEAVY
    assert brought_by(*parts) & HEAVY == {"torch"}
    assert "pytorch_lightning" in brought_by("training.cell_training")
    assert not brought_by("estimators.estimators") & {"lightning", "matplotlib", "openml", "pytorch_lightning", "wandb"}


@pytest.mark.slow
def test_what_runs_before_training_imports_nothing_heavy_by_other_libraries_either() -> None:
    light = [*(f"scarf_lightning.{name}" for name in BEFORE_TRAINING), "hydra_plugins.scarf_sweeper.sweeper"]

    imported = imported_in_a_process(f"import {', '.join(light)}")

    assert set(light) <= imported
    assert not imported & HEAVY
