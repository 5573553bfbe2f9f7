"""ROC curves, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import auc, roc_auc_score
from sklearn.metrics import roc_curve as of_sklearn

from scarf_lightning.reporting.drawings.predicted import GRID, mean_roc, roc_curve


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_it_is_scikit_learns_curve_with_equal_scores_too(n: int) -> None:
    random = np.random.default_rng(n)
    for _ in range(5):
        scores, positive = (
            random.choice([0.0, 0.1, 0.25, 0.5, 0.9, 1.0], n),
            random.permutation(n) < random.integers(1, n),
        )

        false, true = roc_curve(scores, positive)

        expected = of_sklearn(positive, scores, drop_intermediate=False)
        np.testing.assert_allclose(false, expected[0])
        np.testing.assert_allclose(true, expected[1])
        assert auc(false, true) == pytest.approx(roc_auc_score(positive, scores))


def test_the_mean_curves_area_is_the_mean_area_of_the_classes() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 4000)
    probabilities = random.dirichlet(np.ones(4), 4000)
    probabilities[np.arange(4000), labels] += 0.3
    probabilities /= probabilities.sum(axis=1, keepdims=True)

    rates = mean_roc(probabilities, labels)

    assert mean_roc(np.full((3, 2), 0.5), np.ones(3, dtype=np.int64)) is None
    assert rates is not None
    expected = np.mean([roc_auc_score(labels == c, probabilities[:, c]) for c in range(3)])
    assert np.trapezoid(rates, GRID) == pytest.approx(expected, abs=1e-3)
