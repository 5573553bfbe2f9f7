import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.losses.discrimination import Discrimination, logistic_loss
from tests.losses.random_views import one_trial_at_a_time, views
from tests.promises import assert_same_numbers


def closed_form(clean: np.ndarray, corrupted: np.ndarray) -> float:
    """-log of the probability of the right class, a row at a time."""
    terms = [math.log1p(math.exp(logit)) for logit in clean.flatten()]
    terms += [math.log1p(math.exp(-logit)) for logit in corrupted.flatten()]
    return sum(terms) / len(terms)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 9)),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int], scale: float, seed: int) -> None:
    clean, corrupted = (scale * z for z in views(*shape, 1, seed))
    expected = [closed_form(a, b) for a, b in zip(clean.numpy(), corrupted.numpy(), strict=True)]
    np.testing.assert_allclose(logistic_loss(clean, corrupted), expected, rtol=1e-12, atol=1e-15)


def test_is_binary_cross_entropy_over_all_rows() -> None:
    """Corrupted rows are the positive class."""
    clean, corrupted = views(3, 7, 1)
    labels = torch.cat([torch.zeros(7, 1), torch.ones(7, 1)]).double()
    rows = [torch.cat(pair) for pair in zip(clean, corrupted, strict=True)]
    expected = torch.stack([F.binary_cross_entropy_with_logits(row, labels) for row in rows])
    torch.testing.assert_close(logistic_loss(clean, corrupted), expected, atol=0, rtol=1e-12)
    torch.testing.assert_close(Discrimination().loss(clean, corrupted, views(3, 7, 4)[0]), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_answers(dtype: torch.dtype) -> None:
    """Right ones cost nothing, wrong ones their logit; neither overflows."""
    sure = torch.full((1, 4, 1), 1000, dtype=dtype)
    assert logistic_loss(-sure, sure).tolist() == [0]
    assert logistic_loss(sure, -sure).tolist() == [1000]
    assert logistic_loss(sure, sure).tolist() == [500]


def test_classes_are_interchangeable_with_the_sign() -> None:
    clean, corrupted = views(2, 7, 1)
    torch.testing.assert_close(logistic_loss(clean, corrupted), logistic_loss(-corrupted, -clean), atol=0, rtol=1e-12)


def test_rows_are_not_pairs() -> None:
    """Which clean row a corrupted one came from is not asked."""
    clean, corrupted = views(2, 9, 1)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    expected = logistic_loss(clean, corrupted)
    torch.testing.assert_close(logistic_loss(clean[:, order], corrupted), expected, atol=0, rtol=1e-12)


def test_gradient() -> None:
    inputs = tuple(z.requires_grad_() for z in views(2, 5, 1))
    assert torch.autograd.gradcheck(logistic_loss, inputs)


def gradient(clean: Tensor, corrupted: Tensor) -> Tensor:
    clean, corrupted = clean.clone().requires_grad_(), corrupted.clone().requires_grad_()
    return torch.cat(torch.autograd.grad(logistic_loss(clean, corrupted).sum(), (clean, corrupted)), dim=-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 17, 31])
def test_a_stack_is_a_loop_over_trials(n_rows: int, dtype: torch.dtype) -> None:
    """Logits lie next to each other across trials, so where a vector of them begins depends on the stack."""
    inputs = views(30, n_rows, 1, dtype=dtype)
    assert_same_numbers(logistic_loss(*inputs), one_trial_at_a_time(logistic_loss, *inputs))
    assert_same_numbers(gradient(*inputs), one_trial_at_a_time(gradient, *inputs))


def test_error_counts_wrong_sides_of_zero() -> None:
    """Two trials of four rows; a logit of exactly 0 says clean."""
    clean = torch.tensor([[-1.0, 2.0, -3.0, 0.0], [-1.0, -1.0, -1.0, -1.0]]).unsqueeze(-1)
    corrupted = torch.tensor([[4.0, -5.0, -6.0, 0.0], [1.0, 1.0, 1.0, 1.0]]).unsqueeze(-1)
    encoded = torch.zeros(2, 4, 3)
    assert Discrimination().error(clean, corrupted, encoded).tolist() == [4 / 8, 0]
    assert Discrimination().error(corrupted[1:], clean[1:], encoded[1:]).tolist() == [1]


def test_kind() -> None:
    assert Discrimination() == Discrimination()
    kind = Discrimination.task, Discrimination.sees_clean, Discrimination.has_error
    assert kind == ("discrimination", True, True)
