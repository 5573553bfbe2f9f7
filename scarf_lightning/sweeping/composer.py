"""From overrides to checked configurations, as Hydra composes them, but no part of one twice."""

import re
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.errors import HydraException
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


class Composer:
    """Composes cells. In full that takes a tenth of a second each, and a sweep is a product of few choices, so what
    they have in common is composed once: a group's choice may change any section of the configuration, but an option
    such as ``corruption.rate`` only its own and those that refer to it, and a dataset's file little else.

    Args:
        loader: Hydra's.
        master: the configuration that the command line's own options made, as Hydra gives it to a sweeper.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._repository: Any = loader.repository  # type: ignore[attr-defined]
        self._composed = cache(self._compose)
        self._option = cache(self._read_option)
        self._is_group = cache(self._repository.group_exists)

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        if any("${" in o or o[0] in "+~" or "@" in o.partition("=")[0] for o in overrides):
            return self._composed(overrides).config  # may change or refer to any section
        try:
            config = self._from_parts(overrides)
        except UsageError:
            config = None  # a part may be wrong where the whole is not
        return self._composed(overrides).config if config is None else config

    def _from_parts(self, overrides: tuple[str, ...]) -> Config | None:
        """Section by section; None where it cannot be told which of them refer to which."""
        choices: list[str] = []
        sections: dict[str, tuple[str, ...]] = {}
        for override in overrides:
            section = self._section(override)
            if section is None:
                choices.append(override)
            else:
                sections[section] = (*sections.get(section, ()), override)
        chosen = [choice for choice in choices if choice.startswith("dataset=")]
        option = self._option(chosen[0]) if len(chosen) == 1 and "dataset" not in sections else None
        if option is not None:
            given = {choice.partition("=")[0] for choice in choices}
            too = [f"{group}={name}" for group, name in option.overrides.items() if group not in given]
            choices = [*too, *(choice for choice in choices if choice != chosen[0])]
        while True:
            whole = self._composed(tuple(choices))
            composed = {section: self._composed((*choices, *values)) for section, values in sections.items()}
            referred: set[str] = set().union(*(each.referred for each in (whole, *composed.values())))
            if UNKNOWN in referred or (option is not None and "dataset" in referred):
                return None
            shared = referred & set(sections)
            if not shared:
                break
            choices += [value for section in sorted(shared) for value in sections.pop(section)]
        changed = {section: getattr(each.config, section) for section, each in composed.items()}
        return replace(whole.config, **changed | ({} if option is None else {"dataset": option.dataset}))

    def _section(self, override: str) -> str | None:
        """The one section that an override changes; None for the choice of a group, and for plugins, whose parts may
        be anywhere."""
        key = override.partition("=")[0]
        section, dot, _ = key.partition(".")
        is_option = bool(dot) or not self._is_group(key)
        return section if is_option and section in SECTIONS - {"plugins"} else None

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
        try:
            composed = self._loader.load_sweep_config(self._master, list(overrides))
        except HydraException as error:
            raise UsageError(explain(error)) from error
        except ValueError as error:  # so Hydra answers a group set to null, without naming it
            raise UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.") from error
        with_hydra = OmegaConf.to_container(composed, resolve=False)
        assert isinstance(with_hydra, dict)
        del with_hydra["hydra"]
        referred = set[str]().union(*(_referred(str(section), content) for section, content in with_hydra.items()))
        return Composed(read(OmegaConf.create(with_hydra)), referred)


def _referred(section: str, content: Any) -> set[str]:
    """The other sections that interpolations in this one refer to; `UNKNOWN` among them for what a resolver may do."""
    if isinstance(content, dict | list):
        inner = content.values() if isinstance(content, dict) else content
        return set[str]().union(*(_referred(section, each) for each in inner))
    if not isinstance(content, str) or "${" not in content:
        return set()
    names = {match.group(1) for match in REFERENCE.finditer(content)} - {section}
    return names | ({UNKNOWN} if "${" in KNOWN.sub("", REFERENCE.sub("", content)) else set())
