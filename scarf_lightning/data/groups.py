"""Hints that rows of a table belong together, so that a random split tests a model on what it has seen.

They are meant to be rarely wrong, and so they miss much: a column must have the name of an id or hold dates, repeat its
values, and its rows must agree in the target; or all columns but one must repeat; or many rows must be far nearer to
another row than the density of the table explains.
"""

import math
import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .arguments import argument
from .columns import Advice, Coded, Ints, Note
from .near_copies import share_of_near_copies
from .table import Table

NAMES = frozenset(
    ("id", "ids", "patient", "subject", "person", "participant", "customer", "client", "user", "household", "family",
     "student", "employee", "animal", "donor", "session", "device")
)  # fmt: skip
"""Words in the name of a column that says whose row it is."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
FEWEST_GROUPS = 10
SHARING = 0.5
"""The share of the rows that must have another row with the same value."""
AGREEING = 0.3
"""How far rows of one value must agree in the target, where 0 is by chance and 1 is always."""
DEVIATIONS = 5
"""Standard deviations by which they must agree more than by chance."""
MOST_ROWS = 100_000
FEWEST_OTHERS = 5
"""Columns that rows must be equal in, beside the one in which they differ."""
REPEATED = 0.3
"""The share of the rows that must equal an earlier one in all columns but one."""
NEAR_COPIES = 0.3
"""The share of the rows that must nearly equal another row. In 39 tables of OpenML's CC18 it is at most 0.17."""
COMBINATIONS = 100
"""So many times more combinations of values than rows there must be: of fewer, rows repeat some by chance."""


def hints(table: Table, frame: pd.DataFrame, kinds: Mapping[str, str], widths: Mapping[str, int]) -> list[Note]:
    """Notes on columns of a file that are likely groups, on the one column that hides copies, and on near copies.

    Args:
        table: made of the frame.
        frame: the columns of the file without the target.
        kinds: what each column holds.
        widths: how many of the table's columns were made of each column of the file, in their order.
    """
    if table.split_by is not None:
        return []
    notes: list[Note] = []
    for name, column in frame.items():
        words = {word.lower() for word in WORD.findall(str(name))}
        # Other columns repeat values and agree in the target too: every good category does.
        if not (words & NAMES or kinds[str(name)] == "dates"):
            continue
        codes = Coded.of(column).codes
        if _is_group(table, codes):
            claim = f"Rows with one value of {str(name)!r} mostly have the same target, and a random split parts them"
            effect = f"with {argument('split.column', str(name))} keeps them together"
            notes.append(Advice(claim, "split", "group", effect))
    return notes or _hiding(table, widths) or _near_copies(table)


def _is_group(table: Table, codes: Ints) -> bool:
    """Test whether values repeat, and rows of one value agree in the target; codes ``(n,)`` are -1 without a value."""
    known = (codes >= 0) & table.is_labelled
    strata = table.strata[known]
    _, group, sizes = np.unique(codes[known], return_inverse=True, return_counts=True)
    is_sharing = sizes[group] > 1
    if len(sizes) < FEWEST_GROUPS or is_sharing.sum() < SHARING * table.n_labelled:
        return False
    # Of the other rows of its group, the share that is of the row's stratum: its mean over rows.
    cell = group * (strata.max() + 1) + strata
    n_alike = np.bincount(cell)[cell] - 1
    n_others = sizes[group] - 1
    shares_alike = n_alike[is_sharing] / n_others[is_sharing]
    agreeing = float(shares_alike.mean())
    # The same of two rows that are drawn at random. In a group of k rows k - 1 agreements are free.
    shares = np.bincount(strata) / len(strata)
    chance = float(shares @ shares)
    n_free = max(1, int(is_sharing.sum() - (sizes > 1).sum()))
    deviation = math.sqrt(chance * (1 - chance) / n_free)
    least = max(AGREEING * (1 - chance), DEVIATIONS * deviation)
    return agreeing - chance > least


def _near_copies(table: Table) -> list[Note]:
    """A note on rows that nearly equal another row, if they are many."""
    share = share_of_near_copies(table)
    if share < NEAR_COPIES:
        return []
    return [
        f"About {share:.0%} of the rows nearly equal another row, and a random split tests a model on rows much like "
        "those it has seen; if they are measurements of one thing, write a column that says of which, and split=group "
        "with split.column=COLUMN keeps them together."
    ]


def _hiding(table: Table, widths: Mapping[str, int]) -> list[Note]:
    """Advice on the column without which many rows would equal an earlier one in every column."""
    if len(table.columns) <= FEWEST_OTHERS:
        return []
    values = table.values[table.is_labelled][:MOST_ROWS]
    n = len(values)
    hashes = [_hashed(column, m) for m, column in enumerate(values.T)]
    # A row is the sum of its columns, so that one column can be taken out of it.
    whole = np.sum(hashes, axis=0, dtype=np.uint64)
    n_copies = int(pd.Series(whole).duplicated().sum())
    # In logarithms, because the product of all numbers of values overflows.
    n_values = [len(pd.unique(column)) for column in hashes]
    n_digits = np.log10(n_values)
    end = 0
    for name, width in widths.items():
        start, end = end, end + width
        others = np.delete(n_digits, np.arange(start, end))
        if width == 0 or len(others) < FEWEST_OTHERS:
            continue
        if others.sum() < math.log10(COMBINATIONS * n):
            continue
        without = whole - np.sum(hashes[start:end], axis=0, dtype=np.uint64)
        n_repeated = int(pd.Series(without).duplicated().sum())
        if n_repeated > max(REPEATED * n, 2 * n_copies):
            share = n_repeated / n
            sentence = f"Without column {name!r}, {share:.0%} of the rows equal an earlier row in every column"
            effect = "leaves it out, and split.copies=together then keeps equal rows in one part"
            return [Advice(sentence, "dataset.drop", [name], effect)]
    return []


def _hashed(column: NDArray[np.float64], m: int) -> NDArray[np.uint64]:
    """A number for each value that depends on the column, so that their sum stands for the row."""
    canonical = np.where(np.isnan(column), np.nan, column + 0.0)
    bits = canonical.view(np.uint64)
    # The number of the column is mixed in, or two columns that swap their values would give the same sum.
    return pd.util.hash_array(bits ^ np.uint64(m + 1), categorize=False)
