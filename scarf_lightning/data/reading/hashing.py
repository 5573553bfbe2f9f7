"""Texts as numbers: texts that share letters share numbers, and a text has the same numbers in every table."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..columns import Floats

N_HASHES, NGRAMS = 16, (2, 3, 4)
"""The numbers that encode a string in a column with too many for categories, and the lengths of its pieces."""
N_TEXT_HASHES, TEXT_NGRAMS = 32, (3, 4)
"""The numbers that encode a text, and the lengths of the pieces of its words."""
LARGEST = np.iinfo(np.int32).max


def min_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts the smallest hashes of its pieces in [-1, 1], ``(n, 16)``.

    Cerda and Varoquaux (2022), DOI 10.1109/TKDE.2020.2992529, with the numbers of skrub's ``MinHashEncoder``.
    """
    factors = []
    for n in NGRAMS:
        drawn = [np.random.RandomState(seed).randint(-LARGEST, LARGEST, n, np.int32) for seed in range(N_HASHES)]
        factors.append(np.array(drawn).T)
    smallest = np.empty((len(texts), N_HASHES), dtype=np.float32)
    for row, text in enumerate(texts):
        letters = np.frombuffer(text.encode(), dtype=np.int8, count=len(text)).astype(np.int32)
        # A hash is the product of a piece with random numbers, which overflows; a short text meets some of them.
        hashes = [
            sliding_window_view(letters, len(numbers)) @ numbers
            if len(letters) >= len(numbers)
            else sliding_window_view(numbers, len(letters), axis=0) @ letters
            for numbers in factors
        ]
        smallest[row] = np.concatenate(hashes).min(axis=0)
    return np.asarray(smallest / np.float32(2**31), dtype=np.float64)


def text_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts counts of the pieces of its words, each piece added to or taken from a number by its hash,
    and scaled to length one, ``(n, 32)``. Weinberger et al. (2009), DOI 10.1145/1553374.1553516."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hasher = HashingVectorizer(n_features=N_TEXT_HASHES, analyzer="char_wb", ngram_range=TEXT_NGRAMS)
    return np.asarray(hasher.transform(texts).toarray())
