"""A user's own parts: modules named on the command line, whose classes register themselves by being subclasses.

A plugin is code that runs with the user's rights. So only the command line names plugins, and never a file.
"""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .option import Options

_imported: dict[str, str] = {}
"""Hashes of the imported modules' source, as it was at import."""


def load_plugins(names: Sequence[str]) -> None:
    """Import each module, from the folder that the command runs in or wherever Python finds it.

    Raises:
        UsageError: there is no such module, it cannot be imported, or its source has changed since it was imported, as
            in a notebook.
    """
    if not names:
        return
    with _working_folder_first():
        for name in names:
            source = _hash(_find(name))
            if name not in sys.modules or name not in _imported:
                _import(name)
            if _imported.setdefault(name, source) != source:
                raise UsageError(
                    f"{name} has changed since it was imported; start Python again, or the notebook's kernel."
                )


def plugin_hashes(names: Sequence[str], used: Collection[Any]) -> dict[str, str]:
    """SHA-256 of the source of each plugin that belongs to the identity of a cell, which uses the classes and the
    metric's function ``used``.

    A plugin that defines nothing but parts, metrics or drawings belongs to the cells that use one of them. So naming
    one more plugin leaves finished cells finished. Any other plugin may do anything, and belongs to every cell.
    """
    load_plugins(names)
    origins = {each.__module__ for one in used for each in getattr(one, "__mro__", (one,))}
    return {name: _imported[name] for name in sorted(set(names)) if _decides_numbers(name, origins)}


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"plugins names {name}, which cannot be imported: {type(error).__name__}: {error} "
            f"({Path(frame.filename).name}, line {frame.lineno})."
        ) from error


def _decides_numbers(name: str, origins: Collection[str]) -> bool:
    """Whether a plugin belongs to a cell whose parts come from these modules."""
    from ..metrics import metrics

    sources, modules = _sources(_find(name)), sys.modules.copy().items()
    own = {each: module for each, module in modules if Path(getattr(module, "__file__", None) or "") in sources}
    if set(own) & set(origins):
        return True
    classes = [cls for module in own.values() for cls in vars(module).values() if inspect.isclass(cls)]
    is_known = any(
        cls.__module__ in own and (issubclass(cls, Options) or hasattr(cls, "only_draws")) for cls in classes
    )
    return not is_known and not any(metric.function.__module__ in own for metric in metrics())


def _hash(file: Path) -> str:
    """SHA-256 of the sources of a plugin."""
    sources = {path.relative_to(file.parent).as_posix(): path for path in _sources(file)}
    digest = hashlib.sha256()
    for relative, path in sorted(sources.items()):
        content = path.read_bytes()
        digest.update(f"{relative if len(sources) > 1 else ''}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _sources(file: Path) -> set[Path]:
    """All files of a package; or a module, the modules in its folder that it imports, and those that these import."""
    if file.name == "__init__.py":
        return set(file.parent.rglob("*.py"))
    found, waiting = {file}, [file]
    if file.parent in {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib")}:
        return found  # everything that is installed stands beside it
    while waiting:
        for name in _imports_of(waiting.pop()):
            stem = file.parent / name.partition(".")[0]
            neighbours = [stem.with_suffix(".py"), *stem.rglob("*.py")] if name else []
            fresh = [path for path in neighbours if path.is_file() and path not in found]
            found.update(fresh)
            waiting += fresh
    return found


def _imports_of(file: Path) -> list[str]:
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes(), str(file))))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file.name} is no Python that can be imported: {error}.") from error
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]


def _find(name: str) -> Path:
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # the package that it should be in, or a name such as "a..b" or "..a"
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
