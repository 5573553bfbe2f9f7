"""A user's own parts: modules named on the command line, whose classes register themselves by being subclasses."""

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from ..errors import UsageError


def load_plugins(names: Sequence[str]) -> None:
    """Import each module, from the folder that the command runs in or wherever Python finds it.

    Raises:
        UsageError: there is no such module, or its source has changed since it was imported, as in a notebook.
    """
    with _working_folder_first():
        for name in names:
            source = _hash(_find(name))
            importlib.import_module(name)
            if _imported.setdefault(name, source) != source:
                raise UsageError(
                    f"{name} has changed since it was imported; start Python again, or the notebook's kernel."
                )


_imported: dict[str, str] = {}
"""The source of each imported module, as it was."""


def plugin_hashes(names: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each module's source: what a part computes belongs to what a cell is, unlike what is drawn of it.

    Raises:
        UsageError: there is no such module.
    """
    with _working_folder_first():
        files = {name: _find(name) for name in sorted(set(names))}
    return {name: _hash(file) for name, file in files.items() if not _only_draws(file)}


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names."""
    parser = OverridesParser.create()
    given = [argument for argument in arguments if argument.startswith("plugins=")]
    value = parser.parse_override(given[-1]).value() if given else []
    return [str(name) for name in value] if isinstance(value, list) else []


def plugin_files(names: Sequence[str]) -> list[Path]:
    """The source of each module, which is not imported.

    Raises:
        UsageError: there is no such module.
    """
    with _working_folder_first():
        return [_find(name) for name in names]


def _only_draws(file: Path) -> bool:
    """Whether a module's classes are drawings of a report, all of them, and it registers nothing else."""
    body = ast.parse(file.read_text(encoding="utf-8"), str(file)).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    drawings = [node for node in classes if any(ast.unparse(base).endswith("Drawing") for base in node.bases)]
    registers = any(
        isinstance(node, ast.Name | ast.alias) and "register" in ast.unparse(node)
        for each in body
        for node in ast.walk(each)
    )
    return bool(drawings) and len(drawings) == len(classes) and not registers


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _find(name: str) -> Path:
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # the package that it is said to be in
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise UsageError(f"plugins names {name}, which is no module in {Path.cwd()} or among the installed ones.")
    return Path(found.origin)


@contextmanager
def _working_folder_first() -> Iterator[None]:
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
