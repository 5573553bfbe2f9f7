"""Columns that are no features: those that split rows, and those that weigh them. They are read as features are."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError
from ..columns import Coded, Floats, floats, is_numeric
from ..splits import TEST, TRAIN, VALIDATION
from .frames import plain_column
from .rules import floats_of, quantity_rule, text_of
from .values import SECOND, since_epoch

PART_NAMES = {"train": TRAIN, "validation": VALIDATION, "val": VALIDATION, "test": TEST}
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
    column, doubt = plain_column(column), f"Column {str(column.name)!r}: "
    if kind == "time":
        found = quantity_rule(column, decimal)
        if found is None:
            raise UsageError(
                f"column {column.name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in "
                "one format; write dates as 2024-12-31."
            )
        rule, notes = found
        # Seconds since 1970, of dates.
        values = rule.numbers(column) if rule.rule == "numbers" else floats(since_epoch(rule.times(column)) / SECOND)
        return values, [f"{doubt}{note}." for note in notes]
    coded = Coded.of(column) if is_numeric(column) else text_of(column)
    names = [str(name).lower() for name in coded.distinct]
    if kind == "group":
        differs = len(set(names)) < len(names)
        notes = [f"{doubt}names of groups that differ by case alone are different groups."] if differs else []
        return coded.spread(range(len(names))), notes
    if unknown := [name for name in names if name not in PART_NAMES]:
        raise UsageError(
            f"column {column.name!r} of {source} says {unknown[0]!r} of a row, and split=column knows train, "
            "validation and test; write one of these there."
        )
    return coded.spread([PART_NAMES[name] for name in names]), []


def read_weights(
    column: "pd.Series[Any]", is_labelled: NDArray[np.bool_], source: str, decimal: str | None = None
) -> Floats:
    """Weights of n rows in supervised training, ``(n,)``. Rows without a label may lack a weight and get
    the mean of the others: some methods label these rows and train on them. ``decimal`` is as of `notation_of`.

    Raises:
        UsageError: a weight is no number, negative, infinite or too large, a row with a label has none, or all are
            zero.
    """
    weights, others = floats_of(plain_column(column), decimal=decimal)
    labelled = weights[is_labelled]
    # Networks compute in float32, unless a cell asks for more.
    unfit = (weights < 0) | (weights > np.finfo(np.float32).max)
    if others or unfit.any() or np.isnan(labelled).any() or not labelled.any():
        raise UsageError(
            f"dataset.weight: column {column.name!r} of {source} must hold a number from 0 to 3e38 in every row with a "
            "label, and not 0 in all of them."
        )
    return np.where(np.isnan(weights), np.nanmean(weights), weights)
