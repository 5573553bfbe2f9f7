"""The configuration in `conf/`, composed as `train.py` composes it, without a process of its own."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from scarf_lightning.errors import UsageError
from scarf_lightning.options import Config, read, within_max_epochs
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.options.option import options_of
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.compose import OF_TODAY, Composer
from scarf_lightning.sweeping.expand import ExpandedSweep, expand
from scarf_lightning.sweeping.folders import recipe_options

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
SWEEPS = ROOT / "sweeps"
RIVALS = (
    "constant",
    "xgboost", "logistic", "ridge", "random_forest", "catboost", "hist_gradient_boosting", "lightgbm",
    "sklearn",
)  # fmt: skip
"""Methods that train no network of ours."""
GROUPS = sorted(folder.name for folder in CONF.iterdir() if folder.is_dir() and folder.name != "hydra")


def names(group: str) -> list[str]:
    """The options of a group: its files, and its parts, which need none. A file of an estimator is no part."""
    stems = {file.stem for file in (CONF / group).glob("*.yaml") if not names_an_estimator(file)}
    return sorted(stems | set(parts(group) if group in BASES else ()))


def names_an_estimator(file: Path) -> bool:
    """True for a rival that is a file of `conf/` alone."""
    return bool(yaml(file).get("method", {}).get("estimator")) if file.parent.name == "method" else False


def yaml(file: Path) -> dict[str, Any]:
    content = OmegaConf.to_container(OmegaConf.load(file))
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


def asking_for(group: str, name: str) -> list[str]:
    """The overrides of the smallest run that uses this option: it, and the choice without which nothing does."""
    needed = []
    if group == "loss":
        needed = [f"pretrain={next(task for task in names('pretrain') if serves(name, task))}"]
    elif group in parts("method"):
        needed = [f"method={group}"]
    elif group == "method" and name in ("self_train", "tri_train"):
        needed = ["regime=semi25"]
    return [*needed, f"{group}={name}"]


def default_choice(axis: str, name: str) -> dict[str, Any]:
    """A part with its defaults, as a configuration has it."""
    return {"name": name} | {each.name: each.default for each in options_of(parts(axis)[name]).values()}


def serves(loss: str, pretrain: str) -> bool:
    """Whether the field ``loss`` of a pre-training takes a loss."""
    kind = get_type_hints(parts("pretrain")[pretrain]).get("loss") if pretrain != "none" else None
    return kind is not None and issubclass(parts("loss")[loss], kind)


def with_a_loss() -> list[str]:
    """The pre-trainings that take their loss from the axis of that name."""
    return [name for name, found in parts("pretrain").items() if "loss" in {field.name for field in fields(found)}]


def goes_together(method: str, pretrain: str, regime: str) -> bool:
    """Self- and tri-training need unlabelled rows; augmentation and rivals are never pre-trained; the rest is free."""
    if method in ("self_train", "tri_train"):
        return regime in ("semi25", "few")
    if method in ("scarf_augment", *RIVALS):
        return pretrain == "none"
    return True


def composed(*overrides: str) -> DictConfig:
    return deepcopy(_composed(overrides))


@cache
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    with initialize_config_dir(str(CONF), **OF_TODAY):
        return compose("train", overrides=list(overrides))


def checked_by_itself(composed: DictConfig) -> Config:
    """The configuration of a cell that Hydra alone has composed."""
    values: Any = OmegaConf.to_container(composed, resolve=True)
    config = read({name: value for name, value in values.items() if value != "???"})
    return within_max_epochs(config, recipe_options(config.recipe))


def changed(option: str, value: Any) -> DictConfig:
    """The defaults with one value put in, known or not; composing takes thirty times as long."""
    config = composed()
    OmegaConf.set_struct(config, False)
    OmegaConf.update(config, option, value)
    return config


def config_of(*overrides: str) -> Config:
    """One cell's configuration, by parts: `tests/sweeping/test_compose.py` holds that to Hydra's own composing."""
    return deepcopy(_composer()(overrides))


@cache
def _composer() -> Composer:
    """One for all tests: what it has composed before does not show, but what it gives is not to be changed."""
    return Composer()


def composer_once(overrides: Sequence[str], config_dir: None = None) -> Composer:
    """In the place of `Composer`, one for all tests; without a folder."""
    assert config_dir is None
    return _composer()


def cells_of(*arguments: str) -> list[Cell]:
    """The cells that a command line with these arguments asks for; they may be changed."""
    return deepcopy(request_of(*arguments).cells)


def request_of(*arguments: str) -> ExpandedSweep:
    """What a command line with these arguments asks for."""
    return expand(arguments, _composer())


def refusal(act: Callable[[], Any]) -> str:
    """The one sentence that an act is refused with."""
    with pytest.raises(UsageError) as caught:
        act()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence[-1] in ".?"
    assert ".." not in sentence
    return sentence


@cache
def loader_of(conf: Path = CONF) -> ConfigLoader:
    """Hydra's own loader."""
    with initialize_config_dir(str(conf), **OF_TODAY):
        return GlobalHydra.instance().config_loader()
