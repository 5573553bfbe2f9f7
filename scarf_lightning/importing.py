"""Imports of heavy packages, and of those that only some installations have."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from .errors import UsageError

EXTRAS = {
    "openml": "openml",
    "arff": "openml",
    "wandb": "wandb",
    "wandb_workspaces": "wandb",
    "matplotlib": "report",
    "jinja2": "report",
    "skrub": "text",
    "openpyxl": "xlsx",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "hydra_plugins.hydra_joblib_launcher": "joblib",
    "hydra_plugins.hydra_optuna_sweeper": "optuna",
}
"""Packages that an installation may lack, by the name of their module, and the extra that brings each of them."""

FOLDER_OF_SKRUB, FORMERLY = "SKB_DATA_DIRECTORY", "SKRUB_DATA_DIRECTORY"
"""The variable that names skrub's folder of data sets, and its former name."""
_skrub_is_imported = Lock()


def require(package: str, what: str) -> None:
    """Make sure that a package of an extra is installed. Call it before the package is imported.

    Args:
        package: its module, one of `EXTRAS`.
        what: needs it, as the message begins: ``method=xgboost``, or a file.

    Raises:
        UsageError: it is not installed; the message ends with the command that installs it.
    """
    # The package is looked for, not imported: an import may take seconds.
    if find_spec(package) is None:
        name = package.rpartition(".")[2]
        raise UsageError(f"{what} needs the package {name}: {installing(EXTRAS[package])}.")


def installing(extra: str) -> str:
    """The command that installs the packages of an extra, for a checkout and an installed wheel alike.

    >>> installing("text")
    "pip install 'skrub<0.12,>=0.11'"
    """
    try:
        requirements = requires("scarf-lightning") or []
    except PackageNotFoundError:
        # Nobody has installed a checkout that is run from its folder.
        return f"pip install '.[{extra}]'"
    packages = []
    for requirement in requirements:
        package, _, condition = requirement.partition(";")
        if f'extra == "{extra}"' in condition.replace("'", '"'):
            packages.append(f"'{package.strip()}'")
    return f"pip install {' '.join(packages)}"


def require_report(what: str) -> None:
    """Make sure that a report can be drawn and written.

    Raises:
        UsageError: as by `require`.
    """
    for package in ("matplotlib", "jinja2"):
        require(package, what)


def import_skrub() -> None:
    """Import skrub without the folder that it makes in the user's home, where that can be written to: it is for data
    sets that skrub downloads, and we ask for none. Who does gets the folder then."""
    # Another thread must not take our variable for the user's.
    with _skrub_is_imported:
        if "skrub" in sys.modules:
            return
        given = os.environ.get(FOLDER_OF_SKRUB)
        asked = given or os.environ.get(FORMERLY) or ""
        # A folder that is there is not made.
        os.environ[FOLDER_OF_SKRUB] = tempfile.gettempdir()
        try:
            skrub = import_module("skrub")
        finally:
            if given is None:
                del os.environ[FOLDER_OF_SKRUB]
            else:
                os.environ[FOLDER_OF_SKRUB] = given
        # A user without a home keeps the temporary folder.
        with suppress(RuntimeError):
            skrub.set_config(data_dir=asked if Path(asked).is_absolute() else "~/skrub_data")
        # Each further thread begins with a copy of these.
        skrub._config._global_config.update(data_dir=skrub.get_config()["data_dir"])


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
