"""From an estimator's parameters to the configuration of the cell that it amounts to."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from hydra import compose
from omegaconf import DictConfig, OmegaConf

from ..config import Config, check_combination, read, unused_options
from ..config.axes import OF_THE_RUN
from ..config.hydra import hydra_started
from ..errors import UsageError
from ..folders import CONF
from .cells import why_no_model

OF_A_FILE = ("encoding", "id", "name", "path", "separator", "source", "target", "unlabelled")
NOT_OF_AN_ESTIMATOR = {*OF_THE_RUN, *(f"dataset.{option}" for option in OF_A_FILE)} - {"trainer"}
"""Options of a command line that have no meaning for an estimator."""

PARAMETERS = {"trials": "n_trials", "seed": "seed"}
"""Options that are parameters of their own."""


def config_of(
    axes: Mapping[str, Any], options: Mapping[str, Any], *, n_trials: int, seed: int, needs_classes: bool
) -> Config:
    """The configuration of a cell.

    Args:
        axes: choices that are not left at their defaults, by the axis.
        options: of the command line: ``{"corruption.rate": 0.3}``.
        n_trials: how many.
        seed: of all random streams.
        needs_classes: whether networks that tell classes apart must come of it.

    Raises:
        UsageError: a choice or an option is unknown, has a wrong value, is of no use to this cell, or choices do not
            go together.
    """
    given = dict(axes) | dict(options)
    for option in given:
        if option in PARAMETERS:
            raise UsageError(f"options: {option} is a parameter of its own; set {PARAMETERS[option]}.")
        if any(option == name or option.startswith(f"{name}.") for name in NOT_OF_AN_ESTIMATOR):
            raise UsageError(f"options: {option} is one of train.py's alone; leave it out.")
    plugins = [str(name) for name in given.pop("plugins", ())]
    groups = {name: value for name, value in given.items() if "." not in name and (CONF / name).is_dir()}
    for name, value in groups.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} must be the name of an option, not {value!r}; without one it is 'none'.")
    config = _composed(tuple(f"{name}={value}" for name, value in groups.items()), tuple(plugins))
    for name, value in given.items():
        if name not in groups:
            OmegaConf.update(config, name, list(value) if isinstance(value, tuple) else value, force_add=True)
    ours = {
        "dataset.path": "X",
        "trials": n_trials,
        "seed": seed,
        "plugins": plugins,
        "keep_weights": True,
        "keep_predictions_mb": 0,
    }
    for name, value in ours.items():
        OmegaConf.update(config, name, value)
    chosen = read(config)
    check_combination(chosen)
    if needs_classes and (why := why_no_model(chosen)):
        raise UsageError(f"ScarfClassifier cannot use this: {why}; choose another method.")
    unused = unused_options(chosen)
    for option in given:
        if any(option == name or option.startswith(f"{name}.") for name in unused):
            raise UsageError(f"{option} is set, but has no part in training with these parameters; leave it out.")
    return chosen


def _composed(overrides: tuple[str, ...], plugins: tuple[str, ...]) -> DictConfig:
    config = deepcopy((_compose if not plugins else _compose.__wrapped__)(overrides, plugins))
    OmegaConf.set_struct(config, False)
    return config


@cache
def _compose(overrides: tuple[str, ...], plugins: tuple[str, ...]) -> DictConfig:
    with hydra_started(plugins):
        return compose("train", overrides=["dataset=csv", *overrides])
