"""From overrides to checked configurations.

Hydra takes a tenth of a second to compose a cell. A sweep has few settings on many datasets, so Hydra composes the
choices of a setting once, on the default dataset. Values such as ``seed=3`` are put in, and the dataset last.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..errors import UsageError
from ..options import Config, checked, within_max_epochs
from ..options.combinations import with_dataset
from ..options.settings import DatasetSettings
from .folders import flat
from .hydra import (
    GLOBAL,
    FileConfigSource,
    check_hydra,
    fit_recipe,
    hydra_started,
    master_of,
    named_plugins,
    our_sections,
    read_config,
    usage_error,
)

OF_JOBS = ("hydra/sweeper", "hydra.sweeper", "hydra/launcher", "hydra.launcher")
"""Begins an override of Hydra's that decides how cells are trained."""


@dataclass(frozen=True)
class Composed:
    """Hydra's composition of some choices.

    Attributes:
        node: the configuration, without Hydra's own section.
        files: the name of the file that Hydra took of each group.
        names_dataset: whether an interpolation, such as ``${dataset.name}``, has another value for each dataset.
        axes: that the choices have in Hydra's own place for them, ``hydra.sweeper.params``, with their values.
    """

    node: DictConfig
    files: dict[str, Any]
    names_dataset: bool
    axes: dict[str, Any]


class Composer:
    """Composes cells by Hydra's loader, from the configuration ``master`` that it made of the command line."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._repository: Any = loader.repository  # type: ignore[attr-defined]
        given: Any = OmegaConf.to_container(master.hydra.overrides.task, resolve=False)
        self._overrides_of_master: list[str] = given
        hydra_overrides: Any = OmegaConf.to_container(master.hydra.overrides.hydra, resolve=False)
        self._overrides_of_hydra = list[str]()
        for override in hydra_overrides:
            if not override.lstrip("+~").startswith(OF_JOBS):
                self._overrides_of_hydra.append(override)
        self._folders_of_user = list[FileConfigSource]()
        for source in master.hydra.runtime.config_sources:
            if source.schema == "file" and source.provider != "main":
                self._folders_of_user.append(FileConfigSource(source.provider, f"file://{source.path}"))
        # A cache for each composer, since another one has another folder or other plugins.
        self._configured = cache(self._configure)
        self._composed = cache(self._compose)
        self._parsed = cache(self._parse)
        self._set_by_files = cache(self._read_names)
        self._dataset_file = cache(self._read_dataset_file)
        self._options_of = cache(loader.get_group_options)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def is_group(self, name: str) -> bool:
        """True if this is an axis, of which files are options."""
        return bool(self._options_of(name))

    def is_of_user(self, group: str, name: str) -> bool:
        """True if an option of a group is a file of the user's, in a folder of ``--config-dir``."""
        return any(source.is_config(f"{group}/{name}") for source in self._folders_of_user)

    def axes_of_files(self, choices: tuple[str, ...]) -> dict[str, Any]:
        """The axes that chosen files have in Hydra's own place, ``hydra.sweeper.params``, with their values.

        Raises:
            UsageError: the files cannot be composed.
        """
        try:
            return self._composed(choices).axes
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise usage_error(error) from error

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        config = self._cell(overrides)
        names = list[str]()
        for each in overrides:
            name, _, value = each.partition("=")
            names.append(name)
            # A dictionary sets options within a section: finetune={max_epochs:3}.
            if value.startswith("{"):
                names += [option for option, _ in flat(self._parsed(each)[0].value(), f"{name}.")]
        # A preset and the same options written out are one cell.
        if self._folders_of_user:
            # What is added may be a group that only such a folder has.
            names += self._set_by_files(tuple(each for each in overrides if each[0] == "+" or self._parsed(each)[1]))
        return within_max_epochs(config, names)

    def _cell(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says."""
        # A sweep has many datasets and few settings: each setting is composed once, and the dataset put in.
        file = None
        choice = self._only_dataset(overrides)
        if choice is not None:
            file = self._dataset_file(choice)
        if choice is not None and file is not None:
            dataset, choices = file
            # What a dataset's file chooses on other axes, such as its split, gives way to the command line.
            others = [each for each in overrides if each != choice]
            given = {each.partition("=")[0] for each in overrides}
            file_choices = []
            for each in choices:
                if each.partition("=")[0] not in given:
                    file_choices.append(each)
            setting = self._configured((*file_choices, *others))
            if setting is not None:
                return with_dataset(_or_raise(setting), dataset)
        whole = self._configured(overrides, whole=True)
        assert whole is not None
        return _or_raise(whole)

    def _only_dataset(self, overrides: tuple[str, ...]) -> str | None:
        """The choice of a dataset, if it may be put in last; None if the cell must be composed as a whole."""
        # Hydra has composed the command line itself already.
        if list(overrides) == self._overrides_of_master:
            return None
        dataset_choices = []
        for each in overrides:
            # These may set what an interpolation refers to, or add and remove groups.
            if "${" in each or each[0] in "+~" or "@" in each.partition("=")[0]:
                return None
            if each.startswith("dataset"):
                dataset_choices.append(each)
        # dataset=NAME with dataset.target=COLUMN is a dataset that no file has.
        return dataset_choices[0] if len(dataset_choices) == 1 else None

    def _configure(self, overrides: tuple[str, ...], *, whole: bool = False) -> Config | UsageError | None:
        """A configuration, or what is wrong with it. None if it depends on its dataset, unless it is to be whole."""
        try:
            if list(overrides) == self._overrides_of_master:
                return read_config(self._master)
            choices, values = list[str](), list[Override]()
            for line in overrides:
                override, is_choice = self._parsed(line)
                if is_choice:
                    choices.append(str(override.input_line))
                else:
                    values.append(override)
            # Hydra composes what adds, removes or extends options.
            if any(each.type is not OverrideType.CHANGE for each in values):
                choices, values = list(overrides), []
            composed = self._composed(tuple(choices))
            if composed.names_dataset and not whole:
                return None
            # A copy, since the composition serves other cells too.
            node = deepcopy(composed.node)
            for each in values:
                OmegaConf.update(node, each.key_or_group, each.value(), merge=True)
            return read_config(node)
        # Errors are returned: a cache keeps what is returned, and many cells have the same error.
        except UsageError as error:
            return error
        except (HydraException, OmegaConfBaseException) as error:
            return usage_error(error)
        # A group that is set to null: Hydra does not say which.
        except ValueError as error:
            return UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.")

    def _read_names(self, choices: tuple[str, ...]) -> list[str]:
        """The names of the options that files of the user's set, of those that these choices lead to."""
        names = []
        for group, name in self._composed(choices).files.items():
            for source in self._folders_of_user:
                if not isinstance(name, str) or not source.is_config(f"{group}/{name}"):
                    continue
                loaded = source.load_config(f"{group}/{name}")
                package = (loaded.header["package"] or group).replace("_group_", group)
                before = "" if package == GLOBAL else f"{package.replace('/', '.')}."
                names += [option for option, _ in flat(OmegaConf.to_container(loaded.config, resolve=False), before)]
        return names

    def _parse(self, line: str) -> tuple[Override, bool]:
        """An override, and whether Hydra must compose with it: it chooses a file, or sets no value of our sections."""
        (override,) = self.parse([line])
        is_of_group = override.package is not None or self.is_group(override.key_or_group)
        if is_of_group and (override.is_delete() or override.value() is None):
            axis = override.key_or_group
            raise UsageError(f"{line}: every cell needs a choice of {axis}; --help lists them.")
        # A dictionary sets values within the section: network={...} chooses no file.
        is_choice = is_of_group and not isinstance(override.value(), dict)
        needs_hydra = override.is_sweep_override() or override.is_hydra_override()
        return override, is_choice or needs_hydra

    def _compose(self, choices: tuple[str, ...]) -> Composed:
        # As for a job, but without the sweeper and the launcher, which no cell needs and only a preset may know.
        composed = self._loader.load_configuration(
            self._master.hydra.job.config_name, overrides=[*self._overrides_of_hydra, *choices], run_mode=RunMode.RUN
        )
        OmegaConf.copy_cache(from_config=self._master, to_config=composed)
        node = our_sections(composed)
        fit_recipe(node)
        # In a struct a value is put in only where there is an option.
        OmegaConf.set_struct(node, True)
        names_dataset = "dataset" in _mentioned(OmegaConf.to_container(node, resolve=False))
        files = dict(composed.hydra.runtime.choices)
        axes: Any = OmegaConf.to_container(OmegaConf.create(composed.hydra.sweeper.get("params") or {}))
        axes = {str(axis): axis_values for axis, axis_values in axes.items()}
        return Composed(node, files, names_dataset, axes)

    def _read_dataset_file(self, override: str) -> tuple[DatasetSettings, list[str]] | None:
        """The dataset, and the files of other axes that its file chooses; None if the file sets anything else."""
        if not override.startswith("dataset="):
            return None
        loaded = self._repository.load_config(override.replace("=", "/", 1))
        choices = None if loaded is None else _choices(loaded)
        if loaded is None or choices is None:
            return None
        values: Any = OmegaConf.to_container(loaded.config, resolve=False)
        # A file of the global package may set other sections besides, which only Hydra puts in their places.
        if loaded.header["package"] == GLOBAL and list(values) == ["dataset"]:
            values = values["dataset"]
        elif loaded.header["package"] is not None:
            return None
        if any(_mentioned(values)):
            return None
        return checked(DatasetSettings, values, "dataset"), choices


@contextmanager
def composing(overrides: Sequence[str], config_dir: str | Path | None = None) -> Iterator[Composer]:
    """A composer of cells with the parts of the plugins that these overrides name, without a command line of Hydra's.

    Args:
        overrides: of the command.
        config_dir: as `master_of` takes it.

    Raises:
        UsageError: as by `hydra_started` and `master_of`.
    """
    with hydra_started(named_plugins(overrides)) as hydra:
        hydra_overrides = [each for each in overrides if each.lstrip("+~").startswith("hydra.")]
        if hydra_overrides:
            check_hydra(master_of(hydra, config_dir, hydra_overrides).hydra)
        yield Composer(hydra.config_loader, master_of(hydra, config_dir))


def _choices(file: ConfigResult) -> list[str] | None:
    """The files of other groups that a file chooses; None if it includes files, or the names depend on something."""
    chosen: list[Any] = file.defaults_list or []
    package = file.header["package"] or ""
    # The groups that such a file names are within its own section.
    if package != GLOBAL and (chosen or package.startswith("_")):
        return None
    choices = []
    for each in chosen:
        if not each.is_override() or each.package is not None or "$" in str(each.value):
            return None
        name = each.value
        # A file in a folder of its group: by a name alone Hydra 1.4 would take the folder for another group.
        if not isinstance(name, str | None):
            (name,) = name
        # An absolute name, /split, is that of the group.
        choices.append(f"{each.group.lstrip('/')}={name}")
    return choices


def _or_raise(composed: Config | UsageError) -> Config:
    if isinstance(composed, UsageError):
        raise composed
    return composed


def _mentioned(node: Any) -> Iterator[str]:
    """The words in all interpolations in a configuration, among them the options that one refers to."""
    if isinstance(node, str) and "${" in node:
        yield from re.findall(r"\w+", node)
    children: Any = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for each in children:
        yield from _mentioned(each)
