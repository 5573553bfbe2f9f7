"""Options given as a dictionary, or in a configuration that Hydra composed elsewhere, as those of a command line."""

from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ..options.axes import TARGET
from .hydra import plain_values, usage_error
from .overrides import hydra_text


def overrides_of_options(options: Mapping[str, Any]) -> list[str]:
    """The overrides that set options given as a dictionary or a DictConfig, of which some may be left out.

    >>> overrides_of_options({"corruption": {"name": "mean", "rate": 0.3}, "batch_size": 64})
    ['corruption=mean', 'corruption.rate=0.3', 'batch_size=64']

    Raises:
        UsageError: an interpolation leads nowhere, or a value is missing.
    """
    if isinstance(options, DictConfig):
        try:
            options = plain_values(options)
        except OmegaConfBaseException as error:
            raise usage_error(error) from error
    # A part is chosen by its section's name.
    return [f"{name.removesuffix('.name')}={hydra_text(value)}" for name, value in _flat(options)]


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Values by their dotted names, without the classes of parts, which follow from their names."""
    for name, value in values.items():
        full = f"{before}{name}"
        if name == TARGET and not full.startswith("logger."):
            continue
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{full}.")
        else:
            yield full, value
