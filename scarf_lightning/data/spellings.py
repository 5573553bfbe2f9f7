"""Classes and categories that differ by case or spaces alone, such as Yes, yes and " YES"; and words in columns of
categories that may stand for a missing value, such as ? and NA."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from ..errors import counted
from .columns import Coded
from .reading.numbers import is_missing
from .table import Table

SHOWN = 3
"""Groups of spellings, and columns of a word, that a note shows."""


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


def mark_notes(categories: Mapping[str, Coded]) -> list[str]:
    """A note on each word that is a category and usually stands for a missing value, with its columns.

    Args:
        categories: the columns that are read as categories, by name.
    """
    by_column = {}
    for name, coded in categories.items():
        counts = zip(map(str, coded.distinct), coded.counts, strict=True)
        by_column[name] = {category: int(count) for category, count in counts if is_missing(category)}
    notes = []
    for word, columns in _rows_by_word(by_column).items():
        notes.append(
            f"{word!r} is a category of {_rows_by_column(columns)}; if it stands for a missing value, leave these "
            "fields empty."
        )
    return notes


def missing_notes(by_column: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A note on each word that was read as missing in columns of categories.

    Args:
        by_column: the rows of each word, by column.
    """
    return [
        f"{word!r} is read as missing in {_rows_by_column(columns)}; if it is a category, give it another name."
        for word, columns in _rows_by_word(by_column).items()
    ]


def _rows_by_word(by_column: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The rows of each column by word, of the rows of each word by column."""
    by_word = defaultdict[str, dict[str, int]](dict)
    for name, words in by_column.items():
        for word, count in words.items():
            by_word[word][name] = count
    return by_word


def _rows_by_column(counts: Mapping[str, int]) -> str:
    """The first columns in words, each with a number of rows: ``column 'job' (20 rows)``."""
    shown = [f"{name!r} ({counted(count, 'row')})" for name, count in list(counts.items())[:SHOWN]]
    more = f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else ""
    return f"{'column' if len(counts) == 1 else 'columns'} {', '.join(shown)}{more}"
