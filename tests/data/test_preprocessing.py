from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)  # fmt: skip

from scarf_lightning.data.preprocessing import (
    Encoding,
    Mean,
    MinMax,
    NoScaling,
    OneHotDropLast,
    OneHotEncoding,
    Ordinal,
    Preprocessing,
    Quantile,
    Robust,
    Scaling,
    ZScore,
)  # fmt: skip
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.networks import Columns, OneHot

SCALINGS: list[Scaling] = [ZScore(), MinMax(), Mean(), NoScaling(), Robust(), Quantile(), Quantile(5)]
ROWS = np.array([3, 55, 1, 40, 22, 17, 8, 30, 31, 59, 12, 13, 44, 5])

every_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=str)
every_straight_one = pytest.mark.parametrize("scaling", SCALINGS[:3], ids=lambda s: s.name)


def table_of(features: dict[str, Any], categorical: tuple[str, ...] = ()) -> Table:
    frame = pd.DataFrame(features)
    flags = [name in categorical for name in frame.columns]
    target = pd.Series([str(i % 2) for i in range(len(frame))], name="y")
    return Table.from_frame(frame, target, categorical=flags, name="t", source="test:t")


def applied(table: Table, scaling: Scaling, rows: NDArray | None = None) -> NDArray[np.float64]:
    return Preprocessing.fit(table, [rows], scaling).apply(table.values, 0)


def normal_quantiles(fit_values: NDArray, values: NDArray, n_knots: int) -> NDArray[np.float64]:
    """One column, number by number."""
    n, ordered = len(fit_values), np.sort(fit_values)
    knots = np.unique([ordered[k * (n - 1) // (n_knots - 1)] for k in range(n_knots)])
    ends = [norm.ppf(np.mean(np.flatnonzero(ordered == knot) + 0.5) / n) for knot in knots]
    return np.interp(values, knots, ends) if len(knots) > 1 else np.zeros(len(values))


def scikit_learn(scaling: Scaling, fit_values: NDArray, values: NDArray) -> NDArray[np.float64]:
    """Impute by the mean and scale with scikit-learn, for numeric columns."""
    imputer = SimpleImputer(strategy="mean").fit(fit_values)
    fit_values, values = imputer.transform(fit_values), imputer.transform(values)
    if isinstance(scaling, Mean):
        fit_range = MinMaxScaler().fit(fit_values)
        return fit_range.transform(values) - fit_range.transform(fit_values).mean(axis=0)
    if isinstance(scaling, Robust):
        spread = np.subtract(*np.percentile(fit_values, [75, 25], axis=0))
        spread = np.where(spread > 0, spread, (fit_values.max(axis=0) - fit_values.min(axis=0)) / 2)
        centred = RobustScaler(with_scaling=False).fit(fit_values).transform(values)
        return 3 * np.sin(np.arctan(centred / np.where(spread > 0, spread, np.inf) / 3))
    if isinstance(scaling, Quantile):
        columns = zip(fit_values.T, values.T, strict=True)
        return np.stack([normal_quantiles(*column, scaling.knots) for column in columns], axis=1)
    scaler = {"zscore": StandardScaler(), "minmax": MinMaxScaler(), "none": FunctionTransformer()}[scaling.name]
    return scaler.fit(fit_values).transform(values)


@every_scaling
@pytest.mark.parametrize("rows", [None, ROWS], ids=["all", "some"])
def test_numbers_are_imputed_and_scaled_as_by_scikit_learn_and_gaps_of_codes_take_the_mode(
    mixed_table: Table, scaling: Scaling, rows: NDArray | None
) -> None:
    before, is_code = mixed_table.values.copy(), mixed_table.is_categorical
    found = applied(mixed_table, scaling, rows)
    fitted = before if rows is None else before[rows]
    expected = scikit_learn(scaling, fitted[:, ~is_code], before[:, ~is_code])
    assert_allclose(found[:, ~is_code], expected, rtol=1e-12, atol=1e-12)
    codes, modes = before[:, is_code], pd.DataFrame(fitted[:, is_code]).mode().to_numpy()[0]
    assert_array_equal(found[:, is_code], np.where(np.isnan(codes), modes, codes))
    assert_array_equal(before, mixed_table.values, "the table is left alone")


@every_straight_one
@pytest.mark.parametrize("constant", [0.1, 1 / 3, -7.7, 0.0, 1e9 + 0.1, 1e12])
@pytest.mark.parametrize(("n", "gaps"), [(10, 0), (59, 0), (60, 1), (60, 39), (1000, 0)])
def test_a_constant_becomes_zeros(scaling: Scaling, constant: float, n: int, gaps: int) -> None:
    """Of however many rows, with gaps, and where other rows than those fitted have other values."""
    values = [np.nan] * gaps + [constant] * (n - gaps)
    table = table_of({"x": np.arange(float(n)), "constant": values, "later": [*values[3:], 5.0, 6.0, 7.0]})
    for rows, column in ((None, 1), (np.arange(n - 3), 2)):
        found = applied(table, scaling, rows)
        assert (found[:, [1, column]] == 0).all()
        assert found[:, 0].std() > 0


@every_straight_one
@pytest.mark.parametrize("unit", [1e-9, 1e-40, 1e-140])
def test_a_column_that_varies_by_very_little_is_scaled_all_the_same(scaling: Scaling, unit: float) -> None:
    table = table_of({"x": np.arange(20.0) * unit, "large": np.arange(20.0)})
    small, large = applied(table, scaling).T
    assert_allclose(small, large, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scaling", [MinMax(), Mean()], ids=lambda s: s.name)
def test_a_range_that_nothing_can_be_divided_by_gives_zeros(scaling: Scaling) -> None:
    assert (applied(table_of({"x": [0.0, 5e-324] * 10}), scaling) == 0).all()


@every_straight_one
def test_numbers_whose_mean_or_range_overflows_are_refused_by_their_column(scaling: Scaling) -> None:
    table = table_of({"x": np.arange(20.0), "huge": [1.5e308, -1.5e308] * 10})
    with pytest.raises(UsageError, match=r"column 'huge' .*1\.5e\+308"):
        Preprocessing.fit(table, [None], scaling)


@every_scaling
def test_a_column_with_no_value_in_the_fitted_rows_gives_finite_numbers(scaling: Scaling) -> None:
    table = table_of({"x": [None] * 17 + [5.0, 6.0, 7.0], "c": [None] * 17 + ["u", "v", "w"]}, ("c",))
    found = applied(table, scaling, np.arange(17))
    assert found[:, 0].tolist() == [0.0] * 17 + ([5.0, 6.0, 7.0] if scaling.name == "none" else [0.0] * 3)
    assert found[:, 1].tolist() == [0.0] * 17 + [0.0, 1.0, 2.0]


@pytest.mark.parametrize("change", [{"scale": None}, {"other": np.zeros((1, 8))}])
def test_arrays_that_are_no_preprocessing_are_refused(mixed_table: Table, change: dict[str, Any]) -> None:
    arrays = Preprocessing.fit(mixed_table, [None], ZScore()).arrays() | change
    with pytest.raises(TypeError, match=r"'scale'|'other'"):
        Preprocessing.from_arrays({name: each for name, each in arrays.items() if each is not None}, is_shared=True)


HEADER = ("low", "vhigh", "med", "never", "high")
CATEGORIES = ("high", "low", "med", "vhigh")


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    price = pd.Series(random.choice(CATEGORIES, size=40)).mask(random.random(40) < 0.1)
    price = price.astype(pd.CategoricalDtype(list(HEADER), ordered=True))
    return pd.DataFrame({"price": price, "doors": random.normal(size=40), "kind": random.choice(["a", "b"], size=40)})


@pytest.fixture
def table(frame: pd.DataFrame) -> Table:
    target = pd.Series(np.arange(40) % 2)
    return Table.from_frame(frame, target, categorical=[True, False, True], name="cars", source="made up")


def test_a_table_keeps_the_order_in_which_categories_are_declared_and_its_hash(table: Table) -> None:
    price, _, kind = table.columns
    assert (price.categories, price.declared) == (CATEGORIES, ("low", "vhigh", "med", "high"))
    assert kind.declared is None
    undeclared = replace(table, columns=tuple(replace(column, declared=None) for column in table.columns))
    assert undeclared.hash == table.hash


def test_ordinal_codes_are_scikit_learns(frame: pd.DataFrame, table: Table) -> None:
    encoded = Ordinal().encode(table)
    expected = OrdinalEncoder(categories=[["low", "vhigh", "med", "high", np.nan]]).fit_transform(
        frame[["price"]].astype(object)
    )
    assert_array_equal(encoded.values[:, 0], expected[:, 0])
    assert_array_equal(encoded.values[:, 1:], table.values[:, 1:])
    assert (encoded.n_categories, encoded.n_encoded) == ([0, 0, 0], 3)


def test_the_last_category_is_dropped(table: Table) -> None:
    encoded = OneHotDropLast().encode(table)
    assert (encoded.n_categories, encoded.n_encoded) == ([3, 0, 1], 5)
    values = np.nan_to_num(encoded.values)  # the code 0 for a missing value
    indicators = OneHot(encoded.n_categories)(torch.from_numpy(values)).numpy()
    price = OneHotEncoder(sparse_output=False).fit_transform(values[:, [0]])
    assert_array_equal(indicators[:, :3], price[:, :-1])
    assert_array_equal(indicators[:, 4], values[:, 2] == 0)


@pytest.mark.parametrize(("encoding", "indicators"), [(OneHotEncoding(), 1), (OneHotDropLast(), 1), (Ordinal(), 0)])
def test_what_an_encoding_makes_of_columns(encoding: Encoding, indicators: int, table: Table) -> None:
    """A column of one category has an indicator or a number, and where nothing lacks there is no gap to show."""
    assert (encoding.encode(table).n_encoded > len(table.columns)) == encoding.widens
    one = encoding.encode(table_of({"same": ["x"] * 12}, ("same",)))
    assert (one.n_categories, one.n_encoded) == ([indicators], 1)
    whole = table_of({"a": [1.0, 2.0] * 6, "c": ["x", "y"] * 6}, ("c",))
    assert replace(encoding, gaps=True).columns(whole.columns) == encoding.columns(whole.columns)


GAPPY = {
    "a": [1.0, 2.0, None, 4.0, 5.0] * 4,
    "b": [1.0, 2.0, 3.0, 4.0, 5.0] * 4,
    "c": ["x", None, "y", "x", "x"] * 4,
    "d": ["p", "q", "p", "q", "p"] * 4,
    "e": [3.0, None, 3.0, 3.0, 3.0] * 4,
}


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        # a, its gap, b, x, y, gap of c, p, q, e (constant) and its gap
        (OneHotEncoding(gaps=True), [[0, 1, 0, 0, 1, 0, 1, 0, 0, 0], [-0.71, 0, -0.71, 0, 0, 1, 0, 1, 0, 1]]),
        (OneHotDropLast(gaps=True), [[0, 1, 0, 0, 1, 1, 0, 0], [-0.71, 0, -0.71, 0, 0, 0, 0, 1]]),
        (Ordinal(gaps=True), [[0, 1, 0, 2.0, 0, -0.82, 0, 0], [-0.71, 0, -0.71, 0, 1, 1.22, 0, 1]]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_networks_see_which_values_are_missing(encoding: Encoding, expected: list[list[float]]) -> None:
    """Rows 2 and 1. A column that is constant but for its gaps is a feature."""
    table = encoding.encode(table_of(GAPPY, ("c", "d")))
    columns = Columns.of(table.columns)
    one_hot = OneHot(columns.n_categories, columns.gaps)
    encoded = one_hot(torch.tensor(applied(table, ZScore())[[2, 1]]))
    assert encoded.shape[1] == columns.n_encoded == table.n_encoded
    assert_allclose(encoded, expected, atol=0.011)
