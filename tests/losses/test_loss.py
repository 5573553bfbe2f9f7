"""The losses of pretext tasks against their closed forms and the published code."""

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
from torch import Tensor

from scarf_lightning.losses.loss import (
    AlignUniform,
    Discrimination,
    InfoNCE,
    Reconstruction,
    barlow_twins,
    mean_squared_error,
    nt_xent,
)
from tests.losses.random_views import SHAPES, views


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
    n, of_rows = len(z), range(len(z))
    s = [[z[i] @ z_corrupted[j] / (math.hypot(*z[i]) * math.hypot(*z_corrupted[j])) for j in of_rows] for i in of_rows]
    terms = []
    for i in of_rows:
        denominator = sum(math.exp(s[i][k] / temperature) for k in of_rows) / n
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
