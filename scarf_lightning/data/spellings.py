"""Classes and categories that differ by case or spaces alone, such as Yes, yes and " YES"."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from .columns import Coded
from .table import Table

SHOWN = 3
"""Groups of spellings that a note shows."""


def spelling_notes(table: Table, categories: Mapping[str, Coded]) -> list[str]:
    """A note on the target and on each column in which names differ by case or spaces alone.

    Args:
        table: that was read.
        categories: the columns that are read as categories, by name.
    """
    notes = []
    if table.target.n_classes_among(table.labels) is not None:
        labels = table.target.named(table.labels)[table.is_labelled].astype(str)
        names, counts = np.unique(labels.to_numpy(dtype=object), return_counts=True)
        found = _alike(dict(zip(names.tolist(), counts.tolist(), strict=True)))
        if found:
            notes.append(
                f"Target: the classes {found} differ by case or spaces alone; write them alike if they are one."
            )
    for name, coded in categories.items():
        found = _alike(dict(zip(map(str, coded.distinct), coded.counts, strict=True)))
        if found:
            notes.append(
                f"Column {name!r}: the categories {found} differ by case or spaces alone; "
                "write them alike if they are one."
            )
    return notes


def _alike(counts: Mapping[str, int]) -> str:
    """The names that are one but for case and spaces, with their rows; empty if there are none."""
    by_letters = defaultdict[str, list[str]](list)
    for name in counts:
        by_letters["".join(name.casefold().split())].append(name)
    groups = [names for names in by_letters.values() if len(names) > 1]
    shown = []
    for names in groups[:SHOWN]:
        shown.append(" and ".join(f"{name!r} ({counts[name]:,})" for name in sorted(names)))
    more = f" and {len(groups) - SHOWN} more" if len(groups) > SHOWN else ""
    return f"{'; '.join(shown)}{more}"
