import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.discrimination import Discrimination, logistic_loss
from tests.losses.random_views import assert_a_stack_is_a_loop_over_trials, views


def closed_form(clean: np.ndarray, corrupted: np.ndarray) -> float:
    """-log of the probability of the right class, a row at a time."""
    terms = [math.log1p(math.exp(logit)) for logit in clean.flatten()]
    terms += [math.log1p(math.exp(-logit)) for logit in corrupted.flatten()]
    return sum(terms) / len(terms)


@given(
    n_rows=st.integers(1, 9),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(n_rows: int, scale: float, seed: int) -> None:
    clean, corrupted = (scale * z for z in views(n_rows, 1, seed=seed))
    expected = closed_form(clean.numpy(), corrupted.numpy())
    assert logistic_loss(clean, corrupted).item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_is_binary_cross_entropy_over_all_rows() -> None:
    """Corrupted rows are the positive class."""
    clean, corrupted = views(7, 1)
    labels = torch.cat([torch.zeros(7, 1), torch.ones(7, 1)]).double()
    expected = F.binary_cross_entropy_with_logits(torch.cat([clean, corrupted]), labels)
    torch.testing.assert_close(logistic_loss(clean, corrupted), expected, atol=0, rtol=1e-12)
    torch.testing.assert_close(Discrimination()(clean, corrupted), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_answers(dtype: torch.dtype) -> None:
    """Right ones cost nothing, wrong ones their logit; neither overflows."""
    sure = torch.full((4, 1), 1000, dtype=dtype)
    assert logistic_loss(-sure, sure).item() == 0
    assert logistic_loss(sure, -sure).item() == 1000
    assert logistic_loss(sure, sure).item() == 500


def test_classes_are_interchangeable_with_the_sign() -> None:
    clean, corrupted = views(7, 1)
    torch.testing.assert_close(logistic_loss(clean, corrupted), logistic_loss(-corrupted, -clean), atol=0, rtol=1e-12)


def test_rows_are_not_pairs() -> None:
    """Which clean row a corrupted one came from is not asked."""
    clean, corrupted = views(9, 1)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    expected = logistic_loss(clean, corrupted)
    torch.testing.assert_close(logistic_loss(clean[order], corrupted), expected, atol=0, rtol=1e-12)


def test_gradient() -> None:
    inputs = tuple(z.requires_grad_() for z in views(5, 1))
    assert torch.autograd.gradcheck(logistic_loss, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 17, 31])
def test_a_stack_is_a_loop_over_trials(n_rows: int, dtype: torch.dtype) -> None:
    """Logits lie next to each other across trials, so where a vector of them begins depends on the stack."""
    assert_a_stack_is_a_loop_over_trials(logistic_loss, *views(30, n_rows, 1, dtype=dtype))


def test_error_counts_wrong_sides_of_zero() -> None:
    """A logit of exactly 0 says clean."""
    clean = torch.tensor([[-1.0], [2.0], [-3.0], [0.0]])
    corrupted = torch.tensor([[4.0], [-5.0], [-6.0], [0.0]])
    assert Discrimination().error(clean, corrupted).item() == 4 / 8
    right = torch.ones(4, 1)
    assert Discrimination().error(-right, right).item() == 0
    assert Discrimination().error(right, -right).item() == 1


def test_kind() -> None:
    assert Discrimination() == Discrimination()
    assert not issubclass(Discrimination, ContrastiveLoss)
    assert Discrimination.has_error
