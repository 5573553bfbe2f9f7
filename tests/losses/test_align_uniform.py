import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.engine.lifting import per_trial
from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.align_uniform import AlignUniform, alignment, uniformity
from tests.losses.random_views import SHAPES, lengths, one_trial_at_a_time, rotation, views
from tests.promises import assert_same_numbers


def unit(z: np.ndarray) -> np.ndarray:
    return np.stack([row / math.hypot(*row) for row in z])


def closed_form(first: np.ndarray, second: np.ndarray, loss: AlignUniform) -> float:
    """Equations 2 and 3 of Wang and Isola, a pair of rows at a time."""
    first, second = unit(first), unit(second)
    n = len(first)
    total = loss.align * sum(math.dist(first[i], second[i]) ** 2 for i in range(n)) / n
    for z in (first, second):
        terms = [math.exp(-loss.t * math.dist(z[i], z[j]) ** 2) for i in range(n) for j in range(n) if i != j]
        total += loss.uniform / 2 * math.log(sum(terms) / len(terms)) if terms else 0
    return total


def align_loss(x: Tensor, y: Tensor) -> Tensor:
    """As Wang and Isola print it, of ``(N, E)``, with their exponent."""
    return (x - y).norm(dim=1).pow(2).mean()


def uniform_loss(x: Tensor, t: float) -> Tensor:
    """As Wang and Isola print it, of ``(N, E)``."""
    return torch.pdist(x, p=2).pow(2).mul(-t).exp().mean().log()


@given(
    shape=SHAPES,
    weights=st.sampled_from([(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.3, 2.0)]),
    t=st.sampled_from([0.1, 2.0, 5.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int], weights: tuple[float, float], t: float, seed: int) -> None:
    first, second = views(*shape, seed=seed)
    loss = AlignUniform(*weights, t=t)
    expected = closed_form(first.numpy(), second.numpy(), loss)
    assert loss(first, second).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("t", [2.0, 3.0])
def test_is_the_published_code(t: float) -> None:
    for seed in range(3):
        x, y = (F.normalize(z, dim=-1) for z in views(8, 4, seed=seed))
        torch.testing.assert_close(alignment(x, y), align_loss(x, y), atol=1e-12, rtol=0)
        torch.testing.assert_close(uniformity(x, t), uniform_loss(x, t), atol=1e-12, rtol=0)
        both = align_loss(x, y) + (uniform_loss(x, t) + uniform_loss(y, t)) / 2
        torch.testing.assert_close(AlignUniform(t=t)(x, y), both, atol=1e-12, rtol=0)


def test_collapsed_embeddings_are_aligned_and_not_spread() -> None:
    same = torch.ones(8, 3, dtype=torch.float64)
    assert AlignUniform()(same, same).item() == pytest.approx(0, abs=1e-12)


def test_embeddings_that_are_all_zero_are_not_spread_either() -> None:
    """No two of them are apart, and a network that died must not look better than one that spreads its rows."""
    zero = torch.zeros(8, 3, dtype=torch.float64)
    assert uniform_loss(zero, 2.0) == 0
    assert AlignUniform()(zero, zero).item() == pytest.approx(0, abs=1e-12)


def test_opposite_rows() -> None:
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    assert alignment(z, -z).item() == pytest.approx(4)
    assert uniformity(z).item() == pytest.approx(-8)


def test_one_row_has_no_pair() -> None:
    z = torch.ones(1, 3, requires_grad=True)
    spread = uniformity(z)
    spread.backward()
    assert spread.item() == 0
    assert z.grad is not None
    assert z.grad.eq(0).all()


def test_rotation_and_length_do_not_matter() -> None:
    first, second = views(9, 4)
    turned = first @ rotation(4), second @ rotation(4)
    torch.testing.assert_close(alignment(*turned), alignment(first, second), atol=0, rtol=1e-12)
    directions = F.normalize(first, dim=-1)
    torch.testing.assert_close(uniformity(directions @ rotation(4)), uniformity(directions), atol=1e-12, rtol=0)
    expected = AlignUniform()(first, second)
    torch.testing.assert_close(AlignUniform()(*turned), expected, atol=1e-12, rtol=0)
    scaled = AlignUniform()(first * lengths(9), second / lengths(9))
    torch.testing.assert_close(scaled, expected, atol=1e-12, rtol=0)


def test_views_are_interchangeable() -> None:
    first, second = views(7, 5)
    loss = AlignUniform(t=3.0)
    torch.testing.assert_close(loss(first, second), loss(second, first), atol=1e-12, rtol=0)


def test_gradient() -> None:
    first, second = (z.requires_grad_() for z in views(5, 3))
    assert torch.autograd.gradcheck(AlignUniform(align=0.7, uniform=1.3, t=0.9), (first, second))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n_trials", "n_rows"), [(5, 7), (30, 3), (30, 17)])
def test_a_stack_is_a_loop_over_trials(n_trials: int, n_rows: int, dtype: torch.dtype) -> None:
    loss = AlignUniform(align=0.3, t=0.7)
    inputs = views(n_trials, n_rows, 3, dtype=dtype)

    def values(*stacked: Tensor) -> Tensor:
        return per_trial(loss, *stacked)

    assert_same_numbers(values(*inputs), one_trial_at_a_time(values, *inputs))


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_views_that_agree_have_a_finite_gradient(n_rows: int) -> None:
    """As where corruption drew the value that was there."""
    first = views(n_rows, 3)[0].requires_grad_()
    loss = AlignUniform()(first, first.detach().clone())
    loss.backward()
    assert loss.isfinite()
    assert first.grad is not None
    assert first.grad.isfinite().all()


def test_options() -> None:
    assert AlignUniform() == AlignUniform(align=1.0, uniform=1.0, t=2.0)
    AlignUniform(align=0.0, uniform=0.0, t=1e-3)


@pytest.mark.parametrize(
    ("option", "refused", "limit"),
    [
        ("align", -1e-9, "at least 0"),
        ("uniform", -1e-9, "at least 0"),
        ("t", 0.0, "greater than 0"),
    ],
)
def test_options_have_limits(option: str, refused: float, limit: str) -> None:
    for value in (refused, -math.inf, math.inf, math.nan):
        with pytest.raises(ValueError, match=rf"^{option} must be {limit}, not "):
            AlignUniform(**{option: value})


def test_kind() -> None:
    assert issubclass(AlignUniform, ContrastiveLoss)
    assert AlignUniform.has_error
