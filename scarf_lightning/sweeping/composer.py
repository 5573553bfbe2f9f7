"""From overrides to checked configurations.

Hydra takes a tenth of a second to compose a cell. The cells of a sweep choose among few files, so each distinct choice
is composed once, on the default dataset. Values such as ``seed=3`` are put into a copy, by Hydra's own function, and
the dataset is put in last.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ..errors import UsageError
from ..options import Config, checked
from ..options.combinations import on_dataset
from ..options.settings import DatasetSettings
from .hydra import explain, our_sections, read_config


@dataclass(frozen=True)
class DatasetFile:
    """A file in ``conf/dataset/``: the dataset, and the options of other axes that it chooses, such as a scaling."""

    dataset: DatasetSettings
    choices: tuple[str, ...]


class Composer:
    """Composes cells.

    Args:
        loader: Hydra's.
        master: the configuration that Hydra composed of the command line, and gives to a sweeper.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._overrides_of_master: list[str] = list(master.hydra.overrides.task)
        self._composed = cache(self._compose)
        self._chosen = cache(self._choose)
        self._parsed = cache(self._parse)
        self._dataset_file = cache(self._read_dataset_file)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """Overrides as Hydra reads them. A pattern stands for the options that it matches."""
        return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def is_group(self, name: str) -> bool:
        """Whether this is an axis, of which files are options."""
        return bool(self._loader.get_group_options(name))

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        of_dataset = [each for each in overrides if each.lstrip("+~").startswith("dataset")]
        may_refer = any("${" in each or each[0] in "+~" or "@" in each.partition("=")[0] for each in overrides)
        is_whole = list(overrides) == self._overrides_of_master or may_refer or len(of_dataset) != 1
        file = None if is_whole else self._dataset_file(of_dataset[0])
        if file is not None:
            given = {each.partition("=")[0] for each in overrides}
            choices = (each for each in file.choices if each.partition("=")[0] not in given)
            setting = self._composed((*choices, *(each for each in overrides if each != of_dataset[0])))
            if setting is not None:
                return on_dataset(_or_raise(setting), file.dataset)
        whole = self._composed(overrides, whole=True)
        assert whole is not None
        return _or_raise(whole)

    def _compose(self, overrides: tuple[str, ...], *, whole: bool = False) -> Config | UsageError | None:
        """A configuration, or what is wrong with it. None if it depends on its dataset, unless it is to be whole."""
        try:
            if list(overrides) == self._overrides_of_master:
                return read_config(self._master)
            parsed = [self._parsed(override) for override in overrides]
            choices = tuple(str(each.input_line) for each, is_choice in parsed if is_choice)
            composed, refers_to_dataset = self._chosen(choices)
            if refers_to_dataset and not whole:
                return None
            composed = deepcopy(composed)
            ConfigLoaderImpl._apply_overrides_to_config([each for each, is_choice in parsed if not is_choice], composed)
            return read_config(composed)
        except UsageError as error:
            return error
        except HydraException as error:
            return UsageError(explain(error))
        except ValueError as error:  # a group set to null, which Hydra does not name
            return UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.")

    def _parse(self, line: str) -> tuple[Override, bool]:
        """An override, and whether Hydra must compose with it: it chooses a file, or sets no value of our sections."""
        (override,) = self.parse([line])
        is_of_group = override.package is not None or self.is_group(override.key_or_group)
        is_choice = is_of_group and not isinstance(override.value(), dict)
        return override, is_choice or override.is_sweep_override() or override.is_hydra_override()

    def _choose(self, choices: tuple[str, ...]) -> tuple[DictConfig, bool]:
        """What Hydra composes of these choices, without its own section; whether another section refers to the dataset.

        Raises:
            HydraException: it cannot be composed.
        """
        composed = our_sections(self._loader.load_sweep_config(self._master, list(choices)))
        OmegaConf.set_struct(composed, True)  # a value is put in only where there is an option
        sections = OmegaConf.to_container(composed, resolve=False)
        assert isinstance(sections, dict)
        return composed, any(_refers_to_dataset(value) for name, value in sections.items() if name != "dataset")

    def _read_dataset_file(self, override: str) -> DatasetFile | None:
        """What a dataset's file sets, if that is the dataset and options of other axes and nothing else."""
        repository: Any = self._loader.repository  # type: ignore[attr-defined]
        loaded = repository.load_config(override.replace("=", "/", 1)) if override.startswith("dataset=") else None
        if loaded is None or not all(default.override for default in loaded.defaults_list):
            return None
        content = loaded.config
        if loaded.header.get("package") == "_global_":
            if list(content) != ["dataset"]:
                return None
            content = content.dataset
        values = OmegaConf.to_container(content, resolve=False)
        assert isinstance(values, dict)
        if "${" in str(values):
            return None
        choices = tuple(f"{default.group.lstrip('/')}={default.value}" for default in loaded.defaults_list)
        named = {str(name): value for name, value in values.items()}
        return DatasetFile(checked(DatasetSettings, named, "dataset"), choices)


def _or_raise(composed: Config | UsageError) -> Config:
    if isinstance(composed, UsageError):
        raise composed
    return composed


def _refers_to_dataset(node: Any) -> bool:
    """Whether an interpolation in a configuration refers to its dataset, or may do so."""
    if isinstance(node, dict):
        return any(_refers_to_dataset(value) for value in node.values())
    if isinstance(node, list):
        return any(map(_refers_to_dataset, node))
    return isinstance(node, str) and "${" in node and "dataset" in node
