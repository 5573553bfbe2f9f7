"""From overrides to checked configurations, as Hydra composes them, but no part of one twice."""

import re
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any

from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.config_loader import ConfigLoader
from hydra.core.default_element import GroupDefault
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf

from ..config import Config, read
from ..config.schema import DatasetSettings
from ..config.typed import explain, typed
from ..errors import UsageError

SECTIONS = frozenset(field.name for field in fields(Config))
UNKNOWN = "?"
REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)(?:[.\[][\w.\[\]]*)?\}")
"""An interpolation of an option by its whole name."""
KNOWN = re.compile(r"\$\{(oc\.env|scarf\.\w+):[^${}]*\}")
"""A resolver that looks at its arguments alone, or at the environment."""


@dataclass(frozen=True)
class DatasetOption:
    """What a file in ``conf/dataset/`` sets: the dataset, and for three of the paper's a scaling too."""

    dataset: DatasetSettings
    overrides: dict[str, str]


@dataclass(frozen=True)
class Composed:
    """What some overrides amount to, and the sections that others of it refer to."""

    config: Config
    referred: set[str]


class FilesReadOnce(CachingConfigRepository):
    """Hydra's repository of configuration files, which it would read again for each composition."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "FilesReadOnce":
        return self  # Hydra composes with a copy of its loader's, of which it keeps nothing

    def load_config(self, config_path: str) -> ConfigResult | None:
        return deepcopy(super().load_config(config_path=config_path))


class Composer:
    """Composes cells. In full that takes a tenth of a second each, and a sweep is a product of few choices, so what
    they have in common is composed once: overrides that change no section in common, and none that another section
    refers to, are composed apart, and a dataset's file, which changes little but the dataset, is read.

    Args:
        loader: Hydra's.
        master: the configuration that the command line's own options made, as Hydra gives it to a sweeper.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._repository: Any = loader.repository  # type: ignore[attr-defined]
        self._loader, self._master = copy(loader), master
        self._loader.repository = FilesReadOnce(self._repository)  # type: ignore[attr-defined]
        self._composed = cache(self._compose)
        self._option = cache(self._read_option)
        self._changed_by = cache(self._find_changed)

    @cached_property
    def _bare(self) -> DictConfig:
        """What Hydra composes where nothing is asked."""
        return self._loader.load_sweep_config(self._master, [])

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them; a pattern in them stands for the options that there are."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        if any("${" in o or o[0] in "+~" or "@" in o.partition("=")[0] for o in overrides):
            return self.whole(overrides)  # may change or refer to any section
        try:
            config = self._from_parts(overrides)
        except UsageError:
            config = None  # a part may be wrong where the whole is not
        return self.whole(overrides) if config is None else config

    def whole(self, overrides: tuple[str, ...]) -> Config:
        """The same in one go, which is less work for a cell that has nothing in common with others.

        Raises:
            UsageError: as by a call.
        """
        return self._composed(overrides).config

    def _from_parts(self, overrides: tuple[str, ...]) -> Config | None:
        """Part by part; None where it cannot be told which sections refer to which."""
        chosen = [override for override in overrides if override.partition("=")[0].partition(".")[0] == "dataset"]
        option = self._option(chosen[0]) if len(chosen) == 1 and chosen[0].startswith("dataset=") else None
        changed: dict[str, Any] = {}
        if option is not None:
            given = {override.partition("=")[0] for override in overrides}
            too = [f"{group}={name}" for group, name in option.overrides.items() if group not in given]
            overrides = (*too, *(override for override in overrides if override != chosen[0]))
            changed["dataset"] = option.dataset
        common = tuple(override for override in overrides if override.startswith("plugins="))
        apart = self._apart([override for override in overrides if override not in common])
        while True:
            whole = self._composed(common)
            parts = [(sections, self._composed(_in_order(overrides, common, those))) for sections, those in apart]
            referred = whole.referred.union(*(part.referred for _, part in parts))
            if UNKNOWN in referred or (option is not None and "dataset" in referred):
                return None
            shared = [those for sections, those in apart if sections & referred]
            if not shared:
                break
            common = _in_order(overrides, common, *shared)
            apart = [(sections, those) for sections, those in apart if those not in shared]
        for sections, part in parts:
            changed |= {section: getattr(part.config, section) for section in sections}
        return replace(whole.config, **changed)

    def _apart(self, overrides: Sequence[str]) -> list[tuple[frozenset[str], tuple[str, ...]]]:
        """Overrides that change a section in common, together, in their order; and all that they change."""
        groups: list[tuple[frozenset[str], tuple[str, ...]]] = []
        for override in overrides:
            sections = self._changed_by(override)
            together: tuple[str, ...] = (override,)
            for group in [group for group in groups if group[0] & sections]:
                groups.remove(group)
                sections, together = sections | group[0], (*group[1], *together)
            groups.append((sections, tuple(sorted(together, key=overrides.index))))
        return groups

    def _find_changed(self, override: str) -> frozenset[str]:
        """The sections that an option changes, or that the choice of a group and of the one that it replaces do.

        Raises:
            UsageError: it cannot be told, and all overrides are to be composed together.
        """
        key, _, name = override.partition("=")
        if self._repository.group_exists(key):
            usual = str(self._bare.hydra.runtime.choices.get(key))
            return self._changed_by_file(key, name) | self._changed_by_file(key, usual)
        section = key.partition(".")[0]
        if section == "hydra":
            return frozenset()
        if section not in SECTIONS:
            raise UsageError(f"{override} changes no section of the configuration")
        return frozenset({section})

    def _changed_by_file(self, group: str, name: str) -> frozenset[str]:
        loaded = self._repository.load_config(f"{group}/{name}")
        if loaded is None:
            raise UsageError(f"{group} has no file {name}")
        is_global = loaded.header.get("package") == "_global_"
        sections = set(loaded.config) if is_global else {group}
        for default in loaded.defaults_list:
            if isinstance(default, GroupDefault) and default.override:
                other = str(default.group).lstrip("/")
                sections |= self._changed_by(f"{other}={default.value}")
            elif not default.is_self() and (is_global or "_global_" in (default.package or "_global_")):
                raise UsageError(f"{group}={name} is made of other files")
        return frozenset(sections) & SECTIONS

    def _read_option(self, override: str) -> "DatasetOption | None":
        """What a dataset's file sets, if it is the dataset and options of other axes; None for anything beyond that."""
        loaded = self._repository.load_config(override.replace("=", "/", 1))
        if loaded is None:
            return None
        overrides = {default.group.lstrip("/"): default.value for default in loaded.defaults_list if default.override}
        if len(overrides) < len(loaded.defaults_list):
            return None
        content = loaded.config
        if loaded.header.get("package") == "_global_":
            if list(content) != ["dataset"]:
                return None
            content = content.dataset
        return DatasetOption(typed(DatasetSettings, content, "dataset"), overrides)

    def _compose(self, overrides: tuple[str, ...]) -> "Composed":
        asked = list(overrides)
        try:
            if not asked:
                composed = self._bare
            elif asked == list(self._master.hydra.overrides.task):
                composed = self._master  # the command line, which Hydra has composed already
            else:
                composed = self._loader.load_sweep_config(self._master, asked)
        except HydraException as error:
            raise UsageError(explain(error)) from error
        except ValueError as error:  # so Hydra answers a group set to null, without naming it
            raise UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.") from error
        with_hydra = OmegaConf.to_container(composed, resolve=False)
        assert isinstance(with_hydra, dict)
        del with_hydra["hydra"]
        referred = set[str]().union(*(_referred(str(section), content) for section, content in with_hydra.items()))
        return Composed(read(OmegaConf.create(with_hydra)), referred)


def _in_order(overrides: Sequence[str], *some: Sequence[str]) -> tuple[str, ...]:
    """Some of the overrides, in the order in which all were given."""
    return tuple(sorted((override for each in some for override in each), key=overrides.index))


def _referred(section: str, content: Any) -> set[str]:
    """The other sections that interpolations in this one refer to; `UNKNOWN` among them for what a resolver may do."""
    if isinstance(content, dict | list):
        inner = content.values() if isinstance(content, dict) else content
        return set[str]().union(*(_referred(section, each) for each in inner))
    if not isinstance(content, str) or "${" not in content:
        return set()
    names = {match.group(1) for match in REFERENCE.finditer(content)} - {section}
    return names | ({UNKNOWN} if "${" in KNOWN.sub("", REFERENCE.sub("", content)) else set())
