"""Columns that are no features: those that split rows, and those that weigh them. They are read as features are."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.errors import OutOfBoundsTimedelta

from ...errors import UsageError
from ..columns import Coded, Floats, floats, is_numeric
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
    if kind == "group":
        return coded.spread(np.arange(len(coded.distinct), dtype=np.float64)), _case_notes(coded, column.name)
    parts = [PART_NAMES.get(str(name).lower(), -1) for name in coded.distinct]
    if -1 in parts:
        unknown = coded.distinct[parts.index(-1)]
        raise UsageError(
            f"column {column.name!r} of {source} says {unknown!r} of a row, and split=column knows train, validation "
            "and test; write one of these there."
        )
    return coded.spread(parts), []


def _case_notes(groups: Coded, column: Any) -> list[str]:
    """A note on groups whose names differ by case alone."""
    names: dict[str, str] = {}
    for name in map(str, groups.distinct):
        other = names.setdefault(name.casefold(), name)
        if other != name:
            return [f"Column {column!r}: the groups {other!r} and {name!r} differ by case alone, and are two groups."]
    return []


def _times(column: "pd.Series[Any]", source: str, decimal: str | None) -> tuple[Floats, list[str]]:
    """Numbers, or dates as seconds since 1970, ``(n,)``, and doubts about their format."""
    if is_numeric(column):
        return floats(column), []
    times, notes = column, [OTHER_ZONES]
    if pd.api.types.is_datetime64_any_dtype(column):
        if str(column.dt.tz or "UTC") == "UTC":
            notes = []
    else:
        found = quantity_rule(text_of(column).distinct, decimal)
        if found is None:
            raise UsageError(
                f"column {column.name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in "
                "one format; write dates as 2024-12-31."
            )
        rule, notes = found
        if rule.rule == "numbers":
            return floats_of(column, rule.decimal)[0], notes
        times = dates_in(rule, column)
    elapsed = utc(times) - EPOCH
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
    weights, others = floats_of(column, decimal)
    known, labelled = weights[~np.isnan(weights)], weights[is_labelled]
    fault = None
    if others:
        fault = f"holds {str(others[0])[:40]!r}; a weight must be a number"
    elif (known < 0).any():
        fault = f"holds the negative weight {known.min():g}; a weight must be zero or more"
    # Networks compute in float32, unless a cell asks for more.
    elif (known > np.finfo(np.float32).max).any():
        fault = f"holds the weight {known.max():g}, which is too large to train with; rescale it"
    elif np.isnan(labelled).any():
        fault = f"has no weight in {np.isnan(labelled).sum()} of the rows with a label; fill them in"
    elif not labelled.any():
        fault = "has the weight 0 in every row with a label; there is nothing to learn from"
    if fault:
        raise UsageError(f"dataset.weight: column {column.name!r} of {source} {fault}.")
    return np.where(np.isnan(weights), known.mean(), weights)
