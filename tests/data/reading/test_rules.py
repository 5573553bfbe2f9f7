"""Numbers and dates that are written as text, and texts as numbers."""

from math import isnan

import numpy as np
import pandas as pd
import pytest
from skrub import MinHashEncoder

from scarf_lightning.data.reading.rules import (
    date_format,
    min_hashes,
    notation_of,
    number_of,
    text_hashes,
    times_of,
)  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "-2.5", "+3", ".5", "1e3"], [1, -2.5, 3, 0.5, 1000]),
        (["12 %", "7.5%"], [0.12, 0.075]),
        (["$1,200", "$3.50", "-$2"], [1200, 3.5, -2]),
        (["1.200,50 €", "7 €"], [1200.5, 7]),
        (["0,126", "3,5"], [0.126, 3.5]),
        (["1,234,567", "12"], [1234567, 12]),
    ],
)
def test_numbers_have_one_notation(texts: list[str], numbers: list[float]) -> None:
    notation, others, _ = notation_of(texts)
    assert [number_of(text, notation) for text in texts] == numbers
    assert others == []


@pytest.mark.parametrize(
    ("texts", "others"),
    [
        (["12", "120 m2", "<120"], ["120 m2", "<120"]),
        (["5k", "5000", "7"], ["5k"]),
        (["12 %", "13 %", "12"], ["12"]),
        (["$5", "$7", "€5"], ["€5"]),
        (["1", "2", "1 km, 500", "12:30", "1_000", "٣"], ["1 km, 500", "12:30", "1_000", "٣"]),
        (["red", "blue"], ["red", "blue"]),
    ],
)
def test_what_is_no_number_is_never_cut(texts: list[str], others: list[str]) -> None:
    assert notation_of(texts)[1] == others


def test_a_doubt_about_commas_is_said_and_an_option_decides() -> None:
    notation, _, notes = notation_of(["1,234", "5,678"])
    assert number_of("1,234", notation) == 1234
    assert [note.partition("; ")[2] for note in notes] == ["\"dataset.decimal=','\" reads them as decimal"]
    notation, _, notes = notation_of(["1,234", "5,678"], decimal=",")
    assert (number_of("1,234", notation), notes) == (1.234, [])


def test_commas_behind_points_are_decimal_without_a_doubt() -> None:
    for decimal in (None, ","):
        notation, _, notes = notation_of(["34.005,58", "1.200.300,5"], decimal)
        assert (number_of("34.005,58", notation), notes) == (34005.58, [])


def test_numbers_without_thousands_take_no_comma_later() -> None:
    notation, *_ = notation_of(["0.5", "1"])
    for text, read_with in (("0,126", notation), ("1,126", notation), ("0,126", (".", True, ""))):
        assert isnan(number_of(text, read_with))


@pytest.mark.parametrize(
    ("texts", "format"),
    [
        (["2024-12-31", "2023-01-02"], "%Y-%m-%d"),
        (["31.12.2024", "03.04.2020"], "%d.%m.%Y"),
        (["03/04/2020", "12/31/2020"], "%m/%d/%Y"),
        (["03/04/2020", "31/12/2020"], "%d/%m/%Y"),
        (["5 May 2020", "12 Jan 2020"], "%d %b %Y"),
        (["2020-01-02 10:30", "2020-01-03 11:00"], "%Y-%m-%d %H:%M"),
    ],
)
def test_dates_have_one_format(texts: list[str], format: str) -> None:
    assert date_format(texts) == (format, [])
    assert times_of(texts, format).notna().all()


@pytest.mark.parametrize("texts", [["14:30", "15:00"], ["a1", "b2"], ["2024-01-02", "soon"], ["1-2", "3-4"], []])
def test_what_is_no_date_in_one_format_is_none(texts: list[str]) -> None:
    assert date_format(texts) == ("", [])


def test_a_doubt_about_day_and_month_is_said() -> None:
    format, (note,) = date_format(["03/04/2020", "05/06/2020"])
    assert format == "%m/%d/%Y"
    assert "%d/%m/%Y" in note


def test_times_are_written_as_in_iso_8601() -> None:
    times = times_of(["2020-03-02", "2020-03-02 14:30", "02/03/2020"], "ISO8601")
    assert times.isna().tolist() == [False, False, True]
    assert times[1] == pd.Timestamp("2020-03-02 14:30", tz="UTC")


TEXTS = ["a", "bc", "dée", "défg", "x y", "Ü", "日本", "日本語で", *(f"user {7 * i}" for i in range(40)), "long " * 40]


def test_min_hashes_are_those_of_skrub() -> None:
    expected = MinHashEncoder(n_components=16).fit_transform(pd.Series(TEXTS, name="text"))
    np.testing.assert_array_equal(min_hashes(TEXTS), np.asarray(expected) / 2**31)


def test_a_text_has_the_same_numbers_in_every_table() -> None:
    for hashes in (min_hashes, text_hashes):
        np.testing.assert_array_equal(hashes(TEXTS)[3:5], hashes(TEXTS[3:5]))
