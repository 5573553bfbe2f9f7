"""Every option of every part is refused beyond its limits, in a sentence that names it."""

import math
from typing import Any

import pytest

from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.options.option import Option, options_of

LIMITED = [
    pytest.param(cls, option, id=f"{axis}.{name}.{option.name}")
    for axis in BASES
    for name, cls in parts(axis).items()
    for option in options_of(cls).values()
    if option.limits or option.choices
]


def beyond(option: Option) -> list[Any]:
    """Values just outside."""
    if option.limits is None:
        return ["nobody's choice"]
    limits, is_whole = option.limits, option.kind is int
    below = limits.low - 1 if is_whole else math.nextafter(limits.low, -math.inf)
    above = limits.high + 1 if is_whole else math.nextafter(limits.high, math.inf)
    low = below if limits.includes_low else limits.low
    high = [above if limits.includes_high else limits.high] if limits.high < math.inf else []
    return [low, *high, -math.inf, math.inf, math.nan]


@pytest.mark.parametrize(("cls", "option"), LIMITED)
def test_values_beyond_the_limits_are_refused(cls: type[Any], option: Option) -> None:
    composed = dict.fromkeys({"corruption", "selection", "loss", "pretext", "weight"} & cls.__dataclass_fields__.keys())
    cls(**composed, **{option.name: option.default})
    for value in beyond(option):
        with pytest.raises(ValueError, match=rf"^{option.name} must "):
            cls(**composed, **{option.name: value})
