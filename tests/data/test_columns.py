import pandas as pd
import pytest

from scarf_lightning.data.columns import Coded, Column, sorted_naturally
from scarf_lightning.errors import UsageError


def test_a_category_has_an_indicator_unless_so_many_are_asked_for() -> None:
    assert [Column("c", ("a", "b"), indicators=n).n_indicators for n in (None, 0, 1)] == [2, 0, 1]
    assert Column("x").n_indicators == 0


def test_texts_of_one_number_stand_in_alphabetical_order() -> None:
    ones = ["+1", "01", "1", "1.0", "1.00", "1e0"]
    assert sorted_naturally([*reversed(ones), "9", "0.5", "10"]) == ("0.5", *ones, "9", "10")


def test_the_first_value_that_is_no_category_is_named() -> None:
    with pytest.raises(UsageError, match=r"^Column 'c' holds \['x'\], which is neither a number nor a category"):
        Coded.of(pd.Series(["red", 1, ["x"], {"y"}], name="c"))
