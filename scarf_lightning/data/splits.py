"""Train, validation and test rows of a trial (paper, section 4, "Datasets")."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VALIDATION_SHARE = 0.1
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Split:
    """Row numbers of one trial, int64; together they are every row once."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def split_rows(n_rows: int, random: np.random.Generator) -> Split:
    """Cut a random permutation of the rows into 70 % train, 10 % validation and 20 % test; not stratified."""
    permutation = random.permutation(n_rows)
    n_validation, n_test = round(VALIDATION_SHARE * n_rows), round(TEST_SHARE * n_rows)
    n_train = n_rows - n_validation - n_test
    return Split(*np.split(permutation, [n_train, n_train + n_validation]))
