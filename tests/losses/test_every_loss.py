"""What holds for each registered loss at its default options."""

import math
from typing import Any, get_type_hints

import pytest
import torch
from torch import Tensor

from scarf_lightning.losses.loss import Discrimination
from scarf_lightning.options.axes import parts as options
from tests.losses.random_views import assert_a_stack_is_a_loop_over_trials, one_trial_at_a_time, views
from tests.promises import assert_same_numbers

LOSSES = [pytest.param(cls(), id=name) for name, cls in sorted(options("loss").items())]

pytestmark = pytest.mark.parametrize("loss", LOSSES)
in_both_precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def inputs_of(loss: Any, *shape: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """What a loss compares: of one trial ``(N, E)`` twice, of a stack ``(T, N, E)``."""
    *rows, width = shape
    return views(*rows, 1 if isinstance(loss, Discrimination) else width, seed=4, dtype=dtype)


def gradient(loss: Any, first: Tensor, second: Tensor) -> Tensor:
    inputs = first.clone().requires_grad_(), second.clone().requires_grad_()
    return torch.cat(torch.autograd.grad(loss(*inputs), inputs), dim=-1)


def test_serves_a_pretext(loss: Any) -> None:
    kinds = [get_type_hints(pretext).get("loss") for pretext in options("pretrain").values()]
    assert any(kind is not None and isinstance(loss, kind) for kind in kinds)


@in_both_precisions
@pytest.mark.parametrize("stack", [(), (4,), (2, 2)], ids=["alone", "stack", "two axes"])
def test_gives_each_trial_one_number_in_the_precision_of_its_inputs(
    loss: Any, stack: tuple[int, ...], dtype: torch.dtype
) -> None:
    inputs = inputs_of(loss, *stack, 6, 3, dtype=dtype)
    result = loss(*inputs)
    assert (result.shape, result.dtype) == (stack, dtype)
    assert result.unique().numel() == math.prod(stack)
    if loss.has_error:
        wrong = loss.error(*inputs)
        assert wrong.shape == stack
        assert wrong.is_floating_point()
        assert ((wrong >= 0) & (wrong <= 1)).all()


def test_gradient(loss: Any) -> None:
    inputs = tuple(z.clone().requires_grad_() for z in inputs_of(loss, 5, 3, dtype=torch.float64))
    assert torch.autograd.gradcheck(loss, inputs)
    assert torch.autograd.gradcheck(lambda *stacked: loss(*stacked), [z[None] for z in inputs])


@in_both_precisions
@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.parametrize("kind", ["different", "equal views", "equal rows", "all equal", "zero"])
def test_value_and_gradient_are_finite(loss: Any, kind: str, n_rows: int, dtype: torch.dtype) -> None:
    first, second = inputs_of(loss, n_rows, 3, dtype=dtype)
    if kind in ("equal rows", "all equal"):
        first, second = first[:1].repeat(n_rows, 1), second[:1].repeat(n_rows, 1)
    if kind in ("equal views", "all equal"):
        second = first.clone()
    if kind == "zero":
        first, second = torch.zeros_like(first), torch.zeros_like(second)
    assert loss(first, second).isfinite()
    assert gradient(loss, first, second).isfinite().all()
    if loss.has_error:
        assert loss.error(first, second).isfinite()


@in_both_precisions
@pytest.mark.parametrize(("n_rows", "width"), [(1, 3), (2, 5), (17, 13)])
def test_a_stack_is_a_loop_over_trials(loss: Any, n_rows: int, width: int, dtype: torch.dtype) -> None:
    """Bit for bit, so is each trial's gradient, and no trial's gradient reaches another. Under vmap it is the same."""
    inputs = inputs_of(loss, 5, n_rows, width, dtype=dtype)
    assert_a_stack_is_a_loop_over_trials(loss, *inputs)
    torch.testing.assert_close(torch.vmap(loss)(*inputs), loss(*inputs))
    if loss.has_error:
        alone = one_trial_at_a_time(lambda *trial: loss.error(*trial), *inputs)
        assert_same_numbers(loss.error(*inputs), alone)
        torch.testing.assert_close(torch.vmap(loss.error)(*inputs), loss.error(*inputs))
