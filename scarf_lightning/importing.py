"""Imports of heavy packages, and of those that only some installations have."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import UsageError

EXTRAS = {
    "arff": "openml",
    "wandb_workspaces": "wandb",
    "matplotlib": "report",
    "jinja2": "report",
    "openpyxl": "xlsx",
    "hydra_plugins.hydra_joblib_launcher": "joblib",
    "hydra_plugins.hydra_optuna_sweeper": "optuna",
}
"""Extras of another name than the package that they bring, by the module of that package."""


def require(package: str, what: str) -> None:
    """Make sure that a package of an extra is installed. Call it before the package is imported.

    Args:
        package: its module; the extra that brings it has its name, or is in `EXTRAS`.
        what: needs it, as the message begins: ``method=xgboost``, or a file.

    Raises:
        UsageError: it is not installed; the message has the command that installs it.
    """
    # The package is looked for, not imported: an import may take seconds.
    if find_spec(package) is None:
        extra = EXTRAS.get(package, package)
        raise UsageError(
            f"{what} needs the package {package.rpartition('.')[2]}: pip install '.[{extra}]' in a clone brings it."
        )


def require_report(what: str) -> None:
    """Make sure that a report can be drawn and written.

    Raises:
        UsageError: as by `require`.
    """
    for package in ("matplotlib", "jinja2"):
        require(package, what)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, which would take a quarter of the time. It passes over modules later too, so
    that a forked process shares their memory with its parent."""
    gc.disable()
    try:
        yield
    finally:
        # A collection in a fork would write into the objects' counters, and so copy the shared memory.
        gc.freeze()
        gc.enable()
