"""Lengths of time and times of day are numbers of seconds, the same in every notation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.reading.durations import as_seconds, seconds_in, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14:30", 52_200),
        ("07:30:00.5", 27_000.5),
        ("3:02:15", 10_935),
        ("27:30", 99_000),
        ("100:00:00", 360_000),
        ("-3:02:15", -10_935),
        ("2 days 03:00:00", 183_600),
        ("2 days 03:00", 183_600),
        ("1 day, 23:00:00", 169_200),
        ("-1 days +23:00:00", -3_600),
        ("5 days", 432_000),
        ("0 days 00:00:00.000123", 0.000123),
        ("PT3H", 10_800),
        ("P2DT3H4M5.5S", 183_845.5),
        ("-PT90M", -5_400),
    ],
)
def test_notations(text: str, seconds: float) -> None:
    assert seconds_of([text]).tolist() == [seconds]


@given(st.integers(-(10**17), 10**17))
def test_text_of_pandas_and_python_gives_the_seconds_of_the_type(nanoseconds: int) -> None:
    length = pd.Timedelta(nanoseconds)
    of_type = seconds_in(pd.Series([length]))[0]
    of_python = length.floor("us").to_pytimedelta()
    texts = [str(length), length.isoformat(), str(of_python)]
    assert seconds_of(texts).tolist() == [of_type, of_type, seconds_in(pd.Series([of_python]))[0]]
    assert of_type == nanoseconds / 10**9


def test_all_texts_are_lengths_or_missing() -> None:
    assert as_seconds(["24:00", "n/a"]) == pytest.approx([86_400, np.nan], nan_ok=True)
    assert as_seconds(["24:00", "late"]) is None
    assert as_seconds(["n/a"]) is None
    # pandas would read 12, 3 h, P1M and 3:60:00.
    others = [
        "",
        "P",
        "PT",
        "P1M",
        "12",
        "3 h",
        "3:60",
        "3:60:00",
        "oak",
        "1 dayses",
        "9" * 1000 + ":00",
        "900000 days",
    ]
    assert np.isnan(seconds_of(others)).all()
