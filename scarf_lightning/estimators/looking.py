"""To look into a model: the rows of its trial, what corruption does to them, and how embeddings lie in space."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..data.parts import PARTS
from ..data.sources import open_source
from ..data.splits import Splitting
from ..data.table import Column
from ..engine.pretext_task import CorruptionSource, corrupt
from ..errors import UsageError
from ..options import build, build_parts, read
from ..randomness import Purpose, Roster, StackedGenerator
from .cell_models import open_cell
from .model import Model


@dataclass(frozen=True)
class TrialRows:
    """The table of a cell, row by row.

    Attributes:
        features: the columns that the networks were trained on: numbers, categories as text, gaps where values are
            missing. Every method of `Model` takes them.
        target: the class or the number, missing where a row has no label.
        part: ``train``, ``validation`` or ``test`` in the split of this trial, or ``unused``.
    """

    features: pd.DataFrame
    target: "pd.Series[Any]"
    part: "pd.Series[str]"


def load_rows(cell: str | Path, trial: int, plugins: Collection[str] = ()) -> TrialRows:
    """The table of a cell and how a trial splits it.

    Args:
        cell: its folder in the store. A relative path of its data is taken from the working directory.
        trial: the number of the trial.
        plugins: modules to import first, see `load_model`.

    Raises:
        UsageError: there is no such cell, or its data cannot be read or have changed.
    """
    opened = open_cell(Path(cell), plugins)
    config = opened.config
    source = open_source(**vars(config.dataset), openml_cache=config.paths.openml, split=config.split)
    table = source.read().table
    # The split of other rows would be another one, and look like that of the cell.
    if table.hash != opened.data_hash:
        raise UsageError(f"{table.source} has changed since cell {Path(cell).name} was trained on it.")
    # The split is drawn again from the cell's own stream.
    splitting: Splitting = build("split", config.split)
    streams = opened.streams(table.n_labelled)
    split = splitting.of_trial(table, trial, streams.numpy(trial, Purpose.SPLIT))
    # A split by time leaves out unlabelled rows that are later than its training rows.
    part = pd.Series("unused", index=range(table.n_rows), dtype=object)
    for name in PARTS:
        part.iloc[getattr(split, name)] = name
    features = _frame(table.columns, table.values, part.index)
    return TrialRows(features, table.target.named(table.labels), part)


@dataclass(frozen=True)
class View:
    """Corrupted rows.

    Attributes:
        values: n rows. If the corruption works on the original columns, these, in their own units and categories; if it
            works on the encoded columns, those, scaled, with a column ``column=category`` for each category.
        selected: which features were chosen to change, of the shape of ``values``. A new value may equal the old one.
        embeddings: of the corrupted rows, float32 ``(n, E)``.
    """

    values: pd.DataFrame
    selected: pd.DataFrame
    embeddings: NDArray[np.float32]


@torch.no_grad()
def corrupted_view(model: Model, rows: pd.DataFrame, training: pd.DataFrame, seed: int = 0) -> View:
    """A view of rows as pre-training makes it.

    Args:
        model: of one trial of a pre-trained cell, such as ``load_model(cell, trial=0, phase="pretrain")``.
        rows: n rows to corrupt.
        training: the rows that new values are drawn from: the training rows of the trial, see `load_rows`.
        seed: of the random numbers.

    Raises:
        UsageError: the model has several trials, no cell or no corruption, or a frame does not fit the table.
    """
    # Each trial has a preprocessing of its own, so a view of several would be several tables.
    if len(model.trials) > 1:
        raise UsageError(f"A view is of one network, and this model has {len(model.trials)}; choose with only(trial).")
    if model.options is None:
        raise UsageError("A saved model does not know its corruption; load it from its cell: results/FINGERPRINT.")
    parts = build_parts(read(model.options))
    corrupts: Any = parts.pretext or parts.method
    if not hasattr(corrupts, "corruption"):
        raise UsageError("The cell of this model corrupts nothing: it is not pre-trained.")
    corruption, selection = corrupts.corruption, corrupts.selection
    if corruption.learns_missing_values and model.encoder.missing is None:
        raise UsageError(
            f"corruption={corruption.name} learns its values in pre-training, and only the encoder of phase=pretrain "
            "has them."
        )
    roster, random, columns = Roster(1), StackedGenerator([seed]), model.description.columns
    # New values are drawn from the training rows, all of which are there.
    known = model.on_device(model.values(training))
    source = CorruptionSource(model.encoder, known, _all_of(training), roster)
    raw = model.on_device(model.values(rows)).rows(_all_of(rows), roster)
    if corruption.space == "encoded":
        view, mask = corrupt(corruption, source.encode(raw), source, random, selection)
        names = _encoded_names(columns)
        values = pd.DataFrame(view[0].numpy(), rows.index, names)
        embeddings = model.encoder.body(view)
    else:
        view, mask = corrupt(corruption, raw, source, random, selection)
        names = [column.name for column in columns]
        embeddings = model.encoder(view)
        # Back to the columns' own units.
        own = model.preprocessing.undo(view[0].double().numpy(), 0)
        values = _frame(columns, own, rows.index)
    selected = pd.DataFrame(mask.expand(view.shape)[0].numpy(), rows.index, names)
    return View(values, selected, np.asarray(embeddings[0].numpy(), dtype=np.float32))


def _all_of(rows: pd.DataFrame) -> torch.Tensor:
    """The positions of all rows for one trial, ``(1, n)``."""
    return torch.arange(len(rows))[None]


def _encoded_names(columns: tuple[Column, ...]) -> list[str]:
    """A name for each encoded column: of a number, or of a column and one of its categories."""
    names = []
    for column in columns:
        # An encoding may give the last category no indicator: zeros in all others stand for it.
        indicators = (column.categories or ())[: column.n_indicators]
        if not indicators:
            names.append(column.name)
        for category in indicators:
            names.append(f"{column.name}={category}")
        if column.adds_gap_column:
            names.append(f"{column.name} is missing")
    return names


def _frame(columns: tuple[Column, ...], values: NDArray[np.float64], index: "pd.Index[int]") -> pd.DataFrame:
    """Values ``(n, M)`` as a frame: numbers, and the names of categories for their codes; None for -1 and NaN."""
    by_name: dict[str, Any] = {}
    for own, column in zip(values.T, columns, strict=True):
        by_name[column.name] = own
        if column.categories is not None:
            # The code -1 takes the last one.
            names = np.array([*column.categories, None], dtype=object)
            codes = np.rint(np.nan_to_num(own, nan=-1)).astype(np.int64)
            by_name[column.name] = pd.Series(names[codes], index, object)
    return pd.DataFrame(by_name, index)
