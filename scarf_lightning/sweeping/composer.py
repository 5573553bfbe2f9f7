"""From overrides to checked configurations.

Hydra takes a tenth of a second to compose a cell. A sweep has few settings on many datasets, so Hydra composes the
choices of a setting once, on the default dataset. Values such as ``seed=3`` are put in, and the dataset last.
"""

import re
from collections.abc import Sequence
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
from ..options import Config, checked
from ..options.combinations import with_dataset
from ..options.settings import DatasetSettings
from .folders import CONF
from .hydra import (
    ERRORS,
    GLOBAL,
    check_hydra,
    hydra_started,
    named_plugins,
    offer,
    our_sections,
    read_sections,
    search_path,
    usage_error,
)
from .overrides import check_choices

OF_JOBS = ("hydra/sweeper", "hydra/launcher", "hydra.launcher")
"""Begin the overrides of Hydra's that decide how cells are trained."""
MEETS_DATASET = re.compile(r"\$\{|@|(?:^| )(?:[+~]|scaling\.|dataset[./])")
"""In overrides that may refer to the dataset, change a part of it, or change the scaling of its file."""


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
            check_hydra(self._composed(()).hydra)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def axes(self, choices: tuple[str, ...]) -> dict[str, Any]:
        """The axes that chosen files, or overrides of Hydra's, have in Hydra's own place, ``hydra.sweeper.params``.

        Raises:
            UsageError: the files cannot be composed.
        """
        # Without either, nothing is composed.
        axes: Any = OmegaConf.to_container(self._composed(choices).hydra.sweeper) if self._of_hydra else {}
        return dict(axes.get("params", {}))

    def check_names(self, given: Sequence[Override]) -> None:
        """Refuse unknown choices of a command line, before torch is imported to check their options."""
        named = [each for each in given if _is_choice(each) and not each.is_sweep_override()]
        self._composed(tuple(str(each.input_line) for each in named))

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        made = self._on_dataset(overrides)
        if isinstance(made, UsageError):
            raise made
        return made

    def _on_dataset(self, overrides: tuple[str, ...]) -> Config | UsageError:
        """The configuration, or what is wrong with it; a dataset that meets no other option is put in last."""
        names = [each for each in overrides if each.startswith("dataset=")]
        known = None
        if len(names) == 1 and not MEETS_DATASET.search(" ".join(overrides)):
            known = self._dataset(names[0].partition("=")[2])
        if known is None:
            return self._setting(overrides)[0]
        dataset, scaling = known
        config, names_dataset = self._setting(tuple(each for each in overrides if each not in names))
        if names_dataset:
            return self._setting(overrides)[0]
        if isinstance(config, UsageError):
            return config
        config = with_dataset(config, dataset)
        # The scaling of a dataset gives way to the command line.
        if scaling is not None and not any(each.startswith("scaling=") for each in overrides):
            config = replace(config, scaling=self((f"scaling={scaling}",)).scaling)
        return config

    def _configure(self, overrides: tuple[str, ...]) -> tuple[Config | UsageError, bool]:
        """A configuration, or what is wrong with it; and whether a value in it depends on the dataset."""
        try:
            # Estimators may give a dictionary of options in the place of a name, but no null.
            check_choices([each for each in overrides if each.endswith("=null")])
            parsed = self.parse(overrides)
            # Hydra composes what adds or removes options, and all that stands beside it.
            is_whole = any(each.type is not OverrideType.CHANGE and not _is_choice(each) for each in parsed)
            choices = [each for each in parsed if is_whole or _is_choice(each)]
            sections = our_sections(self._composed(tuple(str(each.input_line) for each in choices)))
            # In a struct a value is put in only where there is an option.
            OmegaConf.set_struct(sections, True)
            for each in parsed:
                if each not in choices:
                    OmegaConf.update(sections, each.key_or_group, each.value(), merge=True)
            # True if an interpolation refers to the dataset, or to its scaling.
            names_dataset = re.search(r"\$\{[^}]*\b(dataset|scaling)\b", str(OmegaConf.to_container(sections)))
            return read_sections(sections), bool(names_dataset)
        # Errors are returned: a cache keeps what is returned, and many cells have the same error.
        except ERRORS as error:
            return usage_error(error), False

    def _compose(self, choices: tuple[str, ...]) -> DictConfig:
        """What Hydra composes, with its own section."""
        try:
            with hydra_started():
                return compose("train", overrides=[*self._of_hydra, *choices], return_hydra_config=True)
        except ERRORS as error:
            raise usage_error(error) from error

    def _read_dataset(self, name: str) -> tuple[DatasetSettings, str | None] | None:
        """The dataset of a file, and the scaling that it chooses; None if Hydra must compose it, because the file sets
        or includes anything else."""
        files = [folder / "dataset" / f"{name}.yaml" for folder in (CONF, *self.folders)]
        file = next(filter(Path.is_file, files), None)
        if file is None:
            return None
        package, values = _read_file(file)
        match values.pop("defaults", []):
            case []:
                scaling = None
            # A recipe of the user's may set options of a scaling.
            case [{"override /scaling": str(scaling)}] if not self.folders:
                pass
            case _:
                return None
        if package == GLOBAL:
            values = values.pop("dataset", {}) if len(values) == 1 else {}
        elif package:
            return None
        if not values or "${" in str(values):
            return None
        return checked(DatasetSettings, values, "dataset"), scaling


def _is_choice(override: Override) -> bool:
    """True for a choice of a file or a part, whose name is a group of `conf/` or a preset's, and for what Hydra
    refuses."""
    name = override.key_or_group
    is_preset = override.is_add() and "." not in name
    is_group = is_preset or "/" in name or (CONF / name).is_dir() or override.package is not None
    return is_group or override.is_sweep_override()


def _read_file(file: Path) -> tuple[str, dict[str, Any]]:
    """The package that the first lines of a file name, or nothing, and its content."""
    header = re.search(r"^#\s*@package\s+(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    content: Any = OmegaConf.to_container(OmegaConf.load(file))
    return header[1] if header else "", content
