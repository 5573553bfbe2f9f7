"""Labels in the type that their user gave them in: the answers of a model.

A table spells the labels of its classes as text. These spellings and a type of numpy's give the labels back.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

TEXT, FIXED_TEXT = "object", "str"
"""Text in an array of objects, and in one of numpy's arrays of text."""
TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|str")

TIMES = re.compile(r"(datetime|timedelta)64\[(s|ms|us|ns)\]")


def dtype_of(labels: "pd.Series[Any] | NDArray[Any]") -> str:
    """numpy's type of labels without gaps: of numbers and truth values; all else is text."""
    values = np.asarray(labels)
    if values.dtype.kind == "U":
        return FIXED_TEXT
    return values.dtype.name if TYPES.fullmatch(values.dtype.name) else TEXT


def answers_of(spelled: Sequence[str], dtype: str) -> NDArray[Any]:
    """The labels that were spelled so, in their type.

    Raises:
        ValueError: the type is unknown, or a text is no spelling of a label of this type.
    """
    # Classes of earlier versions may be times, whose spellings are text.
    if isinstance(dtype, str) and TIMES.fullmatch(dtype):
        dtype = TEXT
    if not isinstance(dtype, str) or not TYPES.fullmatch(dtype):
        raise ValueError(f"{str(dtype)[:40]!r} is no type of labels")
    try:
        if dtype == "bool":
            places = [("false", "true").index(text) for text in spelled]
            return np.array(places, dtype=bool)
        if dtype == FIXED_TEXT:
            return np.array(spelled, dtype=np.str_)
        return np.array(spelled, dtype=object).astype(dtype)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"classes: {str(error)[:80]}") from error
