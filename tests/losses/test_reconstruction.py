import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.corruption.marginal import Marginal
from scarf_lightning.corruption.selection import Exact
from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.reconstruction import Reconstruction, mean_squared_error
from scarf_lightning.pretexts.scarf_ae import ScarfAE
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


def test_gradient() -> None:
    inputs = tuple(z.requires_grad_() for z in views(5, 3))
    assert torch.autograd.gradcheck(mean_squared_error, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(5, 7, 3), (5, 13, 11)])
def test_a_stack_is_a_loop_over_trials(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    assert_a_stack_is_a_loop_over_trials(mean_squared_error, *views(*shape, dtype=dtype))


def test_kind() -> None:
    assert Reconstruction() == Reconstruction()
    assert not issubclass(Reconstruction, ContrastiveLoss)


def test_there_is_no_error() -> None:
    assert Reconstruction.has_error is False
    pretext = ScarfAE(Marginal(), Exact(), Reconstruction())
    assert pretext.has_error is False
    output, target = views(2, 2)
    with pytest.raises(TypeError, match="not right or wrong"):
        pretext.compute_error((output,), (target,))
