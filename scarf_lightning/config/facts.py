"""What parts say of themselves, read from their source: importing them would import torch, which takes a second.

A part's options are the fields of its class, and what else must be known of it before anything trains stands in class
variables with a value that can be read off: a number, a string, a truth value, or a tuple of these.
"""

import ast
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .axes import BASES
from .plugins import plugin_files


@dataclass(frozen=True)
class Facts:
    """One class.

    Attributes:
        fields: the types of its fields by name, as they are written, those that it inherits first.
        defaults: of those fields that have one.
        variables: its class variables, inherited ones too.
    """

    fields: Mapping[str, str]
    defaults: Mapping[str, Any]
    variables: Mapping[str, Any]


def facts(axis: str, plugins: Sequence[str] = ()) -> dict[str, Facts]:
    """What the options of an axis say of themselves, by name.

    Raises:
        UsageError: there is no such plugin, or a class variable is computed.
    """
    files = _files_of(BASES[axis].partition(":")[0])
    return _read((*files, *plugin_files(plugins)), BASES[axis].partition(":")[2])


@cache
def _read(files: tuple[Path, ...], base: str) -> dict[str, Facts]:
    classes: dict[str, ast.ClassDef] = {}
    for file in files:
        classes |= {node.name: node for node in _tree(file).body if isinstance(node, ast.ClassDef)}
    lines = [_line_of(name, classes) for name in classes]
    read = [_facts(line, classes) for line in lines if base in line]
    return {found.variables["name"]: found for found in read if "name" in found.variables}


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


@cache
def _files_of(module: str) -> tuple[Path, ...]:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    file = Path(found.origin)
    return tuple(sorted(file.parent.glob("*.py"))) if file.name == "__init__.py" else (file,)


def _line_of(name: str, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    """The class and those that it inherits from, the farthest first."""
    line: list[str] = []
    for parent in classes[name].bases:
        parent_name = parent.id if isinstance(parent, ast.Name) else getattr(parent, "attr", "")
        line += _line_of(parent_name, classes) if parent_name in classes else [parent_name]
    return [*line, name]


def _facts(line: Sequence[str], classes: Mapping[str, ast.ClassDef]) -> Facts:
    fields: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    for name in line:
        for node in classes[name].body if name in classes else ():
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            annotation = ast.unparse(node.annotation)
            found = variables if annotation.startswith("ClassVar") else defaults
            if found is defaults:
                fields[node.target.id] = annotation
            if node.value is not None:
                value = _literal(node.value, f"{name}.{node.target.id}")
                inherited = variables.get("limits", {}) if node.target.id == "limits" else {}
                found[node.target.id] = inherited | value if inherited else value
    return Facts(fields, defaults, variables)


def _literal(value: ast.expr, named: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        raise UsageError(
            f"{named} must be written as a plain value, not computed: it is read before torch is."
        ) from None
