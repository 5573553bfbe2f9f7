"""Classes of Lightning's loggers, which sections of the configuration name by a ``_target_``."""

import importlib
import inspect
import re
import sys
from typing import Any

from ..errors import UsageError
from ..importing import require
from .axes import TARGET
from .option import Values
from .plugins import working_folder_first
from .run_settings import LoggerSettings

BASES_OF_LIGHTNING = {"lightning_fabric.loggers.logger.Logger", "lightning.fabric.loggers.logger.Logger"}
"""The class that all loggers inherit from, in Lightning's two packages."""
OF_THE_CELL = ("save_dir", "name", "version", "run_name")
"""Arguments that the writer sets for each cell where a section leaves them out."""


def check_loggers(settings: LoggerSettings, asked: str = "logger") -> None:
    """Check that every logger that is written can be, before anything trains. Nothing is opened.

    Args:
        settings: the loggers.
        asked: the option that asks for them, for the message.

    Raises:
        UsageError: a package is not installed, or as by `check_logger`.
    """
    for view in settings.views:
        if view in settings.others:
            check_logger(view, settings.others[view])
        else:
            require(view, f"{asked}={view}")


def logger_class(name: str, section: Values) -> type[Any]:
    """The class that the section ``logger.<name>`` names. Most examples name it in Lightning's other package, which has
    the same classes.

    Raises:
        UsageError: it cannot be imported, or is no logger of Lightning's.
    """
    target = str(section[TARGET])
    asked = f"logger.{name}.{TARGET}={target}"
    module, _, class_name = re.sub(r"^lightning\.pytorch\.", "pytorch_lightning.", target).rpartition(".")
    try:
        with working_folder_first():
            cls = getattr(importlib.import_module(module), class_name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{asked} cannot be imported: {type(error).__name__}: {_one_line(error)}.") from error
    if not inspect.isclass(cls) or inspect.isabstract(cls):
        raise UsageError(f"{asked} is no class of a logger.")
    ancestors = {f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__}
    if ancestors.isdisjoint(BASES_OF_LIGHTNING):
        raise UsageError(f"{asked} is no logger of Lightning's; it must inherit from pytorch_lightning.loggers.Logger.")
    return cls


def check_logger(name: str, section: Values) -> None:
    """Check a section without making the logger, which may open a connection.

    Raises:
        UsageError: as by `logger_class`; a package is missing; an option is unknown or missing.
    """
    cls = logger_class(name, section)
    # Lightning's own loggers have objects whose truth is whether a package is there, and whose text says how to get it.
    for needed in vars(sys.modules[cls.__module__]).values():
        if type(needed).__name__ == "RequirementCache" and not needed:
            raise UsageError(f"logger.{name} needs a package: {_one_line(needed)}.")
    signature = inspect.signature(cls)
    options = (section.keys() | set(OF_THE_CELL) & signature.parameters.keys()) - {TARGET}
    try:
        signature.bind(**dict.fromkeys(options))
    except TypeError as error:
        raise UsageError(f"logger.{name}: {cls.__name__} {error}.") from error


def _one_line(text: object) -> str:
    return " ".join(str(text).split()).removesuffix(".")
