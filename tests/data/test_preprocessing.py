from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from scarf_lightning.data.preprocessing import (
    Encoding,
    Mean,
    MinMax,
    NoScaling,
    OneHotDropLast,
    OneHotEncoding,
    Ordinal,
    Preprocessing,
    Robust,
    Scaling,
    ZScore,
)
from scarf_lightning.data.table import Table
from scarf_lightning.networks import Columns, OneHot

SCALINGS: list[Scaling] = [ZScore(), MinMax(), Mean(), NoScaling(), Robust()]
ROWS = np.array([3, 55, 1, 40, 22, 17, 8, 30, 31, 59, 12, 13, 44, 5])

every_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: s.name)


def table_of(features: dict[str, Any], categorical: tuple[str, ...] = ()) -> Table:
    frame = pd.DataFrame(features)
    flags = [name in categorical for name in frame.columns]
    target = pd.Series([str(i % 2) for i in range(len(frame))], name="y")
    return Table.from_frame(frame, target, categorical=flags, name="t", source="test:t")


def scikit_learn(scaling: Scaling, fit_values: NDArray, values: NDArray) -> NDArray[np.float64]:
    """Impute by the mean and scale with scikit-learn, for numeric columns."""
    imputer = SimpleImputer(strategy="mean").fit(fit_values)
    fit_values, values = imputer.transform(fit_values), imputer.transform(values)
    if isinstance(scaling, Mean):
        fit_range = MinMaxScaler().fit(fit_values)
        centre = fit_range.transform(fit_values).mean(axis=0)
        return fit_range.transform(values) - centre
    if isinstance(scaling, Robust):
        spread = np.subtract(*np.percentile(fit_values, [75, 25], axis=0))
        spread = np.where(spread > 0, spread, (fit_values.max(axis=0) - fit_values.min(axis=0)) / 2)
        robust = RobustScaler(with_scaling=False).fit(fit_values).transform(values) / np.where(
            spread > 0, spread, np.inf
        )
        return 3 * np.sin(np.arctan(robust / 3))
    scaler = {"zscore": StandardScaler(), "minmax": MinMaxScaler(), "none": FunctionTransformer()}[scaling.name]
    return scaler.fit(fit_values).transform(values)


@every_scaling
@pytest.mark.parametrize("rows", [None, ROWS], ids=["all", "some"])
def test_numbers_are_imputed_and_scaled_as_by_scikit_learn_and_gaps_of_codes_take_the_mode(
    mixed_table: Table, scaling: Scaling, rows: NDArray | None
) -> None:
    before, is_code = mixed_table.values.copy(), mixed_table.is_categorical
    values, codes = before[:, ~is_code], before[:, is_code]
    fit_values = values if rows is None else values[rows]
    fitted = Preprocessing.fit(mixed_table, [rows], scaling)
    applied = fitted.apply(mixed_table.values, 0)
    expected = scikit_learn(scaling, fit_values, values)
    np.testing.assert_allclose(applied[:, ~is_code], expected, rtol=1e-12, atol=1e-12)
    modes = pd.DataFrame(codes if rows is None else codes[rows]).mode().to_numpy()[0]
    assert (applied[:, is_code] == np.where(np.isnan(codes), modes, codes)).all()
    assert np.array_equal(before, mixed_table.values, equal_nan=True), "the table is left alone"


@pytest.mark.parametrize("scaling", SCALINGS[:3], ids=lambda s: s.name)
@pytest.mark.parametrize("constant", [0.1, 1 / 3, -7.7, 0.0, 1e9 + 0.1, 1e12])
def test_a_constant_becomes_zeros(scaling: Scaling, constant: float) -> None:
    """Of however many rows, with gaps, and where other rows than those fitted have other values."""
    for n, gaps in ((10, 0), (59, 0), (60, 0), (60, 1), (60, 7), (60, 39), (1000, 0)):
        values = [np.nan] * gaps + [constant] * (n - gaps)
        table = table_of({"x": np.arange(float(n)), "constant": values, "later": [*values[3:], 5.0, 6.0, 7.0]})
        for rows in (None, np.arange(n - 3)):
            applied = Preprocessing.fit(table, [rows], scaling).apply(table.values, 0)
            assert (applied[:, 1] == 0).all()
            assert rows is None or (applied[:, 2] == 0).all()
            assert applied[:, 0].std() > 0
        assert (scaling.statistics(np.full((n, 1), constant))[1] == 0).all(), "exactly"
    unscaled = Preprocessing.fit(table, [None], NoScaling()).apply(table.values, 0)
    assert (unscaled[:, 1] == constant).all()


@pytest.mark.parametrize("scaling", SCALINGS[:3], ids=lambda s: s.name)
def test_a_column_that_varies_by_very_little_is_scaled_all_the_same(scaling: Scaling) -> None:
    """Unless it varies by less than can be divided by."""
    large = Preprocessing.fit(table_of({"x": np.arange(20.0)}), [None], scaling).apply(np.arange(20.0)[:, None], 0)
    for unit in (1e-9, 1e-40, 1e-140):
        table = table_of({"x": np.arange(20.0) * unit, "same": [1.0] * 20})
        applied = Preprocessing.fit(table, [None], scaling).apply(table.values, 0)
        np.testing.assert_allclose(applied[:, 0], large[:, 0], rtol=1e-12, atol=1e-12)
    table = table_of({"x": [0.0, 5e-324] * 10})
    if scaling.name != "zscore":
        assert (Preprocessing.fit(table, [None], scaling).apply(table.values, 0) == 0).all()


@every_scaling
def test_a_column_with_no_value_in_the_fitted_rows_gives_finite_numbers(scaling: Scaling) -> None:
    table = table_of({"x": [None] * 17 + [5.0, 6.0, 7.0], "c": [None] * 17 + ["u", "v", "w"]}, ("c",))
    fitted = Preprocessing.fit(table, [np.arange(17)], scaling)
    applied = fitted.apply(table.values, 0)
    expected = [5.0, 6.0, 7.0] if scaling.name == "none" else [0.0] * 3
    assert applied[:, 0].tolist() == [0.0] * 17 + expected
    assert applied[:, 1].tolist() == [0.0] * 17 + [0.0, 1.0, 2.0]
    assert all(np.isfinite(array).all() for array in (fitted.fill, fitted.shift, fitted.scale))


@every_scaling
def test_each_trial_has_its_own_fit(mixed_table: Table, scaling: Scaling) -> None:
    """None stands for all rows."""
    row_sets = [ROWS, None, np.arange(60), np.arange(20, 50), ROWS]
    together = Preprocessing.fit(mixed_table, row_sets, scaling)
    assert together.fill.shape == together.shift.shape == together.scale.shape == (5, 8)
    for t, rows in enumerate(row_sets):
        alone = Preprocessing.fit(mixed_table, [rows], scaling)
        for name in ("fill", "shift", "scale"):
            assert (getattr(together, name)[t] == getattr(alone, name)[0]).all()
        assert (together.apply(mixed_table.values, t) == alone.apply(mixed_table.values, 0)).all()
    assert (together.apply(mixed_table.values, 1) == together.apply(mixed_table.values, 2)).all()


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


@pytest.mark.parametrize(("order", "categories"), [("declared", list(HEADER)), ("sorted", list(CATEGORIES))])
def test_ordinal_codes_are_scikit_learns(order: str, categories: list[str], frame: pd.DataFrame, table: Table) -> None:
    if order == "declared":
        categories.remove("never")  # codes count the categories that occur
    encoded = Ordinal(order).encode(table)
    expected = OrdinalEncoder(categories=[[*categories, np.nan]]).fit_transform(frame[["price"]].astype(object))
    np.testing.assert_array_equal(encoded.values[:, 0], expected[:, 0])
    np.testing.assert_array_equal(encoded.values[:, 1:], table.values[:, 1:])
    assert (encoded.n_categories, encoded.n_encoded) == ([0, 0, 0], 3)
    with pytest.raises(ValueError, match=r"order=random is unknown\. Its values are: declared, sorted\."):
        Ordinal("random")


def test_the_last_category_is_dropped(table: Table) -> None:
    whole, encoded = (encoding.encode(table) for encoding in (OneHotEncoding(), OneHotDropLast()))
    assert whole is table
    assert (encoded.n_categories, encoded.n_encoded) == ([3, 0, 1], 5)
    values = np.nan_to_num(encoded.values)  # the code 0 for a missing value
    indicators = OneHot(encoded.n_categories)(torch.from_numpy(values)).numpy()
    price = OneHotEncoder(sparse_output=False).fit_transform(values[:, [0]])
    np.testing.assert_array_equal(indicators[:, :3], price[:, :-1])
    np.testing.assert_array_equal(indicators[:, 4], values[:, 2] == 0)


@pytest.mark.parametrize(("encoding", "indicators"), [(OneHotEncoding(), 1), (OneHotDropLast(), 1), (Ordinal(), 0)])
def test_what_an_encoding_makes_of_columns(encoding: Encoding, indicators: int, table: Table) -> None:
    """A column of one category has an indicator or a number, and where nothing lacks there is no gap to show."""
    assert (encoding.encode(table).n_encoded > len(table.columns)) == encoding.widens
    one = encoding.encode(table_of({"same": ["x"] * 12}, ("same",)))
    assert (one.n_categories, one.n_encoded) == ([indicators], 1)
    whole = table_of({"a": [1.0, 2.0] * 6, "c": ["x", "y"] * 6}, ("c",))
    assert replace(encoding, gaps=True).columns(whole.columns) == encoding.columns(whole.columns)


def test_robust_scaling_is_the_authors() -> None:
    pipeline = pytest.importorskip("pytabkit.models.nn_models.pipeline")
    models = pytest.importorskip("pytabkit.models.nn_models.models")
    data = pytest.importorskip("pytabkit.models.data.data")
    random = np.random.default_rng(3)
    rare = (random.random(80) < 0.1) * 7.0
    table = table_of({"a": random.normal(size=80), "b": random.exponential(size=80) * 50, "c": rare, "d": [1.0] * 80})
    x = torch.tensor(table.values, dtype=torch.float32)
    rows = data.DictDataset({"x_cont": x}, {"x_cont": data.TensorInfo(feat_shape=[4])})
    for factory in (pipeline.MedianCenterFactory(), pipeline.RobustScaleFactory()):
        rows = factory.fit(rows).forward_ds(rows)
    theirs = models.smooth_clip_func(rows.tensors["x_cont"])
    ours = Preprocessing.fit(table, [None], Robust()).apply(table.values, 0)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


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
    fitted = Preprocessing.fit(table, [None], ZScore())
    columns = Columns.of(table.columns)
    one_hot = OneHot(columns.n_categories, columns.gaps)
    encoded = one_hot(torch.tensor(fitted.apply(table.values[[2, 1]], 0)))
    assert encoded.shape[1] == columns.n_encoded == table.n_encoded
    np.testing.assert_allclose(encoded, expected, atol=0.011)
