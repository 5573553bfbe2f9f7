"""What a cell's corruption makes of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..config import build_parts
from ..data.device_table import TrainingRows
from ..engine.rows import CorruptionSource
from ..errors import UsageError
from ..randomness import StackedGenerator
from ..roster import Roster
from .encoder import TableEncoder
from .trained import Trained


@dataclass(frozen=True)
class View:
    """Corrupted rows.

    Attributes:
        values: n rows. A corruption of the original columns gives these, in their own units and categories; one of the
            encoded columns gives those, scaled, a category as ``column=category``.
        selected: which features were told to change, of the shape of ``values``; a new value may equal the old one.
        embeddings: of the corrupted rows, float32 ``(n, width)``.
    """

    values: pd.DataFrame
    selected: pd.DataFrame
    embeddings: NDArray[np.float32]


@torch.no_grad()
def corrupted_view(encoder: TableEncoder, rows: pd.DataFrame, training: pd.DataFrame, seed: int = 0) -> View:
    """A view of the rows, as pre-training would make it.

    Args:
        encoder: of a pre-trained cell, whose corruption and selection are used.
        rows: n rows.
        training: rows that new values are drawn from: the trial's training rows, see `load_rows`.
        seed: of the random numbers.

    Raises:
        UsageError: the cell corrupts nothing, or a frame does not fit its table.
    """
    trained = encoder.trained
    parts = build_parts(trained.config)
    corrupts: Any = parts.pretext or parts.method
    if not hasattr(corrupts, "corruption"):
        raise UsageError(f"Cell {encoder.fingerprint} corrupts nothing: it is not pre-trained.")
    corruption, selection = corrupts.corruption, corrupts.selection
    if corruption.learns_missing_values and trained.encoder.missing is None:
        raise UsageError(
            f"corruption={corruption.name} learns its values in pre-training, and the encoder of phase={encoder.phase} "
            "is without them; load that of phase=pretrained."
        )
    raw = trained.raw(rows)
    every = torch.arange(len(training))[None]
    roster = Roster(1)
    source = CorruptionSource(trained.encoder, TrainingRows(trained.table(training), every, roster), roster)
    random = StackedGenerator([seed])
    if corruption.space == "encoded":
        view, mask = corruption(trained.encoder.one_hot(raw), source, random, selection)
        values, names, embeddings = view[0].numpy(), _encoded_names(trained), trained.embed_encoded(view)
        frame = pd.DataFrame(values, columns=names, index=rows.index)
    else:
        view, mask = corruption(raw, source, random, selection)
        names, embeddings = [column.name for column in trained.columns], trained.embed(view)
        frame = _in_own_units(trained, view[0].double().numpy(), rows.index)
    selected = pd.DataFrame(mask.expand(view.shape)[0].numpy(), columns=names, index=rows.index)
    return View(frame, selected, embeddings)


def _encoded_names(trained: Trained) -> list[str]:
    return [
        column.name if category is None else f"{column.name}={category}"
        for column in trained.columns
        for category in ((column.categories or ())[: column.n_indicators] or (None,))
    ]


def _in_own_units(trained: Trained, values: NDArray[np.float64], index: "pd.Index[int]") -> pd.DataFrame:
    """Undo the scaling; a column that was scaled to nothing has one value, which is its shift."""
    shift, scale = trained.preprocessing.shift[0], trained.preprocessing.scale[0]
    unscaled = np.divide(values, scale, out=np.zeros_like(values), where=scale != 0) + shift
    columns = {}
    for position, column in enumerate(trained.columns):
        own = unscaled[:, position]
        if column.categories is not None:
            columns[column.name] = pd.Series(
                np.array(column.categories, dtype=object)[np.rint(own).astype(int)], index=index
            )
        else:
            columns[column.name] = pd.Series(own, index=index)
    return pd.DataFrame(columns, index=index)
