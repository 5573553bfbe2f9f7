"""The page of options is complete, and the one in the repository is the one that is made."""

import pytest
from omegaconf import DictConfig

from scarf_lightning.options import BASES, parts
from scarf_lightning.options.option import Option
from scarf_lightning.options.reference import DESCRIBED, choices, common_options, page
from tests.composing import ROOT, composed, names


def every_option() -> dict[str, Option]:
    found = dict(common_options())
    return found | {name: each for axis in DESCRIBED for choice in choices(axis) for name, each in choice.options}


def test_every_option_of_a_run_is_in_it() -> None:
    known = set(every_option())
    for section, value in composed().items():
        options = [f"{section}.{name}" for name in value] if isinstance(value, DictConfig) else [str(section)]
        of_a_group = {f"{option}.{inner}" for option in options for inner in ("name", "width", "mode")}
        chosen = {f"{axis}.{key}" for axis in DESCRIBED for key in ("name", "task", "corruption", "loss", "encoder")}
        assert {option for option in options if option not in known | chosen} <= {
            name.rpartition(".")[0] for name in of_a_group & known
        }


@pytest.mark.parametrize("axis", BASES)
def test_every_choice_has_a_meaning_and_so_has_every_option(axis: str) -> None:
    found = {choice.name: choice for choice in choices(axis)}

    assert set(found) == set(names(axis)) == set(parts(axis)) | ({"none"} if axis == "pretrain" else set())
    for choice in found.values():
        assert choice.meaning
        assert all(each.meaning for _, each in choice.options)


def test_every_number_has_its_bounds() -> None:
    numbers = {name: each for name, each in every_option().items() if {each.kind, *each.others} & {int, float}}

    assert len(numbers) > 50
    assert [name for name, each in numbers.items() if each.limits is None] == []


def test_the_page_in_the_repository_is_the_one_that_is_made() -> None:
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == page(), "run `make docs`"
