import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.barlow_twins import BarlowTwins, barlow_twins
from tests.losses.random_views import SHAPES, assert_a_stack_is_a_loop_over_trials, lengths, views


def closed_form(first: np.ndarray, second: np.ndarray, off_diagonal: float) -> float:
    """Equations 1 and 2 of Zbontar et al., an entry of the cross-correlation at a time."""
    n, width = first.shape
    total = 0.0
    for i in range(width):
        for j in range(width):
            a, b = first[:, i] - first[:, i].sum() / n, second[:, j] - second[:, j].sum() / n
            spread = math.sqrt((a @ a / n + 1e-5) * (b @ b / n + 1e-5))
            c = sum(a[row] * b[row] for row in range(n)) / n / spread
            total += (1 - c) ** 2 if i == j else off_diagonal * c**2
    return total


def original(first: Tensor, second: Tensor) -> Tensor:
    """What facebookresearch/barlowtwins computes of ``(N, E)``, with SCARF's weight 5e-3."""
    normalise = torch.nn.BatchNorm1d(first.shape[-1], affine=False, dtype=first.dtype)
    c = normalise(first).T @ normalise(second) / len(first)
    on_diagonal = torch.diagonal(c).add(-1).pow(2).sum()
    off_diagonal = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
    return on_diagonal + 5e-3 * off_diagonal


@given(shape=SHAPES, off_diagonal=st.sampled_from([0.0, 5e-3, 1.0, 7.0]), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int], off_diagonal: float, seed: int) -> None:
    first, second = views(*shape, seed=seed)
    expected = closed_form(first.numpy(), second.numpy(), off_diagonal)
    assert barlow_twins(first, second, off_diagonal).item() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize(("n_rows", "width"), [(2, 3), (7, 3), (16, 24)])
def test_is_the_original_code_with_batch_normalisation(n_rows: int, width: int, scale: float) -> None:
    """At the smaller scale its epsilon weighs ten times the variance."""
    for seed in range(3):
        first, second = (scale * z for z in views(n_rows, width, seed=seed))
        torch.testing.assert_close(barlow_twins(first, second), original(first, second), atol=1e-12, rtol=1e-12)


def test_the_class_looks_at_directions_only() -> None:
    first, second = views(9, 4)
    loss = BarlowTwins()
    unit = [z / z.square().sum(dim=-1, keepdim=True).sqrt() for z in (first, second)]
    torch.testing.assert_close(loss(first, second), barlow_twins(*unit), atol=1e-12, rtol=0)
    scaled = loss(first * lengths(9), second / lengths(9))
    torch.testing.assert_close(scaled, loss(first, second), atol=1e-12, rtol=0)


def test_a_features_unit_does_not_matter() -> None:
    """Up to epsilon: each feature of each view is shifted and stretched, the sign being the same in both."""
    first, second = views(9, 4)
    sign = torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=torch.float64)
    stretched = sign * torch.tensor([90.0, 300.0, 50.0, 70.0], dtype=torch.float64) * first + 5
    shifted = sign * torch.tensor([60.0, 80.0, 900.0, 100.0], dtype=torch.float64) * second - 3
    expected = barlow_twins(100 * first, 100 * second)
    torch.testing.assert_close(barlow_twins(stretched, shifted), expected, atol=1e-6, rtol=0)


def test_perfectly_correlated_and_uncorrelated_features() -> None:
    """C is the identity: no loss. C is minus the identity: 4 for each feature."""
    z = 1e3 * torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    assert barlow_twins(z, z).item() == pytest.approx(0, abs=1e-12)
    assert barlow_twins(z, -z).item() == pytest.approx(8)
    assert barlow_twins(z, z[..., [1, 0]]).item() == pytest.approx(2 + 2 * 5e-3)


def test_a_row_alone_and_equal_rows_correlate_with_nothing() -> None:
    assert barlow_twins(*views(1, 4)).item() == 4
    same = torch.ones(8, 3, dtype=torch.float64)
    assert barlow_twins(same, views(8, 3)[0]).item() == 3


def test_views_are_interchangeable() -> None:
    """C is transposed."""
    first, second = views(7, 5)
    torch.testing.assert_close(barlow_twins(first, second), barlow_twins(second, first), atol=1e-12, rtol=0)


def test_gradient() -> None:
    first, second = (z.requires_grad_() for z in views(5, 3))
    assert torch.autograd.gradcheck(lambda a, b: barlow_twins(a, b, 0.7), (first, second))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_stack_is_a_loop_over_trials(dtype: torch.dtype) -> None:
    assert_a_stack_is_a_loop_over_trials(barlow_twins, *views(5, 7, 3, dtype=dtype))


def test_options() -> None:
    first, second = views(5, 3)
    assert BarlowTwins() == BarlowTwins(off_diagonal=5e-3)
    unit = torch.nn.functional.normalize(first, dim=-1), torch.nn.functional.normalize(second, dim=-1)
    assert torch.equal(BarlowTwins(off_diagonal=0.3)(first, second), barlow_twins(*unit, 0.3))
    BarlowTwins(off_diagonal=0.0)
    for off_diagonal in (-1e-9, math.nan, math.inf):
        with pytest.raises(ValueError, match="off_diagonal must be at least 0"):
            BarlowTwins(off_diagonal=off_diagonal)


def test_kind() -> None:
    assert issubclass(BarlowTwins, ContrastiveLoss)
    assert BarlowTwins.has_error
