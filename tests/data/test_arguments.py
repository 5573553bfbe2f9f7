"""Options in notes and refusals, read by a shell and by the program as a user pastes them."""

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from scarf_lightning.data.arguments import argument
from scarf_lightning.sweeping.overrides import spelled_out

NAMES = [
    "a", "mean radius", "size (mm)", "größe, cm", "a,b", "x:y", "it's", 'q"q', "both ' and \"", "a[0]", "{x}", "=x",
    "$HOME", "null", "True", "a\\b", "a\\", "it's\\", " age", "age ", "a#b", "a&b", "a;b", "100", "1e5", "007", "why!",
    "`ls`", "<5", "Unnamed: 0", "a=b", "größe", "日本", "~x", "*", "",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_comes_back_through_a_shell_and_hydra(name: str) -> None:
    for value in (name, [name], [name, "z"]):
        (pasted,) = shlex.split(argument("dataset.drop", value))
        (readable,) = spelled_out([pasted])
        assert OverridesParser.create().parse_override(readable).value() == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (["a", "b_2"], "o=[a,b_2]"),
        (["mean radius"], '"o=[mean radius]"'),
        (["size (mm)", "it"], '"o=[size (mm),it]"'),
        (["a, b"], "\"o=['a, b']\""),
        ("classes", "o=classes"),
        (",", "\"o=','\""),
    ],
)
def test_quotes_are_written_where_they_are_needed(value: str | list[str], written: str) -> None:
    assert argument("o", value) == written
