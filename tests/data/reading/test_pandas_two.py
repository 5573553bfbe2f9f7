"""Pandas 2 and 3 read alike. What pandas 2 needs is run with whichever is installed."""

import io
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading import pandas_two
from scarf_lightning.data.reading.pandas_two import EXACT_FLOATS, ISO, date_times, times_in, with_known_years


@pytest.fixture(params=[False, True], ids=["as installed", "as pandas 2"])
def _as_either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(pandas_two, "IS_TWO", True)


def test_numbers_are_the_floats_nearest_to_their_texts() -> None:
    random = np.random.default_rng(0)
    texts = [repr(float(value)) for value in random.normal(size=2000) * 10.0 ** random.integers(-12, 12, 2000)]
    read = pd.read_csv(io.StringIO("\n".join(["x", *texts])), **EXACT_FLOATS)["x"]  # type: ignore[call-overload]
    assert read.tolist() == [float(text) for text in texts]


@pytest.mark.usefixtures("_as_either")
@pytest.mark.parametrize(
    ("texts", "format", "utc", "expected"),
    [
        (["1583-10-15", "2024-02-29", "9999-12-31"], "%Y-%m-%d", False, ["1583-10-15", "2024-02-29", "9999-12-31"]),
        (["1583-10-15", "9999-12-31T10:30"], ISO, True, ["1583-10-15", "9999-12-31T10:30"]),
        (["31.12.9999 23:00 +0200"], "%d.%m.%Y %H:%M %z", True, ["9999-12-31T21:00"]),
        (["2023-02-29", "x", "1600-13-01", None], "%Y-%m-%d", False, ["NaT", "NaT", "NaT", "NaT"]),
    ],
)
def test_dates_of_all_centuries_are_read(texts: list[Any], format: str, utc: bool, expected: list[str]) -> None:
    found = times_in(pd.Series(texts, dtype="str"), format, utc=utc)
    naive = found.dt.tz_localize(None) if utc else found
    assert naive.to_numpy(dtype="datetime64[us]").tolist() == np.array(expected, "datetime64[us]").tolist()
    assert str(found.dt.tz) == ("UTC" if utc else "None")


@pytest.mark.usefixtures("_as_either")
@pytest.mark.parametrize("values", [[date(9999, 12, 31), None], [datetime(1500, 1, 2, 3, 4), datetime(2024, 1, 1)]])
def test_dates_of_python_are_times(values: list[Any]) -> None:
    found = date_times(pd.Series(values, index=[5, 3], dtype=object, name="since"))
    assert found.to_numpy(dtype="datetime64[us]").tolist() == np.array(values, "datetime64[us]").tolist()
    assert (found.name, [*found.index]) == ("since", [5, 3])


def test_a_format_is_found_by_years_that_every_pandas_knows() -> None:
    texts = pd.Series(["31.12.9999", "29.02.1600 10:30:1500", "1990-05-06", "20240101"])
    assert with_known_years(texts).tolist() == ["31.12.2000", "29.02.2000 10:30:2000", "1990-05-06", "20240101"]
