"""The target: what a table's rows are classified by. Everything that depends on its being classes stands here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import UsageError
from .columns import UNLABELLED, Coded, Ints, is_numeric
from .reading.inference import FEWEST_FOR_IDS
from .reading.numbers import are_codes, as_numbers
from .reading.rules import text_of

FEWEST_ROWS = 10
"""With fewer labelled rows a 70/10/20 split leaves validation or test without a row."""

MOST_FRACTIONS = 20
"""A target with fractions and more distinct values than this, or than half of the rows, is a quantity."""

MOST_WHOLE_NUMBERS = 50
"""So is a target with more distinct whole numbers than this, or with more than `MOST_FRACTIONS` and fewer than
`ROWS_A_CLASS` rows each."""

ROWS_A_CLASS = 20


@dataclass(frozen=True)
class Target:
    """The encoded target of n rows.

    Attributes:
        labels: indices into ``classes``, int64 ``(n,)``; `UNLABELLED` in rows without a label.
        classes: the names of the classes that occur, in natural order.
    """

    labels: Ints
    classes: tuple[str, ...]

    @classmethod
    def of(cls, target: "pd.Series[Any]", source: str) -> "Target":
        """Encode a target whose values are of any type, missing where a row has no label.

        Raises:
            UsageError: fewer than two classes occur, or fewer than 10 rows have a label.
        """
        n_labelled = int(target.notna().sum())
        if n_labelled < FEWEST_ROWS:
            rows = "rows" if n_labelled == len(target) else f"rows with a label in {target.name!r}"
            raise UsageError(f"{source} has {n_labelled} {rows}; a 70/10/20 split needs at least {FEWEST_ROWS}.")
        codes, classes = Coded.of(target).in_order()
        if len(classes) < 2:
            raise UsageError(f"target {target.name!r} of {source} has the one class {classes[0]!r}; two are needed.")
        return cls(np.nan_to_num(codes, nan=UNLABELLED).astype(np.int64), classes)


def read_target(target: "pd.Series[Any]", path: str, *, is_classes: bool, decimal: str | None) -> tuple[Any, list[str]]:
    """Read the target column of a user's file.

    Args:
        target: the column as the file holds it.
        path: the file, for messages.
        is_classes: the user has said that the values are classes, however many there are.
        decimal: see `as_numbers`.

    Returns:
        The labels, missing where a row has none, and sentences that a user should know.

    Raises:
        UsageError: the values look like a quantity or like names, or hold a NUL character.
    """
    labels, notes = target, []
    if not is_numeric(target):
        if isinstance(target.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(target):
            return target, []
        text, found = text_of(Coded.of(target), target.name)
        values = np.array([*text.distinct, None], dtype=object)[text.codes]
        labels = pd.Series(values, target.index, name=target.name, dtype="object")
        notes = [f"Target {target.name!r}: {note}." for note in found]
    if not is_classes:
        _refuse_quantity(labels, path, decimal)
        _refuse_names(labels, path)
    return labels, notes


def balanced_weights(labels: Ints, n_classes: int) -> NDArray[np.float64]:
    """Weights by which every class counts equally, however many rows it has.

    The weight of class c is n / (C n_c), with C the number of classes that occur and n_c the rows of class c, as
    scikit-learn's ``balanced``. A class without a row gets the weight of a class with one row: a pseudo-label may name
    it.

    **Shape.** ``labels`` ``(T, n)`` of class numbers give ``(T, n_classes)``.
    """
    counts = np.stack([np.bincount(of_trial, minlength=n_classes) for of_trial in labels])
    present = (counts > 0).sum(axis=1, keepdims=True)
    return np.asarray(labels.shape[1] / (present * np.maximum(counts, 1)))


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
