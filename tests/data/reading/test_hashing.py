"""Texts as numbers."""

import numpy as np
import pandas as pd
from skrub import MinHashEncoder

from scarf_lightning.data.reading.hashing import min_hashes, text_hashes

TEXTS = ["a", "bc", "dée", "défg", "x y", "Ü", "日本", "日本語で", *(f"user {7 * i}" for i in range(40)), "long " * 40]


def test_min_hashes_are_those_of_skrub() -> None:
    expected = MinHashEncoder(n_components=16).fit_transform(pd.Series(TEXTS, name="text"))
    np.testing.assert_array_equal(min_hashes(TEXTS), np.asarray(expected) / 2**31)


def test_a_text_has_the_same_numbers_in_every_table() -> None:
    for hashes in (min_hashes, text_hashes):
        np.testing.assert_array_equal(hashes(TEXTS)[3:5], hashes(TEXTS[3:5]))
