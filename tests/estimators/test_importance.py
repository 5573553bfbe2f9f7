"""Permutation importance of a fitted estimator is scikit-learn's."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance

from tests.estimators.small import small, table

X, y = table()


def test_it_is_that_of_scikit_learn_most_important_first(small_fit: Any) -> None:
    found = small_fit.importance(X, y, n_repeats=3, random_state=1)
    expected = permutation_importance(small_fit, X, y, n_repeats=3, random_state=1)
    by_column = found.set_index("column").loc[X.columns]
    np.testing.assert_allclose(by_column["mean"], expected.importances_mean, atol=1e-12)
    np.testing.assert_allclose(by_column["std"], expected.importances_std, atol=1e-12)
    assert found["mean"].is_monotonic_decreasing


def test_rows_without_a_label_are_left_out(small_fit: Any) -> None:
    some = pd.Series(y, dtype=object).where(np.arange(len(y)) % 3 > 0, None)
    known = some.notna().to_numpy()
    found = small_fit.importance(X, some, n_repeats=2)
    expected = small_fit.importance(X[known], y[known], n_repeats=2)
    pd.testing.assert_frame_equal(found, expected)


def test_labels_count_as_in_fit() -> None:
    words = np.where(y > 0, "yes", "no").astype(object)
    words[:20], words[20:25] = "?", " "
    known = np.arange(len(y)) >= 25
    fitted = small(unlabelled="?").fit(X, np.where(words == " ", None, words))
    found = fitted.importance(X, words, n_repeats=2)
    pd.testing.assert_frame_equal(found, fitted.importance(X[known], words[known], n_repeats=2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.importance(X, words[:-1])


def test_before_a_fit_it_says_so() -> None:
    with pytest.raises(NotFittedError):
        small().importance(X, y)
