"""From the parameters of an estimator to the configuration of its cell."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from hydra import compose
from omegaconf import DictConfig, OmegaConf

from ..data.targets import Target
from ..errors import UsageError
from ..options import Config, check_combination, unused_options
from ..options.axes import OF_THE_RUN
from ..options.combinations import check_target, is_in
from ..sweeping.folders import CONF
from ..sweeping.hydra import hydra_started, read_config
from .loading import why_no_model

OF_A_FILE = ("encoding", "id", "name", "path", "separator", "source", "target", "unlabelled")
OF_THE_COMMAND = {*OF_THE_RUN, *(f"dataset.{option}" for option in OF_A_FILE)} - {"trainer", "recipe"}
"""Options of ``train.py`` that mean nothing to an estimator."""
PARAMETERS = {
    "trials": "n_trials",
    "seed": "random_state",
    "trainer.accelerator": "device",
    "finetune.class_weight": "class_weight",
    "metric": "metric",
    "dataset.weight": "sample_weight in fit",
}
"""Options that are parameters of their own."""


def config_of(
    axes: Mapping[str, Any],
    options: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    estimator: str,
    kind: type[Target] | None,
) -> Config:
    """The configuration of a cell: of choices of axes, of other options by their names on the command line, and of
    those that `PARAMETERS` lists. Training must end with networks for a kind of target; None needs encoders alone.

    Raises:
        UsageError: a choice or an option is unknown, has a wrong value or no effect on this cell, or choices do not go
            together.
    """
    given = dict(axes) | dict(options)
    for option in given:
        if option in PARAMETERS:
            raise UsageError(f"options: {option} is a parameter of its own; set {PARAMETERS[option]}.")
        if is_in(option, OF_THE_COMMAND):
            raise UsageError(f"options: {option} belongs to train.py; leave it out.")
    plugins = [str(name) for name in given.pop("plugins", ())]
    groups = {name: value for name, value in given.items() if "." not in name and (CONF / name).is_dir()}
    for name, value in groups.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} must be the name of an option, not {value!r}; for none it is 'none'.")
    config = _composed(tuple(f"{name}={value}" for name, value in groups.items()), tuple(plugins))
    kept = {"dataset.path": "X", "plugins": plugins, "keep_weights": True, "keep_predictions_mb": 0}
    for name, value in (given | dict(parameters) | kept).items():
        if name not in groups:
            OmegaConf.update(config, name, list(value) if isinstance(value, tuple) else value, force_add=True)
    chosen = read_config(config)
    check_combination(chosen)
    if kind is not None:
        if why := why_no_model(chosen):
            raise UsageError(f"{estimator} cannot use this: {why}; choose another method.")
        check_target(chosen, kind)
    unused = unused_options(chosen)
    for option in given:
        if is_in(option, unused):
            raise UsageError(f"{option} is set, but has no effect on training with these parameters; leave it out.")
    return chosen


def _composed(overrides: tuple[str, ...], plugins: tuple[str, ...]) -> DictConfig:
    # A plugin's source may change between fits, so what it offers is not remembered.
    config = deepcopy((_compose if not plugins else _compose.__wrapped__)(overrides, plugins))
    OmegaConf.set_struct(config, False)
    return config


@cache
def _compose(overrides: tuple[str, ...], plugins: tuple[str, ...]) -> DictConfig:
    with hydra_started(plugins):
        return compose("train", overrides=["dataset=csv", *overrides])
