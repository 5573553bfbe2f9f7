"""The reference is complete: nothing here lists options, the configuration is composed and walked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config.options_page import page
from scarf_lightning.config.reference import Option, choices, common_options
from tests.composing import CONF, GROUPS, ROOT, names, yaml


def leaves(content: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    else:
        yield ".".join(path)


def every_option() -> list[Option]:
    return [*common_options(CONF), *(o for axis in GROUPS for choice in choices(CONF, axis) for o in choice.options)]


@pytest.mark.parametrize("axis", GROUPS)
def test_every_option_that_a_file_sets_is_in_it(axis: str) -> None:
    found = {choice.name: {option.name for option in choice.options} for choice in choices(CONF, axis)}

    assert set(found) == {name for name in names(axis) if not name.startswith("cc18-")}
    for name, known in found.items():
        file = CONF / axis / f"{name}.yaml"
        is_global = "@package _global_" in file.read_text(encoding="utf-8")
        content = {key: value for key, value in yaml(file).items() if key != "defaults"}
        expected = set(leaves(content if is_global else {axis: content}))
        assert known == expected - {f"{axis}.name", f"{axis}.task", f"{axis}.source"}, file


def test_what_every_cell_has_is_in_it() -> None:
    content = {key: value for key, value in yaml(CONF / "train.yaml").items() if key not in ("defaults", "hydra")}

    assert {option.name for option in common_options(CONF)} == set(leaves(content))


@pytest.mark.parametrize("axis", GROUPS)
def test_every_choice_and_every_option_has_a_meaning_and_a_type(axis: str) -> None:
    for choice in choices(CONF, axis):
        assert choice.meaning, f"{axis}={choice.name}"
        for option in choice.options:
            assert option.meaning, option.name
            assert option.kind, option.name


def test_every_number_has_its_bounds() -> None:
    numbers = [o for o in every_option() if o.kind.partition(" ")[0] in ("int", "float")]

    assert len(numbers) > 50
    assert [option.name for option in numbers if not option.allowed] == []


@pytest.mark.parametrize(
    ("name", "kind", "allowed"),
    [
        ("corruption.rate", "float", "(0, 1]"),
        ("pretrain.batch_size", "int", "at least 2; at most 1000000000"),
        ("finetune.monitor", "str", "loss, error"),
        ("finetune.patience", "int | null", "at least 0; at most 1000000"),
        ("plan", "bool", "true, false"),
    ],
)
def test_what_is_allowed_is_what_the_checks_allow(name: str, kind: str, allowed: str) -> None:
    option = next(option for option in every_option() if option.name == name)

    assert (option.kind, option.allowed) == (kind, allowed)


def test_the_page_in_the_repository_is_the_one_that_is_made() -> None:
    assert (Path(ROOT) / "docs" / "options.md").read_text(encoding="utf-8") == page(), "run `make docs`"
