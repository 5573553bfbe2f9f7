"""Values that nobody expects, and where they may stand."""

import json
import random
from collections.abc import Iterator
from typing import Any

ODD: list[Any] = [
    None, True, False, -1, 0, 1, 0.5, -1e308, 10**30, 2**63, "", "a", "é" * 100, "\x00", "\ud800", "\x1b[2J", "../../a",
    "/dev/zero", "${oc.env:HOME}", "9" * 400, [], [1], [[1]], ["a"], [None], {}, {"a": 1}, {"name": "a"}, {"a": {}},
    {"a": {"b": {"c": [1, {"d": None}]}}}, [{"trial": 0}], json.loads("[" * 200 + "]" * 200),
]  # fmt: skip
"""What JSON may hold."""

Place = tuple[Any, ...]


def places(content: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all values in nested fields."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*place, key)
        yield from places(value, (*place, key))


def changed(content: Any, draw: random.Random) -> None:
    """Give one value another value, another name, or none. Places near the top are drawn as often as all below."""
    found = list(places(content))
    depth = draw.choice(sorted({len(place) for place in found}))
    place = draw.choice([each for each in found if len(each) == depth])
    node = content
    for key in place[:-1]:
        node = node[key]
    if isinstance(node, dict) and draw.random() < 0.2:
        value = node.pop(place[-1])
        if draw.random() < 0.5:
            node[str(draw.choice(ODD))] = value
    elif isinstance(node, list) and draw.random() < 0.2:
        node[place[-1] : place[-1] + 1] = draw.choice([[], [node[place[-1]]] * 2])
    else:
        node[place[-1]] = draw.choice([*ODD, _near(node[place[-1]], draw)])


def _near(value: Any, draw: random.Random) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return draw.choice([value + 1, -value, value * 1000, value / 3])
    return value[:-1] if isinstance(value, (str, list)) and value else value
