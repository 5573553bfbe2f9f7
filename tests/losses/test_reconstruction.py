import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.losses.reconstruction import Reconstruction, mean_squared_error
from tests.losses.random_views import SHAPES, one_trial_at_a_time, rotation, views
from tests.promises import assert_same_numbers


def closed_form(output: np.ndarray, target: np.ndarray) -> float:
    squares = [(output[index] - target[index]) ** 2 for index in np.ndindex(*output.shape)]
    return sum(squares) / len(squares)


@given(shape=SHAPES, seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int, int], seed: int) -> None:
    output, target = views(*shape, seed)
    expected = [closed_form(a, b) for a, b in zip(output.numpy(), target.numpy(), strict=True)]
    np.testing.assert_allclose(mean_squared_error(output, target), expected, rtol=1e-12)


def test_is_mse_loss_of_each_trial() -> None:
    output, target = views(3, 7, 5)
    expected = torch.stack([F.mse_loss(a, b) for a, b in zip(output, target, strict=True)])
    torch.testing.assert_close(mean_squared_error(output, target), expected, atol=0, rtol=1e-12)


def test_compares_what_comes_of_corrupted_rows_with_the_clean_encoded_ones() -> None:
    corrupted, encoded = views(2, 7, 5)
    loss = Reconstruction().loss(None, corrupted, encoded)
    assert torch.equal(loss, mean_squared_error(corrupted, encoded))
    assert torch.equal(loss, Reconstruction().loss(torch.full_like(encoded, torch.nan), corrupted, encoded))


def test_length_matters() -> None:
    """The output is not normalised: a right direction is not enough."""
    row = torch.tensor([[[3.0, 4.0]]])
    assert Reconstruction().loss(None, 2 * row, row).item() == 12.5
    assert Reconstruction().loss(None, row, row).item() == 0


def test_rotation_and_roles_do_not_matter() -> None:
    output, target = views(2, 9, 4)
    expected = mean_squared_error(output, target)
    turned = mean_squared_error(output @ rotation(4), target @ rotation(4))
    torch.testing.assert_close(turned, expected, atol=0, rtol=1e-12)
    assert torch.equal(mean_squared_error(target, output), expected)


def test_gradient() -> None:
    inputs = tuple(z.requires_grad_() for z in views(2, 5, 3))
    assert torch.autograd.gradcheck(mean_squared_error, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(5, 7, 3), (5, 13, 11)])
def test_a_stack_is_a_loop_over_trials(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    inputs = views(*shape, dtype=dtype)
    assert_same_numbers(mean_squared_error(*inputs), one_trial_at_a_time(mean_squared_error, *inputs))


def test_kind() -> None:
    assert Reconstruction() == Reconstruction()
    assert (Reconstruction.task, Reconstruction.sees_clean) == ("reconstruction", False)


def test_there_is_no_error() -> None:
    assert Reconstruction.has_error is False
    with pytest.raises(TypeError, match="not right or wrong"):
        Reconstruction().error(None, *views(1, 2, 2))
