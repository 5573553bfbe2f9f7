"""Measures of embeddings, against closed forms."""

import math
from itertools import product

import numpy as np
import pytest

from scarf_lightning.engine.embeddings import alignment, effective_rank, uniformity

RANDOM = np.random.default_rng(5).normal(size=(40, 6))


def test_alignment_is_the_squared_distance_of_directions() -> None:
    axes = np.eye(3)
    for first, second, expected in (
        (RANDOM, RANDOM, 0.0),
        (RANDOM, 3 * RANDOM, 0.0),
        (RANDOM, -RANDOM, 4.0),
        (axes, np.roll(axes, 1, axis=0), 2.0),
    ):
        assert alignment(first, second) == pytest.approx(expected, abs=1e-12)


def test_uniformity_of_axes_of_one_point_and_of_opposite_points() -> None:
    for t in (0.5, 2.0):
        assert uniformity(np.eye(5), t) == pytest.approx(-2 * t)  # any two of them are sqrt(2) apart
        assert uniformity(np.tile([[3.0, 4.0]], (5, 1)), t) == pytest.approx(0.0)
    points = np.array([[1.0, 0], [1, 0], [-1, 0]])  # one pair at distance 0, two at 2
    assert uniformity(points) == pytest.approx(math.log((1 + 2 * math.exp(-8)) / 3))


def test_effective_rank_of_known_singular_values() -> None:
    """Equal ones have their number as effective rank."""
    for rank, scale in product(range(1, 7), (1e-3, 0.3, 1.0, 1e3)):
        assert effective_rank(scale * np.linalg.qr(RANDOM)[0][:, :rank]) == pytest.approx(rank)
    p = np.array([0.75, 0.25])
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(math.exp(-(p * np.log(p)).sum()))
    assert effective_rank(np.outer(np.ones(4), [1.0, 2.0])) == pytest.approx(1.0)
    assert effective_rank(np.zeros((3, 3))) == 0
