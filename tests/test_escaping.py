import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.escaping import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe, m² of 10–20 [kg] 面積 🙂", "Größe, m² of 10–20 [kg] 面積 🙂"),
        ("red \x1b[31m", r"red \x1b[31m"),
        ("a\x00b\x07\x7f\x9b", r"a\x00b\x07\x7f\x9b"),
        ("two\nlines\tand a tab\r", "two\nlines\tand a tab\\r"),
        ("\u202egnp.exe\u2028", r"\u202egnp.exe\u2028"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_is_acted_on_is_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_line_feeds_and_tabs_where_they_are_not_kept() -> None:
    assert escaped("a\nb\tc", kept="") == r"a\nb\tc"


@given(st.text())
def test_it_is_printable_and_says_the_same_twice(text: str) -> None:
    once = escaped(text, kept="")
    assert escaped(once, kept="") == once
    once.encode()
