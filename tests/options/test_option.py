"""The language of options: what one line of a dataclass says, and what is refused by it."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from scarf_lightning.options.option import Options, option, options_of


@dataclass
class Shape(Options):
    sides: ClassVar[int] = 4

    size: float = option(0.5, "length of a side", "(0, 1]")
    colour: Literal["red", "blue"] = option("red", "what it is painted with")
    copies: int | Literal["auto"] = option("auto", "how many there are", "[1, 10]")
    note: str | None = option(None, "for people")
    tags: list[str] = option([], "words to find it by")


@dataclass
class Square(Shape):
    size: float = 1.0
    corners: int = option(4, "how many it has", "[2, inf)")


@dataclass
class Composed(Options):
    shape: Shape
    width: int = option(3, "of the whole", "[1, inf)")


def refusal(cls: type[Any], **values: Any) -> str | None:
    try:
        cls(**values)
    except ValueError as error:
        return str(error)
    return None


def test_a_line_says_name_type_default_meaning_and_limits() -> None:
    found = options_of(Shape)

    assert list(found) == ["size", "colour", "copies", "note", "tags"]
    shown = {name: (each.hint, each.default, each.allowed, each.meaning) for name, each in found.items()}
    assert shown == {
        "size": (float, 0.5, "(0, 1]", "length of a side"),
        "colour": (Literal["red", "blue"], "red", "red, blue", "what it is painted with"),
        "copies": (int | Literal["auto"], "auto", "auto; [1, 10]", "how many there are"),
        "note": (str | None, None, "", "for people"),
        "tags": (list[str], [], "", "words to find it by"),
    }


def test_a_subclass_may_change_a_default_and_keeps_meaning_and_limits() -> None:
    assert list(options_of(Square)) == ["size", "colour", "copies", "note", "tags", "corners"]
    size = options_of(Square)["size"]
    assert (size.default, size.meaning, size.allowed) == (1.0, "length of a side", "(0, 1]")
    assert refusal(Square, size=2.0) == "size=2.0: it takes a number in (0, 1]"
    assert refusal(Square, corners=1) == "corners=1: it takes a number in [2, inf)"
    assert list(options_of(Composed)) == ["width"], "a field that holds another part is no option"
    Shape().tags.append("mine")
    assert Shape().tags == [], "an object has a list of its own"


@dataclass
class Unbounded(Options):
    seed: int = option(0, "where streams begin", "[0, inf)")
    decay: float = option(0.0, "a penalty", "[0, inf)")
    shift: float = option(0.0, "any number")


@pytest.mark.parametrize(
    ("cls", "values", "sentence"),
    [
        (Shape, {"size": 0}, "size=0: it takes a number in (0, 1]"),
        (Shape, {"size": math.nan}, "size=nan: it takes a number in (0, 1]"),
        (Shape, {"colour": "green"}, "colour=green is unknown. Its values are: red, blue."),
        (Shape, {"copies": 0}, "copies=0: it takes a number in [1, 10]"),
        (Shape, {"copies": 11}, "copies=11: it takes a number in [1, 10]"),
        (Shape, {"copies": "many"}, "copies=many is unknown. Its values are: auto."),
        (Shape, {"copies": 10, "note": "any text", "size": 1}, None),
        (Unbounded, {"seed": 2**53 - 1, "decay": 1e12, "shift": -1e12}, None),
        (Unbounded, {"seed": 2**53}, "seed=9007199254740992: it takes a number of at most 9.0072e+15 in size"),
        (Unbounded, {"decay": 1e39}, "decay=1e+39: it takes a number of at most 9.0072e+15 in size"),
        (Unbounded, {"shift": -1e39}, "shift=-1e+39: it takes a number of at most 9.0072e+15 in size"),
    ],
)
def test_a_value_is_taken_or_refused_in_a_sentence(
    cls: type[Options], values: dict[str, Any], sentence: str | None
) -> None:
    """No number is too large for a file or a product."""
    assert refusal(cls, **values) == sentence
