"""The column that holds the classes."""

from typing import Any

import pandas as pd

from ...errors import UsageError
from .columns import FEWEST_FOR_IDS
from .numbers import are_codes, as_numbers
from .rules import as_text, is_numeric

MOST_FRACTIONS = 20
"""A target with fractions and more values than this, or than half of the rows, is a quantity."""

MOST_WHOLE_NUMBERS = 50
"""So is one of more whole numbers than this, or than `MOST_FRACTIONS` with fewer than `ROWS_A_CLASS` rows each."""

ROWS_A_CLASS = 20


def read_target(target: "pd.Series[Any]", path: str, *, is_classes: bool, decimal: str | None) -> tuple[Any, list[str]]:
    """The labels, missing where there is none, and sentences on what a user should know of them.

    Args:
        target: as the file has it.
        path: the file, for sentences.
        is_classes: the user says that they are classes, however many there are.
        decimal: see `as_numbers`.

    Raises:
        UsageError: it looks like a quantity or like names, or holds a NUL character.
    """
    if is_numeric(target):
        labels, notes = target, []
    elif isinstance(target.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(target):
        return target, []
    else:
        labels, found = as_text(target)
        notes = [f"Target {target.name!r}: {note}." for note in found]
    if not is_classes:
        _refuse_quantity(labels, path, decimal)
        _refuse_names(labels, path)
    return labels, notes


def _refuse_names(labels: "pd.Series[Any]", path: str) -> None:
    n_distinct, n_known = labels.nunique(), labels.count()
    if n_distinct > n_known / 2 and n_known >= FEWEST_FOR_IDS:
        raise UsageError(
            f"target {labels.name!r} of {path} has {n_distinct} different values in {n_known} rows, which looks like "
            "names and not like classes; choose another target, or set dataset.target_kind=classes."
        )


def _refuse_quantity(labels: "pd.Series[Any]", path: str, decimal: str | None) -> None:
    known = labels.dropna()
    if not is_numeric(known):
        distinct = known.unique().tolist()
        numbers = as_numbers(distinct, decimal)
        if numbers.others or are_codes(distinct):
            return
        known = known.map(numbers.values).astype("float64")
    n_distinct = known.nunique()
    if (known % 1).any():
        kind, is_quantity = "with fractions", n_distinct > min(MOST_FRACTIONS, len(known) / 2)
    else:
        is_thin = n_distinct > MOST_FRACTIONS and len(known) < ROWS_A_CLASS * n_distinct
        kind, is_quantity = "that are whole numbers", n_distinct > MOST_WHOLE_NUMBERS or is_thin
    if is_quantity:
        raise UsageError(
            f"target {labels.name!r} of {path} has {n_distinct} different values {kind}, which looks like a quantity "
            "and not like classes; group the values into classes first, or set dataset.target_kind=classes."
        )
