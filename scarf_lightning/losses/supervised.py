"""Losses on labels: cross-entropy and the bi-tempered logistic loss of classes, squared error of numbers.

Those of classes take logits ``(..., N, C)``, targets that are class numbers ``(..., N)`` or probabilities
``(..., N, C)``, and row weights ``(..., N)`` or None; they return ``(...)``.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Weighted mean of the cross-entropy over rows (paper, section 3).

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> cross_entropy(logits, torch.tensor([0, 0]))
    tensor(0.7201)

    The second row, which is wrong, weighs nothing:

    >>> cross_entropy(logits, torch.tensor([0, 0]), torch.tensor([1.0, 0.0]))
    tensor(0.1269)
    """
    log_probabilities = F.log_softmax(logits, dim=-1)
    if are_class_numbers(targets, logits):
        rows = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    else:
        rows = -(targets * log_probabilities).sum(dim=-1)
    return weighted_mean(rows, weights)


def squared_error(outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Weighted mean over rows of the squared difference: ``(..., N, 1)`` twice and ``(..., N)`` give ``(...)``.

    >>> squared_error(torch.tensor([[1.0], [3.0]]), torch.tensor([[1.0], [1.0]]))
    tensor(2.)
    """
    return weighted_mean((outputs - targets).square().squeeze(-1), weights)


def smoothed(targets: Tensor, logits: Tensor, share: float | Tensor) -> Tensor:
    """Probabilities ``(..., N, C)`` of which the uniform distribution over classes has a ``share``.

    Targets are class numbers ``(..., N)`` or probabilities ``(..., N, C)``. Source: Szegedy et al. 2016, section 7,
    https://arxiv.org/abs/1512.00567.

    >>> smoothed(torch.tensor([1]), torch.zeros(1, 4), 0.2)
    tensor([[0.0500, 0.8500, 0.0500, 0.0500]])
    """
    n_classes = logits.shape[-1]
    if are_class_numbers(targets, logits):
        # A half-precision number would lose digits of the share.
        dtype = torch.promote_types(logits.dtype, torch.float32)
        targets = F.one_hot(targets, n_classes).to(dtype)
    uniform = share / n_classes
    return (1 - share) * targets + uniform


def are_class_numbers(targets: Tensor, logits: Tensor) -> bool:
    """True if targets are class numbers ``(..., N)``, False if they are probabilities ``(..., N, C)``."""
    return targets.dim() < logits.dim()


def weighted_mean(rows: Tensor, weights: Tensor | None) -> Tensor:
    """The mean ``(...)`` of what rows ``(..., N)`` lose, by their weights ``(..., N)`` if they have any.

    >>> weighted_mean(torch.tensor([1.0, 4.0]), torch.tensor([3.0, 1.0]))
    tensor(1.7500)
    """
    if weights is None:
        return rows.mean(dim=-1)
    # A batch of rows that all weigh nothing has no loss and no gradient.
    tiny = torch.finfo(weights.dtype).tiny
    total = weights.sum(dim=-1).clamp_min(tiny)
    weighted = weights * rows
    return weighted.sum(dim=-1) / total


def bitempered(
    logits: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    *,
    t1: float = 0.8,
    t2: float = 1.2,
    iterations: int = 5,
) -> Tensor:
    """Weighted mean of sum_c y (log_t1 y - log_t1 p) - (y^(2 - t1) - p^(2 - t1)) / (2 - t1).

    p is the tempered softmax at t2. At t1 = t2 = 1 this is the cross-entropy minus the entropy of soft targets.

    Source: Amid et al. 2019, https://arxiv.org/abs/1906.03361.

    A wrong label costs less than by the cross-entropy:

    >>> logits, targets = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0])
    >>> bitempered(logits, targets), bitempered(logits, targets, t1=1.0, t2=1.0)
    (tensor(0.5450), tensor(0.7201))
    """
    labels = targets
    if are_class_numbers(targets, logits):
        labels = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    # A probability may round to 0, which has no logarithm.
    tiny = torch.finfo(logits.dtype).tiny
    probabilities = tempered_softmax(logits, t2, iterations).clamp_min(tiny)
    safe = labels.clamp_min(tiny)
    surprise = log_t(safe, t1) - log_t(probabilities, t1)
    divergence = labels * surprise
    # Powers are written as exp(p log x): torch.pow rounds the elements that do not fill a vector register differently,
    # so a trial's numbers would depend on the trials beside it.
    power = 2 - t1
    label_powers = (power * safe.log()).exp()
    # Exactly 0 for the classes that a row is not of.
    label_powers = label_powers * (labels > 0)
    probability_powers = (power * probabilities.log()).exp()
    surplus = (label_powers - probability_powers) / power
    rows = (divergence - surplus).sum(dim=-1)
    return weighted_mean(rows, weights)


def log_t(x: Tensor, t: float) -> Tensor:
    """Tempered logarithm, (x^(1 - t) - 1) / (1 - t); log x at t = 1.

    >>> log_t(torch.tensor(2.0), 0.5)
    tensor(0.8284)
    """
    if t == 1:
        return x.log()
    # For t near 1 the power is near 1, and subtracting 1 from it would leave few digits.
    exponent = (1 - t) * x.log()
    return torch.expm1(exponent) / (1 - t)


def exp_t(x: Tensor, t: float) -> Tensor:
    """Tempered exponential, max(0, 1 + (1 - t) x)^(1 / (1 - t)); exp x at t = 1. It is the inverse of `log_t`.

    >>> exp_t(torch.tensor(0.8284), 0.5)
    tensor(2.0000)
    """
    if t == 1:
        return x.exp()
    # The base of the power is not negative.
    at_least = ((1 - t) * x).clamp_min(-1)
    exponent = torch.log1p(at_least) / (1 - t)
    return exponent.exp()


def tempered_softmax(logits: Tensor, t: float, iterations: int = 5) -> Tensor:
    """exp_t(a - lambda(a)) with lambda such that the classes sum to 1, for t >= 1: ``(..., C)`` to ``(..., C)``.

    A higher temperature is less certain:

    >>> tempered_softmax(torch.tensor([2.0, 0.0]), 1.0), tempered_softmax(torch.tensor([2.0, 0.0]), 4.0)
    (tensor([0.8808, 0.1192]), tensor([0.5597, 0.4404]))
    """
    if t == 1:
        return logits.softmax(dim=-1)
    # Softmax does not change with a constant; small numbers round less.
    logits = logits - logits.detach().amax(dim=-1, keepdim=True)
    # The gradient flows through the probabilities: that of the normalisation is known in closed form.
    normalisation = _Normalisation.apply(logits, t, iterations)  # type: ignore[no-untyped-call]
    return exp_t(logits - normalisation, t)


class _Normalisation(torch.autograd.Function):
    """lambda_t(a), found by fixed-point iteration; its gradient is the escort distribution p^t / sum p^t."""

    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, t: float, iterations: int) -> Tensor:
        largest = logits.amax(dim=-1, keepdim=True)
        shifted = logits - largest
        scaled = shifted
        # a <- a Z(a)^(1 - t), where Z is the sum of exp_t over the classes.
        for _ in range(iterations):
            partition = exp_t(scaled, t).sum(dim=-1, keepdim=True)
            scaled = shifted * ((1 - t) * partition.log()).exp()
        partition = exp_t(scaled, t).sum(dim=-1, keepdim=True)
        # `shifted` has lost the largest logit, by which the normalisation of the logits themselves is larger.
        return -log_t(1 / partition, t) + largest

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        logits, ctx.t, _ = inputs
        ctx.save_for_backward(logits, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, normalisation = ctx.saved_tensors
        probabilities = exp_t(logits - normalisation, ctx.t)
        escort = (ctx.t * probabilities.log()).exp()
        shares = escort / escort.sum(dim=-1, keepdim=True)
        return gradients[0] * shares, None, None


SHARES = np.linspace(0, 0.95, 20)
"""Of constants in a mixture with predictions. A share of 1 would lose the order of the rows."""


def mixtures(predictions: Any, constants: Any, shares: Any) -> Any:
    """Predictions that are mixed with constants, by each share of the constants: ``(S, ...)``.

    Args:
        predictions: ``(...)``, a tensor or an array, as constants and shares are.
        constants: the same for all rows of a trial; they broadcast to the predictions.
        shares: ``(S,)``.

    >>> mixtures(np.array([4.0, 0.0]), np.array([1.0]), np.array([0.0, 0.5]))
    array([[4. , 0. ],
           [2.5, 0.5]])
    """
    return predictions + shares.reshape(-1, *[1] * predictions.ndim) * (constants - predictions)


def mixed_cross_entropy(logits: Tensor, labels: Tensor, *mixture: Tensor) -> Tensor:
    """The smallest cross-entropy ``(...)`` of mixtures with frequencies ``(..., 1, C)``, by shares ``(S,)``."""
    mixed = mixtures(logits.double().softmax(dim=-1), *mixture)
    return cross_entropy(mixed.log(), labels.expand(mixed.shape[:-1])).amin(dim=0)


def mixed_squared_error(outputs: Tensor, targets: Tensor, *mixture: Tensor) -> Tensor:
    """The smallest mean squared error ``(...)`` of mixtures with constants ``(..., 1, 1)``, by shares ``(S,)``."""
    return squared_error(mixtures(outputs.double(), *mixture), targets).amin(dim=0)
