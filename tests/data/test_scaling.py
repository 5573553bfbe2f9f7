import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from scarf_lightning.data.scaling import Mean, MinMax, NoScaling, Scaling, ZScore

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12)
THOUSANDTHS = arrays(np.int64, SHAPES, elements=st.integers(-(10**7), 10**7))
"""Of a unit: no column varies by so little that it is a question whether it varies."""
SCALINGS: list[Scaling] = [ZScore(), MinMax(), Mean()]


def scaled(scaling: Scaling, values: NDArray[np.float64]) -> NDArray[np.float64]:
    shift, divisor = scaling.statistics(values)
    assert shift.shape == divisor.shape == (values.shape[1],)
    return (values - shift) / np.where(divisor == 0, np.inf, divisor)


@given(THOUSANDTHS)
def test_zscore_is_scikit_learns(thousandths: NDArray[np.int64]) -> None:
    values = thousandths / 1000
    expected = StandardScaler().fit_transform(values)
    np.testing.assert_allclose(scaled(ZScore(), values), expected, rtol=1e-9, atol=1e-9)


@given(THOUSANDTHS)
def test_minmax_is_scikit_learns(thousandths: NDArray[np.int64]) -> None:
    values = thousandths / 1000
    expected = MinMaxScaler().fit_transform(values)
    np.testing.assert_allclose(scaled(MinMax(), values), expected, rtol=1e-9, atol=1e-9)


@given(THOUSANDTHS)
def test_mean_is_scikit_learns_minmax_around_the_mean(thousandths: NDArray[np.int64]) -> None:
    values = thousandths / 1000
    expected = StandardScaler(with_std=False).fit_transform(MinMaxScaler().fit_transform(values))
    np.testing.assert_allclose(scaled(Mean(), values), expected, rtol=1e-9, atol=1e-9)


@given(THOUSANDTHS)
def test_none_changes_nothing(thousandths: NDArray[np.int64]) -> None:
    values = thousandths / 1000
    assert (scaled(NoScaling(), values) == values).all()


def test_the_deviation_is_the_populations() -> None:
    shift, divisor = ZScore().statistics(np.array([[1.0], [3.0]]))
    assert (shift.item(), divisor.item()) == (2.0, 1.0)


@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: s.name)
@pytest.mark.parametrize("n", [2, 10, 41, 60, 1000])
def test_a_constant_has_a_divisor_of_exactly_zero(scaling: Scaling, n: int) -> None:
    constants = np.array([0.1, 1 / 3, 0.7, -2.3, 1e-8, 1e9 + 0.1, 0.0, 5.0])
    _, divisor = scaling.statistics(np.tile(constants, (n, 1)))
    assert (divisor == 0).all()


def test_rounding_gives_some_of_these_constants_a_deviation() -> None:
    """What the test above guards against does happen."""
    assert np.full(1000, 0.1).std() > 0


@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: s.name)
def test_a_column_that_varies_little_still_varies(scaling: Scaling) -> None:
    values = np.array([[1.0], [1.0], [1.0 + 1e-12]])
    assert scaling.statistics(values)[1].item() > 0


def test_names_are_those_of_the_configuration() -> None:
    assert [scaling.name for scaling in (*SCALINGS, NoScaling())] == ["zscore", "minmax", "mean", "none"]
