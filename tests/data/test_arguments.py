"""Options in notes, read by a shell and by the program as a user pastes them."""

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from scarf_lightning.data.arguments import argument


@pytest.mark.parametrize(
    "name", ["a", "b_2", "mean radius", "größe, cm", "a[0]", "{x}", "=x", "a#b", "a;b", "007", "*"]
)
def test_a_name_comes_back_through_a_shell_and_hydra(name: str) -> None:
    (pasted,) = shlex.split(argument("dataset.drop", name))
    assert OverridesParser.create().parse_override(pasted).value() == [name]
