"""From overrides to cells."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ..config import Config, check_combination, read, unused_options
from ..config.typed import explain
from ..errors import UsageError


@dataclass(frozen=True)
class Cell:
    """One cell: the overrides that ask for it, and its checked configuration."""

    overrides: tuple[str, ...]
    config: Config

    @property
    def label(self) -> str:
        return " ".join(self.overrides) or "defaults"


def expand(arguments: Sequence[str], loader: ConfigLoader, master: DictConfig) -> list[Cell]:
    """Every combination of the swept overrides, each composed and checked.

    Raises:
        UsageError: a list of all that is wrong; nothing has been trained.
    """
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(arguments))
    choices, keys = [], []
    for override in parsed:
        key = override.get_key_element()
        if override.is_sweep_override():
            if not override.is_discrete_sweep():
                raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
            choices.append([f"{key}={value}" for value in override.sweep_string_iterator()])
        else:
            choices.append([str(override.input_line)])
        group, _, package = key.lstrip("+~").partition("@")
        keys.append((package or group).replace("/", "."))

    for override, values in zip(parsed, choices, strict=True):
        if not values:
            raise UsageError(f"{override.input_line} matches no option.")
    combinations = list(itertools.product(*choices))
    cells, problems = [], []
    for overrides in combinations:
        try:
            cells.append(Cell(overrides, _compose(overrides, loader, master)))
        except UsageError as error:
            problems.append(f"{' '.join(overrides)}: {error}" if len(combinations) > 1 else str(error))
    if not problems:
        problems = _refuse_unused(keys, cells)
    if "plugins" not in keys and any(cell.config.plugins for cell in cells):
        problems.append("plugins may be named on the command line only: a configuration file runs no code.")
    if problems:
        raise UsageError("\n".join(problems))
    return cells


def _compose(overrides: Sequence[str], loader: ConfigLoader, master: DictConfig) -> Config:
    try:
        composed = loader.load_sweep_config(master, list(overrides))
    except HydraException as error:
        raise UsageError(explain(error)) from error
    except ValueError as error:  # so Hydra answers a group set to null, without naming it
        raise UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.") from error
    with_hydra = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(with_hydra, dict)
    del with_hydra["hydra"]
    config = read(OmegaConf.create(with_hydra))
    check_combination(config)
    return config


def _refuse_unused(keys: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """A sentence for each option that the user set and no cell uses."""
    unused = [unused_options(cell.config) for cell in cells]
    problems = []
    for key in keys:
        if all(any(key == option or key.startswith(option + ".") for option in options) for options in unused):
            problems.append(
                f"{key} is set, but no cell of this run uses it ({_choices(cells)}); leave it out, or choose what "
                "uses it."
            )
    return problems


def _choices(cells: Sequence[Cell]) -> str:
    """The choices that decide which options are used."""
    chosen = {
        "pretrain": [cell.config.pretrain.name for cell in cells],
        "method": [cell.config.method["name"] for cell in cells],
        "corruption": [cell.config.corruption["name"] for cell in cells],
        "cotrain": [cell.config.cotrain.task for cell in cells],
    }
    return ", ".join(f"{axis}={','.join(dict.fromkeys(names))}" for axis, names in chosen.items())
