import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.losses import ContrastiveLoss
from scarf_lightning.losses.infonce import InfoNCE, infonce
from tests.losses.random_views import SHAPES, assert_a_stack_is_a_loop_over_trials, lengths, rotation, views


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


def test_without_its_own_view_a_row_has_the_others_as_candidates() -> None:
    clean, corrupted = views(6, 3)
    cosine = F.cosine_similarity(clean[:, None], corrupted[None], dim=-1).numpy() / 0.5
    terms = [math.log(np.mean(np.exp(np.delete(row, i)))) - row[i] for i, row in enumerate(cosine)]
    assert infonce(clean, corrupted, 0.5, own_candidate=False).item() == pytest.approx(np.mean(terms))
    assert infonce(*views(1, 4), own_candidate=False).item() == pytest.approx(0, abs=1e-12)


def test_raw_products_depend_on_length() -> None:
    clean, corrupted = views(6, 3)
    expected = F.cross_entropy(clean @ corrupted.T / 0.5, torch.arange(6)) - math.log(6)
    torch.testing.assert_close(infonce(clean, corrupted, 0.5, similarity="dot"), expected, atol=1e-12, rtol=0)
    rows = torch.tensor([[1.0, 0.0], [0.9, 0.9]])
    assert InfoNCE(similarity="dot").error(rows, torch.tensor([[1.0, 0.0], [9.0, 9.0]])).item() == 0.5
    with pytest.raises(ValueError, match="similarity must be one of cosine, dot, not euclidean"):
        InfoNCE(similarity="euclidean")


def test_gradient() -> None:
    clean, corrupted = (z.requires_grad_() for z in views(5, 3))
    assert torch.autograd.gradcheck(lambda a, b: infonce(a, b, 0.7), (clean, corrupted))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_stack_is_a_loop_over_trials_at_any_temperature(dtype: torch.dtype) -> None:
    for loss in (InfoNCE(temperature=0.1), InfoNCE(similarity="dot", symmetric=True, own_candidate=False)):
        assert_a_stack_is_a_loop_over_trials(loss, *views(5, 7, 3, dtype=dtype))


def test_error_counts_rows_nearest_to_another_row() -> None:
    clean = torch.eye(4, dtype=torch.float64)
    corrupted = clean[[0, 1, 3, 2]]  # the last two rows are nearest to each other's view
    assert InfoNCE().error(clean, corrupted).item() == 0.5
    assert InfoNCE().error(clean, clean).item() == 0


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


def test_options() -> None:
    clean, corrupted = views(5, 3)
    assert InfoNCE() == InfoNCE(temperature=1.0)
    assert torch.equal(InfoNCE(temperature=0.2)(clean, corrupted), infonce(clean, corrupted, 0.2))
    for temperature in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="temperature must be greater than 0"):
            InfoNCE(temperature=temperature)


def test_kind() -> None:
    assert issubclass(InfoNCE, ContrastiveLoss)
    assert InfoNCE.has_error
