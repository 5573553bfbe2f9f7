"""Imports of heavy packages, and of those that only some installations have."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import UsageError

EXTRAS = {
    "openml": "openml",
    "wandb": "wandb",
    "matplotlib": "report",
    "jinja2": "report",
    "skrub": "text",
    "openpyxl": "xlsx",
    "skops": "skops",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "tabm": "tabm",
    "optuna": "tune",
    "tensorboard": "tensorboard",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "hydra_plugins.hydra_joblib_launcher": "joblib",
}
"""Packages that an installation may lack, by the name of their module, and the extra that brings each of them."""
WITHOUT_EXTRA = {"mlflow": "mlflow", "sqlalchemy": "mlflow"}
"""Modules of packages without an extra, and the package to install."""


def require(package: str, what: str) -> None:
    """Make sure that a package of an extra is installed. Call it before the package is imported.

    Args:
        package: its module, one of `EXTRAS` or `WITHOUT_EXTRA`.
        what: needs it, as the message begins: ``method=xgboost``, or a file.

    Raises:
        UsageError: it is not installed; the message ends with the command that installs it.
    """
    installed = WITHOUT_EXTRA.get(package)
    if installed is None:
        installed = f"'scarf-lightning[{EXTRAS[package]}]'"
    # The package is looked for, not imported: an import may take seconds.
    if find_spec(package) is None:
        name = package.rpartition(".")[2]
        raise UsageError(f"{what} needs the package {name}: pip install {installed}.")


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
