"""Columns that are no features: those that split rows, and those that weigh them. They are read as features are."""

from collections import defaultdict
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.errors import OutOfBoundsTimedelta

from ...errors import UsageError
from ..columns import Coded, Floats, Note, about, floats, is_numeric
from ..copies import TEST, TRAIN, VALIDATION
from .frames import plain_column
from .kinds import quantity_rule
from .rules import dates_in, floats_of, text_of
from .values import EPOCH, OTHER_ZONES, SECOND, utc

PART_NAMES = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("validation", "valid", "val", "dev"), VALIDATION),
    **dict.fromkeys(("test", "testing", "holdout"), TEST),
}
"""What a column may call the part of a row, in lower case."""


def split_values(
    kind: str, column: "pd.Series[Any]", source: str, decimal: str | None = None
) -> tuple[Floats, list[Note]]:
    """The number of each row's group, its time or its part, ``(n,)``, NaN where the column has no value; and doubts.

    Args:
        kind: of the split.
        source: where the data came from, for messages.
        decimal: see `notation_of`.

    Raises:
        UsageError: the column does not hold what the split needs.
    """
    column = plain_column(column)
    if kind == "time":
        return _times(column, source, decimal)
    coded = Coded.of(column) if is_numeric(column) else text_of(Coded.of(column), column.name)
    if kind == "group":
        return coded.spread(np.arange(len(coded.distinct), dtype=np.float64)), _case_notes(coded, str(column.name))
    parts = [PART_NAMES.get(str(name).lower(), -1) for name in coded.distinct]
    if -1 in parts:
        unknown = coded.distinct[parts.index(-1)]
        raise UsageError(
            f"column {column.name!r} of {source} says {unknown!r} of a row, and split=column knows train, validation "
            "and test; write one of these there."
        )
    return coded.spread(parts), []


def check_times(kind: str, values: Floats, is_labelled: NDArray[np.bool_], column: str) -> None:
    """Refuse a split by times ``(n,)`` of which a row with a label has none."""
    if kind == "time" and np.isnan(values[is_labelled]).any():
        raise UsageError(
            f"column {column!r}, which split=time sorts by, is missing in labelled rows; fill it, or leave them out."
        )


def _case_notes(groups: Coded, column: str) -> list[Note]:
    """A note on groups whose names differ by case alone."""
    names = defaultdict[str, list[str]](list)
    for name in map(str, groups.distinct):
        names[name.casefold()].append(name)
    for same in names.values():
        if same[1:]:
            return [about(column, f"the groups {same[0]!r} and {same[1]!r} differ by case alone, and are two groups")]
    return []


def _times(column: "pd.Series[Any]", source: str, decimal: str | None) -> tuple[Floats, list[Note]]:
    """Numbers, or dates as seconds, ``(n,)``, and doubts about their format."""
    if is_numeric(column):
        return floats(column), []
    name = str(column.name)
    if pd.api.types.is_datetime64_any_dtype(column):
        is_elsewhere = str(column.dt.tz or "UTC") != "UTC"
        return _seconds(column), [about(name, OTHER_ZONES)] if is_elsewhere else []
    text = text_of(Coded.of(column), name)
    found = quantity_rule(text, decimal)
    if found is None:
        raise UsageError(
            f"column {name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in one format; "
            "write dates as 2024-12-31."
        )
    rule, notes = found
    if rule.kind == "dates":
        values = _seconds(dates_in(rule, column))
    else:
        values, _ = floats_of(column, rule.notation.decimal)
    return values, [about(name, note) for note in notes]


def _seconds(times: "pd.Series[Any]") -> Floats:
    """Seconds since 1970, ``(n,)``."""
    elapsed = utc(times) - EPOCH
    # A coarser unit would round fractions of a second in another way. Nanoseconds end in 2262.
    with suppress(OutOfBoundsTimedelta):
        elapsed = elapsed.dt.as_unit("ns")
    return np.asarray(elapsed / SECOND, dtype=np.float64)


def read_weights(
    column: "pd.Series[Any]", is_labelled: NDArray[np.bool_], source: str, decimal: str | None = None
) -> Floats:
    """Weights of n rows in supervised training, ``(n,)``. Rows without a label may lack a weight and get
    the mean of the others: some methods label these rows and train on them. ``decimal`` is as of `notation_of`.

    Raises:
        UsageError: a weight is no number, negative, infinite or too large, a row with a label has none, or all are
            zero.
    """
    weights, others = floats_of(column, decimal)
    where = f"dataset.weight: column {column.name!r} of {source}"
    if others:
        raise UsageError(f"{where} holds {str(others[0])[:40]!r}; a weight must be a number.")
    known = weights[~np.isnan(weights)]
    if (known < 0).any():
        raise UsageError(f"{where} holds the negative weight {known.min():g}; a weight must be zero or more.")
    # Networks compute in float32, unless a cell asks for more.
    if (known > np.finfo(np.float32).max).any():
        raise UsageError(f"{where} holds the weight {known.max():g}, which is too large to train with; rescale it.")
    n_missing = int(np.isnan(weights[is_labelled]).sum())
    if n_missing:
        raise UsageError(f"{where} has no weight in {n_missing} of the rows with a label; fill them in.")
    if not weights[is_labelled].any():
        raise UsageError(f"{where} has the weight 0 in every row with a label; there is nothing to learn from.")
    return np.where(np.isnan(weights), known.mean(), weights)
