"""Cross-entropy and the bi-tempered loss against torch and by root finding."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import brentq
from torch import Tensor

from scarf_lightning.losses.supervised import bitempered, cross_entropy, tempered_softmax
from tests.promises import assert_same_numbers

T1, T2 = 0.8, 1.2


def logits_and_targets(n: int = 33) -> tuple[Tensor, Tensor]:
    """Rows with four classes."""
    random = torch.Generator().manual_seed(0)
    return 2 * torch.randn(n, 4, generator=random, dtype=torch.float64), torch.randint(4, (n,), generator=random)


def soft_targets() -> Tensor:
    return torch.rand(33, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).softmax(dim=-1)


def test_cross_entropy_is_torchs() -> None:
    """Of hard targets and of soft ones; those that are one-hot are hard."""
    logits, targets = logits_and_targets()
    for given in (targets, soft_targets()):
        torch.testing.assert_close(cross_entropy(logits, given), F.cross_entropy(logits, given), atol=0, rtol=1e-12)
    one_hot = F.one_hot(targets, 4).double()
    torch.testing.assert_close(cross_entropy(logits, one_hot), cross_entropy(logits, targets), atol=0, rtol=1e-12)


def test_a_batch_that_weighs_nothing_changes_no_network() -> None:
    logits, targets = logits_and_targets()
    logits.requires_grad_()
    loss = cross_entropy(logits, targets, torch.zeros(33, dtype=torch.float64))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("loss", [cross_entropy, bitempered])
def test_a_weight_is_a_number_of_rows(loss: Callable[..., Tensor], soft: bool) -> None:
    logits, targets = logits_and_targets()
    if soft:
        targets = soft_targets()
    weights = torch.ones(33, dtype=torch.float64)
    torch.testing.assert_close(loss(logits, targets, weights), loss(logits, targets))
    weights[6:] = 0
    torch.testing.assert_close(loss(logits, targets, weights), loss(logits[:6], targets[:6]))
    weights[1] = 2
    twice = torch.tensor([0, 1, 1, 2, 3, 4, 5])
    torch.testing.assert_close(loss(logits, targets, weights), loss(logits[twice], targets[twice]))


def exact_probabilities(a: np.ndarray, t: float) -> np.ndarray:
    """exp_t(a - lambda) with lambda found by bracketing, for t > 1."""

    def exp_t(x: np.ndarray) -> np.ndarray:
        return np.maximum(1 + (1 - t) * x, 0) ** (1 / (1 - t))

    top = a.max()
    root = brentq(lambda shift: exp_t(a - shift).sum() - 1, top, top + 1e4, xtol=1e-14, rtol=1e-15)
    return exp_t(a - root)


def exact_loss(a: np.ndarray, label: int, t1: float, t2: float) -> float:
    """The definition of Amid et al. (2019), for one row and a hard label."""
    p = exact_probabilities(a, t2)

    def log_t(x: float) -> float:
        return (x ** (1 - t1) - 1) / (1 - t1)

    return -log_t(p[label]) - (1 - (p ** (2 - t1)).sum()) / (2 - t1)


def test_at_temperature_one_it_is_cross_entropy_less_the_entropy_of_the_targets() -> None:
    """Hard labels have none. The gradient is the prediction less the target."""
    logits, targets = logits_and_targets()
    soft = logits.flip(0).softmax(dim=-1)
    for given, of_each, entropy in (
        (targets, F.one_hot(targets, 4), torch.tensor(0.0)),
        (soft, soft, -(soft * soft.log()).sum(dim=-1).mean()),
    ):
        own = logits.clone().requires_grad_()
        loss = bitempered(own, given, t1=1, t2=1)
        loss.backward()
        expected = -(of_each * logits.log_softmax(dim=-1)).sum(dim=-1).mean() - entropy
        torch.testing.assert_close(loss, expected, atol=1e-12, rtol=0)
        torch.testing.assert_close(own.grad, (logits.softmax(dim=-1) - of_each) / 33, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("iterations", "tolerance"), [(5, 5e-3), (60, 1e-10)])
def test_probabilities_against_root_finding(iterations: int, tolerance: float) -> None:
    logits, _ = logits_and_targets()
    expected = [exact_probabilities(row, T2) for row in logits.numpy()]
    np.testing.assert_allclose(tempered_softmax(logits, T2, iterations), expected, atol=tolerance)


def test_loss_against_root_finding() -> None:
    logits, targets = logits_and_targets()
    rows = zip(logits.numpy(), targets.numpy(), strict=True)
    expected = np.mean([exact_loss(row, label, T1, T2) for row, label in rows])
    assert bitempered(logits, targets, iterations=60).item() == pytest.approx(expected, rel=1e-7, abs=1e-10)
    assert bitempered(logits, targets).item() == pytest.approx(expected, rel=1e-7, abs=1e-2)


def test_a_shift_changes_nothing_and_wrong_labels_cost_no_more_than_a_bound() -> None:
    logits, targets = logits_and_targets()
    torch.testing.assert_close(bitempered(logits + 7, targets), bitempered(logits, targets), atol=1e-10, rtol=0)
    hopeless = torch.tensor([[1e6, 0.0]], dtype=torch.float64)
    assert bitempered(hopeless, torch.tensor([1])).item() < 1 / (1 - T1)


@pytest.mark.parametrize(
    ("soft", "weighted", "n_rows", "dtype"),
    [
        (False, False, 31, torch.float32),
        (False, True, 1, torch.float64),
        (True, False, 1, torch.float32),
        (True, True, 31, torch.float64),
        (True, True, 31, torch.float32),
    ],
)
@pytest.mark.parametrize("loss", [cross_entropy, bitempered])
def test_a_stack_is_a_loop_over_trials(
    loss: Callable[..., Tensor], soft: bool, weighted: bool, n_rows: int, dtype: torch.dtype
) -> None:
    """Each trial's loss and gradient are bit for bit its own alone, where the kernels are exact."""
    random = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(7, n_rows, 3, generator=random).to(dtype)
    targets = logits.flip(1, 2).softmax(dim=-1) if soft else torch.randint(3, (7, n_rows), generator=random)
    weights = (torch.rand(7, n_rows, generator=random) + 0.1).to(dtype) if weighted else None

    def step(chosen: slice) -> tuple[Tensor, Tensor]:
        own = logits[chosen].clone().requires_grad_()
        of_rows = None if weights is None else weights[chosen].clone()
        losses = loss(own, targets[chosen].clone(), of_rows)
        losses.sum().backward()
        assert own.grad is not None
        return losses, own.grad

    losses, gradients = step(slice(None))
    for t in range(7):
        alone, gradient = step(slice(t, t + 1))
        assert_same_numbers(alone[0], losses[t])
        assert_same_numbers(gradient[0], gradients[t])
        torch.testing.assert_close(losses[t], loss(logits[t], targets[t], None if weights is None else weights[t]))
