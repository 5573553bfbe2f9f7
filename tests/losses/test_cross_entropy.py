import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from scarf_lightning.engine.lifting import per_trial
from scarf_lightning.losses.cross_entropy import cross_entropy
from tests.promises import assert_same_numbers


def stacked_logits_and_targets(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Of five trials, each with 13 rows and four classes."""
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 13, 4, generator=random, dtype=torch.float64)
    return logits.to(dtype), torch.randint(4, (5, 13), generator=random)


def logits_and_targets() -> tuple[Tensor, Tensor]:
    logits, targets = stacked_logits_and_targets()
    return logits[0], targets[0]


def soft_targets() -> Tensor:
    return torch.rand(13, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).softmax(dim=-1)


def test_hard_targets() -> None:
    logits, targets = logits_and_targets()
    torch.testing.assert_close(cross_entropy(logits, targets), F.cross_entropy(logits, targets), atol=0, rtol=1e-12)


def test_soft_targets() -> None:
    logits, _ = logits_and_targets()
    soft = soft_targets()
    torch.testing.assert_close(cross_entropy(logits, soft), F.cross_entropy(logits, soft), atol=0, rtol=1e-12)


def test_one_hot_targets_are_hard_targets() -> None:
    logits, targets = logits_and_targets()
    one_hot = F.one_hot(targets, 4).double()
    torch.testing.assert_close(cross_entropy(logits, one_hot), cross_entropy(logits, targets), atol=0, rtol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
def test_weights(soft: bool) -> None:
    logits, targets = logits_and_targets()
    if soft:
        targets = soft_targets()
    weights = torch.ones(13, dtype=torch.float64)
    torch.testing.assert_close(cross_entropy(logits, targets, weights), cross_entropy(logits, targets))
    weights[6:] = 0
    torch.testing.assert_close(cross_entropy(logits, targets, weights), cross_entropy(logits[:6], targets[:6]))
    weights[1] = 2
    twice = torch.tensor([0, 1, 1, 2, 3, 4, 5])
    torch.testing.assert_close(cross_entropy(logits, targets, weights), cross_entropy(logits[twice], targets[twice]))


def test_gradient() -> None:
    logits, targets = logits_and_targets()
    weights = torch.rand(13, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a: cross_entropy(a, targets, weights), logits.clone().requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_stack_is_a_loop_over_trials(dtype: torch.dtype, soft: bool, weighted: bool) -> None:
    """Bit for bit, so is each trial's gradient."""
    logits, targets = stacked_logits_and_targets(dtype)
    if soft:
        targets = logits.flip(1).softmax(dim=-1)
    weights = torch.rand(5, 13, generator=torch.Generator().manual_seed(2)).to(dtype) + 0.1 if weighted else None
    together = logits.clone().requires_grad_()
    losses = per_trial(cross_entropy, together, targets, weights)
    losses.sum().backward()
    for t in range(5):
        alone = logits[t : t + 1].clone().requires_grad_()
        loss = per_trial(
            cross_entropy, alone, targets[t : t + 1], None if weights is None else weights[t : t + 1].clone()
        )
        loss.sum().backward()
        assert loss.shape == (1,)
        assert_same_numbers(loss[0], losses[t])
        assert_same_numbers(alone.grad[0], together.grad[t])
        plain = cross_entropy(logits[t], targets[t], None if weights is None else weights[t])
        torch.testing.assert_close(losses[t], plain)
