"""Rules alone, and columns of numbers in any type."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading.rules import Rule, floats_of


@pytest.mark.parametrize(
    ("values", "decimal", "numbers", "others"),
    [
        ([1.5, None, 2], ",", [1.5, np.nan, 2], []),
        ([True, False], None, [1, 0], []),
        (["1,5", None, "2"], ",", [1.5, np.nan, 2], []),
        (["1,500", " 2 ", "", "1,500"], None, [1500, 2, np.nan, 1500], []),
        (["1.5", "low", "2", "high", "low"], None, [1.5, np.nan, 2, np.nan, np.nan], ["low", "high"]),
    ],
)
def test_numbers_of_any_type_are_floats_and_other_texts_are_named(
    values: list[Any], decimal: str | None, numbers: list[float], others: list[str]
) -> None:
    found, odd = floats_of(pd.Series(values, name="c"), decimal)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, numbers)
    assert odd == others


def test_times_of_day_of_the_oldest_models_are_hours() -> None:
    (made,) = Rule.from_plain({"rule": "times of day"}).features(pd.Series(["12:30", None, "18:00:36"], name="c"))
    np.testing.assert_array_equal(made.values, [12.5, np.nan, 18.01])
