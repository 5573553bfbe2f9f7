"""Strings of very many different values, as a few numbers."""

from typing import Any

import numpy as np
import pandas as pd

N_HASHES = 16
"""How many numbers stand for a string."""


def as_hashes(column: "pd.Series[Any]") -> "list[pd.Series[Any]]":
    """Strings as min-hashes of their n-grams, so that strings that share letters share numbers, in [-1, 1].

    Nothing is fitted: a string has the same numbers in every table and on every machine. Cerda and Varoquaux (2022),
    DOI 10.1109/TKDE.2020.2992529.
    """
    from skrub import MinHashEncoder

    distinct = pd.Series(column.dropna().unique(), name="text", dtype="str")
    if not len(distinct):
        return [pd.Series(np.nan, index=column.index, name=f"{column.name} ({i + 1})") for i in range(N_HASHES)]
    hashes = np.asarray(MinHashEncoder(n_components=N_HASHES).fit_transform(distinct), dtype=np.float64) / 2**31
    row_of = {text: row for row, text in enumerate(distinct)}
    rows = np.array([row_of.get(text, -1) for text in column])
    made = np.where(rows[:, None] < 0, np.nan, hashes[rows])
    return [pd.Series(values, index=column.index, name=f"{column.name} ({i + 1})") for i, values in enumerate(made.T)]
