"""Encodings against scikit-learn's."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from scarf_lightning.data.encoding import Encoding, OneHotDropLast, OneHotEncoding, Ordinal
from scarf_lightning.data.preprocessing import Preprocessing
from scarf_lightning.data.scaling import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.networks import OneHot

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


def test_ordinal_codes_are_imputed_by_the_mode_and_scaled_as_numbers(table: Table) -> None:
    encoded = Ordinal().encode(table)
    codes = pd.Series(encoded.values[:, 0])
    filled = codes.fillna(codes.mode()[0])
    preprocessing = Preprocessing.fit(encoded, [None], ZScore())
    scaled = preprocessing.apply(encoded.values, 0)[:, 0]
    np.testing.assert_allclose(scaled, (filled - filled.mean()) / filled.std(ddof=0), atol=1e-12)


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
def test_a_column_of_one_category_has_an_indicator_or_a_number(encoding: Encoding, indicators: int) -> None:
    frame = pd.DataFrame({"same": ["x"] * 12})
    one = Table.from_frame(frame, pd.Series([0, 1] * 6), categorical=[True], name="one", source="made up")
    encoded = encoding.encode(one)
    assert (encoded.n_categories, encoded.n_encoded) == ([indicators], 1)


def test_an_order_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="order must be one of declared, sorted, not random"):
        Ordinal("random")
