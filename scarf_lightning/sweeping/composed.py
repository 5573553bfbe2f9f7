"""A configuration that Hydra composed elsewhere, as in a notebook, back as the overrides of a command line."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ..errors import UsageError
from ..options import BASES
from ..options.axes import TARGET
from .folders import CONF
from .hydra import fit_recipe, hydra_started, offer, our_sections, plain_values, usage_error
from .overrides import hydra_text

CHOSEN = ("views", *BASES)
"""The axes whose choice is the ``name`` in their section."""
LEADING = ("pretrain", "method")
"""The axes whose files choose on others."""


def overrides_of_composed(config: DictConfig) -> list[str]:
    """The overrides by which a command line composes the same configuration.

    Args:
        config: as ``hydra.compose("train", ...)`` returns it.

    Raises:
        UsageError: it is no configuration of `conf/train.yaml`, or a value is missing.
    """
    values = _values(config)
    missing = [axis for axis in CHOSEN if f"{axis}.name" not in values]
    if missing:
        raise UsageError(
            f"The configuration has no {missing[0]}.name; compose it from conf/ by "
            'hydra.compose("train", overrides=[...]).'
        )
    plugins = [str(name) for name in values.get("plugins") or []]
    choices = [f"plugins={hydra_text(plugins)}"] if plugins else []
    choices += [f"{axis}={values[f'{axis}.name']}" for axis in LEADING]
    choices += _choice("recipe", values["recipe"])
    usual = _composed_values(choices, plugins)
    # A choice that nothing uses may not be asked for.
    for axis in CHOSEN:
        if values[f"{axis}.name"] != usual[f"{axis}.name"]:
            choices.append(f"{axis}={values[f'{axis}.name']}")
    if values.get("cotrain.task") != usual["cotrain.task"]:
        choices += _choice("cotrain", values.get("cotrain.task"))
    defaults = _composed_values(choices, plugins)
    own = []
    for name, value in values.items():
        if name not in defaults:
            own.append(f"+{name}={hydra_text(value)}")
        elif value != defaults[name]:
            own.append(f"{name}={hydra_text(value)}")
    return [*choices, *own]


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


def _composed_values(choices: Sequence[str], plugins: Sequence[str]) -> dict[str, Any]:
    """The values of these choices by their dotted names."""
    with hydra_started():
        offer(plugins)
        return _values(compose("train", overrides=[*choices]))


def _values(config: DictConfig) -> dict[str, Any]:
    """The values of a configuration by their dotted names."""
    sections = our_sections(config)
    try:
        if "recipe" in sections:
            fit_recipe(sections)
        return dict(_flat(plain_values(sections)))
    except OmegaConfBaseException as error:
        raise usage_error(error) from error


def _choice(axis: str, name: Any) -> list[str]:
    """The override that chooses a file, if there is one."""
    return [f"{axis}={name}"] if Path(CONF, axis, f"{name}.yaml").is_file() else []


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
