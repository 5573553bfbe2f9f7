"""The model of a cell, out of what its stacks have kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from ..config import Config, build_parts, read
from ..config.combinations import method_facts
from ..config.facts import facts
from ..data.reading import Reader
from ..data.table import Column
from ..errors import UsageError
from ..results import StoredCell, load_cell, read_cell
from ..results.records import WEIGHTS, DamagedRecordError, read_file
from ..results.store import PREPROCESSING
from .model import Description, Model, preprocessing_of
from .saving import save

FOLDER = "model"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """What stacks have kept of their trials: a row a trial, and arrays ``(T, ...)``."""

    rows: Sequence[Mapping[str, Any]]
    preprocessing: Arrays
    weights: Arrays

    @classmethod
    def of(cls, stacks: Iterable["Kept"]) -> "Kept":
        """All trials that did not diverge, in their order; one that was trained twice counts once."""
        places = {row["trial"]: (stack, position) for stack in stacks for position, row in enumerate(stack.rows)}
        chosen = [(stack, p) for _, (stack, p) in sorted(places.items()) if stack.rows[p]["diverged"] is None]
        named = [
            {name: np.stack([getattr(stack, kind)[name][p] for stack, p in chosen]) for name in getattr(first, kind)}
            for first, _ in chosen[:1]
            for kind in ("preprocessing", "weights")
        ]
        return cls([stack.rows[p] for stack, p in chosen], *named) if chosen else cls((), {}, {})


def model_of_cell(fingerprint: str, results: str | Path = "results") -> Model:
    """The networks of a cell that was trained with ``keep_weights=true``, without those of trials that diverged.

    Args:
        fingerprint: of the cell.
        results: the folder of all results.

    Raises:
        UsageError: there is no such cell; its method trains no network, or several that only vote together; or no
            trial's weights were kept.
    """
    cell = load_cell(fingerprint, results)
    config = read(cell.config)
    if why := why_no_model(config):
        raise UsageError(f"Cell {fingerprint} has no model: {why}.")
    kept = _kept(Path(results) / fingerprint)
    if not kept.rows:
        raise UsageError(
            f"Cell {fingerprint} has no model: no network of it was kept; train it with keep_weights=true force=true."
        )
    return model_of(
        config, kept, _reader(cell, config), tuple(cell.description["classes"]), cell.description["dataset"]
    )


def save_model(config: Config, cell: Path) -> None:
    """Write a cell's model beside its results, in ``<cell>/model``, where it has one.

    Args:
        config: the cell's.
        cell: its folder in the store.
    """
    if why_no_model(config) is None and _kept(cell).rows:
        save(model_of_cell(cell.name, cell.parent), cell / FOLDER)


def model_of(config: Config, kept: Kept, reader: Reader, classes: tuple[str, ...], name: str) -> Model:
    """The model of the trials that are kept, at least one.

    Args:
        config: that they were trained by.
        kept: what is left of them.
        reader: of the table, to columns as they are encoded.
        classes: of its target.
        name: of the data.
    """
    description = Description(
        name=name,
        reader=reader,
        classes=classes,
        network=config.network,
        trials=tuple(row["trial"] for row in kept.rows),
        is_shared=config.preprocesses_alike,
        precision=config.trainer.precision,
        file={option: getattr(config.dataset, option) for option in ("separator", "decimal", "encoding")},
        plugins=() if config.network.name in facts("network") else tuple(config.plugins),
    )
    return Model(description, preprocessing_of(kept.preprocessing, is_shared=config.preprocesses_alike), kept.weights)


def why_no_model(config: Config) -> str | None:
    """Why there is no network of a cell that could be carried away, or None."""
    method = method_facts(config).variables
    if "finetune" not in method["uses"]:
        return f"method={method['name']} trains no network for the classes"
    if not method["has_encoder"]:
        return f"the networks of method={method['name']} vote, and only one of them is kept"
    return None


def _kept(cell: Path) -> Kept:
    stacks = []
    for stack, table in read_cell(cell, weights=True).stacks.items():
        if WEIGHTS in table["files"]:
            try:
                arrays = (read_file(stack, table, file, load) for file in (PREPROCESSING, WEIGHTS))
                stacks.append(Kept(table["trials"], *arrays))
            except DamagedRecordError as error:
                raise UsageError(f"{stack} cannot be used: {error}.") from error
    return Kept.of(stacks)


def _reader(cell: StoredCell, config: Config) -> Reader:
    """That of a cell's table; a cell that was described before readings were kept has the table's own columns."""
    encoding = build_parts(config).encoding
    columns = encoding.columns([Column.from_plain(column) for column in cell.description["columns"]])
    rules = cell.description.get("reading", {}).get("rules")
    return Reader.with_rules(rules, columns) if rules else Reader.plain(columns)
