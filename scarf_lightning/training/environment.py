"""Versions and hardware that numbers are computed with."""

import os
from functools import cache
from importlib.metadata import distributions, version
from platform import platform, python_version
from typing import Any

from ..engine.exactness import Promise
from ..engine.hardware import Hardware
from ..results import source_commit
from ..rounding import VARIABLE

PACKAGES = ("scarf-lightning", "torch", "pytorch-lightning", "numpy", "pandas", "scikit-learn", "openml", "hydra-core")
OPTIONAL_PACKAGES = ("xgboost", "xgboost-cpu", "catboost", "tabm", "optuna")


def environment(hardware: Hardware, threads: int, trials_per_stack: int) -> dict[str, Any]:
    """What is kept beside the rows of a stack.

    Args:
        hardware: what it was trained on.
        threads: of the process.
        trials_per_stack: how many were trained at once; it is kept where numbers depend on it.
    """
    return {
        "python": python_version(),
        "platform": platform(),
        "device": str(hardware.device),
        "precision": hardware.precision,
        "threads": threads,
        "promise": hardware.promise.value,
        "trials_per_stack": "any" if hardware.promise is Promise.EXACT else trials_per_stack,
        VARIABLE: os.environ.get(VARIABLE),
        "packages": _packages(),
        "commit": source_commit(),
    }


@cache
def _packages() -> dict[str, str]:
    optional = {name: found.version for name in OPTIONAL_PACKAGES for found in distributions(name=name)}
    return {name: version(name) for name in PACKAGES} | optional
