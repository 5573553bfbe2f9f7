"""What holds for each registered loss at its default options."""

from typing import get_args

import pytest
import torch
from torch import Tensor

from scarf_lightning.config.registry import options
from scarf_lightning.losses import PretextLoss, Task
from tests.losses.random_views import one_trial_at_a_time
from tests.promises import assert_same_numbers

LOSSES = [pytest.param(cls(), id=name) for name, cls in sorted(options("loss").items())]
Inputs = tuple[Tensor, Tensor, Tensor]

pytestmark = pytest.mark.parametrize("loss", LOSSES)
in_both_precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def inputs_of(loss: PretextLoss, n_trials: int, n_rows: int, width: int, dtype: torch.dtype) -> Inputs:
    """What g makes of clean and of corrupted rows, and the clean rows encoded."""
    random = torch.Generator().manual_seed(4)
    width = 1 if loss.task == "discrimination" else width
    made = torch.randn(3, n_trials, n_rows, width, generator=random, dtype=torch.float64).to(dtype)
    return made[0], made[1], made[2]


def value(loss: PretextLoss, clean: Tensor, corrupted: Tensor, encoded: Tensor) -> Tensor:
    return loss.loss(clean if loss.sees_clean else None, corrupted, encoded)


def error(loss: PretextLoss, clean: Tensor, corrupted: Tensor, encoded: Tensor) -> Tensor:
    return loss.error(clean if loss.sees_clean else None, corrupted, encoded)


def gradient(loss: PretextLoss, clean: Tensor, corrupted: Tensor, encoded: Tensor) -> Tensor:
    """Of what g gives: of corrupted rows, and of clean ones where it sees them."""
    clean, corrupted = clean.clone().requires_grad_(), corrupted.clone().requires_grad_()
    learns_from = [clean, corrupted] if loss.sees_clean else [corrupted]
    return torch.cat(torch.autograd.grad(value(loss, clean, corrupted, encoded).sum(), learns_from), dim=-1)


def test_task(loss: PretextLoss) -> None:
    assert loss.task in get_args(Task)


@in_both_precisions
def test_gives_one_number_a_trial_in_the_precision_of_its_inputs(loss: PretextLoss, dtype: torch.dtype) -> None:
    inputs = inputs_of(loss, 4, 6, 3, dtype)
    result = value(loss, *inputs)
    assert result.shape == (4,)
    assert result.dtype == dtype
    assert result.unique().numel() == 4
    if loss.has_error:
        wrong = error(loss, *inputs)
        assert wrong.shape == (4,)
        assert wrong.is_floating_point()
        assert ((wrong >= 0) & (wrong <= 1)).all()


def test_is_a_pure_function(loss: PretextLoss) -> None:
    """The same inputs give the same, are left as they were, and no random number is drawn."""
    inputs = inputs_of(loss, 3, 6, 4, torch.float32)
    before, options_before, random_before = [z.clone() for z in inputs], repr(loss), torch.get_rng_state()
    first = value(loss, *inputs), gradient(loss, *inputs)
    if loss.has_error:
        error(loss, *inputs)
    second = value(loss, *inputs), gradient(loss, *inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))
    assert repr(loss) == options_before
    assert torch.equal(torch.get_rng_state(), random_before)


def test_order_of_rows_does_not_matter(loss: PretextLoss) -> None:
    inputs = inputs_of(loss, 3, 9, 4, torch.float64)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    reordered = [z[:, order] for z in inputs]
    torch.testing.assert_close(value(loss, *reordered), value(loss, *inputs), atol=1e-12, rtol=1e-12)
    if loss.has_error:
        torch.testing.assert_close(error(loss, *reordered), error(loss, *inputs))


def test_gradient(loss: PretextLoss) -> None:
    clean, corrupted, encoded = inputs_of(loss, 2, 5, 3, torch.float64)
    clean, corrupted = clean.clone().requires_grad_(), corrupted.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: value(loss, a, b, encoded), (clean, corrupted))


@in_both_precisions
@pytest.mark.parametrize("n_rows", [1, 2, 5])
@pytest.mark.parametrize("kind", ["different", "equal views", "equal rows", "all equal", "zero"])
def test_value_and_gradient_are_finite(loss: PretextLoss, kind: str, n_rows: int, dtype: torch.dtype) -> None:
    clean, corrupted, encoded = inputs_of(loss, 2, n_rows, 3, dtype)
    if kind in ("equal rows", "all equal"):
        clean, corrupted = clean[:, :1].repeat(1, n_rows, 1), corrupted[:, :1].repeat(1, n_rows, 1)
    if kind in ("equal views", "all equal"):
        corrupted = clean.clone()
    if kind == "zero":
        clean, corrupted = torch.zeros_like(clean), torch.zeros_like(corrupted)
    assert value(loss, clean, corrupted, encoded).isfinite().all()
    assert gradient(loss, clean, corrupted, encoded).isfinite().all()
    if loss.has_error:
        assert error(loss, clean, corrupted, encoded).isfinite().all()


@in_both_precisions
@pytest.mark.parametrize(("n_rows", "width"), [(1, 3), (2, 5), (7, 3), (17, 13)])
def test_a_stack_is_a_loop_over_trials(loss: PretextLoss, n_rows: int, width: int, dtype: torch.dtype) -> None:
    """Bit for bit where that is promised, so is each trial's gradient, and no trial's gradient reaches another."""
    inputs = inputs_of(loss, 5, n_rows, width, dtype)
    for function in (value, gradient, error) if loss.has_error else (value, gradient):
        alone = one_trial_at_a_time(lambda *trial, asked=function: asked(loss, *trial), *inputs)
        assert_same_numbers(function(loss, *inputs), alone)
