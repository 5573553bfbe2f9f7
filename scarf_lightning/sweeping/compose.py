"""From overrides to checked configurations, by Hydra's own `compose`.

Hydra takes a tenth of a second to compose a cell. A sweep has few settings on many datasets, so Hydra composes the
choices of a setting once, on the default dataset. Values such as ``seed=3`` are put in, and the dataset last.
"""

import re
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hydra import __version__, compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException, MissingConfigException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ..errors import UsageError, did_you_mean, meant_by, not_an_option, unknown_name
from ..options import BASES, Config, checked, load_plugins, options_of, read
from ..options.axes import TARGET, is_own, list_of, parts, target_of
from ..options.combinations import with_dataset
from ..options.config import SHORTHANDS, within_max_epochs
from ..options.settings import DatasetSettings
from .folders import CONF, flat, recipe_options
from .overrides import hydra_text, parsed

OF_TODAY: dict[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
_one_thread = threading.RLock()
"""Held by the thread that has started Hydra: its instance is that of the whole process."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError)
"""The errors that composing may end in; Hydra has no error of its own for a file that it cannot read."""
OF_TABLES = ("split", "regime", "scaling", "encoding")
"""Axes whose options a recipe sets, whichever part is chosen."""
NEVER_SCALED = {28, 1468, 4134}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing")."""
MEETS_DATASET = re.compile(r"\$\{|@|(?:^| )(?:[+~]|scaling\.|dataset[./])")
"""In overrides that may refer to the dataset, change a part of it, or change the scaling of its file."""

Overrides = tuple[str, ...]


class Setting(NamedTuple):
    """The options of a cell.

    Attributes:
        config: checked; or what is wrong with it.
        lacking: the overrides of options that the chosen parts do not have, each with its refusal. They are left out.
        names_dataset: whether a value in it may depend on the dataset.
    """

    config: Config | UsageError
    lacking: Mapping[str, UsageError] = {}
    names_dataset: bool = False


class Composer:
    """Composes cells, each setting once.

    Args:
        overrides: of a command line. Those of Hydra's own section count for every cell, as plugins do.
        config_dir: a folder with files of the user's, as ``--config-dir`` names it.

    Attributes:
        folders: with files of the user's.

    Raises:
        UsageError: there is no such folder or plugin, or an option of Hydra's would be ignored.
    """

    def __init__(self, overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> None:
        with hydra_started():
            offer(named_plugins(overrides))
            self._loader = GlobalHydra.instance().config_loader()
        given = [each for each in self.parse([*search_path(config_dir), *overrides]) if each.is_hydra_override()]
        self._of_hydra = [str(each.input_line) for each in given]
        named: list[Any] = [each.value() for each in given if each.key_or_group == "hydra.searchpath"]
        self.folders = [Path(str(folder).removeprefix("file://")) for folders in named for folder in folders]
        # A cache for each composer, since another one has another folder or other plugins.
        self._composed = cache(self._compose)
        self._setting = cache(self._configure)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return parsed(overrides, self._loader)

    def of_files(self, presets: Overrides) -> dict[str, Any]:
        """What Hydra composes of presets, with its own section."""
        values: Any = OmegaConf.to_container(self._composed(presets))
        return dict(values)

    def __call__(self, overrides: Overrides) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        setting = self.setting(overrides)
        for refusal in setting.lacking.values():
            raise refusal
        if isinstance(setting.config, UsageError):
            raise setting.config
        return setting.config

    def setting(self, overrides: Overrides) -> Setting:
        """The options of one cell; a dataset of ours that meets no other option is put in last."""
        names = [each for each in overrides if each.startswith("dataset=")]
        rest = tuple(each for each in overrides if each not in names)
        own = _own_dataset(names[0]) if len(names) == 1 else None
        if own is None or MEETS_DATASET.search(" ".join(overrides)) or self._setting(rest).names_dataset:
            return self._setting(overrides)
        (dataset, scaling), setting = own, self._setting(rest)
        if isinstance(setting.config, UsageError):
            return setting
        config = with_dataset(setting.config, dataset)
        # The scaling of a dataset gives way to the command line.
        if scaling is not None and not any(each.startswith("scaling=") for each in overrides):
            config = replace(config, scaling=self((f"scaling={scaling}",)).scaling)
        return setting._replace(config=config)

    def _configure(self, overrides: Overrides) -> Setting:
        try:
            given = self.parse(overrides)
            choices = [each for each in given if _is_choice(each)]
            composed = self._composed(tuple(str(each.input_line) for each in choices))
            sections = OmegaConf.masked_copy(composed, [str(name) for name in composed if name != "hydra"])
            # In a struct a value is put in only where there is an option.
            OmegaConf.set_struct(sections, True)
            lacking = dict[str, UsageError]()
            for each in given:
                try:
                    if each not in choices:
                        OmegaConf.update(sections, each.key_or_group, each.value())
                except UNKNOWN as error:
                    lacking[str(each.input_line)] = usage_error(error)
            # An interpolation may refer to the dataset, or to its scaling.
            names_dataset = re.search(r"\$\{[^}]*\b(dataset|scaling)\b", str(OmegaConf.to_container(sections)))
            is_set = [name for each in given for name, _ in flat({each.key_or_group: each.value()})]
            return Setting(read_config(sections, is_set), lacking, bool(names_dataset))
        # Errors are returned: a cache keeps what is returned, and many cells have the same error.
        except ERRORS as error:
            return Setting(usage_error(error))

    def _compose(self, choices: Overrides) -> DictConfig:
        with hydra_started():
            return compose("train", overrides=[*self._of_hydra, *choices], return_hydra_config=True)


@cache
def _own_dataset(override: str) -> tuple[DatasetSettings, str | None] | None:
    """The dataset of a file of ours, and the scaling that it chooses; None if it chooses anything else, or is none."""
    file = CONF / f"{override.replace('=', '/', 1)}.yaml"
    values: Any = OmegaConf.to_container(OmegaConf.load(file)) if file.is_file() else {}
    match values:
        case {"defaults": [{"override /scaling": str(scaling)}], "dataset": dataset}:
            return checked(DatasetSettings, dataset, "dataset"), scaling
        case {"source": _}:
            return checked(DatasetSettings, values, "dataset"), None
    return None


def _is_choice(override: Override) -> bool:
    """True for a choice of a file or a part, whose name is a group of `conf/` or a preset's; and for options that come
    and go, and for several values, which Hydra puts in or refuses."""
    name = override.key_or_group
    is_group = "/" in name or (CONF / name).is_dir() or override.package is not None
    return is_group or override.type is not OverrideType.CHANGE or override.is_sweep_override()


@contextmanager
def hydra_started() -> Iterator[None]:
    """Hydra with our configuration folder, for `hydra.compose`.

    The Hydra of the program around us is there again in the end; what Hydra refuses is a `UsageError`. Another thread
    waits until this one has ended its block.
    """
    with _one_thread:
        # Hydra has one global instance, and refuses to start a second one.
        theirs = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(CONF), job_name="train", **OF_TODAY):
                yield
        except ERRORS as error:
            raise usage_error(error) from error
        finally:
            GlobalHydra.instance().hydra = theirs


def search_path(config_dir: str | Path | None) -> list[str]:
    """The overrides by which Hydra finds the options in a folder, as ``--config-dir`` does; none without a folder.

    Raises:
        UsageError: there is no such folder.
    """
    if config_dir is None:
        return []
    if not Path(config_dir).is_dir():
        raise UsageError(f"--config-dir: there is no folder {config_dir}; it has files such as logger/NAME.yaml.")
    return [f"hydra.searchpath=[{hydra_text(f'file://{Path(config_dir).absolute()}')}]"]


def named_plugins(arguments: Sequence[str]) -> list[str]:
    """The modules that a command line names; the last list wins."""
    lists = [each.value() for each in parsed([argument for argument in arguments if argument.startswith("plugins=")])]
    # What is no list is refused later, by the check of the option.
    return list(map(str, lists[-1])) if lists and isinstance(lists[-1], list) else []


def offer(plugins: Sequence[str]) -> None:
    """Let ``AXIS=NAME`` and ``AXIS.OPTION=VALUE`` work for every part in these modules, before Hydra composes.

    Raises:
        UsageError: there is no such module.
    """
    load_plugins(plugins)
    for axis in BASES if plugins else ():
        for name, cls in parts(axis).items():
            # Parts of the package have files.
            if is_own(cls):
                continue
            options = {TARGET: target_of(cls)} | {each.name: each.default for each in options_of(cls).values()}
            part = {"name": name, "encoder": options} if axis == "network" else {"name": name} | options
            ConfigStore.instance().store(group=axis, name=name, node=part)


def read_config(composed: DictConfig, given: Collection[str] = ()) -> Config:
    """Check what Hydra composed, with the number of steps that its recipe says.

    Args:
        given: the names of options that the user has set, whatever their values.

    Raises:
        UsageError: an interpolation leads nowhere, or as by `scarf_lightning.options.read`.
    """
    try:
        values: Any = OmegaConf.to_container(composed, resolve=True)
    except OmegaConfBaseException as error:
        raise usage_error(error) from error
    of_recipe = recipe_options(str(values.get("recipe")))
    for name, value in of_recipe.items():
        axis, _, option = name.partition(".")
        part = parts(axis).get(values[axis].get("name")) if axis in OF_TABLES else None
        # A part may lack what a recipe sets, as a split by time lacks split.copies. Another value is the user's, and is
        # refused.
        if part is not None and option not in options_of(part) and values[axis].get(option) == value:
            del values[axis][option]
    # A shorthand such as ``max_epochs`` that is not set leaves each phase its own default.
    is_set = {name: value for name, value in values.items() if name not in SHORTHANDS or value != MISSING}
    return within_max_epochs(read(is_set), of_recipe, given)


def usage_error(error: BaseException) -> UsageError:
    """An error of Hydra's or OmegaConf's in one sentence, which names the options that exist if one is unknown."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing_file(error.missing_cfg_file, error.options or ())
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(cause, UNKNOWN) and isinstance(cause.parent_node, DictConfig):
        return _unknown_option(str(cause.full_key), cause.parent_node)
    message = f"{error} {cause or ''}"
    if isinstance(cause, OmegaConfBaseException):
        # Its further lines repeat the key and name its classes.
        message = f"{cause.full_key}: {str(cause).splitlines()[0]}"
    return UsageError(f"{' '.join(message.split()).removesuffix('.')}.")


def _missing_file(file: str, options: Sequence[str]) -> UsageError:
    """A refusal of a choice that is neither a file nor a part. A user may have meant a table by it."""
    # The name of a table may have folders in it.
    group, _, name = file.partition("/") if file.startswith("dataset/") else file.rpartition("/")
    own_file = "For a file of yours: dataset=csv dataset.path=FILE." if group == "dataset" else ""
    hint, where = did_you_mean(name, options) or own_file, f"the options of {group}"
    return UsageError(unknown_name(f"{group}={name} is not an option", name, options, where, hint=hint))


def _unknown_option(full: str, section: DictConfig) -> UsageError:
    """A refusal of an option that a section does not have."""
    parent, _, name = full.rpartition(".")
    values: Any = OmegaConf.to_container(section, resolve=False)
    known = [each for each in values if each not in ("hydra", TARGET)]
    # An option of this name may stand in a group within.
    within = [each for each, _ in flat(values) if meant_by(name, [each.rpartition(".")[2]])]
    hint = did_you_mean(name, known) or (f"Did you mean {' or '.join(within)}?" if within else "")
    where = f"the options of {parent}" if parent else "the options"
    return UsageError(not_an_option(full, where, known, hint, list_of(parent)))


def scaling_of(dataset: Mapping[str, Any]) -> str:
    """The paper's scaling of the data of this configuration."""
    return "none" if dataset.get("id") in NEVER_SCALED else "zscore"


# A file of conf/ calls it. A reloaded module registers it again.
with warnings.catch_warnings():
    # OmegaConf 2.4 has another name for it, by which version 2.3 means something else.
    warnings.simplefilter("ignore")
    OmegaConf.register_new_resolver("scarf.scaling_of", scaling_of, replace=True)
