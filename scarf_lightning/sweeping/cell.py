"""A cell that is asked for, and where it is in the store."""

import sys
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from ..config import Config
from ..config.combinations import is_pretrained, on_data
from ..config.naming import group_of, told_apart
from ..data.sources import Source, open_source
from ..results import (
    CellStore,
    KnownData,
    PretrainingStore,
    axis_columns,
    fingerprint,
    identity,
    known_data,
    pretraining_identity,
)

NOT_IN_A_LABEL = ("sweeps", "plan", "force")


@dataclass(frozen=True)
class Cell:
    """One cell of a run.

    Attributes:
        overrides: what asks for it.
        config: its checked configuration.
        is_alone: whether nothing else is trained.
        name: what it is called among the run's cells.
        group: what these are called together.
    """

    overrides: tuple[str, ...]
    config: Config
    is_alone: bool = False
    name: str = ""
    group: str = "cells"

    @property
    def label(self) -> str:
        shown = [override for override in self.overrides if override.partition("=")[0] not in NOT_IN_A_LABEL]
        return " ".join(shown) or "defaults"

    @property
    def called(self) -> str:
        """What it is called among the run's cells; alone, by all that is asked of it."""
        return self.name or self.label

    @property
    def results(self) -> Path:
        return Path(self.config.paths.results)

    @cached_property
    def source(self) -> Source:
        return open_source(**vars(self.config.dataset), openml_cache=self.config.paths.openml, split=self.config.split)

    @cached_property
    def key(self) -> str:
        """Equal for equal cells, before their data are known."""
        return fingerprint(identity(self.config, self.source.key))

    @cached_property
    def pretraining_key(self) -> str | None:
        """Equal for cells that start from the same pre-training; None for those without."""
        if not is_pretrained(self.config):
            return None
        return fingerprint(pretraining_identity(self.config, self.source.key))

    def data(self) -> KnownData | None:
        """What is known of the data without loading them."""
        return known_data(self.results, self.source)

    def store(self) -> CellStore | None:
        """Where the results are; None while the data's hash is not known, and so nothing is finished."""
        data = self.data()
        return None if data is None else CellStore(self.results, identity(self._on(data), data.hash))

    def pretraining(self) -> PretrainingStore | None:
        """Where its pre-training is; None for a cell without, and while the data's hash is not known."""
        data = self.data()
        if data is None or not is_pretrained(self.config):
            return None
        fields = pretraining_identity(self._on(data), data.hash)
        return PretrainingStore(self.results, fields, self.config.cache.max_gb)

    def _on(self, data: KnownData) -> Config:
        """The configuration that the cell amounts to on its data; while their encoded width is not known, its own."""
        return on_data(self.config, data.n_columns, data.n_encoded or sys.maxsize)

    def axes(self) -> dict[str, Any]:
        """The cell as columns: its dataset's name, and what it uses of each axis."""
        dataset = self.config.dataset.name or self.source.label
        return {"dataset": dataset} | axis_columns(identity(self.config, ""))


def distinct(cells: list[Cell]) -> list[Cell]:
    """Equal cells count once, with the largest number of trials that is asked of them."""
    found: dict[tuple[Path, str], Cell] = {}
    for cell in cells:
        place = (cell.results, cell.key)
        if place not in found or cell.config.trials > found[place].config.trials:
            found[place] = cell
    return list(found.values())


def named(cells: list[Cell]) -> list[Cell]:
    """The cells of a run, which know what they are called."""
    asked = [cell.overrides for cell in cells]
    sweep = cells[0].config.sweeps
    group = Path(sweep).stem if sweep else group_of(asked, date.today())
    names = told_apart(asked)
    return [replace(cell, name=name, group=group) for cell, name in zip(cells, names, strict=True)]
