"""Columns that are no features: the target, those that split rows, and those that weigh them. They are read as features
are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError, capitalised
from ..columns import Coded, Floats, floats, is_numeric
from ..splits import TEST, TRAIN, VALIDATION
from ..targets import UNLABELLED, Classes, Labels, Number, Target, dtype_of
from .frames import plain_column
from .rules import SECOND, floats_of, quantity_rule, since_epoch, text_of

PART_NAMES = {"train": TRAIN, "validation": VALIDATION, "val": VALIDATION, "test": TEST}
"""What a column may call the part of a row, in lower case."""

FEWEST_ROWS = 10
"""With fewer labelled rows a 70/10/20 split leaves validation or test without a row."""

MOST_FRACTIONS = 20
"""A target with fractions and more distinct values than this, or than half of the rows, is a number."""

MOST_WHOLE_NUMBERS = 50
"""So is a target with more distinct whole numbers than this, or with more than `MOST_FRACTIONS` and fewer than
`ROWS_A_CLASS` rows each."""

ROWS_A_CLASS = 20

MANY_CLASSES, OF_ROWS = 0.5, 20
"""With more than ``OF_ROWS`` labelled rows, more classes than this share of them are too many to learn."""


@dataclass(frozen=True)
class ReadTarget:
    """A target column as it was read, with the labels of n rows ``(n,)``, and sentences for the user."""

    target: Target
    labels: Labels
    notes: tuple[str, ...] = ()


def read_target(
    column: "pd.Series[Any]",
    source: str,
    kind: str | None = None,
    *,
    decimal: str | None = None,
    is_raw: bool = False,
) -> ReadTarget:
    """Read a target column.

    Args:
        column: values of any type, missing where a row has no label.
        source: where the data came from, for messages.
        kind: of target; None takes a numeric column of many values as a number, and all else as classes.
        decimal: see `notation_of`.
        is_raw: the column is a user's, not one that was described: blanks around text are cut off.

    Raises:
        UsageError: there are too few labels; or they hold a NUL character, are not of the kind, or are all the same.
    """
    n_labelled = int(column.notna().sum())
    if n_labelled < FEWEST_ROWS:
        raise UsageError(
            f"{source} has {n_labelled} rows with a label in {column.name!r}; a 70/10/20 split needs at least "
            f"{FEWEST_ROWS}."
        )
    where = f"target {column.name!r} of {source}"
    # A column of categories or of Booleans has its kind by its type.
    is_declared = isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column)
    text = None if is_declared or is_numeric(column) else text_of(column)
    if kind == Number.name:
        numbers, others = floats_of(column, decimal=decimal, text=text)
        if others:
            raise UsageError(
                f"{where} is to be a number and holds {str(others[0])[:40]!r}; mend it, mark it as missing, or set "
                "dataset.target_kind=classes."
            )
        _check_spread(numbers, where)
        return ReadTarget(Number(str(column.name)), numbers)
    if kind is None and not is_declared and (quantity := _quantity(column, text, decimal)):
        numbers, n_distinct = quantity
        _check_spread(numbers, where)
        note = f"Target {column.name!r} has {n_distinct} different numbers and is predicted as a number; "
        notes = (f"{note}dataset.target_kind=classes takes each of them as a class.",)
        return ReadTarget(Number(str(column.name)), numbers, notes)
    if is_raw and text is not None:
        return _classes(text, "object", where)
    return _classes(Coded.of(column), dtype_of(column.dropna()), where)


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
        quantity = quantity_rule(column, decimal)
        if quantity is None:
            raise UsageError(
                f"column {column.name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in "
                "one format; write dates as 2024-12-31."
            )
        rule, notes = quantity
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
    used_weights = weights[is_labelled]
    # Networks compute in float32, unless a cell sets a higher precision.
    is_unfit = (weights < 0) | (weights > np.finfo(np.float32).max)
    if others or is_unfit.any() or np.isnan(used_weights).any() or not used_weights.any():
        raise UsageError(
            f"dataset.weight: column {column.name!r} of {source} must hold a number from 0 to 3e38 in every row with a "
            "label, and not 0 in all of them."
        )
    return np.where(np.isnan(weights), np.nanmean(weights), weights)


def _quantity(column: "pd.Series[Any]", text: Coded | None, decimal: str | None) -> tuple[Floats, int] | None:
    """The numbers of a column or its ``text``, and how many differ, if they look like a quantity; None for classes."""
    quantity = quantity_rule(column, decimal, text)
    if quantity is None or quantity[0].rule != "numbers":
        return None
    numbers = quantity[0].numbers(column, text)
    observed = numbers[~np.isnan(numbers)]
    n_distinct = len(np.unique(observed))
    # A number with a fraction is hardly the name of a class.
    if not np.isfinite(observed).all() or (observed % 1).any():
        most = min(MOST_FRACTIONS, len(observed) / 2)
    else:
        most = MOST_FRACTIONS if len(observed) < ROWS_A_CLASS * n_distinct else MOST_WHOLE_NUMBERS
    return (numbers, n_distinct) if n_distinct > most else None


def _check_spread(numbers: Floats, where: str) -> None:
    """Refuse labels that are all the same, or that cannot be standardised."""
    observed = numbers[~np.isnan(numbers)]
    low, high = observed.min(), observed.max()
    # Numbers above 1e154 overflow when they are squared, and those below 1e-162 become zero.
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = observed.std()
    if low == high or deviation == 0 or not np.isfinite(deviation):
        raise UsageError(f"{where} goes from {low:g} to {high:g}, which cannot be learnt; rescale it.")


def _classes(column: Coded, dtype: str, where: str) -> ReadTarget:
    """The labels of a column of classes; ``dtype`` is numpy's type of its values."""
    codes, names = column.sorted_codes()
    if len(names) < 2:
        raise UsageError(f"{where} has the one class {names[0]!r}; two are needed.")
    labels = np.nan_to_num(codes, nan=UNLABELLED).astype(np.int64)
    counts = np.bincount(labels[labels != UNLABELLED])
    n_labelled, notes = int(counts.sum()), tuple[str, ...]()
    if n_labelled > OF_ROWS and len(names) > MANY_CLASSES * n_labelled:
        doubt = f"{where} has {len(names)} classes in {n_labelled} labelled rows, as an ID has; name another target."
        notes = (capitalised(doubt),)
    return ReadTarget(Classes(names, float(counts.min() / n_labelled), dtype), labels, notes)
