"""Versions and hardware that numbers are computed with."""

from functools import cache
from importlib.metadata import distributions, version
from platform import platform, python_version
from typing import Any

from ..engine.hardware import Hardware

PACKAGES = ("scarf-lightning", "torch", "pytorch-lightning", "numpy", "pandas", "scikit-learn", "openml", "hydra-core")
OPTIONAL_PACKAGES = ("xgboost", "xgboost-cpu")


def environment(hardware: Hardware, threads: int) -> dict[str, Any]:
    """What is kept beside the rows of a stack."""
    return {
        "python": python_version(),
        "platform": platform(),
        "device": str(hardware.device),
        "precision": hardware.precision,
        "threads": threads,
        "packages": _packages(),
    }


@cache
def _packages() -> dict[str, str]:
    optional = {name: found.version for name in OPTIONAL_PACKAGES for found in distributions(name=name)}
    return {name: version(name) for name in PACKAGES} | optional
