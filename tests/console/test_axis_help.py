import io

import pytest

from scarf_lightning.console.axis_help import axis_page
from scarf_lightning.console.screen import Screen
from tests.composing import CONF, GROUPS, names


@pytest.mark.parametrize("axis", GROUPS)
def test_it_shows_every_choice_of_an_axis(axis: str) -> None:
    text = io.StringIO()

    Screen(file=text, width=160).print(axis_page(CONF, axis))

    for name in names(axis):
        assert name.startswith("cc18-") or f"{axis}={name} " in text.getvalue()


def test_it_shows_what_can_be_set_and_what_is_allowed() -> None:
    text = io.StringIO()

    Screen(file=text, width=160).print(axis_page(CONF, "corruption"))

    (line, *_) = [line for line in text.getvalue().splitlines() if "corruption.sigma" in line]
    assert line.split()[:6] == ["corruption.sigma", "0.5", "float", "greater", "than", "0"]
