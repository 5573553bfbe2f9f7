import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.losses.infonce import InfoNCE, infonce


def embeddings(n_trials: int, n_rows: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(n_trials, n_rows, width, generator=random, dtype=torch.float64) for _ in range(2))


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


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 6)),
    temperature=st.sampled_from([0.1, 0.5, 1.0, 10.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_closed_form(shape: tuple[int, int, int], temperature: float, seed: int) -> None:
    clean, corrupted = embeddings(*shape, seed)
    expected = [closed_form(z, c, temperature) for z, c in zip(clean.numpy(), corrupted.numpy(), strict=True)]
    np.testing.assert_allclose(infonce(clean, corrupted, temperature), expected, atol=1e-12)


def test_is_cross_entropy_minus_log_n() -> None:
    clean, corrupted = embeddings(1, 16, 5)
    cosine = F.cosine_similarity(clean[0][:, None], corrupted[0][None], dim=-1)
    expected = F.cross_entropy(cosine / 0.3, torch.arange(16)) - math.log(16)
    torch.testing.assert_close(infonce(clean, corrupted, 0.3)[0], expected, atol=1e-12, rtol=0)


def test_one_row_is_its_own_only_candidate() -> None:
    assert infonce(*embeddings(2, 1, 4)).tolist() == pytest.approx([0, 0], abs=1e-12)


def test_collapsed_embeddings_give_zero() -> None:
    same = torch.ones(1, 8, 3, dtype=torch.float64)
    assert infonce(same, same).item() == pytest.approx(0, abs=1e-12)


def test_zero_embeddings_are_finite_with_finite_gradients() -> None:
    zero = torch.zeros(1, 4, 3, requires_grad=True)
    loss = infonce(zero, torch.zeros(1, 4, 3)).sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(zero.grad).all()


def test_the_two_arguments_are_not_interchangeable() -> None:
    """One direction: the candidates of a clean row are the corrupted ones."""
    clean, corrupted = embeddings(1, 6, 3)
    assert abs(infonce(clean, corrupted) - infonce(corrupted, clean)).item() > 1e-3


def test_order_rotation_and_length_do_not_matter() -> None:
    clean, corrupted = embeddings(2, 9, 4)
    expected = infonce(clean, corrupted, 0.5)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    rotation = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)))[0]
    lengths = torch.rand(2, 9, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) + 0.1
    for changed in (
        infonce(clean[:, order], corrupted[:, order], 0.5),
        infonce(clean @ rotation, corrupted @ rotation, 0.5),
        infonce(clean * lengths, corrupted / lengths, 0.5),
    ):
        torch.testing.assert_close(changed, expected, atol=1e-12, rtol=0)


def test_gradient() -> None:
    clean, corrupted = (z.requires_grad_() for z in embeddings(2, 5, 3))
    assert torch.autograd.gradcheck(lambda a, b: infonce(a, b, 0.7), (clean, corrupted))


def test_a_stack_is_a_loop_over_trials() -> None:
    clean, corrupted = embeddings(4, 7, 3)
    alone = torch.cat([infonce(clean[t : t + 1], corrupted[t : t + 1]) for t in range(4)])
    assert torch.equal(infonce(clean, corrupted), alone)


def test_error_counts_rows_nearest_to_another_row() -> None:
    clean = torch.eye(4, dtype=torch.float64).unsqueeze(0)
    corrupted = clean[:, [0, 1, 3, 2]]  # the last two rows are nearest to each other's view
    assert InfoNCE().error(clean, corrupted).tolist() == [0.5]
    assert InfoNCE().error(clean, clean).tolist() == [0.0]


def test_options() -> None:
    clean, corrupted = embeddings(1, 5, 3)
    assert torch.equal(InfoNCE(temperature=0.2)(clean, corrupted), infonce(clean, corrupted, 0.2))
    for temperature in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="temperature must be greater than 0"):
            InfoNCE(temperature=temperature)
