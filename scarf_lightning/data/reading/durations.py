"""Lengths of time, and times of day, as numbers of seconds."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..columns import Floats
from .numbers import is_missing

A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

CLOCK = r"[+-]?\d{1,6}:[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"
ISO = r"[+-]?P([+-]?\d{1,6}D)?(T(\d{1,6}H)?(\d{1,6}M)?(\d{1,6}(\.\d{1,9})?S)?)?"
FORM = re.compile(rf"{CLOCK}|[+-]?\d{{1,6}} days?(,? {CLOCK})?|{ISO}", re.IGNORECASE)
"""``14:30``, ``27:30:15``, ``-1 days +23:00:00``, ``5 days`` and ``PT3H``. pandas reads more: ``12`` as nanoseconds,
and ``P1M``, which is a month, as a minute."""
WITHOUT_SECONDS = re.compile(r"(^|.* )[+-]?\d+:\d+")


def as_seconds(texts: Sequence[str]) -> Floats | None:
    """Distinct texts as seconds ``(n,)``, NaN for those that stand for a missing value; None if another one is no
    length of time."""
    seconds = seconds_of(texts)
    is_other = np.isnan(seconds)
    are_read = all(is_missing(text) for text, other in zip(texts, is_other, strict=True) if other)
    return seconds if are_read and not is_other.all() else None


def seconds_of(texts: Sequence[str]) -> Floats:
    """Lengths of time in seconds ``(n,)``, as pandas reads them; NaN for a text that is none.

    >>> seconds_of(["14:30", "1 day, 0:00:01", "14:61"]).tolist()
    [52200.0, 86401.0, nan]
    """
    written = []
    for text in texts:
        # pandas wants the seconds too.
        whole = f"{text}:00" if WITHOUT_SECONDS.fullmatch(text) else text
        written.append(whole if FORM.fullmatch(text) else None)
    return seconds_in(pd.Series(pd.to_timedelta(pd.Series(written, dtype="str"), errors="coerce")))


def seconds_in(column: "pd.Series[Any]") -> Floats:
    """A column of the type of lengths of time as seconds ``(n,)``, NaN where one is missing."""
    lengths: Any = column.to_numpy()
    unit, _ = np.datetime_data(lengths.dtype)
    # Python divides whole numbers without an error in the last bit, pandas does not.
    counts = lengths.astype(np.int64).tolist()
    seconds = np.array([count / A_SECOND[unit] for count in counts], dtype=np.float64)
    seconds[np.isnat(lengths)] = np.nan
    return seconds
