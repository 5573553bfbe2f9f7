import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.inspection import alignment, effective_rank, uniformity

RANDOM = np.random.default_rng(5).normal(size=(40, 6))


@pytest.mark.parametrize(("second", "expected"), [(RANDOM, 0.0), (3 * RANDOM, 0.0), (-RANDOM, 4.0)])
def test_alignment_is_the_squared_distance_of_directions(second: np.ndarray, expected: float) -> None:  # type: ignore[type-arg]
    assert alignment(RANDOM, second) == pytest.approx(expected, abs=1e-12)


def test_right_angles_are_two_apart() -> None:
    assert alignment(np.eye(3), np.roll(np.eye(3), 1, axis=0)) == pytest.approx(2.0)


@pytest.mark.parametrize("t", [0.5, 2.0])
def test_uniformity_of_axes_and_of_one_point(t: float) -> None:
    assert uniformity(np.eye(5), t) == pytest.approx(-2 * t)  # any two of them are sqrt(2) apart
    assert uniformity(np.tile([[3.0, 4.0]], (5, 1)), t) == pytest.approx(0.0)


def test_uniformity_of_opposite_points() -> None:
    points = np.array([[1.0, 0], [1, 0], [-1, 0]])  # one pair at distance 0, two at 2

    assert uniformity(points) == pytest.approx(math.log((1 + 2 * math.exp(-8)) / 3))


@given(rank=st.integers(1, 6), scale=st.floats(1e-3, 1e3))
def test_equal_singular_values_have_their_number_as_effective_rank(rank: int, scale: float) -> None:
    orthonormal = np.linalg.qr(RANDOM)[0][:, :rank]

    assert effective_rank(scale * orthonormal) == pytest.approx(rank)


def test_effective_rank_of_known_singular_values() -> None:
    p = np.array([0.75, 0.25])

    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(math.exp(-(p * np.log(p)).sum()))
    assert effective_rank(np.outer(np.ones(4), [1.0, 2.0])) == pytest.approx(1.0)
    assert effective_rank(np.zeros((3, 3))) == 0
