"""From overrides to checked configurations.

Hydra takes a tenth of a second to compose a cell. A sweep has few settings on many datasets, so Hydra composes the
choices of a setting once, on the default dataset. Values such as ``seed=3`` are put in, and the dataset last.
"""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from ..errors import UsageError
from ..options import Config, checked, options_of, read, within_max_epochs
from ..options.axes import AXES
from ..options.combinations import with_dataset
from ..options.settings import DatasetSettings
from .folders import CONF, flat
from .hydra import (
    ERRORS,
    GLOBAL,
    check_hydra,
    fit_recipe,
    hydra_started,
    named_plugins,
    offer,
    our_sections,
    plain_values,
    search_path,
    usage_error,
)

OF_JOBS = ("hydra/sweeper", "hydra/launcher", "hydra.launcher")
"""Begin the overrides of Hydra's that decide how cells are trained."""
OPTIONS = frozenset(options_of(Config)) - {axis.name for axis in AXES}
"""The options of the configuration itself, which are no groups whatever folders a user has."""
SCALING = "override /scaling"
"""What the file of a dataset may say besides: the paper does not scale three of them."""


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
        self._of_hydra, self.folders = list[str](), list[Path]()
        for each in self.parse([*search_path(config_dir), *overrides]):
            if each.is_hydra_override() and not each.key_or_group.startswith(OF_JOBS):
                self._of_hydra.append(str(each.input_line))
            if each.key_or_group == "hydra.searchpath":
                folders: Any = each.value()
                self.folders += [Path(str(folder).removeprefix("file://")) for folder in folders]
        # A cache for each composer, since another one has another folder or other plugins.
        self._composed = cache(self._compose)
        self._setting = cache(self._configure)
        self._dataset = cache(self._read_dataset)
        if len(self._of_hydra) > len(self.folders):
            check_hydra(self._composed(())[1])

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def is_group(self, name: str) -> bool:
        """True if this is an axis, of which files are options."""
        return name not in OPTIONS and bool(self._loader.get_group_options(name))

    def is_of_user(self, group: str) -> bool:
        """True if a folder of the user's has files of this group."""
        return any((folder / group).is_dir() for folder in self.folders)

    def axes(self, choices: tuple[str, ...]) -> dict[str, Any]:
        """The axes that chosen files, or overrides of Hydra's, have in Hydra's own place, ``hydra.sweeper.params``.

        Raises:
            UsageError: the files cannot be composed.
        """
        # Without either, nothing is composed.
        if not self._of_hydra:
            return {}
        axes: Any = OmegaConf.to_container(self._composed(choices)[1].sweeper)
        return {str(axis): values for axis, values in axes["params"].items()}

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        config, _ = self._on_dataset(overrides) or self._setting(overrides)
        if isinstance(config, UsageError):
            raise config
        return config

    def _on_dataset(self, overrides: tuple[str, ...]) -> tuple[Config | UsageError, bool] | None:
        """The configuration with its dataset put in last; None if the cell must be composed as a whole."""
        names = [each.partition("=")[0] for each in overrides]
        # These may set what an interpolation refers to, add or remove groups, or change the scaling of a file.
        if any(name.startswith(("+", "~", "scaling.")) or "@" in name for name in names) or "${" in str(overrides):
            return None
        place = names.index("dataset") if "dataset" in names else -1
        # dataset=NAME with dataset.target=COLUMN is a dataset that no file has.
        if place < 0 or sum(name.startswith("dataset") for name in names) > 1:
            return None
        known = self._dataset(overrides[place].partition("=")[2])
        if known is None:
            return None
        dataset, scaling = known
        config, names_dataset = self._setting((*overrides[:place], *overrides[place + 1 :]))
        if names_dataset:
            return None
        if isinstance(config, Config):
            config = with_dataset(config, dataset)
            # It gives way to the command line.
            if scaling is not None and "scaling" not in names:
                config = replace(config, scaling=self((f"scaling={scaling}",)).scaling)
        return config, False

    def _configure(self, overrides: tuple[str, ...]) -> tuple[Config | UsageError, bool]:
        """A configuration, or what is wrong with it; and whether a value in it depends on the dataset."""
        try:
            parsed, names = self.parse(overrides), list[str]()
            choices, values = list[Override](), list[Override]()
            for each in parsed:
                value, is_group = each.value(), each.package is not None or self.is_group(each.key_or_group)
                names.append(each.key_or_group)
                if is_group and (each.is_delete() or value is None):
                    axis = each.key_or_group
                    raise UsageError(f"{each.input_line}: every cell needs a choice of {axis}; --help lists them.")
                # A dictionary sets options within a section: finetune={max_epochs:3}.
                if isinstance(value, dict):
                    names += [name for name, _ in flat(value, f"{each.key_or_group}.")]
                is_choice = is_group and not isinstance(value, dict)
                (choices if is_choice or each.is_sweep_override() else values).append(each)
            # Hydra composes what adds, removes or extends options.
            if any(each.type is not OverrideType.CHANGE for each in values):
                choices, values = parsed, []
            composed, hydra = self._composed(tuple(str(each.input_line) for each in choices))
            # A copy, since the composition serves other cells too.
            sections = deepcopy(composed)
            for each in values:
                OmegaConf.update(sections, each.key_or_group, each.value(), merge=True)
            # A value may have chosen a part, and a dataset its split.
            fit_recipe(sections)
            # A preset and the same options written out are one cell.
            names += self._options_of_files(hydra.runtime.choices)
            return within_max_epochs(read(plain_values(sections)), names), _names_dataset(sections)
        # Errors are returned: a cache keeps what is returned, and many cells have the same error.
        except ERRORS as error:
            return usage_error(error), False

    def _options_of_files(self, choices: DictConfig) -> Iterator[str]:
        """The names of the options that files of the user's set, of the choices of a composition."""
        for group, name in ((str(group), name) for group, name in choices.items()):
            for folder in self.folders:
                file = folder / group / f"{name}.yaml"
                if file.is_file():
                    package, values = _read_file(file)
                    yield from (option for option, _ in flat(values, "" if package == GLOBAL else f"{group}."))

    def _compose(self, choices: tuple[str, ...]) -> tuple[DictConfig, DictConfig]:
        """Our sections of a composition, and Hydra's own."""
        try:
            with hydra_started():
                composed = compose("train", overrides=[*self._of_hydra, *choices], return_hydra_config=True)
        except ERRORS as error:
            raise usage_error(error) from error
        sections = our_sections(composed)
        fit_recipe(sections)
        # In a struct a value is put in only where there is an option.
        OmegaConf.set_struct(sections, True)
        return sections, composed.hydra

    def _read_dataset(self, name: str) -> tuple[DatasetSettings, str | None] | None:
        """The dataset of a file, and the scaling that it chooses; None if Hydra must compose it, because the file sets
        or includes anything else."""
        files = [folder / "dataset" / f"{name}.yaml" for folder in (CONF, *self.folders)]
        found = [file for file in files if file.is_file()]
        if not found:
            return None
        package, values = _read_file(found[0])
        scaling, *others = values.pop("defaults", [{SCALING: None}])
        if package == GLOBAL and list(values) == ["dataset"]:
            values = values["dataset"]
        elif package:
            return None
        # A recipe of the user's may set options of a scaling.
        if others or list(scaling) != [SCALING] or (self.folders and scaling[SCALING]) or "${" in str(values):
            return None
        return checked(DatasetSettings, values, "dataset"), scaling[SCALING]


def _read_file(file: Path) -> tuple[str, dict[str, Any]]:
    """The package that the first lines of a file name, or nothing, and its content."""
    header = re.search(r"^#\s*@package\s+(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    content: Any = OmegaConf.to_container(OmegaConf.load(file))
    return header[1] if header else "", content


def _names_dataset(sections: DictConfig) -> bool:
    """True if an interpolation refers to the dataset, or to its scaling."""
    return bool(re.search(r"\$\{[^}]*\b(dataset|scaling)\b", str(OmegaConf.to_container(sections))))
