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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .option import Options

_imported: dict[str, str] = {}
"""SHA-256 of the source of each imported module, as it was at import."""


def load_plugins(names: Sequence[str]) -> None:
    """Import each module, from the folder that the command runs in or wherever Python finds it.

    Raises:
        UsageError: there is no such module, it cannot be imported, or its source has changed since it was imported, as
            in a notebook.
    """
    if not names:
        return
    with working_folder_first():
        for name in names:
            source = _hash(_find(name))
            # A test or a notebook may have imported the module by itself.
            if name not in sys.modules or name not in _imported:
                _import(name)
            if _imported.setdefault(name, source) != source:
                raise UsageError(
                    f"{name} has changed since it was imported; start Python again, or the notebook's kernel."
                )


def check_imported(names: Sequence[str]) -> None:
    """Refuse plugins that nobody has imported: a configuration names modules, and imports none.

    Raises:
        UsageError: names the first one.
    """
    for name in names:
        if name not in _imported:
            raise UsageError(
                f"plugins names {name}, which is not imported; name it on the command line: plugins=[{name}]."
            )


def plugin_hashes(names: Sequence[str], used: Collection[Any]) -> dict[str, str]:
    """SHA-256 of the source of each plugin that belongs to the identity of a cell, which uses the classes and the
    metric's function ``used``.

    A plugin that defines nothing but parts or metrics belongs to the cells that use one of them. So naming
    one more plugin leaves finished cells finished. Any other plugin may do anything, and belongs to every cell.
    """
    load_plugins(names)
    # A class of the package may inherit from one of a plugin, and the other way round.
    origins: set[str] = set()
    for one in used:
        origins.update(each.__module__ for each in getattr(one, "__mro__", (one,)))
    hashes = {}
    for name in sorted(set(names)):
        if _decides_numbers(name, origins):
            hashes[name] = _imported[name]
    return hashes


def _import(name: str) -> None:
    """Import a module, whose error is a sentence that names its line."""
    try:
        importlib.import_module(name)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        # The line of the module says more than that of a library which it calls, such as dataclasses.
        file = str(_find(name))
        frame = next((each for each in reversed(frames) if each.filename == file), frames[-1])
        raise UsageError(
            f"plugins names {name}, which cannot be imported: {type(error).__name__}: {error} "
            f"({Path(frame.filename).name}, line {frame.lineno})."
        ) from error


def _decides_numbers(name: str, origins: Collection[str]) -> bool:
    """Tell whether a plugin belongs to a cell whose parts come from these modules."""
    from ..metrics import metrics

    sources = _sources(_find(name))
    file_names = {source.name for source in sources}
    own = {}
    for each, module in sys.modules.copy().items():
        file = str(getattr(module, "__file__", None) or "")
        # There are thousands of modules, and few of such a name: a path takes twenty times as long as a text.
        if file.rpartition("/")[2] in file_names and Path(file) in sources:
            own[each] = module
    if not set(own).isdisjoint(origins):
        return True
    # The cell uses none of its parts, so a plugin of nothing but parts does not matter.
    for module in own.values():
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ in own and issubclass(cls, Options):
                return False
    return not any(metric.function.__module__ in own for metric in metrics())


def _hash(file: Path) -> str:
    """SHA-256 of the sources of a plugin."""
    sources = {path.relative_to(file.parent).as_posix(): path for path in _sources(file)}
    digest = hashlib.sha256()
    for relative, path in sorted(sources.items()):
        content = path.read_bytes()
        # A single file may be renamed.
        name = relative if len(sources) > 1 else ""
        digest.update(f"{name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _sources(file: Path) -> set[Path]:
    """All files of a package; or a module, the modules in its folder that it imports, and those that these import."""
    if file.name == "__init__.py":
        return set(file.parent.rglob("*.py"))
    sources = {file}
    # Beside an installed module there is everything that is installed.
    installed = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib")}
    if file.parent in installed:
        return sources
    waiting = [file]
    while waiting:
        for name in _imports_of(waiting.pop()):
            if not name:
                continue
            stem = file.parent / name.partition(".")[0]
            for path in (stem.with_suffix(".py"), *stem.rglob("*.py")):
                if path.is_file() and path not in sources:
                    sources.add(path)
                    waiting.append(path)
    return sources


def _imports_of(file: Path) -> list[str]:
    """The modules that a file imports by their full names."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes(), str(file))))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file.name} is no Python that can be imported: {error}.") from error
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        # Relative imports are of a package, whose files all count.
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    return names


def _find(name: str) -> Path:
    """The file of a module.

    Raises:
        UsageError: there is none.
    """
    spec = None
    # Its package is missing or ends the process, or the name is none, such as "a..b" or "..a".
    with suppress(ImportError, ValueError, SystemExit):
        spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise UsageError(f"plugins names {name}, which is no module in {Path.cwd()} or among the installed ones.")
    return Path(spec.origin)


@contextmanager
def working_folder_first() -> Iterator[None]:
    """Within this context modules of the working folder are found, also by the installed commands."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
