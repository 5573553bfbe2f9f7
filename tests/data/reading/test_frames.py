"""Frames of other libraries, and the one form of their values."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scarf_lightning.data.reading.frames import frame_of, plain_column
from scarf_lightning.errors import UsageError

DAY = dt.date(2024, 2, 29)
LARGE = 2**60 + 1


def arrow(kind: pa.DataType) -> pd.ArrowDtype:
    return pd.ArrowDtype(kind)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, None], "Int8", [1.0, None]),
        ([1, 2], "uint64", [1, 2]),
        ([1, None], arrow(pa.int32()), [1.0, None]),
        ([LARGE, None], "Int64", [str(LARGE), None]),
        ([LARGE, None], arrow(pa.int64()), [str(LARGE), None]),
        ([2**70, None], object, [str(2**70), None]),
        ([1, None], object, [1.0, None]),
        ([Decimal("1.10"), None], arrow(pa.decimal128(5, 2)), [1.1, None]),
        ([pd.NA, 1], object, [None, 1.0]),
        ([0, 1], pd.SparseDtype("int64", 0), [0, 1]),
        ([True, None], "boolean", [True, None]),
        (["a", None], arrow(pa.string()), ["a", None]),
        (["a", "b"], arrow(pa.dictionary(pa.int8(), pa.string())), ["a", "b"]),
        ([DAY, None], object, [pd.Timestamp(DAY), None]),
        ([DAY, None], arrow(pa.date32()), [pd.Timestamp(DAY), None]),
        ([dt.timedelta(hours=30), None], arrow(pa.duration("s")), [108000.0, None]),
        ([dt.time(3, 15), None], arrow(pa.time64("us")), [dt.time(3, 15), None]),
    ],
)
def test_a_value_has_one_form_whatever_its_type(values: list[Any], dtype: Any, expected: list[Any]) -> None:
    column = plain_column(pd.Series(values, dtype=dtype, name="c", index=[3, 5]))
    assert [None if pd.isna(value) else value for value in column] == expected
    assert column.name == "c"
    assert column.index.tolist() == [3, 5]


def test_columns_of_arrow_are_exact_and_categories_keep_their_order() -> None:
    frame = frame_of(pa.table({"n": pa.array([LARGE, None]), "view": pa.array(["a", None], pa.string_view())}))
    assert plain_column(frame["n"])[0] == str(LARGE)
    assert frame["view"].isna().tolist() == [False, True]
    given = pd.Series(pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True))
    assert plain_column(given).cat.categories.tolist() == ["b", "a"]


def test_names_become_text_and_need_not_differ_and_what_has_no_columns_is_no_frame() -> None:
    frame = frame_of(pd.DataFrame([[1, 2, 3]], columns=[0, ("a", 1), 0]))
    assert frame.columns.tolist() == ["0", "('a', 1)", "0"]
    for rows in (np.zeros((2, 2)), [[1, 2]], None, pd.Series([1]), 3):
        assert frame_of(rows) is None


class Exporter:
    def __arrow_c_stream__(self, _: Any = None) -> Any:
        return pa.chunked_array([[1, 2]]).__arrow_c_stream__()


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="a name that no file can hold"):
        frame_of(pd.DataFrame({"a": [1]}).set_axis(pd.Index(["\ud800"], dtype=object), axis=1))
    with pytest.raises(UsageError, match="The rows are a Exporter, which is no table with columns"):
        frame_of(Exporter())
