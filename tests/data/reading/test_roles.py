"""Columns that split rows or weigh them are read as features are."""

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading.roles import split_values
from scarf_lightning.errors import UsageError


def test_times_keep_their_nanoseconds_and_may_be_of_any_year() -> None:
    times = pd.Series(pd.to_datetime(["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002", None]))
    np.testing.assert_allclose(split_values("time", times, "t.csv")[0], [1e-9, 2e-9, np.nan], rtol=1e-9)
    # pandas 2 reads text as nanoseconds alone.
    written = ["1066-10-14", "9999-12-31"] if pd.__version__ >= "3" else ["1678-10-14", "2261-12-31"]
    for years, dtype in ((written, "str"), (["-0044-03-15", "12000-01-01"], "datetime64[s]")):
        column = pd.Series(np.array(years, dtype=dtype))
        expected = np.array(years, dtype="datetime64[s]").astype(np.int64)
        np.testing.assert_array_equal(split_values("time", column, "t.csv")[0], expected)


def test_a_doubt_about_dates_that_split_is_said() -> None:
    _, notes = split_values("time", pd.Series(["03/04/2020", "05/06/2020"], name="d"), "t.csv")
    assert [str(note).partition(",")[0] for note in notes] == ["Column 'd': its dates are read as %m/%d/%Y"]


def test_numbers_that_are_text_are_times_too() -> None:
    values, notes = split_values("time", pd.Series(["1,5", "0,25", None], name="d"), "t.csv")
    np.testing.assert_array_equal(values, [1.5, 0.25, np.nan])
    assert not notes
    with pytest.raises(UsageError, match=r"column 'd' of t.csv, which split=time sorts by, holds neither numbers nor"):
        split_values("time", pd.Series(["soon", "late"], name="d"), "t.csv")


def test_groups_have_one_form_and_those_that_differ_by_case_are_said() -> None:
    values, notes = split_values("group", pd.Series(["p7", "p7 ", "e\u0301", "\u00e9", None], name="g"), "t.csv")
    np.testing.assert_array_equal(values, [0, 0, 1, 1, np.nan])
    assert not notes
    _, notes = split_values("group", pd.Series(["p7", "P7"], name="g"), "t.csv")
    assert [note.startswith("Column 'g': ") for note in notes] == [True]


@pytest.mark.parametrize("dtype", ["object", "category", "str"])
def test_parts_go_by_the_names_that_people_give_them(dtype: str) -> None:
    names = {"train": 0, "validation": 1, "val": 1, "test": 2, " Train": 0, "VAL ": 1, None: np.nan}
    found, _ = split_values("column", pd.Series(list(names), dtype=dtype), "t.csv")
    np.testing.assert_array_equal(found, list(names.values()))
    with pytest.raises(UsageError, match=r"says 'rest' of a row, and split=column knows train, validation and test"):
        split_values("column", pd.Series(["train", "rest"], dtype=dtype), "t.csv")
