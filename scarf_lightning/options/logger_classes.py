"""Classes of Lightning's loggers, which sections of the configuration name by a ``_target_``."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from inspect import Parameter
from typing import Any

from ..errors import UsageError
from ..importing import require
from .axes import TARGET
from .checking import refuse_unknown
from .plugins import working_folder_first
from .run_settings import LoggerSettings

BASES_OF_LIGHTNING = {"lightning_fabric.loggers.logger.Logger", "lightning.fabric.loggers.logger.Logger"}
"""The class that all loggers inherit from, in Lightning's two packages."""
UNIFIED = "lightning.pytorch"
"""The name of `pytorch_lightning` in Lightning's other package, which most examples use."""
MORE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
"""Kinds of arguments that stand for any number of others."""
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


def logger_class(name: str, section: Mapping[str, Any]) -> type[Any]:
    """The class that the section ``logger.<name>`` names.

    Raises:
        UsageError: it cannot be imported, or is no logger of Lightning's.
    """
    target = str(section[TARGET])
    asked = f"logger.{name}.{TARGET}={target}"
    module, _, class_name = _installed(target).rpartition(".")
    try:
        with working_folder_first():
            cls = getattr(importlib.import_module(module), class_name)
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split()).removesuffix(".")
        raise UsageError(f"{asked} cannot be imported: {type(error).__name__}: {reason}.") from error
    if not inspect.isclass(cls) or inspect.isabstract(cls):
        raise UsageError(f"{asked} is no class of a logger.")
    ancestors = {f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__}
    if ancestors.isdisjoint(BASES_OF_LIGHTNING):
        raise UsageError(f"{asked} is no logger of Lightning's; it must inherit from pytorch_lightning.loggers.Logger.")
    return cls


def check_logger(name: str, section: Mapping[str, Any]) -> None:
    """Check a section without making the logger, which may open a connection.

    Raises:
        UsageError: as by `logger_class`; a package is missing; an option is unknown or missing.
    """
    cls = logger_class(name, section)
    _require_packages(cls, name)
    arguments = inspect.signature(cls).parameters
    if all(argument.kind is not Parameter.VAR_KEYWORD for argument in arguments.values()):
        refuse_unknown([TARGET, *arguments], section, f"logger.{name}")
    for option, argument in arguments.items():
        is_needed = argument.default is Parameter.empty and argument.kind not in MORE
        if is_needed and option not in (*section, *OF_THE_CELL):
            raise UsageError(f"logger.{name}.{option} is missing; {cls.__name__} needs it.")


def _installed(target: str) -> str:
    """The same class in the package of Lightning's that is installed. Many files name it by the other one."""
    if not target.startswith(f"{UNIFIED}."):
        return target
    try:
        is_installed = find_spec(UNIFIED) is not None
    # There is no package `lightning` either.
    except ModuleNotFoundError:
        is_installed = False
    if is_installed:
        return target
    return target.replace(UNIFIED, "pytorch_lightning", 1)


def _require_packages(cls: type[Any], name: str) -> None:
    """Refuse a logger of Lightning's own whose package is not installed, in Lightning's words."""
    for needed in vars(sys.modules[cls.__module__]).values():
        # Its truth is whether the package is there; its text says how to install it.
        if type(needed).__name__ == "RequirementCache" and not needed:
            reason = " ".join(str(needed).split()).removesuffix(".")
            raise UsageError(f"logger.{name} needs a package: {reason}.")
