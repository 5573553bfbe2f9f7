"""Columns that are no features: those that split rows, and those that weigh them. They are read as features are."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.errors import OutOfBoundsTimedelta

from ...errors import UsageError
from ..columns import Coded, Floats, is_numeric
from ..copies import TEST, TRAIN, VALIDATION
from .frames import plain_column
from .kinds import quantity_rule
from .rules import floats_of, text_of
from .values import EPOCH, SECOND, utc

PART_NAMES = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("validation", "valid", "val", "dev"), VALIDATION),
    **dict.fromkeys(("test", "testing", "holdout"), TEST),
}
"""What a column may call the part of a row, in lower case."""


def split_values(
    kind: str, column: "pd.Series[Any]", source: str, decimal: str | None = None
) -> tuple[Floats, list[str]]:
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
        values, notes = _times(column, source, decimal)
        return values, [f"Column {column.name!r}: {note}." for note in notes]
    coded = Coded.of(column) if is_numeric(column) else text_of(column)
    names = list(map(str, coded.distinct))
    if kind == "group":
        first = {name.casefold(): name for name in reversed(names)}
        notes = [
            f"Column {column.name!r}: the groups {first[name.casefold()]!r} and {name!r} differ by case alone, and are "
            "two groups."
            for name in names
            if first[name.casefold()] != name
        ]
        return coded.spread(np.arange(len(names), dtype=np.float64)), notes[:1]
    if unknown := [name for name in names if name.lower() not in PART_NAMES]:
        raise UsageError(
            f"column {column.name!r} of {source} says {unknown[0]!r} of a row, and split=column knows train, "
            "validation and test; write one of these there."
        )
    return coded.spread([PART_NAMES[name.lower()] for name in names]), []


def _times(column: "pd.Series[Any]", source: str, decimal: str | None) -> tuple[Floats, list[str]]:
    """Numbers, or dates as seconds since 1970, ``(n,)``, and doubts about their format."""
    found = quantity_rule(column, decimal)
    if found is None:
        raise UsageError(
            f"column {column.name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in one "
            "format; write dates as 2024-12-31."
        )
    rule, notes = found
    if rule.rule == "numbers":
        return rule.numbers(column), notes
    elapsed = utc(rule.times(column)) - EPOCH
    # A coarser unit would round fractions of a second in another way. Nanoseconds end in 2262.
    with suppress(OutOfBoundsTimedelta):
        elapsed = elapsed.dt.as_unit("ns")
    return np.asarray(elapsed / SECOND, dtype=np.float64), notes


def read_weights(
    column: "pd.Series[Any]", is_labelled: NDArray[np.bool_], source: str, decimal: str | None = None
) -> Floats:
    """Weights of n rows in supervised training, ``(n,)``. Rows without a label may lack a weight and get
    the mean of the others: some methods label these rows and train on them. ``decimal`` is as of `notation_of`.

    Raises:
        UsageError: a weight is no number, negative, infinite or too large, a row with a label has none, or all are
            zero.
    """
    weights, others = floats_of(column, decimal=decimal)
    known, labelled = weights[~np.isnan(weights)], weights[is_labelled]
    # Networks compute in float32, unless a cell asks for more.
    unfit = known[(known < 0) | (known > np.finfo(np.float32).max)]
    fault = None
    if others or len(unfit):
        fault = f"holds {str([*others, *unfit.tolist()][0])[:40]!r}; a weight must be a number from 0 to 3e38"
    elif np.isnan(labelled).any():
        fault = f"has no weight in {np.isnan(labelled).sum()} of the rows with a label; fill them in"
    elif not labelled.any():
        fault = "has the weight 0 in every row with a label; there is nothing to learn from"
    if fault:
        raise UsageError(f"dataset.weight: column {column.name!r} of {source} {fault}.")
    return np.where(np.isnan(weights), known.mean(), weights)
