"""From overrides to checked configurations, by Hydra's own `compose`.

Hydra takes a tenth of a second to compose a configuration, and a sweep combines few choices in many cells. So Hydra
composes each choice once. Choices that change different sections are put together, then values such as ``seed=3``, and
the dataset last.
"""

import re
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from hydra import __version__, compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ..errors import UsageError, did_you_mean, not_an_option, unknown_name
from ..options import BASES, Config, Options, build, checked, load_plugins, options_of, read
from ..options.axes import CONFIGURATION, TARGET, is_own, parts, target_of
from ..options.combinations import with_dataset
from ..options.config import SHORTHANDS, within_max_epochs
from ..options.settings import DatasetSettings
from .folders import CONF, content_of, flat, recipe_options
from .overrides import hydra_text, parsed, taken_out

OF_TODAY: dict[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3.") else {}
"""The argument without which Hydra 1.3 behaves as version 1.1 did. Version 1.4 warns of it."""
_one_thread = threading.RLock()
"""Held by the thread that has started Hydra: its instance is that of the whole process."""
NO_PARAMS = "Key 'params' not in 'ScarfSweeperConf'"
"""OmegaConf's words for axes that a file puts into ``hydra.sweeper.params``."""
UNKNOWN = (ConfigKeyError, ConfigAttributeError)
ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError)
"""The errors that composing may end in; Hydra has no error of its own for a file that it cannot read."""
NEVER_SCALED = {28, 1468, 4134}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing")."""
MEETS_OTHERS = re.compile(r"^[+~]|@")
"""Overrides that depend on what others choose: of presets, and of a place other than the axis' own."""
MEETS_DATASET = re.compile(r"^[+~]|@|\$|=by_data/|^scaling\.|^dataset[./]")
"""Overrides that may refer to the dataset, or change a part of it or of the scaling that its file chooses."""

Overrides = tuple[str, ...]
Sections = dict[str, Any]
Setting = tuple[Config | UsageError, Mapping[str, UsageError]]
"""The options of a cell, or what is wrong with them; and the overrides of options that its parts do not have, which are
left out, each with its refusal."""


class Composer:
    """Composes cells.

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
        self.folders = [Path(str(folder).removeprefix("file://")) for folder in chain(*named)]
        # A cache for each composer, since another one has another folder or other plugins.
        self._composed = cache(self._compose)
        self._setting = cache(self._configure)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return parsed(overrides, self._loader)

    def __call__(self, overrides: Overrides) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        config, lacking = self.setting(overrides)
        for refusal in lacking.values():
            raise refusal
        if isinstance(config, UsageError):
            raise config
        return config

    def setting(self, overrides: Overrides) -> Setting:
        """The options of one cell; a dataset of ours that meets no other option is put in last."""
        names = [each for each in overrides if each.startswith("dataset=")]
        rest = tuple(each for each in overrides if each not in names)
        own = _own_dataset(names[0]) if len(names) == 1 else None
        # A file of the user's may refer to the dataset.
        if own is None or self.folders or any(map(MEETS_DATASET.search, rest)):
            return self._setting(overrides)
        dataset, scaling = own
        # The scaling of a dataset gives way to the command line.
        gives_way = any(each.startswith("scaling=") for each in rest)
        config, lacking = self._setting(rest if gives_way else (*scaling, *rest))
        return config if isinstance(config, UsageError) else with_dataset(config, dataset), lacking

    def _configure(self, overrides: Overrides) -> Setting:
        try:
            given = {str(each.input_line): each for each in self.parse(overrides)}
            choices, lacking = tuple(filter(_is_choice, given)), dict[str, UsageError]()
            sections = OmegaConf.create(self._put_together(choices))
            # In a struct a value is put in only where there is an option.
            OmegaConf.set_struct(sections, True)
            for line, override in given.items():
                try:
                    if line not in choices:
                        OmegaConf.update(sections, override.key_or_group, override.value())
                except UNKNOWN as error:
                    lacking[line] = usage_error(error)
            is_set = [name for each in given.values() for name, _ in flat({each.key_or_group: each.value()})]
            return read_config(sections, is_set), lacking
        # Errors are returned: a cache keeps what is returned, and many cells have the same error.
        except ERRORS as error:
            return usage_error(error), {}

    def _put_together(self, choices: Overrides) -> Sections:
        """The sections of a configuration with these choices. Those of different sections are composed one by one."""
        usual, changed = self._composed(()), Sections()
        for choice in choices:
            # One choice may override another one, as pretrain=vime overrides the corruption.
            own = {} if MEETS_OTHERS.search(choice) else self._changes(choice)
            if not own or not changed.keys().isdisjoint(own):
                return self._composed(choices)
            changed |= own
        return usual | changed

    def _changes(self, choice: str) -> Sections:
        """The section of a choice, and the others that it changes."""
        usual, alone, axis = self._composed(()), self._composed((choice,)), choice.partition("=")[0]
        return {name: each for name, each in alone.items() if name == axis or each != usual[name]}

    def _compose(self, choices: Overrides) -> Sections:
        with hydra_started():
            config = compose("train", overrides=[*self._of_hydra, *choices])
        sections: Any = OmegaConf.to_container(config)
        return dict(sections)


@cache
def _own_dataset(choice: str) -> tuple[DatasetSettings, Overrides] | None:
    """The dataset of a file of ours, and the scaling that it chooses; None if it chooses anything else, or is none."""
    match content_of(choice.replace("=", "/", 1)):
        case {"defaults": [{"override /scaling": str(scaling)}], "dataset": dataset}:
            return checked(DatasetSettings, dataset, "dataset"), (f"scaling={scaling}",)
        case {"source": _} as dataset:
            return checked(DatasetSettings, dataset, "dataset"), ()
    return None


def _is_choice(override: str) -> bool:
    """True for a choice of a file or a part, and for what comes and goes: Hydra puts it in or refuses it."""
    key = override.partition("=")[0]
    return bool(MEETS_OTHERS.search(key)) or "/" in key or (CONF / key).is_dir()


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
    options, _ = taken_out(arguments, ["plugins"])
    # What is no list is refused later, by the check of the option.
    return list(map(str, options["plugins"])) if isinstance(options.get("plugins"), list) else []


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
        UsageError: as by `scarf_lightning.options.read`.
        OmegaConfBaseException: an interpolation leads nowhere.
    """
    values: Any = OmegaConf.to_container(composed, resolve=True)
    of_recipe = recipe_options(str(values.get("recipe")))
    for name, value in of_recipe.items():
        axis, _, option = name.partition(".")
        # A part may lack what a recipe sets, as a split by time lacks split.copies. Another value is the user's, and is
        # refused.
        if axis in BASES and values[axis].get(option) == value:
            part = parts(axis).get(values[axis].get("name"), Options)
            if option not in options_of(part):
                del values[axis][option]
    # A shorthand such as ``max_epochs`` that is not set leaves each phase its own default.
    is_set = {name: value for name, value in values.items() if name not in SHORTHANDS or value != MISSING}
    config = within_max_epochs(read(is_set), of_recipe, given)
    # It checks what no single option can.
    build("regime", config.regime)
    return config


def usage_error(error: BaseException) -> UsageError:
    """An error of Hydra's or OmegaConf's in one sentence, which names the choices or options that there are."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        file, known = error.missing_cfg_file, error.options or ()
        # The name of a table may have folders in it.
        axis, _, name = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
        # A user may have meant a table.
        of_file = "For a file of yours: dataset=csv dataset.path=FILE." if axis == "dataset" else ""
        hint = did_you_mean(name, known) or of_file
        return UsageError(
            unknown_name(f"{axis}={name} is not an option", name, known, f"the options of {axis}", hint=hint)
        )
    # Hydra wraps OmegaConf's errors, whose attributes name the option.
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    message, _, _ = f"{error} {cause or ''}".partition("full_key: ")
    if isinstance(cause, OmegaConfBaseException):
        option, section = str(cause.full_key), cause.parent_node
        if isinstance(cause, UNKNOWN) and isinstance(section, DictConfig):
            place = option.rpartition(".")[0]
            known = [str(each) for each in section if each not in ("hydra", TARGET)]
            where = f"the options of {place}" if place else "the options"
            return UsageError(not_an_option(option, where, known, full_list=CONFIGURATION))
        # Its further lines repeat the key and name its classes.
        message = f"{option}: {str(cause).splitlines()[0]}"
    message = message.replace(NO_PARAMS, "hydra.sweeper.params: write AXIS=A,B on the command line, or in sweeps/")
    return UsageError(f"{' '.join(message.split()).removesuffix('.')}.")


def scaling_of(dataset: Mapping[str, Any]) -> str:
    """The paper's scaling of the data of this configuration."""
    return "none" if dataset.get("id") in NEVER_SCALED else "zscore"


# A file of conf/ calls it. A reloaded module registers it again.
with warnings.catch_warnings():
    # OmegaConf 2.4 has another name for it, by which version 2.3 means something else.
    warnings.simplefilter("ignore")
    OmegaConf.register_new_resolver("scarf.scaling_of", scaling_of, replace=True)
