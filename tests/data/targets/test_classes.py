import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from scarf_lightning.data.targets import Classes


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_they_are_scikit_learns(labels: list[int]) -> None:
    of_trial = np.array(labels)
    present = np.unique(of_trial)

    weights = Classes(tuple("abcde")).class_weights(np.stack([of_trial, of_trial]))

    assert weights.shape == (2, 5)
    np.testing.assert_allclose(weights[1, present], compute_class_weight("balanced", classes=present, y=of_trial))


def test_a_class_without_a_row_weighs_as_one_with_a_single_row() -> None:
    np.testing.assert_allclose(Classes(tuple("abc")).class_weights(np.array([[0, 0, 0, 2]])), [[4 / 6, 4 / 2, 4 / 2]])
