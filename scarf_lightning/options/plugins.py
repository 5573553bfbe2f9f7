"""Code of a user's own: modules whose classes register themselves by being subclasses, and classes of loggers.

It runs with the user's rights. So the command line names it, or a folder that ``--config-dir`` names.
"""

import hashlib
import inspect
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, require
from .axes import BASES, TARGET, classes
from .option import Values
from .settings import LoggerSettings

OF_THE_CELL = ("save_dir", "name", "version", "run_name")
"""Arguments of a logger that the writer sets for each cell where a section leaves them out."""
IMPORT = re.compile(r"\s*(import|from)\s")
"""Begins a line that imports modules. Whatever it names beside a plugin counts as imported."""
_imported: dict[str, str] = {}
"""SHA-256 of the source of each imported module, as it was at import."""


def load_plugins(names: Sequence[str]) -> None:
    """Import each module, from the folder that the command runs in or wherever Python finds it.

    Raises:
        UsageError: there is no such module, it is not written in Python, or its source has changed since it was
            imported, as in a notebook. Any other error of a module keeps its own traceback.
    """
    for name in names:
        try:
            _import(name)
        except (ModuleNotFoundError, SyntaxError) as error:
            raise UsageError(
                f"plugins names {name}: {error}. A module is named as import names it, my_parts for my_parts.py, and "
                f"looked for in {Path.cwd()} and among the installed ones."
            ) from error
        source = _hash(name)
        if _imported.setdefault(name, source) != source:
            raise UsageError(f"{name} has changed since it was imported; start Python again, or the notebook's kernel.")


def plugin_hashes(names: Sequence[str], definitions: Collection[Any]) -> dict[str, str]:
    """SHA-256 of the source of each plugin that belongs to the identity of a cell. ``definitions`` are the classes of
    the cell's parts and the function of its metric.

    A plugin that defines nothing but parts or metrics belongs to the cells that use one of them. So naming
    one more plugin leaves finished cells finished. Any other plugin may do anything, and belongs to every cell.

    Raises:
        UsageError: one of them is not imported: the command line imports modules, and a configuration names them.
    """
    for name in names:
        if name not in _imported:
            raise UsageError(f"plugins names {name}, which is not imported; name it on the command line.")
    # A class of the package may inherit from one of a plugin, and the other way round.
    origins = {each.__module__ for one in definitions for each in getattr(one, "__mro__", (one,))}
    return {name: _imported[name] for name in names if _decides_numbers(name, origins)}


def _decides_numbers(name: str, origins: Collection[str]) -> bool:
    """Tell whether a plugin belongs to a cell whose parts come from these modules."""
    from ..metrics import metrics

    files = set(map(str, _sources(_file(name))))
    modules = {each for each, module in sys.modules.copy().items() if str(getattr(module, "__file__", None)) in files}
    # If the cell uses none of its parts and metrics, a plugin of nothing else does not matter.
    part_modules = {cls.__module__ for axis in BASES for cls in classes(axis)}
    part_modules |= {metric.function.__module__ for metric in metrics()}
    return modules.isdisjoint(part_modules) or not modules.isdisjoint(origins)


def _hash(name: str) -> str:
    """SHA-256 of the sources of a plugin."""
    folder = _file(name).parent
    sources = {path.relative_to(folder).as_posix(): path for path in _sources(_file(name))}
    digest = hashlib.sha256()
    for relative, path in sorted(sources.items()):
        content = path.read_bytes()
        # A single file may be renamed.
        label = relative if len(sources) > 1 else ""
        digest.update(f"{label}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _sources(file: Path) -> set[Path]:
    """All files of a package; or a module, the modules in its folder that it imports, and those that these import."""
    if file.name == "__init__.py":
        return set(file.parent.rglob("*.py"))
    sources, queue = set[Path](), [file]
    while queue:
        path = queue.pop()
        if path in sources or not path.is_file():
            continue
        sources.add(path)
        # Beside an installed module there is everything that is installed.
        if file.parent.name not in ("site-packages", "dist-packages"):
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if IMPORT.match(line)]
            for name in re.findall(r"\w+", " ".join(lines)):
                stem = file.parent / name
                queue += [stem.with_suffix(".py"), *stem.rglob("*.py")]
    return sources


def _file(name: str) -> Path:
    """The file of an imported module."""
    file = sys.modules[name].__file__
    # A folder without __init__.py has none.
    if file is None:
        raise UsageError(f"plugins names {name}, which is no file of Python; name a module in it.")
    return Path(file)


def _import(name: str) -> Any:
    """A module. Those of the working folder are found by the installed commands too."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        # For a name that begins with a dot, the error of importlib.import_module would not name the module.
        __import__(name)
        return sys.modules[name]
    finally:
        sys.path.remove(folder)


def check_loggers(settings: LoggerSettings) -> None:
    """Check that every logger that is written can be, before anything trains. Nothing is opened.

    Raises:
        UsageError: a package is not installed, an option of a logger is unknown or missing, or as by `logger_class`.
    """
    for name in settings.views:
        if name not in settings.others:
            require(name, f"logger={name}")
            continue
        section = settings.others[name]
        cls = logger_class(name, section)
        # Modules of Lightning's loggers hold objects that are true if a package is installed. Their text names the
        # package and how to install it.
        for requirement in vars(sys.modules[cls.__module__]).values():
            if type(requirement).__name__ == "RequirementCache" and not requirement:
                raise UsageError(f"logger.{name} needs a package: {requirement}.")
        signature = inspect.signature(cls)
        options = (section.keys() | set(OF_THE_CELL) & signature.parameters.keys()) - {TARGET}
        try:
            signature.bind(**dict.fromkeys(options))
        except TypeError as error:
            raise UsageError(f"logger.{name}: {cls.__name__} {error}.") from error


def logger_class(name: str, section: Values) -> type[Any]:
    """The class of Lightning's loggers that the section ``logger.<name>`` names.

    Raises:
        UsageError: it cannot be imported, or is no logger of Lightning's.
    """
    target = str(section.get(TARGET))
    choice = f"logger.{name}.{TARGET}={target}"
    module, _, class_name = target.rpartition(".")
    try:
        cls: Any = getattr(_import(module), class_name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{choice} cannot be imported: {type(error).__name__}: {error}.") from error
    if not inspect.isclass(cls) or not hasattr(cls, "log_metrics"):
        raise UsageError(
            f"{choice} is no logger of Lightning's; it must inherit from pytorch_lightning.loggers.Logger."
        )
    return cls
