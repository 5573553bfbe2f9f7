import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from scarf_lightning.networks import OneHot


def raw_features(n_categories: list[int], n_rows: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    columns = [random.integers(count, size=n_rows) if count else random.normal(size=n_rows) for count in n_categories]
    return np.column_stack(columns).astype(np.float64)


def encoded_by_scikit_learn(x: np.ndarray, n_categories: list[int]) -> np.ndarray:
    parts = []
    for column, count in zip(x.T[:, :, None], n_categories, strict=True):
        known = [np.arange(count, dtype=np.float64)]
        parts.append(OneHotEncoder(categories=known, sparse_output=False).fit_transform(column) if count else column)
    return np.concatenate(parts, axis=1)


@given(
    n_categories=st.lists(st.sampled_from([0, 0, 1, 2, 3, 7]), min_size=1, max_size=6),
    n_rows=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_columns_are_encoded_as_by_scikit_learn(n_categories: list[int], n_rows: int, seed: int) -> None:
    x = raw_features(n_categories, n_rows, seed)
    expected = encoded_by_scikit_learn(x, n_categories)
    one_hot = OneHot(n_categories)
    encoded = one_hot(torch.from_numpy(x))
    assert one_hot.width == expected.shape[1] == sum(max(count, 1) for count in n_categories)
    assert (encoded.numpy() == expected).all()


def test_by_hand() -> None:
    x = torch.tensor([[0.5, 2.0, 1.0, 0.0], [1.0, 0.0, -3.0, 0.0]])
    expected = torch.tensor([[0.5, 0, 0, 1, 1.0, 1], [1.0, 1, 0, 0, -3.0, 1]])
    assert torch.equal(OneHot([0, 3, 0, 1])(x), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_all_leading_axes_are_kept_and_the_dtype_too(dtype: torch.dtype) -> None:
    n_categories = [3, 0, 2]
    x = torch.from_numpy(raw_features(n_categories, 24)).to(dtype)
    one_hot = OneHot(n_categories)
    encoded = one_hot(x.view(2, 3, 4, 3))
    assert encoded.shape == (2, 3, 4, 6)
    assert encoded.dtype == dtype
    assert torch.equal(encoded.view(24, 6), one_hot(x))


def test_numbers_pass_untouched() -> None:
    x = torch.from_numpy(raw_features([0, 0, 0], 5))
    one_hot = OneHot([0, 0, 0])
    assert one_hot.width == 3
    assert torch.equal(one_hot(x), x)


def test_a_number_that_equals_a_code_is_no_category() -> None:
    x = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    assert torch.equal(OneHot([0, 2])(x), torch.tensor([[1.0, 0, 1], [0.0, 1, 0]]))


def test_many_codes_stay_apart_in_float32() -> None:
    count = 1000
    encoded = OneHot([count])(torch.arange(count, dtype=torch.float32).unsqueeze(1))
    assert torch.equal(encoded, torch.eye(count))


def test_gradients_pass_through_numeric_columns_alone() -> None:
    x = torch.tensor([[1.0, 0.3, 2.0]], requires_grad=True)
    encoded = OneHot([3, 0, 3])(x)
    (encoded * torch.arange(1.0, 8.0)).sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0, 0.0]]


def test_nothing_is_learnt_or_stored() -> None:
    one_hot = OneHot([3, 0])
    assert list(one_hot.parameters()) == []
    assert one_hot.state_dict() == {}
