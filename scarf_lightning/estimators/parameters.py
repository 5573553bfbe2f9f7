"""From the parameters of an estimator to the configuration of its cell.

Where its user chooses nothing about the training, the number of labels does. With few labels, or with rows that lack
one, pre-training is tried. With more it is seldom used, and trying it takes most of the time. ``study/recipe.md`` says
how that rule was chosen, and by which figures.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Any

import torch

from ..data.targets import Target
from ..errors import UsageError
from ..options import Config, check_combination, unused_options
from ..options.axes import OF_THE_RUN
from ..options.combinations import check_target, is_in
from ..sweeping.compose import Composer, overrides_of_options
from .model import why_no_model

OF_A_FILE = ("encoding", "id", "name", "path", "separator", "source", "target", "target_kind")
OF_THE_COMMAND = {*OF_THE_RUN, "regime", *(f"dataset.{option}" for option in OF_A_FILE)} - {
    "trainer",
    "recipe",
}
"""Options of ``train.py`` that mean nothing to an estimator."""

PARAMETERS = {
    "trials": "n_trials",
    "seed": "random_state",
    "trainer.accelerator": "device",
    "finetune.class_weight": "class_weight",
    "metric": "metric",
    "dataset.weight": "sample_weight in fit",
}
"""Options that an estimator has as parameters."""

OF_LABELS = (
    "cotrain",
    "dataset.target_kind",
    "dataset.weight",
    "finetune",
    "method",
    "metric",
    "network.head",
    "pretrain.probe",
)
"""Options of supervised training and of its measures."""

ALWAYS = {"dataset.path": "X", "keep_weights": True, "keep_predictions_mb": 0}


def plain(value: Any) -> Any:
    """A value as configurations hold it: numpy's numbers, texts and arrays, paths and devices become Python's."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (PathLike, torch.device)):
        return str(value)
    if isinstance(value, Mapping):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return list(map(plain, value))
    return value


def config_of(
    options: Mapping[str, Any], parameters: Mapping[str, Any], *, estimator: str, kind: type[Target] | None
) -> Config:
    """The configuration of a cell that ends with networks for this kind of target, or with encoders alone (None).

    Args:
        options: choices of axes and other options by their names on the command line.
        parameters: those options that `PARAMETERS` lists.
        estimator: the name of the class, for messages.

    Raises:
        UsageError: an option is unknown, has no effect, is not an estimator's, or does not go with the others.
    """
    if kind is None:
        _refuse_effectless(options, OF_LABELS)
    _refuse_others(options)
    # X is read as a file is, so its options are those of a file.
    overrides = ("dataset=csv", *overrides_of_options({**options, **parameters, **ALWAYS}))
    plugins = [each for each in overrides if each.startswith("plugins=")]
    # The source of a plugin may change between fits, so its options are not remembered.
    composer = _composer.__wrapped__ if plugins else _composer
    try:
        config = composer(*plugins)(overrides)
    except UsageError as error:
        raise UsageError(_parameter_sentence(str(error))) from error
    check_combination(config)
    if kind is not None:
        if why := why_no_model(config):
            raise UsageError(f"{estimator} cannot use this: {why}; choose another method.")
        check_target(config, kind)
    elif config.is_pretrained and config.part("pretrain").uses_labels:
        raise UsageError(f"{estimator} has no labels, and pretrain={config.pretrain.name} uses them; choose another.")
    # An option without effect is most often a slip, such as the rate of another corruption.
    _refuse_effectless(options, unused_options(config))
    return config


def _refuse_effectless(options: Iterable[str], unused: Collection[str]) -> None:
    for option in options:
        if is_in(option, unused):
            raise UsageError(f"{option} is set, but has no effect on training with these parameters; leave it out.")


def _parameter_sentence(sentence: str) -> str:
    """A sentence on an option, with the name of the parameter that sets it and the value as Python writes it."""
    option, sign, rest = sentence.partition("=")
    if option not in PARAMETERS:
        return sentence
    return f"{PARAMETERS[option]}{sign}{rest.replace('null:', 'None:', 1)}"


def _refuse_others(options: Mapping[str, Any]) -> None:
    """Refuse options that are parameters of their own, or belong to the command."""
    for option in options:
        if option in PARAMETERS:
            raise UsageError(f"options: {option} is a parameter of its own; set {PARAMETERS[option]}.")
        if is_in(option, OF_THE_COMMAND):
            raise UsageError(f"options: {option} belongs to train.py; leave it out.")


@cache
def _composer(*overrides: str) -> Composer:
    return Composer(overrides)


@dataclass(frozen=True)
class Default:
    """A training without pre-training, from a number of labels on.

    Attributes:
        fewest: labels.
        options: choices of axes and other options, by their names on the command line.
        name: of the training in words, for ``choice_``.
    """

    fewest: int
    options: Mapping[str, Any]
    name: str


MOST = Default(
    fewest=2000, options={"recipe": "realmlp_s", "pretrain": "none"}, name="RealMLP-TD-S without pre-training"
)
MANY = Default(
    fewest=700,
    options={"recipe": "realmlp_s", "pretrain": "none", "finetune.max_epochs": 64},
    name="64 epochs of RealMLP-TD-S without pre-training",
)
SOME = Default(fewest=400, options={"pretrain": "none"}, name="folds of the labels without pre-training")


def default_for(n_labels: int) -> Default | None:
    """The training with so many labels; None with few, where pre-training is tried.

    >>> default_for(700).options["recipe"]
    'realmlp_s'
    """
    for default in (MOST, MANY, SOME):
        if n_labels >= default.fewest:
            return default
    return None
