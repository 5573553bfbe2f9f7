"""From overrides to checked configurations, as Hydra composes them, but no part of one twice."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ..config import Config, read
from ..config.schema import DatasetSettings
from ..config.typed import explain, typed
from ..errors import UsageError


@dataclass(frozen=True)
class DatasetOption:
    """What a file in ``conf/dataset/`` sets: the dataset, and for three of the paper's a scaling too."""

    dataset: DatasetSettings
    overrides: dict[str, str]


class Composer:
    """Composes cells. It takes a twelfth of a second each, and a sweep asks for the same choices on many datasets, so
    these are composed once and the datasets put into them.

    Args:
        loader: Hydra's.
        master: the configuration that the command line's own options made, as Hydra gives it to a sweeper.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._composed = cache(self._compose)
        self._option = cache(self._read_option)

    def __call__(self, overrides: tuple[str, ...]) -> Config:
        """The configuration of one cell.

        Raises:
            UsageError: it cannot be composed, or has a wrong option in it.
        """
        chosen = [override for override in overrides if override.startswith("dataset=")]
        others = tuple(override for override in overrides if override not in chosen)
        if len(chosen) != 1 or any(o.lstrip("+~").startswith("dataset") or "${" in o for o in others):
            return self._composed(overrides)
        option = self._option(chosen[0])
        if option is None:
            return self._composed(overrides)
        given = {other.partition("=")[0] for other in others}
        chosen_too = tuple(f"{group}={name}" for group, name in option.overrides.items() if group not in given)
        return replace(self._composed((*chosen_too, *others)), dataset=option.dataset)

    def _read_option(self, override: str) -> "DatasetOption | None":
        """What a dataset's file sets, if it is the dataset and options of other axes; None for anything beyond that."""
        repository: Any = self._loader.repository  # type: ignore[attr-defined]
        loaded = repository.load_config(override.replace("=", "/", 1))
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

    def _compose(self, overrides: tuple[str, ...]) -> Config:
        try:
            composed = self._loader.load_sweep_config(self._master, list(overrides))
        except HydraException as error:
            raise UsageError(explain(error)) from error
        except ValueError as error:  # so Hydra answers a group set to null, without naming it
            raise UsageError(f"one of {' '.join(overrides)} cannot be composed: {error}.") from error
        with_hydra = OmegaConf.to_container(composed, resolve=False)
        assert isinstance(with_hydra, dict)
        del with_hydra["hydra"]
        return read(OmegaConf.create(with_hydra))
