"""`scarf doctor`: versions, machine and store in a few lines, for a report of a fault.

Nothing of it is secret: a path below the user's home begins with ``~``, and of the environment a few variables are
shown that decide how the package computes.
"""

import os
import platform
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..errors import RecordWarning, UsageError, counted
from ..importing import EXTRAS
from ..machine import free_memory, processor, usable_cores
from ..options.run_settings import PathSettings
from ..results.files import check_folder
from ..results.loading import described_cells
from ..results.store import source_commit
from ..version import __version__

Finding = tuple[str, str]
"""The name of a line, and its text."""

VARIABLES = ("CUDA_VISIBLE_DEVICES", "MKL_CBWR", "OMP_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT", "WANDB_MODE")
"""Variables of the environment that decide how the package computes, and hold nothing secret."""
OF_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
"""Files that Docker and podman leave in a container."""
GB = 1e9
MOST_NAMED = 5
"""Damaged records that have a line of their own."""


def doctor(arguments: Sequence[str]) -> None:
    """Print what a report of a fault needs.

    Args:
        arguments: none, or ``results=FOLDER``.

    Raises:
        UsageError: there are other arguments.
    """
    results = Path(PathSettings().results)
    for argument in arguments:
        option, _, value = argument.partition("=")
        if option != "results" or not value:
            raise UsageError(f"scarf doctor takes no {argument}, and nothing but results=FOLDER.")
        results = Path(value)
    for name, found in findings(results):
        sys.stdout.write(f"{name:<12}{without_home(found)}\n")


def findings(results: Path) -> Iterator[Finding]:
    """Versions, machine and store, line by line."""
    commit = source_commit()
    yield "package", f"scarf-lightning {__version__}" + (f", commit {commit}" if commit else "")
    yield "python", f"{platform.python_version()}, {platform.platform()}"
    yield from _machine()
    yield from _packages()
    for variable in VARIABLES:
        if variable in os.environ:
            yield "variable", f"{variable}={os.environ[variable]}"
    yield from _store(results)


def without_home(text: str) -> str:
    """A text whose paths below the user's home begin with ``~``."""
    home = ""
    # A user without a home has nothing to hide.
    with suppress(RuntimeError):
        home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text


def _machine() -> Iterator[Finding]:
    import torch

    memory = min(free_memory(), default=None)
    free = "unknown" if memory is None else f"{memory / GB:.1f} GB"
    yield "processor", f"{processor()}; {usable_cores()} of {counted(os.cpu_count() or 1, 'core')} usable"
    yield "memory", f"{free} free"
    for number in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(number)
        yield "accelerator", f"{card.name}, {card.total_memory / GB:.0f} GB"
    if torch.backends.mps.is_available():
        yield "accelerator", "mps"
    if any(Path(file).exists() for file in OF_CONTAINERS) or os.getpid() == 1:
        yield "container", "yes" + (", process 1" if os.getpid() == 1 else "")


def _packages() -> Iterator[Finding]:
    from ..training.trained_stack import package_versions

    yield "packages", ", ".join(f"{name} {version}" for name, version in package_versions().items())
    lacking = [name.rpartition(".")[2] for name in EXTRAS if find_spec(name.partition(".")[0]) is None]
    yield "not here", ", ".join(lacking) if lacking else "nothing; all extras are installed"


def _store(results: Path) -> Iterator[Finding]:
    try:
        check_folder(results, writable=False)
    except UsageError as error:
        yield "results", str(error)
        return
    if not results.exists():
        yield "results", f"{results} is not there yet"
        return
    try:
        with warnings.catch_warnings():
            # Each of them is a line below.
            warnings.simplefilter("ignore", RecordWarning)
            cells = list(described_cells(results))
    except OSError as error:
        yield "results", f"{results} cannot be read: {error.strerror}"
        return
    trials = sum(len(stored.rows) for _, stored in cells)
    yield "results", f"{_folder(results)}; {counted(len(cells), 'cell')} with {counted(trials, 'trial')}"
    damaged = {path: reason for _, stored in cells for path, reason in stored.damaged.items()}
    for path, reason in list(damaged.items())[:MOST_NAMED]:
        yield "damaged", f"{path}: {reason}"
    if len(damaged) > MOST_NAMED:
        yield "damaged", f"and {len(damaged) - MOST_NAMED} more"


def _folder(folder: Path) -> str:
    """A folder, whether it can be written to, and the room that is left."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    access = "can be written to" if os.access(there, os.W_OK) else "cannot be written to"
    return f"{folder} {access}, {shutil.disk_usage(there).free / GB:.1f} GB free"
