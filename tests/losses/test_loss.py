"""The losses against their closed forms, torch's, the published code and root finding."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from torch import Tensor

from scarf_lightning.losses.loss import (
    AlignUniform,
    Discrimination,
    InfoNCE,
    Reconstruction,
    barlow_twins,
    bitempered,
    cross_entropy,
    mean_squared_error,
    nt_xent,
    tempered_softmax,
)
from tests.losses.random_views import SHAPES, views
from tests.promises import assert_same_numbers


def of_reconstruction(output: np.ndarray, target: np.ndarray) -> float:
    squares = [(output[index] - target[index]) ** 2 for index in np.ndindex(*output.shape)]
    return sum(squares) / len(squares)


def of_discrimination(clean: np.ndarray, corrupted: np.ndarray) -> float:
    """-log of the probability of the right class, a row at a time."""
    terms = [math.log1p(math.exp(logit)) for logit in clean.flatten()]
    terms += [math.log1p(math.exp(-logit)) for logit in corrupted.flatten()]
    return sum(terms) / len(terms)


def of_infonce(z: np.ndarray, z_corrupted: np.ndarray, temperature: float) -> float:
    """Algorithm 1, lines 7 and 8, a term at a time."""
    n, rows = len(z), range(len(z))
    s = [[z[i] @ z_corrupted[j] / (math.hypot(*z[i]) * math.hypot(*z_corrupted[j])) for j in rows] for i in rows]
    terms = []
    for i in rows:
        denominator = sum(math.exp(s[i][k] / temperature) for k in rows) / n
        terms.append(-math.log(math.exp(s[i][i] / temperature) / denominator))
    return sum(terms) / n


def of_barlow_twins(first: np.ndarray, second: np.ndarray, off_diagonal: float) -> float:
    """Equations 1 and 2 of Zbontar et al., an entry of the cross-correlation at a time."""
    n, width = first.shape
    total = 0.0
    for i, j in np.ndindex(width, width):
        a, b = first[:, i] - first[:, i].sum() / n, second[:, j] - second[:, j].sum() / n
        spread = math.sqrt((a @ a / n + 1e-5) * (b @ b / n + 1e-5))
        c = sum(a[row] * b[row] for row in range(n)) / n / spread
        total += (1 - c) ** 2 if i == j else off_diagonal * c**2
    return total


def of_align_uniform(first: np.ndarray, second: np.ndarray, loss: AlignUniform) -> float:
    """Equations 2 and 3 of Wang and Isola, a pair of rows at a time."""
    n = len(first)
    first, second = (np.stack([row / math.hypot(*row) for row in z]) for z in (first, second))
    total = loss.align * sum(math.dist(first[i], second[i]) ** 2 for i in range(n)) / n
    for z in (first, second):
        terms = [math.exp(-loss.t * math.dist(z[i], z[j]) ** 2) for i in range(n) for j in range(n) if i != j]
        total += loss.uniform / 2 * math.log(sum(terms) / len(terms)) if terms else 0
    return total


CLOSED_FORMS: list[tuple[Any, Callable[..., float]]] = [
    (Reconstruction(), of_reconstruction),
    (mean_squared_error, of_reconstruction),
    (Discrimination(), of_discrimination),
    *[(InfoNCE(tau), partial(of_infonce, temperature=tau)) for tau in (0.1, 1.0, 10.0)],
    *[(partial(barlow_twins, off_diagonal=w), partial(of_barlow_twins, off_diagonal=w)) for w in (0.0, 5e-3, 7.0)],
    *[
        (loss, partial(of_align_uniform, loss=loss))
        for loss in (AlignUniform(t=0.1), AlignUniform(0.0, 1.0, 5.0), AlignUniform(0.3, 2.0))
    ],
]


@pytest.mark.parametrize(("loss", "closed_form"), CLOSED_FORMS)
@given(shape=SHAPES, scale=st.sampled_from([0.1, 1.0, 30.0]), seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_a_loss_is_its_closed_form(
    loss: Any, closed_form: Callable[..., float], shape: tuple[int, int], scale: float, seed: int
) -> None:
    shape = (shape[0], 1) if isinstance(loss, Discrimination) else shape
    first, second = (scale * z for z in views(*shape, seed=seed))
    expected = closed_form(first.numpy(), second.numpy())
    assert loss(first, second).item() == pytest.approx(expected, rel=1e-11, abs=1e-12)


def original_barlow_twins(first: Tensor, second: Tensor) -> Tensor:
    """What facebookresearch/barlowtwins computes of ``(N, E)``, with SCARF's weight 5e-3."""
    normalise = torch.nn.BatchNorm1d(first.shape[-1], affine=False, dtype=first.dtype)
    c = normalise(first).T @ normalise(second) / len(first)
    on_diagonal = torch.diagonal(c).add(-1).pow(2).sum()
    off_diagonal = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
    return on_diagonal + 5e-3 * off_diagonal


def nt_xent_by_a_loop(first: Tensor, second: Tensor) -> Tensor:
    both, n = F.normalize(torch.cat([first, second]), dim=1).numpy(), len(first)
    losses = []
    for i in range(2 * n):
        scores = np.exp(both @ both[i] / 0.3)
        losses.append(-math.log(scores[(i + n) % (2 * n)] / (scores.sum() - scores[i])))
    return torch.tensor(np.mean(losses))


@pytest.mark.parametrize(
    ("loss", "published", "shape"),
    [
        (partial(nt_xent, temperature=0.3), nt_xent_by_a_loop, (5, 3)),
        *[(barlow_twins, original_barlow_twins, shape) for shape in ((2, 3), (16, 24))],
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_a_loss_is_that_of_the_published_code(
    loss: Any, published: Callable[..., Tensor], shape: tuple[int, int], scale: float
) -> None:
    """At the smaller scale the epsilon of batch normalisation weighs ten times the variance."""
    first, second = (scale * z for z in views(*shape))
    torch.testing.assert_close(loss(first, second), published(first, second), atol=1e-12, rtol=1e-12)


def test_infonce_has_one_direction_unless_it_is_symmetric() -> None:
    """The candidates of a clean row are the corrupted ones."""
    clean, corrupted = views(6, 3)
    one, other = InfoNCE(0.5)(clean, corrupted), InfoNCE(0.5)(corrupted, clean)
    assert abs(one - other).item() > 1e-3
    torch.testing.assert_close(InfoNCE(0.5, True)(clean, corrupted), (one + other) / 2, atol=1e-12, rtol=0)


EYE = torch.eye(4, dtype=torch.float64)
LONGER = torch.tensor([[1.0, 0.2], [9.0, 9.0], [9.0, 0.0]])
NEAR = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])


@pytest.mark.parametrize(
    ("loss", "clean", "corrupted", "error"),
    [
        pytest.param(
            Discrimination(), [[-1.0], [0.5], [-3.0], [0.0]], [[0.5], [-5.0], [-6.0], [0.0]], 4 / 8,
            id="wrong sides of zero, which itself says clean",
        ),
        pytest.param(InfoNCE(), EYE, EYE[[0, 1, 3, 2]], 0.5, id="two rows nearest to each other's view"),
        # Row 0 is nearest to corrupted row 2, row 1 to corrupted row 1, row 2 to corrupted row 0 by a hair.
        pytest.param(InfoNCE(), NEAR, LONGER, 2 / 3, id="a candidate is not nearer for being longer"),
        pytest.param(InfoNCE(), LONGER, NEAR, 1, id="the clean row chooses among corrupted ones"),
        pytest.param(InfoNCE(), torch.ones(8, 3), torch.ones(8, 3), 0, id="ties do not count"),
    ],
)  # fmt: skip
def test_the_error_is_the_share_of_rows_that_are_taken_for_another(
    loss: Any, clean: Any, corrupted: Any, error: Any
) -> None:
    assert loss.error(torch.as_tensor(clean), torch.as_tensor(corrupted)).item() == pytest.approx(error)


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
    for each in (targets, soft_targets()):
        torch.testing.assert_close(cross_entropy(logits, each), F.cross_entropy(logits, each), atol=0, rtol=1e-12)
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
    for each, of_each, entropy in (
        (targets, F.one_hot(targets, 4), torch.tensor(0.0)),
        (soft, soft, -(soft * soft.log()).sum(dim=-1).mean()),
    ):
        own = logits.clone().requires_grad_()
        loss = bitempered(own, each, t1=1, t2=1)
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
        row_weights = None if weights is None else weights[chosen].clone()
        losses = loss(own, targets[chosen].clone(), row_weights)
        losses.sum().backward()
        assert own.grad is not None
        return losses, own.grad

    losses, gradients = step(slice(None))
    for t in range(7):
        alone, gradient = step(slice(t, t + 1))
        assert_same_numbers(alone[0], losses[t])
        assert_same_numbers(gradient[0], gradients[t])
        torch.testing.assert_close(losses[t], loss(logits[t], targets[t], None if weights is None else weights[t]))
