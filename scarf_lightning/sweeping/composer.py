"""From overrides to checked configurations.

Hydra takes a tenth of a second to compose a cell. A sweep chooses among few files, so Hydra composes each choice once,
alone and on the default dataset. Choices that decide about different sections are then put together, values such as
``seed=3`` put in, and the dataset last. Hydra composes whatever is not as simple as that.
"""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..errors import UsageError
from ..options import Config, checked, read, within_max_epochs
from ..options.combinations import on_dataset
from ..options.settings import DatasetSettings
from .hydra import fit_recipe, our_sections, read_config, usage_error

GLOBAL = "_global_"
"""The package of a file that says itself which sections it has."""


@dataclass(frozen=True)
class Sections:
    """The sections of a configuration as plain values, None if an interpolation cannot be resolved; and the words in
    all interpolations, among them every option that one refers to."""

    values: dict[str, Any] | None
    mentioned: frozenset[str]


@dataclass(frozen=True)
class Composed:
    """Hydra's composition of some choices, without its own section; and the file that it took of each group."""

    node: DictConfig
    files: dict[str, Any]
    sections: Sections


class Composer:
    """Composes cells by Hydra's loader, from the configuration ``master`` that it made of the command line."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._repository: Any = loader.repository  # type: ignore[attr-defined]
        given: Any = OmegaConf.to_container(master.hydra.overrides.task, resolve=False)
        self._overrides_of_master: list[str] = given
        self._configured = cache(self._configure)
        self._together = cache(self._put_together)
        self._composed = cache(self._compose)
        self._decided = cache(self._decide)
        self._parsed = cache(self._parse)
        self._dataset_file = cache(self._read_dataset_file)
        self._options_of = cache(loader.get_group_options)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(
            list(overrides)
        )

    def is_group(self, name: str) -> bool:
        """True if this is an axis, of which files are options."""
        return bool(self._options_of(name))

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        return within_max_epochs(
            self._cell(overrides), [each.partition("=")[0] for each in overrides]
        )

    def _cell(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell, with the number of steps that its recipe says."""
        of_dataset = [
            each for each in overrides if each.lstrip("+~").startswith("dataset")
        ]
        may_refer = any(
            "${" in each or each[0] in "+~" or "@" in each.partition("=")[0]
            for each in overrides
        )
        is_whole = (
            list(overrides) == self._overrides_of_master
            or may_refer
            or len(of_dataset) != 1
        )
        file = None if is_whole else self._dataset_file(of_dataset[0])
        if file is not None:
            dataset, choices = file
            given = {each.partition("=")[0] for each in overrides}
            choices = [each for each in choices if each.partition("=")[0] not in given]
            setting = self._configured(
                (*choices, *(each for each in overrides if each != of_dataset[0]))
            )
            if setting is not None:
                return on_dataset(_or_raise(setting), dataset)
        whole = self._configured(overrides, whole=True)
        assert whole is not None
        return _or_raise(whole)

    def _configure(
        self, overrides: tuple[str, ...], *, whole: bool = False
    ) -> Config | UsageError | None:
        """A configuration, or what is wrong with it. None if it depends on its dataset, unless it is to be whole."""
        try:
            if list(overrides) == self._overrides_of_master:
                return read_config(self._master)
            parsed = [self._parsed(override) for override in overrides]
            choices = tuple(
                str(each.input_line) for each, is_choice in parsed if is_choice
            )
            values = [each for each, is_choice in parsed if not is_choice]
            sections = self._together(choices)
            if "dataset" in sections.mentioned and not whole:
                return None
            if (plain := _with_values(sections, values)) is not None:
                return read(plain)
            node = deepcopy(self._composed(choices).node)
            ConfigLoaderImpl._apply_overrides_to_config(values, node)
            return read_config(node)
        except UsageError as error:
            return error
        except HydraException as error:
            return usage_error(error)
        except ValueError as error:  # a group set to null, which Hydra does not name
            return UsageError(
                f"one of {' '.join(overrides)} cannot be composed: {error}."
            )

    def _parse(self, line: str) -> tuple[Override, bool]:
        """An override, and whether Hydra must compose with it: it chooses a file, or sets no value of our sections."""
        (override,) = self.parse([line])
        is_of_group = override.package is not None or self.is_group(
            override.key_or_group
        )
        is_choice = is_of_group and not isinstance(override.value(), dict)
        return (
            override,
            is_choice or override.is_sweep_override() or override.is_hydra_override(),
        )

    def _put_together(self, choices: tuple[str, ...]) -> Sections:
        """The sections that each choice decides about as composed with it alone, all others as without a choice.

        Hydra composes them as a whole if two choices decide about one section, or if a choice decides about something
        that an interpolation refers to.
        """
        if len(choices) < 2:
            return self._composed(choices).sections
        decided = [self._decided(choice) for choice in choices]
        together = set[str]().union(*decided)
        if not all(decided) or sum(map(len, decided)) > len(together):
            return self._composed(choices).sections
        usual, *alone = [
            self._composed(each).sections
            for each in ((), *((choice,) for choice in choices))
        ]
        mentioned = usual.mentioned.union(*(each.mentioned for each in alone))
        found = dict(usual.values or {})
        for each, names in zip(alone, decided, strict=True):
            if not found or each.values is None or mentioned & together:
                return self._composed(choices).sections
            for name in names:
                found.pop(name, None)
            found |= {
                name: value for name, value in each.values.items() if name in names
            }
        return Sections(found, mentioned)

    def _compose(self, choices: tuple[str, ...]) -> Composed:
        composed = self._loader.load_sweep_config(self._master, list(choices))
        node = our_sections(composed)
        fit_recipe(node)
        OmegaConf.set_struct(
            node, True
        )  # a value is put in only where there is an option
        mentioned = frozenset(_mentioned(OmegaConf.to_container(node, resolve=False)))
        try:
            values: Any = OmegaConf.to_container(
                node, resolve=True, throw_on_missing=True
            )
        except OmegaConfBaseException:
            values = None
        return Composed(
            node, dict(composed.hydra.runtime.choices), Sections(values, mentioned)
        )

    def _decide(self, choice: str) -> set[str]:
        """The groups and sections that a choice decides about, be it for the default; empty if only Hydra can tell."""
        waiting, found = [choice], set[str]()
        while waiting:
            group, _, name = waiting.pop().partition("=")
            for each in (
                name,
                self._composed(()).files.get(group),
            ):  # the file, and the one in whose place it is
                loaded = (
                    None
                    if each is None
                    else self._repository.load_config(f"{group}/{each}")
                )
                choices = None if loaded is None else _choices(loaded)
                if loaded is None or choices is None:
                    return set()
                waiting += [
                    each for each in choices if each.partition("=")[0] not in found
                ]
                package = loaded.header["package"] or group
                found |= {
                    group,
                    *(
                        map(str, loaded.config)
                        if package == GLOBAL
                        else [package.partition(".")[0]]
                    ),
                }
        return found

    def _read_dataset_file(
        self, override: str
    ) -> tuple[DatasetSettings, list[str]] | None:
        """The dataset, and the files of other axes that its file chooses; None if the file sets anything else."""
        is_choice = override.startswith("dataset=")
        loaded = (
            self._repository.load_config(override.replace("=", "/", 1))
            if is_choice
            else None
        )
        choices = None if loaded is None else _choices(loaded)
        if loaded is None or choices is None:
            return None
        values: Any = OmegaConf.to_container(loaded.config, resolve=False)
        if loaded.header["package"] == GLOBAL and list(values) == ["dataset"]:
            values = values["dataset"]
        elif loaded.header["package"] is not None:
            return None
        return (
            None
            if any(_mentioned(values))
            else (checked(DatasetSettings, values, "dataset"), choices)
        )


def _choices(file: ConfigResult) -> list[str] | None:
    """The files of other groups that a file chooses; None if it includes files, or the names depend on something."""
    chosen: list[Any] = file.defaults_list or []
    package = file.header["package"] or ""
    if package != GLOBAL and (chosen or package.startswith("_")):
        return None  # what it names is within its own section
    if not all(
        each.is_override() and each.package is None and "$" not in str(each.value)
        for each in chosen
    ):
        return None
    return [f"{each.group.lstrip('/')}={each.value}" for each in chosen]


def _with_values(
    sections: Sections, overrides: Sequence[Override]
) -> dict[str, Any] | None:
    """The sections with these values; None if one is not a single value that takes the place of another."""
    found = deepcopy(sections.values)
    for override in overrides:
        *groups, name = str(override.key_or_group).split(".")
        place: Any = found
        for group in groups:
            place = place.get(group) if isinstance(place, dict) else None
        value = override.value()
        is_single = isinstance(value, (bool, int, float, NoneType)) or (
            isinstance(value, str) and "$" not in value
        )
        if (
            override.type is not OverrideType.CHANGE
            or not is_single
            or value == MISSING
        ):
            return None
        if not isinstance(place, dict) or isinstance(place.get(name, {}), (dict, list)):
            return None
        if not sections.mentioned.isdisjoint((*groups, name)):
            return None
        place[name] = value
    return found


def _or_raise(composed: Config | UsageError) -> Config:
    if isinstance(composed, UsageError):
        raise composed
    return composed


def _mentioned(node: Any) -> Iterator[str]:
    """The words in all interpolations in a configuration, among them the options that one refers to; and the options
    that stand for another one, which a value may change, too."""
    if isinstance(node, str) and "${" in node:
        yield from re.findall(r"\w+", node)
    if isinstance(node, dict):
        yield from (
            name
            for name, each in node.items()
            if isinstance(each, str) and "${" in each and ":" not in each
        )
        node = list(node.values())
    for each in node if isinstance(node, list) else ():
        yield from _mentioned(each)
