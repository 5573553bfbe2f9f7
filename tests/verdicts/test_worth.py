"""Worth in labels beside closed forms."""

import math

import numpy as np
import pytest

from scarf_lightning.verdicts.worth import REACH, worth_in_labels

LABELS = [20, 50, 100, 500]
RANDOM = np.random.default_rng(0)


def curve(labels: float | list[float], slope: float = 0.05) -> np.ndarray:
    """A metric that rises with the logarithm of the labels."""
    return 0.3 + slope * np.log(np.asarray(labels, dtype=float))


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("factor", [0.4, 0.8, 1.0, 1.25, 2.5])
def test_the_metric_of_k_times_the_labels_is_worth_k(factor: float, at: int) -> None:
    found = worth_in_labels(curve([factor * LABELS[at]]), curve(LABELS)[None], LABELS, at)

    assert found.worth == pytest.approx(factor)
    assert (found.labels, found.n) == (LABELS[at], 1)
    assert found.least == pytest.approx(20 / LABELS[at] / REACH)
    assert found.most == pytest.approx(500 / LABELS[at] * REACH)


@pytest.mark.parametrize(
    ("metric", "reference", "at", "worth"),
    [
        (curve(4 * 500), curve(LABELS), 3, REACH),
        (curve(20 / 4), curve(LABELS), 1, 20 / 50 / REACH),
        (0.66, [0.5, 0.7, 0.65, 0.6], 3, REACH),
        (0.5 - 1e-6, [0.5] * 4, 1, 20 / 50 / REACH),
        (0.5, [0.5] * 4, 1, 1.0),
        (0.5 + 1e-6, [0.5] * 4, 1, 500 / 50 * REACH),
    ],
)
def test_what_the_continued_curve_does_not_reach_is_worth_its_end(
    metric: float, reference: list[float], at: int, worth: float
) -> None:
    """A curve that falls at its end is continued as flat, and one that is flat reaches no gain."""
    assert worth_in_labels(np.array([metric]), np.array([reference]), LABELS, at).worth == pytest.approx(worth)


@pytest.mark.parametrize("unit", [1.0, 1e6 / 3])
def test_differences_that_cancel_but_for_rounding_are_a_tie(unit: float) -> None:
    values = unit * np.array([0.1, 0.2, 0.3, 0.7])
    gains = unit * np.array([0.1, 0.2, -0.3, 0.0])
    found = worth_in_labels(values + gains, np.tile(values[:, None], 4), LABELS, at=1)

    assert (values + gains - values).mean() != 0
    assert found.worth == 1


def test_a_curve_that_falls_on_the_way_is_inverted_where_it_first_reaches_the_metric() -> None:
    """The better one of two is always worth more than one, the worse one less."""
    reference = np.array([[0.5, 0.7, 0.6, 0.8]])
    labels = [10, 100, 1000, 10_000]
    better = worth_in_labels(np.array([0.75]), reference, labels, at=1)
    worse = worth_in_labels(np.array([0.65]), reference, labels, at=1)
    first = worth_in_labels(np.array([0.65]), reference, labels, at=0)

    assert better.worth == pytest.approx(10**1.75)
    assert worse.worth == pytest.approx(10**-0.25)
    assert first.worth == pytest.approx(10**0.75)


def tables(n: int, factor: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tables of different height and slope, whose mean gain is that of a factor, and noise."""
    slopes = random.normal(0.05, 0.02, (n, 1))
    reference = random.normal(0.6, 0.1, (n, 1)) + slopes * np.log(np.array(LABELS) / 50)
    gains = 0.05 * math.log(factor) + random.normal(0, 0.02, n)
    return reference[:, 1] + gains, reference + random.normal(0, 0.01, reference.shape)


@pytest.mark.slow
def test_the_bootstrap_over_tables_covers_a_known_factor() -> None:
    covered = 0
    for _ in range(200):
        found = worth_in_labels(*tables(34, 1.3, RANDOM), LABELS, at=1)
        covered += found.worth_low <= 1.3 <= found.worth_high

    assert 0.90 <= covered / 200 <= 0.995


@pytest.mark.parametrize(("n", "has_interval"), [(24, False), (25, True)])
def test_few_tables_have_no_interval(n: int, has_interval: bool) -> None:
    found = worth_in_labels(*tables(n, 1.3, RANDOM), LABELS, at=1)

    assert math.isfinite(found.worth_low) == math.isfinite(found.worth_high) == has_interval
