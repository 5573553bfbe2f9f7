"""Limits of options: closed against their notation, written out here by hand."""

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.config.axes import BASES
from scarf_lightning.config.facts import facts
from scarf_lightning.config.registry import options
from scarf_lightning.limits import Limit, Limited, check_limits, in_words, limits_of


def refusal(limit: Limit, value: object) -> str | None:
    """What is said of the value, if it is refused."""
    try:
        check_limits({"x": value}, {"x": limit})
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("(0, 1]", 0, "x must lie in (0, 1], not 0"),
        ("(0, 1]", 1, None),
        ("(0, 1]", 1.5, "x must lie in (0, 1], not 1.5"),
        ("[0, 1)", 0, None),
        ("[0, 1)", 1, "x must lie in [0, 1), not 1"),
        ("(0, inf)", 0, "x must be greater than 0, not 0"),
        ("(0, inf)", math.inf, "x must be greater than 0, not inf"),
        ("(0, inf)", 1e300, None),
        ("[2, 1e9]", 1, "x must be at least 2, not 1"),
        ("[2, 1e9]", 10**9, None),
        ("[2, 1e9]", 10**9 + 1, "x must be at most 1e9, not 1000000001"),
        ("(2, 5)", 2, "x must be greater than 2, not 2"),
        ("(2, 5)", 5, "x must be below 5, not 5"),
        (("a", "b"), "b", None),
        (("a", "b"), "c", "x must be one of a, b, not c"),
        ("(0, 1]", None, None),
        ("[1, 10]", "auto", None),
        (("a", "b"), None, None),
    ],
)
def test_a_value_is_taken_or_refused_in_a_sentence(limit: Limit, value: object, said: str | None) -> None:
    assert refusal(limit, value) == said


@given(
    st.sampled_from("[("),
    st.integers(-5, 5),
    st.integers(1, 5),
    st.sampled_from("])"),
    st.floats(-12, 12) | st.integers(-12, 12),
)
def test_intervals_are_those_of_mathematics(opening: str, low: int, width: int, closing: str, value: float) -> None:
    high = low + width
    inside = (low < value or (opening == "[" and low == value)) and (value < high or (closing == "]" and value == high))
    assert (refusal(f"{opening}{low}, {high}{closing}", value) is None) == inside


@pytest.mark.parametrize("limit", ["(0, inf)", "[0, 1]", "[1, 5]"])
def test_what_is_no_number_lies_nowhere(limit: str) -> None:
    assert refusal(limit, math.nan) is not None


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("(0, 1]", "(0, 1]"),
        ("[2, 1e9]", "at least 2; at most 1e9"),
        ("(0, inf)", "greater than 0"),
        ("[0, 5)", "at least 0; below 5"),
        (("a", "b"), "a, b"),
    ],
)
def test_limits_in_words(limit: Limit, said: str) -> None:
    assert in_words(limit) == said


def test_what_is_no_interval_is_a_slip_of_the_author() -> None:
    with pytest.raises(TypeError, match=r"'0\.\.1' is no interval such as '\(0, 1\]'"):
        check_limits({"x": 1}, {"x": "0..1"})


@dataclass
class Base(Limited):
    limits: ClassVar[dict[str, Limit]] = {"a": "(0, 1]", "b": "[0, inf)"}
    a: float = 0.5
    b: int = 1


@dataclass
class Derived(Base):
    limits: ClassVar[dict[str, Limit]] = {"b": "[2, inf)"}
    b: int = 2


def test_a_class_has_the_limits_that_it_inherits_and_its_own_instead() -> None:
    assert limits_of(Derived) == {"a": "(0, 1]", "b": "[2, inf)"}
    assert Derived(a=1.0, b=2).b == 2
    with pytest.raises(ValueError, match=r"a must lie in \(0, 1\], not 2"):
        Derived(a=2)
    with pytest.raises(ValueError, match="b must be at least 2, not 1"):
        Derived(b=1)


@pytest.mark.parametrize("axis", BASES)
def test_the_limits_of_every_part_are_of_its_options_and_are_read_off_its_source(axis: str) -> None:
    for name, cls in options(axis).items():
        limits = limits_of(cls)
        assert facts(axis)[name].variables.get("limits", {}) == limits
        assert set(limits) <= {field.name for field in fields(cls)}
        assert all(in_words(limit) for limit in limits.values())
