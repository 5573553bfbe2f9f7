"""A configuration that Hydra composed elsewhere, as in a notebook, back as the overrides of a command line."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ..errors import UsageError
from ..options import BASES
from ..options.axes import TARGET
from .folders import CONF
from .hydra import fit_recipe, hydra_started, our_sections, plain_values, usage_error
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
    sections = our_sections(config)
    missing = [axis for axis in CHOSEN if axis not in sections or "name" not in sections[axis]]
    if missing:
        raise UsageError(
            f"The configuration has no {missing[0]}.name; compose it from conf/ by "
            'hydra.compose("train", overrides=[...]).'
        )
    try:
        fit_recipe(sections)
        values = plain_values(sections)
    except OmegaConfBaseException as error:
        raise usage_error(error) from error
    plugins = [str(name) for name in values.get("plugins") or []]
    choices = [f"plugins={hydra_text(plugins)}"] if plugins else []
    choices += [f"{axis}={values[axis]['name']}" for axis in LEADING]
    choices += [f"recipe={values['recipe']}"] if _has_file("recipe", values.get("recipe")) else []
    usual = _composed_values(choices, plugins)
    # A choice that nothing uses may not be asked for.
    for axis in CHOSEN:
        if values[axis]["name"] != usual[f"{axis}.name"]:
            choices.append(f"{axis}={values[axis]['name']}")
    task = values["cotrain"].get("task")
    if task != usual["cotrain.task"] and _has_file("cotrain", task):
        choices.append(f"cotrain={task}")
    defaults = _composed_values(choices, plugins)
    own = []
    for name, value in _flat(values):
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
    overrides = []
    for name, value in _flat(options):
        section, _, last = name.rpartition(".")
        # A part is chosen by its section's name.
        chosen = section if last == "name" and section else name
        overrides.append(f"{chosen}={hydra_text(value)}")
    return overrides


def _composed_values(choices: Sequence[str], plugins: Sequence[str]) -> dict[str, Any]:
    """The values of these choices by their dotted names."""
    with hydra_started(plugins) as hydra:
        usual = our_sections(
            hydra.config_loader.load_configuration("train", overrides=[*choices], run_mode=RunMode.RUN)
        )
        fit_recipe(usual)
        return dict(_flat(plain_values(usual)))


def _has_file(axis: str, name: Any) -> bool:
    return Path(CONF, axis, f"{name}.yaml").is_file()


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
