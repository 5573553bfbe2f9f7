"""What is made of a column, kind by kind."""

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import murmurhash3_32

from scarf_lightning.data.columns import Coded
from scarf_lightning.data.reading.inference import Read, ReadingOptions, read_column
from scarf_lightning.data.reading.rules import Feature
from scarf_lightning.errors import UsageError

N = 60


def read(values: Any, name: str = "c", **options: Any) -> Read:
    return read_column(pd.Series(values, name=name), ReadingOptions(**options))


def values_of(feature: Feature) -> list[Any]:
    """The values of the rows, None where they are missing."""
    if isinstance(feature.values, Coded):
        return [None if code < 0 else feature.values.distinct[code] for code in feature.values.codes]
    return [None if np.isnan(value) else value for value in feature.values]


def column(found: Read) -> list[Any]:
    (made,) = found.features
    return values_of(made)


def plainly(value: Any) -> Any:
    return str(value) if isinstance(value, (bool, np.bool_)) else value


def cycle(*values: Any, n: int = N) -> list[Any]:
    return [values[i % len(values)] for i in range(n)]


@pytest.mark.parametrize(
    ("values", "from_text"),
    [(cycle("1", "2"), True), (cycle(1, 2), False), (pd.Categorical(cycle("1", "2")), False)],
    ids=["text", "numbers", "declared"],
)
def test_later_rows_of_named_categories_are_read_as_text_where_these_were_text(values: Any, from_text: bool) -> None:
    found = read(values, categorical=["c"])
    assert found.kind == "categories"
    assert found.rule.from_text is from_text


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (range(N), "id"),
        (np.arange(N)[::-1] + 10**6, "id"),
        ([float(i) for i in range(N)], "id"),
        ([f"A-{i:03d}" for i in range(N)], "id or text"),
        ([*(f"A-{i:03d}" for i in range(N)), None, None], "id or text"),
        ([f"{i + 10**17}" for i in range(N)], "id or text"),
        ([f"{i:05d}" for i in range(N)], "id or text"),
    ],
)
def test_a_value_a_row_is_left_out(values: Any, kind: str) -> None:
    found = read(values)
    assert (found.kind, found.done, found.features) == (kind, "left out: an ID (every row has another value)", [])


def test_whole_numbers_that_are_all_different_stay_unless_they_count_or_are_named_as_ids() -> None:
    values = (np.arange(N) ** 3).tolist()
    assert read(values, "income").kind == "numbers"
    assert read(values, "customer_id").kind == "id"
    assert read(values, "customer_id", numeric=("customer_id",)).kind == "numbers"
    assert read([*range(N - 1), 2 * N - 1]).kind == "id", "half of the numbers in their range are there"
    assert read([*range(N - 1), 2 * N]).kind == "numbers"
    assert (read(range(29)).kind, read(range(30)).kind) == ("numbers", "id"), "29 rows are too few to tell"
    assert read([*range(N - 1), 0]).kind == "numbers"
    assert read((np.arange(N) / 2).tolist()).kind == "numbers"
    assert read([*range(N - 1), np.inf], "customer_id").kind == "numbers"


@pytest.mark.parametrize("value", [3, "x", True, "2024-01-31", "7"])
def test_one_value_alone_or_none_is_left_out(value: Any) -> None:
    found = read([value] * N)
    assert found.done == "left out: one value alone"
    assert not found.features
    assert len(read([value] * N, categorical=("c",)).features) == 1, "unless it is asked for"
    if value in (3, True, "7"):
        assert column(read([value] * N, numeric=("c",))) == [float(value)] * N
    assert read([None] * N).done == "left out: it has no value"
    assert read(["\x00"] * N, drop=("c",)) == Read("not looked at", "left out by dataset.drop")


RANDOM = np.random.default_rng(0).normal(size=N).tolist()
UNREAD = "1 of its values are not numbers ('broken') and are read as missing"
SEVERAL = "5 of its values are not numbers ('odd', 'odder', 'oddest' and the like) and are read as missing"
ODD_ONES = ["odd", "odder", "oddest", "strange", "odd"]
BLANKS = "blanks around its values are cut off; 1 of them differed from another by those alone"
LARGE = ["9007199254740992", "9007199254740993"]
DAYS = pd.date_range("2020-01-01", periods=N)


@pytest.mark.parametrize(
    ("values", "options", "kind", "first", "notes"),
    [
        (RANDOM, {}, "numbers", RANDOM, []),
        *(([*cycle("1,250.5", "?", "$30"), "-"], options, "numbers", [*cycle(1250.5, None, 30.0), None],
           ["21 of its values are not numbers ('?', '-') and are read as missing"])
          for options in ({}, {"numeric": ("c",)})),
        ([*cycle("1.5", "2", n=99), "broken"], {}, "numbers", [*cycle(1.5, 2, n=99), None], [UNREAD]),
        (cycle("1", "2", "low", "high"), {}, "categories", ["1", "2", "low"], []),
        ([*cycle("1", "2", "3", n=200), *ODD_ONES], {}, "numbers", [1, 2, 3], [SEVERAL]),
        ([f"{i}.5 kg" for i in range(40)], {}, "numbers", [0.5, 1.5], ["its numbers have the unit 'kg', which is cut "
         "off"]),
        ([f"{i % 30} {'kg' if i % 2 else 'lb'}" for i in range(N)], {}, "strings", None, []),
        ([*["7"] * (N - 1), "low"], {}, "categories", ["7"], []),
        (cycle("7", "?"), {}, "categories", ["7", "?"], []),
        (cycle("a", "a ", " b", "  "), {}, "categories", ["a", "a", "b", None], [BLANKS]),
        (cycle(" a", "b "), {}, "categories", ["a", "b"], []),
        (cycle(True, False), {}, "Boolean", ["true", "false"], []),
        (cycle(True, None, False), {}, "Boolean", ["true", None, "false"], []),
        (cycle("007", "7", "10"), {}, "categories", ["007", "7"], ["leading zeros"]),
        (cycle("007", "7"), {"numeric": ("c",)}, "numbers", [7, 7], []),
        (cycle(*LARGE), {}, "categories", LARGE, ["above 2^53"]),
        (pd.Categorical(cycle("1", "2")), {}, "categories", ["1", "2"], []),
        (cycle("07:30", "18:00:36", "?"), {}, "durations", [27_000, 64_836, None], ["20 of its values are not "
         "durations ('?') and are read as missing"]),
        (cycle("12:30", "12:30:00"), {}, "constant", None, []),
        (cycle("23:00", "25:30", None), {}, "durations", [82_800, 91_800, None], []),
        (cycle("PT1H", "n/a", "P1D"), {}, "durations", [3_600, None, 86_400], ["values are not durations ('n/a')"]),
        (pd.to_timedelta(cycle(60, 90, None), unit="s"), {}, "durations", [60, 90, None], []),
        (DAYS, {}, "dates", None, []),
        (DAYS.tz_localize("UTC"), {}, "dates", None, []),
        (DAYS.tz_localize("Europe/Berlin"), {}, "dates", None, ["time zones other than UTC"]),
        ([f"2020-01-{day:02}T10:00:00+0200" for day in range(1, 29)] * 2, {}, "dates", None, ["time zones other than"]),
        ([f"2020-01-{day:02}T10:00:00Z" for day in range(1, 29)] * 2, {}, "dates", None, []),
        (cycle("01/02/2024", "03/04/2024"), {}, "dates", None, ["could be %d/%m/%Y"]),
        (cycle("01/02/2024 10:00+0100", "03/08/2024 10:00+0200"), {}, "dates", None, ["could be %d/%m/%Y", "time zones "
         "other than UTC"]),
        (["31/01/2024", *cycle("30/12/2023", "01/02/2024")], {}, "dates", None, []),
        (cycle("2024-01-02", "2024-03-04"), {}, "dates", None, []),
        (cycle("2024-01-02", "2024-03-04", "?"), {}, "dates", None, ["20 of its values are not dates ('?') and are "
         "read as missing"]),
    ],
)  # fmt: skip
def test_a_column_is_of_a_kind_and_doubts_are_said(
    values: Any, options: dict[str, Any], kind: str, first: list[Any] | None, notes: list[str]
) -> None:
    found = read(values, **options)
    assert found.kind == kind
    if kind == "durations":
        assert found.rule.from_text is isinstance(values, list)
    if first is not None:
        known = [value.lower() if kind == "Boolean" and value else value for value in map(plainly, column(found))]
        assert known[: len(first)] == first
    assert len(found.notes) == len(notes)
    assert all(note in str(said) for note, said in zip(notes, found.notes, strict=True))


@pytest.mark.parametrize(
    ("values", "truths"),
    [(cycle(0, 1), [1, 0]), (cycle(0.0, 1.0, None), [1, 0]), (cycle(1, 2), [None] * 2), (cycle(0, 1, 2), [None] * 2)],
)
def test_later_rows_may_spell_truth_values_where_all_numbers_were_0_or_1(values: Any, truths: list[Any]) -> None:
    found = read(values)
    (later,) = found.rule.features(pd.Series(["Yes", "false", "1"], name="c"))
    assert values_of(later) == [*truths, 1]


@pytest.mark.parametrize("options", [{}, {"categorical": ("c",)}, {"text": ("c",)}, {"numeric": ("c",)}])
def test_text_that_no_file_can_hold_is_refused_in_every_kind_of_column(options: dict[str, Any]) -> None:
    for odd, said in (("red\x00", "a NUL character"), ("red\ud800", "half a character")):
        with pytest.raises(UsageError, match=f"^column 'c' holds {said}, in 'red"):
            read(pd.Series(cycle("red", odd), dtype=object), **options)


def test_later_rows_of_numbers_are_read_as_text_where_these_were_text() -> None:
    """A type says more than any value."""
    for values, done, from_text in ((RANDOM, "as they are", False), (map(str, RANDOM), "text read as numbers", True)):
        found = read(list(values))
        assert (found.kind, found.done, found.rule.from_text) == ("numbers", done, from_text)
        assert column(found) == RANDOM


@pytest.mark.parametrize(
    ("other", "n_others", "kind"),
    [("?", 50, "numbers"), ("?", 51, "categories"), ("low", 5, "numbers"), ("low", 6, "categories")],
)
def test_numbers_may_have_a_half_of_gaps_and_a_twentieth_of_words(other: str, n_others: int, kind: str) -> None:
    values = [*[other] * n_others, *cycle("1.5", "2", n=100 - n_others)]
    assert read(values).kind == kind


@pytest.mark.parametrize("values", [cycle("a", None, "b"), cycle(1.5, None, 2), cycle("1.5", None, "2")])
def test_missing_and_distinct_values_are_counted(values: Any) -> None:
    assert read(values).counts == (20, 2)


def test_strings_of_many_values_do_not_blow_the_width_up() -> None:
    random = np.random.default_rng(0)
    names = ["".join(random.choice(list("abcdefghij"), 8)) for _ in range(150)]
    found = read(names * 4)
    assert found.kind == "strings"
    assert [feature.name for feature in found.features] == [f"c ({number})" for number in range(1, 17)]
    values = np.stack([values_of(feature) for feature in found.features], axis=1)
    assert np.abs(values).max() <= 1
    assert (values[:150] == values[150:300]).all(), "equal strings, equal numbers"
    assert len(np.unique(values[:150], axis=0)) == 150, "and different ones different numbers"

    assert read(names * 4, categorical=("c",)).kind == "categories"
    assert read([f"s{i % 100}" for i in range(1000)]).kind == "categories"
    assert read([f"s{i % 101}" for i in range(1010)]).kind == "strings"
    assert read([f"s{i % 20}" for i in range(N)]).kind == "categories", "of a short column"
    assert read([f"s{i % 21}" for i in range(N)]).kind == "strings"
    gaps = read([*names, None] * 4).features[0]
    assert gaps.is_missing.sum() == 4


def by_hand(text: str) -> list[float]:
    """Pieces of three and four letters of each word between blanks, counted by their hash, and scaled to length one."""
    counts = np.zeros(32)
    for word in text.lower().split():
        padded = f" {word} "
        for length in (3, 4):
            for start in range(max(len(padded) - length, 0) + 1):
                hashed = murmurhash3_32(padded[start : start + length], seed=0)
                counts[abs(hashed) % 32] += 1 if hashed >= 0 else -1
            if len(padded) <= length:
                break  # a short word is counted once
    return (counts / np.linalg.norm(counts)).tolist()


REVIEWS = [f"The parcel of order {i} came late, and broken" for i in range(40)]


def test_texts_of_several_words_become_hashes_of_their_letters_row_by_row() -> None:
    found = read(REVIEWS)
    assert (found.kind, found.done) == ("text", "32 numbers that are hashes of their letters")
    values = np.stack([values_of(feature) for feature in found.features], axis=1)
    np.testing.assert_allclose(values, [by_hand(text) for text in REVIEWS], atol=1e-12)
    later = found.rule.features(pd.Series([None, REVIEWS[3]], name="c", dtype=object)) if found.rule else []
    assert [values_of(each)[0] for each in later] == [None] * 32
    assert [values_of(each)[1] for each in later] == values[3].tolist()


def test_text_is_of_many_words_of_which_some_may_be_the_same() -> None:
    assert read([*REVIEWS, REVIEWS[0]]).kind == "text"
    assert read(pd.Categorical([*REVIEWS, REVIEWS[0]])).kind == "strings"
    names = [f"Ada Lovelace the {i}th" for i in range(40)]
    assert read(names).kind == "id or text"
    assert read([f"{name} again" for name in names]).kind == "text"
    assert read(names, text=("c",)).kind == "text"
    assert read(range(40), text=("c",)).kind == "text"


def test_equal_parts_of_strings_are_seen() -> None:
    made = read([f"{name} {i}" for i in range(60) for name in ("north", "south") for _ in range(2)]).features
    values = np.stack([values_of(feature) for feature in made], axis=1)
    alike = np.mean([(values[0] == values[4]).mean(), (values[2] == values[6]).mean()])
    assert alike > (values[0] == values[2]).mean()


@pytest.mark.parametrize(
    ("texts", "day"),
    [
        (["2024-01-31", "2024-02-01"], 19753),
        (["31/01/2024", "01/02/2024"], 19753),
        (["Jan 31, 2024", "Feb 01, 2024"], 19753),
        (["31. Januar 2024", "1. Februar 2024"], 19753),
        (["31 janvier 2024", "1 février 2024"], 19753),
        (["31 gennaio 2024", "01 FEBBRAIO 2024"], 19753),
        (["2024-01-31 12:00", "2024-02-01 00:00"], 19753.5),
        *(([f"31. {march} 2024", "2. April 2024"], 19813) for march in ("März", "Maerz", "March")),
        *(([f"31 {march} 2024", f"1 {april} 2024"], 19813) for march,
         april in (("mars", "avril"), ("marzo", "aprile"))),
        (["31 maart 2024", "1 april 2024"], 19813),
        *(([f"31-{march}-2024", f"01-{april}-2024"], 19813) for march, april in (("MAR", "APR"), ("march", "april"))),
    ],
)  # fmt: skip
def test_dates_in_text(texts: list[str], day: float) -> None:
    found = read(cycle(*texts, None, "?"))
    made = {feature.name: values_of(feature) for feature in found.features}
    first = pd.Timestamp(day, unit="D")
    assert found.kind == "dates"
    assert made["c (days)"][0] == day
    assert made["c (days)"][2:4] == [None, None]
    assert made["c (month)"][:2] == [first.month, first.month + 1]
    assert made["c (weekday)"][0] == first.isoweekday()
    assert ("c (hour)" in made) == (day % 1 != 0)


@pytest.mark.parametrize("unit", ["text", "s", "us"])
def test_dates_of_any_century_and_of_another_zone(unit: str) -> None:
    """Many tables write 9999-12-31 for a date that never comes. Nanoseconds since 1970 end in 2262."""
    days = ["1583-10-15", "1969-12-31", "2024-02-29", "9999-12-31"]
    column = cycle(*days)
    found = read(column if unit == "text" else pd.Series(column).astype(f"datetime64[{unit}]"))

    made = {feature.name: values_of(feature) for feature in found.features}
    dates = [date.fromisoformat(day) for day in days]
    assert made["c (days)"][:4] == [(day - date(1970, 1, 1)).days for day in dates]
    assert made["c (month)"][:4] == [day.month for day in dates]
    assert made["c (weekday)"][:4] == [day.isoweekday() for day in dates]
    berlin = values_of(read(DAYS.tz_localize("Europe/Berlin")).features[0])
    assert berlin[0] == 18261 + 23 / 24, "an hour before midnight in UTC"


@pytest.mark.parametrize("value", [3.5, "x", True, "2024-01-31", "12:30", "27:30"])
def test_one_value_and_gaps_are_two_categories(value: Any) -> None:
    found = read(cycle(value, None))
    assert (found.kind, found.done) == ("constant", "2 categories: its one value, or none")
    first, second = column(found)[:2]
    assert second == "(no value)"
    assert str(first).lower() == str(value).lower()


@pytest.mark.parametrize("form", ["%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%d/%m/%Y"])
@pytest.mark.parametrize("change", [str, str.upper, str.lower], ids=["as written", "capitals", "small"])
def test_dates_of_some_years_are_dates_whatever_a_sample_of_them_shows(form: str, change: Callable[[str], str]) -> None:
    """May is the short name of a month and the long one, and most days are no larger than a month's number."""
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(np.random.default_rng(0).integers(0, 1500, 1000), "D")
    column = pd.Series([change(text) for text in days.strftime(form)], name="when")
    found = read_column(column, ReadingOptions())
    assert found.kind == "dates"
    np.testing.assert_array_equal(found.features[0].values, (days - pd.Timestamp(0)).days)


@pytest.mark.parametrize("day", [13, 25])
def test_one_day_after_the_twelfth_of_many_tells_that_days_come_first(day: int) -> None:
    months = range(1, 13)
    early = [f"{day:02}/{month:02}/{year}" for year in range(1999, 2019) for day in months for month in months]
    found = read_column(pd.Series([*early, f"{day}/12/2019"], name="when"), ReadingOptions())
    assert (found.kind, list(found.notes)) == ("dates", [])
    assert found.features[0].values[1] == (pd.Timestamp("1999-02-01") - pd.Timestamp(0)).days


def test_dates_in_two_formats_are_no_dates() -> None:
    mixed = ["25/12/2019", "12/25/2019"] * 30
    assert read_column(pd.Series(mixed, name="when"), ReadingOptions()).kind != "dates"
