"""Where the configuration and the sweeps are."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

PACKAGE = Path(__file__).parents[1]


def _folder(name: str) -> Path:
    """In a checkout it stands beside the package; `setup.py` puts it into the package in a wheel."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


CONF, SWEEPS = _folder("conf"), _folder("sweeps")


@cache
def recipe_options(name: str) -> Mapping[str, Any]:
    """The options that a recipe of ours sets, by their full names, and their values; none of a user's own recipe."""
    file = CONF / "recipe" / f"{name}.yaml"
    return dict(_flat(OmegaConf.to_container(OmegaConf.load(file)))) if file.exists() else {}


def _flat(options: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
