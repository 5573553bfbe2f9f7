import io
import re
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
from rich.console import Console

from scarf_lightning.cli.help import COMMANDS, axis_page, help_page
from scarf_lightning.errors import MOST_LISTED
from scarf_lightning.options.axes import AXES, list_of
from scarf_lightning.options.config import Config
from scarf_lightning.screen import Screen
from tests.composing import CONF, GROUPS, cells_of, names


def shown(width: int = 400) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(help_page(Path(CONF)))
    return captured.get()


def test_every_axis_is_shown_with_all_its_options() -> None:
    groups = {path.name for path in Path(CONF).iterdir() if path.is_dir()} - {"hydra"} | {"hydra/launcher"}
    assert {axis.name for axis in AXES} == groups
    rows = shown().splitlines()
    for group in groups:
        (row,) = [line for line in rows if line.split()[:1] == [group]]
        for option in Path(CONF, group).glob("*.yaml"):
            assert option.stem in row or (option.stem.startswith("cc18-") and "cc18-NAME (69)" in row)


def test_every_sweep_is_named_and_it_says_where_results_go_and_fits_a_terminal() -> None:
    page = " ".join(shown().split())
    (listed,) = re.findall(r"behind a figure or table: ([^.]*)\.", page)
    sweeps, _, rest = listed.partition("; ")
    assert rest == "sweeps=all trains all of these"
    assert sweeps.split(", ") == sorted(path.stem for path in Path(CONF).parent.glob("sweeps/*.yaml"))
    assert "Results go to results/" in page
    assert max(map(len, shown(80).splitlines())) <= 80


@pytest.mark.slow
def test_the_commands_can_be_given() -> None:
    for command, _ in COMMANDS:
        arguments = command.replace("'", "").replace("-m", "").split()[1:]
        assert cells_of(*arguments)


@pytest.mark.parametrize("axis", GROUPS)
def test_it_shows_every_choice_of_an_axis_and_what_can_be_set(axis: str) -> None:
    text = io.StringIO()

    Screen(file=text, width=160).print(axis_page(CONF, axis))

    for name in names(axis):
        assert name.startswith("cc18-") or re.search(rf"\b{name}\b", text.getvalue())
    if axis == "corruption":
        (line, *_) = [line for line in text.getvalue().splitlines() if "corruption.sigma" in line]
        assert line.split()[:2] == ["corruption.sigma", "0.5"]
        assert line.rstrip().endswith("(float; greater than 0)")


def test_what_a_cut_list_of_a_refusal_leaves_out_is_where_the_refusal_says() -> None:
    """``scarf options AXIS`` of a section of an axis, ``scarf train --cfg job`` of others."""
    (cell,) = cells_of()
    composed = asdict(cell.config)
    sections = {name: kind for name, kind in get_type_hints(Config).items() if is_dataclass(kind)}
    cut = [section for section, kind in sections.items() if len(fields(kind)) > MOST_LISTED]
    assert {"dataset", "pretrain", "finetune"} <= set(cut)
    for section in cut:
        kind = sections[section]
        left_out = {f"{section}.{each.name}" for each in fields(kind) if each.name not in ("name", "options", "custom")}
        if list_of(section) == f"scarf options {section}":
            text = io.StringIO()
            Screen(file=text, width=160).print(axis_page(CONF, section))
            assert {name for name in left_out if name not in text.getvalue()} == set(), section
        else:
            assert list_of(section) == "scarf train --cfg job"
            assert left_out <= {f"{section}.{name}" for name in composed[section]}
