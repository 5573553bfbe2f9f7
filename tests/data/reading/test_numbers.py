import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.data.reading.numbers import are_codes, as_numbers, is_missing


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["12,743", "1,000.5", "-3"], [12743, 1000.5, -3]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["1.234,5", "1.234.567", "2"], [1234.5, 1234567, 2]),
        (["1 234", "5", "1\u202f234\u00a0567,5"], [1234, 5, 1234567.5]),
        (["1'234.5", "6’000"], [1234.5, 6000]),
        (["$1,200.50", "£3", "7 EUR", "CHF 8"], [1200.5, 3, 7, 8]),
        (["12%", "7.5 %", "-50%"], [0.12, 0.075, -0.5]),
        (["(1,200)", "- 3", "−4", "+5"], [-1200, -3, -4, 5]),
        (["1e5", "2.5E-3", ".5", "5."], [1e5, 2.5e-3, 0.5, 5]),
        (["1,00,000.50", "12,34,567", "99,000"], [100000.5, 1234567, 99000]),
        (["12 kg", "3.5kg", "-1,200 kg", "7"], [12, 3.5, -1200, 7]),
        (["12,5 m²", "3 m²"], [12.5, 3]),
        (["20 °C", "-3.5°C"], [20, -3.5]),
        (["60 km/h", "130 km/h"], [60, 130]),
    ],
)
def test_notations(texts: list[str], values: list[float]) -> None:
    read = as_numbers(texts)
    assert [read.values[text] for text in texts] == values
    assert not read.others


def test_what_is_no_number() -> None:
    texts = ["1", "2.5", "abc", "1,2,3", "12-3", "1 2", "١", "0x1f", "", "1_000", "nan", "12 kg", "1.2.3"]
    read = as_numbers(texts)
    assert read.values == {"1": 1, "2.5": 2.5}
    assert read.others == texts[2:]


def test_a_unit_is_part_of_the_notation_and_another_one_is_no_number() -> None:
    read = as_numbers(["12 kg", "3 kg", "5 kg", "4 lb", "kg"])
    assert read.values == {"12 kg": 12, "3 kg": 3, "5 kg": 5}
    assert read.others == ["4 lb", "kg"]
    assert read.notes == ["its numbers have the unit 'kg', which is cut off"]
    assert read.notation.read(["4kg", "5", "6 lb"]) == {"4kg": 4, "5": 5}
    assert not as_numbers(["1st", "2nd", "3rd"]).values


def test_commas_that_could_be_either_and_several_currencies_are_said() -> None:
    read = as_numbers(["1,234", "5,678"])
    assert read.values["1,234"] == 1234
    assert "read as separators of thousands" in str(read.notes[0])
    assert as_numbers(["1,234", "5,678"], ",").values["1,234"] == 1.234
    assert "several currencies (EUR, USD)" in as_numbers(["1 USD", "2 eur"]).notes[0]
    for clear in (["1,234", "5.6"], ["1,234,567"], ["1.5", "2"], ["1,5", "1,234"], ["1 USD", "2"], ["1 EUR", "2 EUR"]):
        assert not as_numbers(clear).notes
    for text in ("?", "-", "N/A", "n.a.", "Unknown", "#DIV/0!"):
        assert is_missing(text)
        assert not is_missing(text + "x")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique=True))
def test_every_float_comes_back_to_the_last_bit(values: list[float]) -> None:
    assert as_numbers([repr(value) for value in values], ".").values == {repr(value): value for value in values}


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, unique=True), st.sampled_from([(",", "."), (".", ",")]))
def test_thousands_come_back(values: list[int], signs: tuple[str, str]) -> None:
    group, decimal = signs
    texts = {f"{value:,}".replace(",", group) + f"{decimal}50": value for value in values}
    expected = {text: value + 0.5 if not text.startswith("-") else value - 0.5 for text, value in texts.items()}
    assert as_numbers(list(texts), decimal).values == expected


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["7", "007"], "leading zeros"),
        (["9007199254740993"], "above 2^53"),
        (["9007199254740992", "0", "10", "-5"], None),
        (["0.5", "00:10", "²"], None),
    ],
)
def test_whole_numbers_that_are_codes(texts: list[str], why: str | None) -> None:
    found = are_codes(texts)
    assert found is None if why is None else why in (found or "")
