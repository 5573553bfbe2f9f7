"""The losses that a cell trains on.

- Of pretext tasks: reconstruction and discrimination, InfoNCE, and the alternatives of the paper's appendix.
- On labels: cross-entropy and the bi-tempered logistic loss of classes, squared error of numbers. Those of classes take
  logits ``(..., N, C)``, targets that are class numbers ``(..., N)`` or probabilities ``(..., N, C)``, and row weights
  ``(..., N)`` or None; they return ``(...)``.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..options.option import Options, option

VARIANCE_EPSILON = 1e-5
"""Added to a variance, as in batch normalisation, so that a constant feature correlates with nothing."""
SHARES = np.linspace(0, 0.95, 20)
"""Of constants in a mixture with predictions. A share of 1 would lose the order of the rows."""


@dataclass
class Loss(Options, ABC):
    """A loss that a pretext task trains on. The type of a task's field ``loss`` names the losses that serve it.

    A loss takes tensors ``(..., N, E)`` and returns ``(...)``: it averages over the last axes and leaves leading ones
    alone. ``has_error`` is true if answers can be right or wrong, so that validation can watch their error rate.
    """

    name: ClassVar[str]
    has_error: ClassVar[bool] = True


def mean_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Mean over rows and features of the squared difference.

    **Shape.** ``(..., N, D)`` twice gives ``(...)``.

    >>> mean_squared_error(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 4.0]]))
    tensor(2.)
    """
    return (output - target).square().mean(dim=(-2, -1))


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """Mean over rows of ||x - y||^2, so of the sum over features.

    **Shape.** ``(..., N, E)`` twice gives ``(...)``.

    >>> squared_distance(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 4.0]]))
    tensor(4.)
    """
    # Unlike `mean_squared_error` this grows with the width, as the authors' losses do.
    return (first - second).square().sum(dim=-1).mean(dim=-1)


@dataclass
class Reconstruction(Loss):
    """Squared error between the clean encoded row and g's output on the corrupted one (paper, section 4).

    >>> Reconstruction()(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 4.0]]))
    tensor(2.)
    """

    name: ClassVar[str] = "reconstruction"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    has_error: ClassVar[bool] = False

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        return mean_squared_error(output, target)


@dataclass
class Discrimination(Loss):
    """Binary cross-entropy over 2N rows, corrupted rows being the positive class (paper, section 4).

    **Shape.** Logits ``(..., N, 1)`` of clean and of corrupted rows give ``(...)``.

    One of four rows, a clean one, is taken for corrupted:

    >>> clean, corrupted = torch.tensor([[-2.0], [1.0]]), torch.tensor([[3.0], [2.0]])
    >>> Discrimination()(clean, corrupted)
    tensor(0.4039)
    >>> Discrimination().error(clean, corrupted)
    tensor(0.2500)
    """

    name: ClassVar[str] = "discrimination"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        # The logarithm of a sigmoid that has rounded to 0 would be -inf.
        clean_log_likelihoods = F.logsigmoid(-clean)
        corrupted_log_likelihoods = F.logsigmoid(corrupted)
        # Both sums have N rows, and the mean is over 2N.
        mean = (clean_log_likelihoods + corrupted_log_likelihoods).mean(dim=(-2, -1))
        return -mean / 2

    def error(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """Share of the 2N rows on the wrong side of 0, ``(...)``."""
        # An output of 0 is wrong for corrupted rows alone, so that a constant 0 has an error of one half.
        errors = (clean > 0).float() + (corrupted <= 0).float()
        return errors.mean(dim=(-2, -1)) / 2


def cosine_similarities(first: Tensor, second: Tensor) -> Tensor:
    """s_ij, the cosine of row i of the first and row j of the second: ``(..., N, E)`` twice gives ``(..., N, N)``.

    >>> cosine_similarities(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    tensor([[1.0000, 0.7071]])
    """
    # An embedding of zeros stays zero: `normalize` divides by 1e-12 at least.
    first = F.normalize(first, dim=-1)
    second = F.normalize(second, dim=-1)
    return _inner_products(first, second)


def _inner_products(first: Tensor, second: Tensor) -> Tensor:
    """``(..., N, E)`` twice gives ``(..., N, N)``."""
    # Products over a dimension of one take another path, on which the number of trials shows in the last bit.
    if first.shape[-1] == 1:
        first = F.pad(first, (0, 1))
        second = F.pad(second, (0, 1))
    return first @ second.mT


def _without_diagonal(x: Tensor) -> Tensor:
    """``(..., n, n)`` with -inf on its diagonal."""
    n = x.shape[-1]
    diagonal = torch.eye(n, dtype=torch.bool, device=x.device)
    return x.masked_fill(diagonal, -math.inf)


@dataclass
class ContrastiveLoss(Loss):
    """A loss on embeddings of two views of the same rows."""

    @abstractmethod
    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """``(..., N, E)`` twice gives ``(...)``."""

    def error(self, first: Tensor, second: Tensor) -> Tensor:
        """Share of rows that are more similar to another row's view than to their own, ``(...)``.

        The paper's appendix calls it the "InfoNCE error".
        """
        similarities = cosine_similarities(first, second)
        own_similarities = similarities.diagonal(dim1=-2, dim2=-1)
        is_wrong = similarities.amax(dim=-1) > own_similarities
        return is_wrong.float().mean(dim=-1)


@dataclass
class InfoNCE(ContrastiveLoss):
    """Cross-entropy of finding a row's own view among all views of the mini-batch.

    It is the mean over i of -log( exp(s_ii / tau) / (1/N sum_k exp(s_ik / tau)) ), the cross-entropy minus log N, where
    s is the cosine of the two views and tau the temperature. Source: Algorithm 1, lines 7 and 8: one direction, from
    clean to corrupted rows, N candidates, the 1/N inside the logarithm. One row gives 0: it is its only candidate.

    Three rows that find their own views, and the same with two views exchanged:

    >>> views = torch.eye(3)
    >>> exchanged = views[[0, 2, 1]]
    >>> InfoNCE()(views, views), InfoNCE()(views, exchanged)
    (tensor(-0.5472), tensor(0.1195))
    >>> InfoNCE().error(views, exchanged)
    tensor(0.6667)
    """

    name: ClassVar[str] = "infonce"
    label: ClassVar[str] = "InfoNCE"
    paper: ClassVar[str] = "van den Oord et al., 2018, arXiv:1807.03748"
    temperature: float = option(1.0, "temperature that similarities are divided by", "(0, inf)")
    symmetric: bool = option(False, "average the loss over both directions")

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        similarities = cosine_similarities(first, second)
        logits = similarities / self.temperature
        loss = _one_direction(logits)
        if not self.symmetric:
            return loss
        backwards = _one_direction(logits.mT)
        return (loss + backwards) / 2


def _one_direction(logits: Tensor) -> Tensor:
    """The loss of finding column i in row i: ``(..., N, N)`` to ``(...)``."""
    positive = logits.diagonal(dim1=-2, dim2=-1)
    cross_entropy = (logits.logsumexp(dim=-1) - positive).mean(dim=-1)
    n_candidates = logits.shape[-1]
    # A guess among all candidates gives 0, whatever the size of the batch.
    return cross_entropy - math.log(n_candidates)


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Normalised temperature-scaled cross-entropy: each of 2N embeddings picks its partner among 2N - 1 others.

    Source: Chen et al. 2020, https://arxiv.org/abs/2002.05709, equation 1.

    **Shape.** ``(..., N, E)`` twice gives ``(...)``.

    Each of four embeddings has one partner at a cosine of 1 and two others at 0, so the loss is log(e + 2) - 1:

    >>> nt_xent(torch.eye(2), torch.eye(2), temperature=1.0)
    tensor(0.5514)
    """
    n = first.shape[-2]
    both = torch.cat([first, second], dim=-2)
    logits = cosine_similarities(both, both) / temperature
    # The partner of row i is row i + N, and that of row i + N is row i.
    first_partners = logits.diagonal(offset=n, dim1=-2, dim2=-1)
    second_partners = logits.diagonal(offset=-n, dim1=-2, dim2=-1)
    partners = torch.cat([first_partners, second_partners], dim=-1)
    # A row is no candidate for itself, at which it would always be found.
    log_normalisers = _without_diagonal(logits).logsumexp(dim=-1)
    return (log_normalisers - partners).mean(dim=-1)


def barlow_twins(first: Tensor, second: Tensor, off_diagonal: float = 5e-3) -> Tensor:
    """sum_i (1 - C_ii)^2 + off_diagonal * sum_{i != j} C_ij^2, with C the cross-correlation of features over a batch.

    Source: Zbontar et al. 2021, https://arxiv.org/abs/2103.03230.

    **Shape.** ``(..., N, E)`` twice gives ``(...)``. One row has no variance: C is 0 and the loss E.
    """
    n = first.shape[-2]
    first = _standardise(first)
    second = _standardise(second)
    correlation = first.mT @ second / n
    # The identity has ones on its diagonal, and zeros beside it.
    diagonal = correlation.diagonal(dim1=-2, dim2=-1)
    squared_all = correlation.square().sum(dim=(-2, -1))
    squared_diagonal = diagonal.square().sum(dim=-1)
    invariance = (1 - diagonal).square().sum(dim=-1)
    redundancy = squared_all - squared_diagonal
    return invariance + off_diagonal * redundancy


def _standardise(z: Tensor) -> Tensor:
    """Each feature with mean 0 and variance 1 over the rows, ``(..., N, E)``."""
    mean = z.mean(dim=-2, keepdim=True)
    centred = z - mean
    variance = centred.square().mean(dim=-2, keepdim=True)
    return centred * torch.rsqrt(variance + VARIANCE_EPSILON)


@dataclass
class BarlowTwins(ContrastiveLoss):
    """Makes the cross-correlation of the embeddings of both views the identity; see `barlow_twins`.

    Differs from the paper: embeddings are scaled to unit length first, as SCARF's pre-training head does.

    Two features that vary together in both views, and against each other:

    >>> views = torch.eye(2)
    >>> BarlowTwins()(views, views), BarlowTwins()(views, -views)
    (tensor(0.0100), tensor(8.0097))
    """

    name: ClassVar[str] = "barlow_twins"
    label: ClassVar[str] = "Barlow Twins"
    paper: ClassVar[str] = "Zbontar et al., 2021, arXiv:2103.03230"
    off_diagonal: float = option(5e-3, "weight of the off-diagonal correlations", "[0, inf)")

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        first = F.normalize(first, dim=-1)
        second = F.normalize(second, dim=-1)
        return barlow_twins(first, second, self.off_diagonal)


def uniformity(z: Tensor, t: float = 2.0) -> Tensor:
    """log of the mean over pairs i != j of exp(-t ||z_i - z_j||^2), for unit vectors ``(..., N, E)``: ``(...)``.

    One row has no pair and gives 0.

    >>> uniformity(torch.eye(2)), uniformity(torch.ones(2, 2))
    (tensor(-4.), tensor(0.))
    """
    n = z.shape[-2]
    if n == 1:
        # Multiplied, so that the zero has a gradient like any other loss.
        return (z * 0).sum(dim=(-2, -1))
    # The squared length is 1, except for an embedding of zeros, which has no direction.
    squared_lengths = z.square().sum(dim=-1)
    lengths = squared_lengths.unsqueeze(-1) + squared_lengths.unsqueeze(-2)
    # From inner products, because the differences of all pairs would take N times the memory of the rows.
    squared_distances = lengths - 2 * _inner_products(z, z)
    exponents = _without_diagonal(-t * squared_distances)
    pairs = exponents.flatten(-2)
    n_pairs = n * (n - 1)
    return pairs.logsumexp(dim=-1) - math.log(n_pairs)


@dataclass
class AlignUniform(ContrastiveLoss):
    """align * alignment + uniform * uniformity, the latter averaged over both views; embeddings have unit length.
    The alignment is the mean squared distance of a row's two views.

    The exponent alpha is 2, the authors' default.

    Views that agree have no distance; opposite ones have a squared distance of 4:

    >>> views = torch.eye(2)
    >>> AlignUniform()(views, views), AlignUniform(uniform=0.0)(views, -views)
    (tensor(-4.), tensor(4.))
    """

    name: ClassVar[str] = "align_uniform"
    label: ClassVar[str] = "alignment and uniformity"
    paper: ClassVar[str] = "Wang and Isola, 2020, arXiv:2005.10242"
    align: float = option(1.0, "weight of the alignment", "[0, inf)")
    uniform: float = option(1.0, "weight of the uniformity", "[0, inf)")
    t: float = option(2.0, "inverse width of the uniformity's kernel", "(0, inf)")

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        first = F.normalize(first, dim=-1)
        second = F.normalize(second, dim=-1)
        alignment = squared_distance(first, second)
        first_uniformity = uniformity(first, self.t)
        second_uniformity = uniformity(second, self.t)
        spread = (first_uniformity + second_uniformity) / 2
        return self.align * alignment + self.uniform * spread


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
    """The mean ``(...)`` of the losses of rows ``(..., N)``, by their weights ``(..., N)`` if they have any.

    >>> weighted_mean(torch.tensor([1.0, 4.0]), torch.tensor([3.0, 1.0]))
    tensor(1.7500)
    """
    if weights is None:
        return rows.mean(dim=-1)
    # A batch of rows that all weigh nothing has no loss and no gradient.
    tiny = torch.finfo(weights.dtype).tiny
    total = weights.sum(dim=-1).clamp_min(tiny)
    weighted_rows = weights * rows
    return weighted_rows.sum(dim=-1) / total


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
    probabilities = mixtures(logits.double().softmax(dim=-1), *mixture)
    return cross_entropy(probabilities.log(), labels.expand(probabilities.shape[:-1])).amin(dim=0)


def mixed_squared_error(outputs: Tensor, targets: Tensor, *mixture: Tensor) -> Tensor:
    """The smallest mean squared error ``(...)`` of mixtures with constants ``(..., 1, 1)``, by shares ``(S,)``."""
    return squared_error(mixtures(outputs.double(), *mixture), targets).amin(dim=0)
