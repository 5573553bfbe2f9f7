"""From a user's rows to the values that a table of the same columns would hold."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.table import Column, spell
from ..errors import UsageError


def values_of(rows: pd.DataFrame, columns: Sequence[Column]) -> NDArray[np.float64]:
    """The rows as `Table` holds them: float64 ``(n, M)``, codes of categorical columns, NaN where missing.

    Columns are found by name, in whatever order they are; further ones are ignored. A category that the table did not
    have counts as missing, with a warning that names it.

    Args:
        rows: n rows.
        columns: the table's M columns.

    Raises:
        UsageError: the rows are no DataFrame, a column is missing or there twice, a numeric column holds something that
            is no finite number, or a categorical one something that is no category, such as a list.
    """
    if not isinstance(rows, pd.DataFrame):
        raise UsageError(f"The rows must be a pandas DataFrame whose columns have names, not {type(rows).__name__}.")
    rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    missing = [column.name for column in columns if column.name not in rows.columns]
    if missing:
        raise UsageError(f"The rows lack {_named(missing)}, which the encoder was trained on.")
    twice = [column.name for column in columns if isinstance(rows[column.name], pd.DataFrame)]
    if twice:
        raise UsageError(f"The rows have {_named(twice)} more than once.")
    return np.stack([_codes(rows[c.name], c) if c.is_categorical else _numbers(rows[c.name]) for c in columns], axis=1)


def _numbers(series: "pd.Series[Any]") -> NDArray[np.float64]:
    dtype = series.dtype
    is_number = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    if not is_number or pd.api.types.is_complex_dtype(dtype):
        for value in series.dropna():
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise UsageError(f"Column {series.name!r} is numeric, but the rows hold {value!r} in it.")
    numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise UsageError(f"Column {series.name!r} holds an infinite value; mark it as missing.")
    return numbers


def _codes(series: "pd.Series[Any]", column: Column) -> NDArray[np.float64]:
    try:
        positions, distinct = pd.factorize(series, use_na_sentinel=True)
    except TypeError:
        odd = next(value for value in series if type(value).__hash__ is None)
        raise UsageError(f"Column {column.name!r} is categorical, but the rows hold {odd!r} in it.") from None
    assert column.categories is not None
    known = {category: float(code) for code, category in enumerate(column.categories)}
    unseen = [spell(value) for value in distinct if spell(value) not in known]
    if unseen:
        warnings.warn(
            f"Column {column.name!r} has {_named(unseen)}, which the training table did not: taken as missing.",
            stacklevel=2,
        )
    codes = np.array([known.get(spell(value), np.nan) for value in distinct] + [np.nan])  # the last is the sentinel's
    return codes[positions]


def _named(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
