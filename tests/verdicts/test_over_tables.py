"""The next table: against Student's prediction, by integration, and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.verdicts import over_tables
from scarf_lightning.verdicts.over_tables import next_table


def gains_of(seed: int, n: int, mean: float = 0.01, spread: float = 0.03) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=n)


def test_the_next_table_of_sure_and_normal_gains_is_predicted_by_student() -> None:
    """The classical prediction: the next one of n normal values has a t distribution of n - 1 degrees of freedom."""
    gains = stats.norm.ppf((np.arange(40) + 0.5) / 40) * 0.02 + 0.01
    spread = gains.std(ddof=1) * math.sqrt(1 + 1 / 40)

    found = next_table(gains, np.full(40, 1e-6), margin=0.01)

    assert found.gains == pytest.approx(stats.t.sf((0.01 - gains.mean()) / spread, 39), abs=0.02)
    assert found.loses == pytest.approx(stats.t.cdf((-0.01 - gains.mean()) / spread, 39), abs=0.02)
    assert found.gains + found.same + found.loses == pytest.approx(1)
    counted = next_table(np.array([-0.05, 0.0, 0.005, 0.0, 0.02, 0.03, 0.04]), np.full(7, 1e-5), margin=0.01)
    assert (counted.n_gain, counted.n_same, counted.n_lose) == (3, 3, 1), "by what they gain beyond their noise"


@pytest.mark.parametrize("n", [6, 12])
def test_the_next_table_of_sure_gains_is_predicted_by_integration(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal true gains. By hand, a flat centre leaves spread^(1 - n) exp(-S / 2 spread^2) of the likelihood, and the
    next gain has a variance of spread^2 (1 + 1 / n) around the mean."""
    monkeypatch.setattr(over_tables, "TAILS", (1e6,))
    gains = gains_of(1, n)
    mean, scale = gains.mean(), gains.std(ddof=1)
    spread = np.geomspace(0.01, 100, 10_001) * scale
    logarithm = (1 - n) * np.log(spread) - (n - 1) * scale**2 / (2 * spread**2)
    # Points are spaced by the logarithm of the spread.
    weight = np.exp(logarithm - logarithm.max()) / (1 + (spread / scale) ** 2) * spread

    for margin in (0.01, 0.03, 0.06):
        above = stats.norm.sf((margin - mean) / (spread * math.sqrt(1 + 1 / n)))
        expected = (weight * above).sum() / weight.sum()
        assert next_table(gains, np.full(n, 1e-6), margin).gains == pytest.approx(expected, abs=1e-3)


def test_normal_gains_are_shrunk_as_the_normal_model_says() -> None:
    """Known variances: the gain moves to the mean by noise / (noise + spread)."""
    random = np.random.default_rng(2)
    true = random.normal(0.0, 0.03, size=60)
    gains = true + random.normal(0.0, 0.03, size=60)

    shrunk = np.array(next_table(gains, np.full(60, 0.03), 0.01).shrunk)

    slope = np.polyfit(gains, shrunk, 1)[0]
    assert slope == pytest.approx(1 - 0.03**2 / gains.var(), abs=0.1)
    assert ((shrunk - true) ** 2).mean() < 0.7 * ((gains - true) ** 2).mean()
    # Gains in another unit are predicted alike.
    few, errors = gains[:8], np.full(8, 0.03)
    of_few, in_points = next_table(few, errors, 0.01), next_table(100 * few, 100 * errors, 1.0)
    assert (in_points.gains, in_points.loses) == pytest.approx((of_few.gains, of_few.loses))
    # A noisy gain moves towards the others, and a sure one stays.
    gains, errors = np.array([0.0, 0.01, 0.02, 0.03, 0.01, 0.02, 0.10, 0.10]), np.array([0.001] * 7 + [0.08])
    sure, noisy = next_table(gains, errors, 0.01).shrunk[-2:]
    assert sure == pytest.approx(0.10, abs=0.005)
    assert noisy < 0.06


@pytest.mark.slow
def test_what_is_predicted_of_the_next_table_comes_true_as_often_as_it_says() -> None:
    """Kinds of tables are drawn, six to thirty tables of each with noise, and the true gain of one more."""
    random = np.random.default_rng(1)
    said, came = [], []
    for _ in range(120):
        centre, spread, noise = random.normal(0, 0.02), random.uniform(0.005, 0.05), random.uniform(0.005, 0.03)
        true = centre + spread * random.standard_t(4, size=random.integers(6, 31) + 1)
        errors = np.full(len(true) - 1, noise)
        found = next_table(true[1:] + random.normal(size=len(errors)) * errors, errors, 0.01)
        said += [found.gains, found.loses]
        came += [true[0] > 0.01, true[0] < -0.01]

    said, came = np.array(said), np.array(came)
    assert came.mean() == pytest.approx(said.mean(), abs=0.05)
    for low, high in ((0.0, 0.3), (0.3, 0.6), (0.6, 1.0)):
        inside = (said >= low) & (said < high)
        assert came[inside].mean() == pytest.approx(said[inside].mean(), abs=0.12)
