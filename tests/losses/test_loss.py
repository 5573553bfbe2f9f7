"""The losses of auto-encoders and of discriminative SCARF against their closed forms."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.corruption.selection import Exact
from scarf_lightning.corruption.strategies import Marginal
from scarf_lightning.losses.loss import Discrimination, Reconstruction, mean_squared_error
from scarf_lightning.pretexts.scarf import ScarfAE
from tests.losses.random_views import SHAPES, assert_a_stack_is_a_loop_over_trials, rotation, views


def closed_form(output: np.ndarray, target: np.ndarray) -> float:
    squares = [(output[index] - target[index]) ** 2 for index in np.ndindex(*output.shape)]
    return sum(squares) / len(squares)


@given(shape=SHAPES, seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int], seed: int) -> None:
    output, target = views(*shape, seed=seed)
    expected = closed_form(output.numpy(), target.numpy())
    assert mean_squared_error(output, target).item() == pytest.approx(expected, rel=1e-12)


def test_is_mse_loss() -> None:
    output, target = views(7, 5)
    expected = F.mse_loss(output, target)
    torch.testing.assert_close(mean_squared_error(output, target), expected, atol=0, rtol=1e-12)
    torch.testing.assert_close(Reconstruction()(output, target), expected, atol=0, rtol=1e-12)


def test_length_matters() -> None:
    """The output is not normalised: a right direction is not enough."""
    row = torch.tensor([[3.0, 4.0]])
    assert Reconstruction()(2 * row, row).item() == 12.5
    assert Reconstruction()(row, row).item() == 0


def test_rotation_and_roles_do_not_matter() -> None:
    output, target = views(9, 4)
    expected = mean_squared_error(output, target)
    turned = mean_squared_error(output @ rotation(4), target @ rotation(4))
    torch.testing.assert_close(turned, expected, atol=0, rtol=1e-12)
    assert torch.equal(mean_squared_error(target, output), expected)


def test_there_is_no_error() -> None:
    assert Reconstruction.has_error is False
    pretext = ScarfAE(Marginal(), Exact(), Reconstruction())
    assert pretext.has_error is False
    output, target = views(2, 2)
    with pytest.raises(TypeError, match="not right or wrong"):
        pretext.compute_error((output,), (target,))


def discrimination_closed_form(clean: np.ndarray, corrupted: np.ndarray) -> float:
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
def test_closed_form_of_discrimination(n_rows: int, scale: float, seed: int) -> None:
    clean, corrupted = (scale * z for z in views(n_rows, 1, seed=seed))
    expected = discrimination_closed_form(clean.numpy(), corrupted.numpy())
    assert Discrimination()(clean, corrupted).item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_is_binary_cross_entropy_over_all_rows() -> None:
    """Corrupted rows are the positive class."""
    clean, corrupted = views(7, 1)
    labels = torch.cat([torch.zeros(7, 1), torch.ones(7, 1)]).double()
    expected = F.binary_cross_entropy_with_logits(torch.cat([clean, corrupted]), labels)
    torch.testing.assert_close(Discrimination()(clean, corrupted), expected, atol=0, rtol=1e-12)
    torch.testing.assert_close(Discrimination()(clean, corrupted), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_answers(dtype: torch.dtype) -> None:
    """Right ones cost nothing, wrong ones their logit; neither overflows."""
    sure = torch.full((4, 1), 1000, dtype=dtype)
    assert Discrimination()(-sure, sure).item() == 0
    assert Discrimination()(sure, -sure).item() == 1000
    assert Discrimination()(sure, sure).item() == 500


def test_classes_are_interchangeable_with_the_sign() -> None:
    clean, corrupted = views(7, 1)
    torch.testing.assert_close(
        Discrimination()(clean, corrupted), Discrimination()(-corrupted, -clean), atol=0, rtol=1e-12
    )


def test_rows_are_not_pairs() -> None:
    """Which clean row a corrupted one came from is not asked."""
    clean, corrupted = views(9, 1)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    expected = Discrimination()(clean, corrupted)
    torch.testing.assert_close(Discrimination()(clean[order], corrupted), expected, atol=0, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 17, 31])
def test_a_stack_is_a_loop_over_trials(n_rows: int, dtype: torch.dtype) -> None:
    """Logits lie next to each other across trials, so where a vector of them begins depends on the stack."""
    assert_a_stack_is_a_loop_over_trials(Discrimination(), *views(30, n_rows, 1, dtype=dtype))


def test_error_counts_wrong_sides_of_zero() -> None:
    """A logit of exactly 0 says clean."""
    clean = torch.tensor([[-1.0], [2.0], [-3.0], [0.0]])
    corrupted = torch.tensor([[4.0], [-5.0], [-6.0], [0.0]])
    assert Discrimination().error(clean, corrupted).item() == 4 / 8
    right = torch.ones(4, 1)
    assert Discrimination().error(-right, right).item() == 0
    assert Discrimination().error(right, -right).item() == 1
