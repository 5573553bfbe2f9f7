"""Texts as numbers: texts that share letters share numbers, and a text has the same numbers in every table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats

N_HASHES, NGRAMS = 16, (2, 3, 4)
"""The numbers that encode a string in a column with too many for categories, and the lengths of its pieces."""
N_TEXT_HASHES, TEXT_NGRAMS = 32, (3, 4)
"""The numbers that encode a text, and the lengths of the pieces of its words."""
LARGEST = np.iinfo(np.int32).max
AT_ONCE = 1 << 16
"""Letters that are hashed at once."""


def min_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts the smallest hashes of its pieces in [-1, 1], ``(n, 16)``.

    Cerda and Varoquaux (2022), DOI 10.1109/TKDE.2020.2992529, with the numbers of skrub's ``MinHashEncoder``.
    """
    smallest = np.empty((len(texts), N_HASHES), dtype=np.float32)
    lengths = np.array(list(map(len, texts)))
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length)
        for rows in np.array_split(same, len(same) * length // AT_ONCE + 1):
            letters = [np.frombuffer(texts[row].encode(), dtype=np.int8, count=length) for row in rows]
            smallest[rows] = _smallest(np.array(letters, dtype=np.int32).T)
    return np.asarray(smallest / np.float32(2**31), dtype=np.float64)


def _smallest(letters: NDArray[np.int32]) -> NDArray[np.int32]:
    """The smallest hash by each seed of n texts of one length ``(length, n)``: ``(n, 16)``."""
    smallest = np.full((letters.shape[1], N_HASHES), LARGEST, dtype=np.int32)
    for seed in range(N_HASHES):
        for n in NGRAMS:
            # A hash is the product of a piece with random numbers, which overflows; a short text meets some of them.
            random = np.random.RandomState(seed).randint(-LARGEST, LARGEST, size=n, dtype=np.int32)
            width = min(n, len(letters))
            pieces = np.lib.stride_tricks.sliding_window_view(letters, width, axis=0)
            for start in range(n - width + 1):
                hashes = pieces @ random[start : start + width]
                smallest[:, seed] = np.minimum(smallest[:, seed], hashes.min(axis=0))
    return smallest


def text_hashes(texts: Sequence[str]) -> Floats:
    """For each of n texts counts of the pieces of its words, each piece added to or taken from a number by its hash,
    and scaled to length one, ``(n, 32)``. Weinberger et al. (2009), DOI 10.1145/1553374.1553516."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hasher = HashingVectorizer(n_features=N_TEXT_HASHES, analyzer="char_wb", ngram_range=TEXT_NGRAMS)
    return np.asarray(hasher.transform(texts).toarray())
