"""A cell of a run: what it is, where it is in the store, and how far it is."""

import sys
import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..data.sources import Source, open_source
from ..data.targets import Target, kind_named, leading_metric
from ..metrics import Metric, metric_named
from ..options import COLUMNS, Config
from ..options.axes import group_of, told_apart
from ..options.combinations import (
    is_pretrained,
    method_of,
    on_data,
    on_target,
    used_options,
)
from ..results import (
    CellStore,
    Failure,
    KnownData,
    PretrainingStore,
    Rows,
    columns,
    fingerprint,
    folder_time,
    identity,
    is_claimed,
    known_data,
    pretraining_identity,
    read_failure,
    read_summary,
)
from .folders import SweepFile, recipe_options

_path = cache(Path)
"""A folder that thousands of cells share."""
NOT_IN_A_LABEL = ("sweeps", "plan", "force")


@dataclass(frozen=True)
class Cell:
    """One cell of a run: the arguments that make it, its checked configuration, whether it is the only one, the name
    that tells it from the others, and the name of all of them together."""

    overrides: tuple[str, ...]
    config: Config
    is_alone: bool = False
    name: str = ""
    group: str = "cells"

    @property
    def label(self) -> str:
        shown = [
            override
            for override in self.overrides
            if override.partition("=")[0] not in NOT_IN_A_LABEL
        ]
        return " ".join(shown) or "defaults"

    @property
    def called(self) -> str:
        """Its name among the cells of the run; all its overrides where it has none."""
        return self.name or self.label

    @property
    def results(self) -> Path:
        return _path(self.config.paths.results)

    @cached_property
    def source(self) -> Source:
        return open_source(
            **vars(self.config.dataset),
            openml_cache=self.config.paths.openml,
            split=self.config.split,
        )

    @cached_property
    def key(self) -> str:
        """Equal for equal cells. It needs no data, unlike the fingerprint."""
        return fingerprint(identity(self.config, self.source.key))

    @cached_property
    def pretraining_key(self) -> str | None:
        """Equal for cells that start from the same pre-training; None without one."""
        if not is_pretrained(self.config):
            return None
        return fingerprint(pretraining_identity(self.config, self.source.key))

    def data(self) -> KnownData | None:
        """The facts that the results folder knows of the data, which are not loaded."""
        return known_data(self.results, self.source)

    def target_kind(self) -> type[Target]:
        """The kind of its target. The data are loaded if it is not known without them.

        Raises:
            UsageError: they cannot be loaded.
        """
        data = self.data()
        known = self.source.target_kind or (data.kind if data is not None else None)
        return (
            type(self.source.read().table.target)
            if known is None
            else kind_named(known)
        )

    def store(self, data: KnownData | None = None) -> CellStore | None:
        """Where its results are; None while the hash of its data is not known, which means that nothing is finished.
        ``data`` saves to look it up."""
        data = data or self.data()
        return (
            None
            if data is None
            else CellStore(self.results, identity(self._on(data), data.hash))
        )

    def pretraining(self, data: KnownData | None = None) -> PretrainingStore | None:
        """Where its pre-training is; None without one, or while the hash of its data is not known."""
        data = data or self.data()
        if data is None or not is_pretrained(self.config):
            return None
        fields = pretraining_identity(self._on(data), data.hash)
        return PretrainingStore(self.results, fields, self.config.cache.max_gb)

    def _on(self, data: KnownData) -> Config:
        """Its configuration without what does nothing on its data, as a corruption that selects no feature."""
        config = on_data(self.config, data.n_columns, data.n_encoded or sys.maxsize)
        return config if data.kind is None else on_target(config, kind_named(data.kind))

    def settings(self) -> list[str]:
        """The names of its options that differ from their defaults and from its recipe's, beside its choices on the
        axes."""
        of_recipe = recipe_options(self.config.recipe)
        differing = [
            each
            for each in used_options(self.config)
            if each.differs and each.name not in COLUMNS
        ]
        return [
            each.name
            for each in differing
            if each.name not in of_recipe or of_recipe[each.name] != each.value
        ]

    def axes(self) -> dict[str, Any]:
        """The cell as columns: the name of its dataset, and every option that it uses."""
        dataset = self.config.dataset.name or self.source.label
        return {"dataset": dataset} | columns(self.config)


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Equal cells once, with the largest number of trials that is wanted of them."""
    found: dict[tuple[Path, str], Cell] = {}
    for cell in cells:
        place = (cell.results, cell.key)
        if place not in found or cell.config.trials > found[place].config.trials:
            found[place] = cell
    return list(found.values())


def named(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a run with their names and that of their group."""
    asked = [cell.overrides for cell in cells]
    sweep = cells[0].config.sweeps
    group = Path(sweep).stem if sweep else group_of(asked, date.today())
    found = [copy(cell) for cell in cells]  # with the keys that are known of them
    for cell, name in zip(found, told_apart(asked), strict=True):
        vars(cell).update(name=name, group=group, is_alone=len(cells) == 1)
    return found


class State(StrEnum):
    """The progress of a cell. A cell that a living process trains is running, even if it failed before."""

    FINISHED = "finished"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True)
class SurveyedCell:
    """A cell as the store has it.

    Attributes:
        rows: of its finished trials, as far as they are wanted.
        data: what the results folder knows of its data.
        folder: where it is in the store, if the hash of its data is known.
        target: what it predicts, if the store knows it.
        lacks_weights: whether it is to keep its networks, and has finished trials without them.
        failure: why it failed when it was last tried.
    """

    cell: Cell
    state: State
    rows: Rows
    data: KnownData | None = None
    folder: Path | None = None
    target: Target | None = None
    lacks_weights: bool = False
    failure: Failure | None = None

    @property
    def n_missing(self) -> int:
        return self.cell.config.trials - len(self.rows)

    @cached_property
    def axes(self) -> dict[str, Any]:
        return self.cell.axes()


def chosen_metric(
    surveyed: Sequence[SurveyedCell], sweep: SweepFile | None = None
) -> Metric:
    """The metric of the tables and verdicts of a run: the one that it asks for, or else that of its targets or of its
    ``sweep``."""
    asked = {each.cell.config.metric for each in surveyed} - {None}
    if len(asked) == 1:
        return metric_named(str(asked.pop()))
    usual = leading_metric(each.target for each in surveyed if each.target is not None)
    return metric_named(usual if sweep is None else sweep.leading(usual))


def survey(cells: Sequence[Cell]) -> list[SurveyedCell]:
    """Look at every cell in the store once."""
    clocks = {results: _time(results) for results in {cell.results for cell in cells}}
    data = {
        place: known_data(*place)
        for place in {(cell.results, cell.source) for cell in cells}
    }
    return [
        _look(cell, data[cell.results, cell.source], clocks[cell.results])
        for cell in cells
    ]


def _look(cell: Cell, data: KnownData | None, now: float) -> SurveyedCell:
    found = SurveyedCell(cell, State.WAITING, Rows.of([]), data)
    if data is not None and (store := cell.store(data)) is not None:
        summary = read_summary(
            store.folder, cell.config.trials, weights=cell.config.keep_weights
        )
        is_network = (
            cell.config.keep_weights and "finetune" in method_of(cell.config).uses
        )
        lacks_weights = is_network and summary.lacks_weights
        found = SurveyedCell(
            cell,
            State.WAITING,
            summary.rows,
            data,
            store.folder,
            summary.target,
            lacks_weights,
        )
        if len(found.rows) == cell.config.trials and summary.is_whole:
            return replace(found, state=State.FINISHED)
        if is_claimed(store.folder, now):
            return replace(found, state=State.RUNNING)
    failure = read_failure(cell.results, cell.key)
    return replace(found, failure=failure, state=State.FAILED) if failure else found


def _time(results: Path) -> float:
    """The time by the clock of the results folder, by which the age of claims is judged.

    A folder that cannot be written to is judged by this machine's clock. Where there is no folder, there is no claim.
    """
    try:
        return folder_time(results) if results.exists() else 0.0
    except OSError:
        return time.time()
