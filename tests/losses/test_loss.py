"""The losses of pretext tasks against their closed forms and the published code."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.corruption.strategies import Exact, Marginal
from scarf_lightning.losses.loss import (
    AlignUniform,
    BarlowTwins,
    Discrimination,
    InfoNCE,
    Reconstruction,
    barlow_twins,
    mean_squared_error,
    nt_xent,
    squared_distance,
    uniformity,
)
from scarf_lightning.pretexts.scarf import ScarfAE
from tests.losses.random_views import SHAPES, assert_a_stack_is_a_loop_over_trials, lengths, rotation, views


def reconstruction_closed_form(output: np.ndarray, target: np.ndarray) -> float:
    squares = [(output[index] - target[index]) ** 2 for index in np.ndindex(*output.shape)]
    return sum(squares) / len(squares)


@given(shape=SHAPES, seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form_of_reconstruction(shape: tuple[int, int], seed: int) -> None:
    output, target = views(*shape, seed=seed)
    expected = reconstruction_closed_form(output.numpy(), target.numpy())
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


def test_there_is_no_error() -> None:
    assert Reconstruction.has_error is False
    pretext = ScarfAE(Marginal(), Exact(), Reconstruction())
    assert pretext.has_error is False
    output, target = views(2, 2)
    with pytest.raises(TypeError, match="not right or wrong"):
        pretext.compute_error((output,), (target,))


def discrimination_closed_form(clean: np.ndarray, corrupted: np.ndarray) -> float:
    """-log of the probability of the right class, a row at a time."""
    terms = [math.log1p(math.exp(logit)) for logit in clean.flatten()]
    terms += [math.log1p(math.exp(-logit)) for logit in corrupted.flatten()]
    return sum(terms) / len(terms)


@given(
    n_rows=st.integers(1, 9),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form_of_discrimination(n_rows: int, scale: float, seed: int) -> None:
    clean, corrupted = (scale * z for z in views(n_rows, 1, seed=seed))
    expected = discrimination_closed_form(clean.numpy(), corrupted.numpy())
    assert Discrimination()(clean, corrupted).item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_is_binary_cross_entropy_over_all_rows() -> None:
    """Corrupted rows are the positive class."""
    clean, corrupted = views(7, 1)
    labels = torch.cat([torch.zeros(7, 1), torch.ones(7, 1)]).double()
    expected = F.binary_cross_entropy_with_logits(torch.cat([clean, corrupted]), labels)
    torch.testing.assert_close(Discrimination()(clean, corrupted), expected, atol=0, rtol=1e-12)
    torch.testing.assert_close(Discrimination()(clean, corrupted), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_answers(dtype: torch.dtype) -> None:
    """Right ones cost nothing, wrong ones their logit; neither overflows."""
    sure = torch.full((4, 1), 1000, dtype=dtype)
    assert Discrimination()(-sure, sure).item() == 0
    assert Discrimination()(sure, -sure).item() == 1000
    assert Discrimination()(sure, sure).item() == 500


def test_classes_are_interchangeable_with_the_sign() -> None:
    clean, corrupted = views(7, 1)
    torch.testing.assert_close(
        Discrimination()(clean, corrupted), Discrimination()(-corrupted, -clean), atol=0, rtol=1e-12
    )


def test_rows_are_not_pairs() -> None:
    """Which clean row a corrupted one came from is not asked."""
    clean, corrupted = views(9, 1)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    expected = Discrimination()(clean, corrupted)
    torch.testing.assert_close(Discrimination()(clean[order], corrupted), expected, atol=0, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 17, 31])
def test_a_stack_is_a_loop_over_trials(n_rows: int, dtype: torch.dtype) -> None:
    """Logits lie next to each other across trials, so where a vector of them begins depends on the stack."""
    assert_a_stack_is_a_loop_over_trials(Discrimination(), *views(30, n_rows, 1, dtype=dtype))


def test_error_counts_wrong_sides_of_zero() -> None:
    """A logit of exactly 0 says clean."""
    clean = torch.tensor([[-1.0], [2.0], [-3.0], [0.0]])
    corrupted = torch.tensor([[4.0], [-5.0], [-6.0], [0.0]])
    assert Discrimination().error(clean, corrupted).item() == 4 / 8
    right = torch.ones(4, 1)
    assert Discrimination().error(-right, right).item() == 0
    assert Discrimination().error(right, -right).item() == 1


def infonce(first: Tensor, second: Tensor, temperature: float = 1.0, *, symmetric: bool = False) -> Tensor:
    return InfoNCE(temperature, symmetric)(first, second)


def closed_form(z: np.ndarray, z_corrupted: np.ndarray, temperature: float) -> float:
    """Algorithm 1, lines 7 and 8, a term at a time."""
    n = len(z)
    s = [
        [z[i] @ z_corrupted[j] / (math.hypot(*z[i]) * math.hypot(*z_corrupted[j])) for j in range(n)] for i in range(n)
    ]
    terms = []
    for i in range(n):
        denominator = sum(math.exp(s[i][k] / temperature) for k in range(n)) / n
        terms.append(-math.log(math.exp(s[i][i] / temperature) / denominator))
    return sum(terms) / n


@given(shape=SHAPES, temperature=st.sampled_from([0.1, 0.5, 1.0, 10.0]), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int], temperature: float, seed: int) -> None:
    clean, corrupted = views(*shape, seed=seed)
    expected = closed_form(clean.numpy(), corrupted.numpy(), temperature)
    assert infonce(clean, corrupted, temperature).item() == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_is_cross_entropy_minus_log_n() -> None:
    clean, corrupted = views(16, 5)
    cosine = F.cosine_similarity(clean[:, None], corrupted[None], dim=-1)
    expected = F.cross_entropy(cosine / 0.3, torch.arange(16)) - math.log(16)
    torch.testing.assert_close(infonce(clean, corrupted, 0.3), expected, atol=1e-12, rtol=0)


def test_one_row_is_its_own_only_candidate() -> None:
    assert infonce(*views(1, 4)).item() == pytest.approx(0, abs=1e-12)


def test_collapsed_embeddings_give_zero() -> None:
    same = torch.ones(8, 3, dtype=torch.float64)
    assert infonce(same, same).item() == pytest.approx(0, abs=1e-12)


def test_the_two_arguments_are_not_interchangeable() -> None:
    """One direction: the candidates of a clean row are the corrupted ones."""
    clean, corrupted = views(6, 3)
    assert abs(infonce(clean, corrupted) - infonce(corrupted, clean)).item() > 1e-3


def test_rotation_and_length_do_not_matter() -> None:
    clean, corrupted = views(9, 4)
    expected = infonce(clean, corrupted, 0.5)
    turned = infonce(clean @ rotation(4), corrupted @ rotation(4), 0.5)
    torch.testing.assert_close(turned, expected, atol=1e-12, rtol=0)
    scaled = infonce(clean * lengths(9), corrupted / lengths(9), 0.5)
    torch.testing.assert_close(scaled, expected, atol=1e-12, rtol=0)


def test_the_other_direction_has_half_the_weight_when_symmetric() -> None:
    clean, corrupted = views(6, 3)
    expected = (infonce(clean, corrupted, 0.5) + infonce(corrupted, clean, 0.5)) / 2
    torch.testing.assert_close(infonce(clean, corrupted, 0.5, symmetric=True), expected, atol=1e-12, rtol=0)


def test_error_counts_rows_nearest_to_another_row() -> None:
    clean = torch.eye(4, dtype=torch.float64)
    corrupted = clean[[0, 1, 3, 2]]  # the last two rows are nearest to each other's view
    assert InfoNCE().error(clean, corrupted).item() == 0.5
    assert InfoNCE().error(clean, clean).item() == 0
    # In a stack each trial counts its own rows.
    stacked = InfoNCE().error(torch.stack([clean] * 4), torch.stack([corrupted, clean, clean, clean]))
    assert stacked.tolist() == [0.5, 0, 0, 0]


def test_error_compares_cosines_within_a_clean_row() -> None:
    """A candidate is not nearer for being longer, and the clean row chooses among corrupted ones, not the reverse."""
    clean = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    corrupted = torch.tensor([[1.0, 0.2], [9.0, 9.0], [9.0, 0.0]])
    # Row 0 is nearest to corrupted row 2, row 1 to corrupted row 1, row 2 to corrupted row 0 by a hair.
    assert InfoNCE().error(clean, corrupted).item() == pytest.approx(2 / 3)
    assert InfoNCE().error(corrupted, clean).item() == pytest.approx(1)


def test_error_does_not_count_ties() -> None:
    same = torch.ones(4, 2)
    assert InfoNCE().error(same, same).item() == 0


def test_nt_xent_by_a_loop() -> None:
    first, second, tau = *views(5, 3), 0.3
    both = F.normalize(torch.cat([first, second]), dim=1).numpy()
    losses = []
    for i in range(10):
        scores = np.exp(both @ both[i] / tau)
        losses.append(-math.log(scores[(i + 5) % 10] / (scores.sum() - scores[i])))
    assert nt_xent(first, second, tau).item() == pytest.approx(np.mean(losses), abs=1e-12)


def barlow_twins_closed_form(first: np.ndarray, second: np.ndarray, off_diagonal: float) -> float:
    """Equations 1 and 2 of Zbontar et al., an entry of the cross-correlation at a time."""
    n, width = first.shape
    total = 0.0
    for i in range(width):
        for j in range(width):
            a, b = first[:, i] - first[:, i].sum() / n, second[:, j] - second[:, j].sum() / n
            spread = math.sqrt((a @ a / n + 1e-5) * (b @ b / n + 1e-5))
            c = sum(a[row] * b[row] for row in range(n)) / n / spread
            total += (1 - c) ** 2 if i == j else off_diagonal * c**2
    return total


def original(first: Tensor, second: Tensor) -> Tensor:
    """What facebookresearch/barlowtwins computes of ``(N, E)``, with SCARF's weight 5e-3."""
    normalise = torch.nn.BatchNorm1d(first.shape[-1], affine=False, dtype=first.dtype)
    c = normalise(first).T @ normalise(second) / len(first)
    on_diagonal = torch.diagonal(c).add(-1).pow(2).sum()
    off_diagonal = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
    return on_diagonal + 5e-3 * off_diagonal


@given(shape=SHAPES, off_diagonal=st.sampled_from([0.0, 5e-3, 1.0, 7.0]), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form_of_barlow_twins(shape: tuple[int, int], off_diagonal: float, seed: int) -> None:
    first, second = views(*shape, seed=seed)
    expected = barlow_twins_closed_form(first.numpy(), second.numpy(), off_diagonal)
    assert barlow_twins(first, second, off_diagonal).item() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize(("n_rows", "width"), [(2, 3), (7, 3), (16, 24)])
def test_is_the_original_code_with_batch_normalisation(n_rows: int, width: int, scale: float) -> None:
    """At the smaller scale its epsilon weighs ten times the variance."""
    for seed in range(3):
        first, second = (scale * z for z in views(n_rows, width, seed=seed))
        torch.testing.assert_close(barlow_twins(first, second), original(first, second), atol=1e-12, rtol=1e-12)


def test_the_class_looks_at_directions_only() -> None:
    first, second = views(9, 4)
    loss = BarlowTwins()
    unit = [z / z.square().sum(dim=-1, keepdim=True).sqrt() for z in (first, second)]
    torch.testing.assert_close(loss(first, second), barlow_twins(*unit), atol=1e-12, rtol=0)
    scaled = loss(first * lengths(9), second / lengths(9))
    torch.testing.assert_close(scaled, loss(first, second), atol=1e-12, rtol=0)


def test_a_features_unit_does_not_matter() -> None:
    """Up to epsilon: each feature of each view is shifted and stretched, the sign being the same in both."""
    first, second = views(9, 4)
    sign = torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=torch.float64)
    stretched = sign * torch.tensor([90.0, 300.0, 50.0, 70.0], dtype=torch.float64) * first + 5
    shifted = sign * torch.tensor([60.0, 80.0, 900.0, 100.0], dtype=torch.float64) * second - 3
    expected = barlow_twins(100 * first, 100 * second)
    torch.testing.assert_close(barlow_twins(stretched, shifted), expected, atol=1e-6, rtol=0)


def test_perfectly_correlated_and_uncorrelated_features() -> None:
    """C is the identity: no loss. C is minus the identity: 4 for each feature."""
    z = 1e3 * torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    assert barlow_twins(z, z).item() == pytest.approx(0, abs=1e-12)
    assert barlow_twins(z, -z).item() == pytest.approx(8)
    assert barlow_twins(z, z[..., [1, 0]]).item() == pytest.approx(2 + 2 * 5e-3)


def test_a_row_alone_and_equal_rows_correlate_with_nothing() -> None:
    assert barlow_twins(*views(1, 4)).item() == 4
    same = torch.ones(8, 3, dtype=torch.float64)
    assert barlow_twins(same, views(8, 3)[0]).item() == 3


def test_views_are_interchangeable() -> None:
    """C is transposed."""
    first, second = views(7, 5)
    torch.testing.assert_close(barlow_twins(first, second), barlow_twins(second, first), atol=1e-12, rtol=0)


def unit(z: np.ndarray) -> np.ndarray:
    return np.stack([row / math.hypot(*row) for row in z])


def align_uniform_closed_form(first: np.ndarray, second: np.ndarray, loss: AlignUniform) -> float:
    """Equations 2 and 3 of Wang and Isola, a pair of rows at a time."""
    first, second = unit(first), unit(second)
    n = len(first)
    total = loss.align * sum(math.dist(first[i], second[i]) ** 2 for i in range(n)) / n
    for z in (first, second):
        terms = [math.exp(-loss.t * math.dist(z[i], z[j]) ** 2) for i in range(n) for j in range(n) if i != j]
        total += loss.uniform / 2 * math.log(sum(terms) / len(terms)) if terms else 0
    return total


def align_loss(x: Tensor, y: Tensor) -> Tensor:
    """As Wang and Isola print it, of ``(N, E)``, with their exponent."""
    return (x - y).norm(dim=1).pow(2).mean()


def uniform_loss(x: Tensor, t: float) -> Tensor:
    """As Wang and Isola print it, of ``(N, E)``."""
    return torch.pdist(x, p=2).pow(2).mul(-t).exp().mean().log()


@given(
    shape=SHAPES,
    weights=st.sampled_from([(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.3, 2.0)]),
    t=st.sampled_from([0.1, 2.0, 5.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_closed_form_of_align_uniform(
    shape: tuple[int, int], weights: tuple[float, float], t: float, seed: int
) -> None:
    first, second = views(*shape, seed=seed)
    loss = AlignUniform(*weights, t=t)
    expected = align_uniform_closed_form(first.numpy(), second.numpy(), loss)
    assert loss(first, second).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("t", [2.0, 3.0])
def test_is_the_published_code(t: float) -> None:
    for seed in range(3):
        x, y = (F.normalize(z, dim=-1) for z in views(8, 4, seed=seed))
        torch.testing.assert_close(squared_distance(x, y), align_loss(x, y), atol=1e-12, rtol=0)
        torch.testing.assert_close(uniformity(x, t), uniform_loss(x, t), atol=1e-12, rtol=0)
        both = align_loss(x, y) + (uniform_loss(x, t) + uniform_loss(y, t)) / 2
        torch.testing.assert_close(AlignUniform(t=t)(x, y), both, atol=1e-12, rtol=0)


def test_collapsed_embeddings_are_aligned_and_not_spread() -> None:
    same = torch.ones(8, 3, dtype=torch.float64)
    assert AlignUniform()(same, same).item() == pytest.approx(0, abs=1e-12)


def test_embeddings_that_are_all_zero_are_not_spread_either() -> None:
    """No two of them are apart, and a network that died must not look better than one that spreads its rows."""
    zero = torch.zeros(8, 3, dtype=torch.float64)
    assert uniform_loss(zero, 2.0) == 0
    assert AlignUniform()(zero, zero).item() == pytest.approx(0, abs=1e-12)


def test_opposite_rows() -> None:
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    assert squared_distance(z, -z).item() == pytest.approx(4)
    assert uniformity(z).item() == pytest.approx(-8)


def test_one_row_has_no_pair() -> None:
    z = torch.ones(1, 3, requires_grad=True)
    spread = uniformity(z)
    spread.backward()
    assert spread.item() == 0
    assert z.grad is not None
    assert z.grad.eq(0).all()


def test_rotation_and_length_do_not_matter_of_align_uniform() -> None:
    first, second = views(9, 4)
    turned = first @ rotation(4), second @ rotation(4)
    torch.testing.assert_close(squared_distance(*turned), squared_distance(first, second), atol=0, rtol=1e-12)
    directions = F.normalize(first, dim=-1)
    torch.testing.assert_close(uniformity(directions @ rotation(4)), uniformity(directions), atol=1e-12, rtol=0)
    expected = AlignUniform()(first, second)
    torch.testing.assert_close(AlignUniform()(*turned), expected, atol=1e-12, rtol=0)
    scaled = AlignUniform()(first * lengths(9), second / lengths(9))
    torch.testing.assert_close(scaled, expected, atol=1e-12, rtol=0)


def test_views_are_interchangeable_of_align_uniform() -> None:
    first, second = views(7, 5)
    loss = AlignUniform(t=3.0)
    torch.testing.assert_close(loss(first, second), loss(second, first), atol=1e-12, rtol=0)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_views_that_agree_have_a_finite_gradient(n_rows: int) -> None:
    """As where corruption drew the value that was there."""
    first = views(n_rows, 3)[0].requires_grad_()
    loss = AlignUniform()(first, first.detach().clone())
    loss.backward()
    assert loss.isfinite()
    assert first.grad is not None
    assert first.grad.isfinite().all()
