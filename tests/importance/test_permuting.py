import numpy as np

from scarf_lightning.importance.permuting import permutations, permuted, permuted_rows
from scarf_lightning.metrics import metric_named


def test_each_permutation_holds_every_row_once_and_they_differ() -> None:
    found = permutations(50, 4, seed=3)

    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(50), (4, 1)))
    assert len(np.unique(found, axis=0)) == 4
    np.testing.assert_array_equal(found[:2], permutations(50, 2, seed=3))
    assert not np.array_equal(found, permutations(50, 4, seed=4))


def test_columns_of_a_block_move_together_and_the_others_stay() -> None:
    values = np.arange(12.0).reshape(4, 3)
    orders = np.array([[3, 2, 1, 0], [1, 0, 3, 2]])

    found = permuted(values, [0, 2], orders).reshape(2, 4, 3)

    for its, order in zip(found, orders, strict=True):
        np.testing.assert_array_equal(its[:, 1], values[:, 1])
        np.testing.assert_array_equal(its[:, [0, 2]], values[order][:, [0, 2]])


def test_values_are_means_over_permutations_and_none_where_the_metric_is_not_defined() -> None:
    probabilities = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.2, 0.8]]])

    found = permuted_rows(metric_named("accuracy"), probabilities, np.array([0, 1]), np.array([7, 9]))

    assert found is not None
    assert (found.values.tolist(), found.rows.tolist()) == ([0.5, 1.0], [7, 9])
    assert permuted_rows(metric_named("auroc"), probabilities, np.array([0, 0]), np.arange(2)) is None
