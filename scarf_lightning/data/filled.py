"""Columns that are filled for one class alone, such as the day on which a customer left.

A model that sees one is good on rows whose end is known, and on no others. A tree on held-out rows misses a column
with a little noise where labels are few, for one rare row that is wrong decides. Here all labelled rows count.
"""

import math
from collections.abc import Collection

import numpy as np
import pandas as pd

from .columns import Advice, Bools
from .table import Table

FEWEST = 8
"""Labelled rows that a class, and those of other classes, must have."""
LEAST = 0.5
"""The lower end of the share of a class in which the column is filled has to be above this."""
MOST_ELSEWHERE = 0.005
"""The largest share of the rows of other classes in which it may be filled."""
IF_LATE = "leaves it out, if it is known only once the target is"
"""The advice at the end of a note: how to leave the column out."""


def filled_for_one_class(table: Table, frame: pd.DataFrame, known: Collection[str]) -> list[Advice]:
    """A note on each column that is filled in most rows of one class and hardly in any other; or the reverse.

    Args:
        table: made of the frame.
        frame: the columns of the file without the target.
        known: columns that are named for another reason.
    """
    labels = table.target.named(table.labels)
    # Numbers have no classes that a column might be filled for.
    if table.target.n_classes_among(table.labels) is None:
        return []
    is_labelled = table.is_labelled
    classes = labels[is_labelled].to_numpy()
    notes = []
    for name, column in frame.items():
        if str(name) in known:
            continue
        is_filled = column.notna().to_numpy()[is_labelled]
        if is_filled.all() or not is_filled.any():
            continue
        for verb, shown in (("filled", is_filled), ("empty", ~is_filled)):
            found = _dominant_class(classes, shown)
            if found is not None:
                claim = f"Column {str(name)!r} is {verb} in rows of one class only: {found}"
                notes.append(Advice(claim, "dataset.drop", [str(name)], IF_LATE))
    return notes


def _dominant_class(classes: "np.ndarray[tuple[int], np.dtype[np.object_]]", shown: Bools) -> str | None:
    """The class that has nearly all rows ``(n,)`` that are shown, with their numbers; None if there is none."""
    values, counts = np.unique(classes[shown].astype(str), return_counts=True)
    label, n_shown = values[counts.argmax()], int(counts.max())
    is_of_class = classes.astype(str) == label
    n_class, n_others = int(is_of_class.sum()), int((~is_of_class).sum())
    n_elsewhere = int(counts.sum()) - n_shown
    if min(n_class, n_others) < FEWEST or n_elsewhere > MOST_ELSEWHERE * n_others:
        return None
    if _least_share(n_shown, n_class) <= LEAST:
        return None
    return f"{n_shown:,} of {n_class:,} with {label}, {n_elsewhere:,} of {n_others:,} others"


def _least_share(k: int, n: int) -> float:
    """The lower end of Wilson's 95 % interval (1927) of a share, of which k of n rows were seen."""
    z = 1.96
    middle = k + z**2 / 2
    half = z * math.sqrt(k * (n - k) / n + z**2 / 4)
    return (middle - half) / (n + z**2)
