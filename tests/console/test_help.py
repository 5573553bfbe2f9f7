import re
from pathlib import Path

from rich.console import Console

from scarf_lightning.config.axes import AXES
from scarf_lightning.console.help import COMMANDS, help_page
from tests.composing import CONF, cells_of


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


def test_every_sweep_is_named() -> None:
    page = " ".join(shown().split())
    (listed,) = re.findall(r"behind a figure or table: ([^.]*)\.", page)
    names, _, rest = listed.partition("; ")
    assert rest == "sweeps=all those of all"
    assert names.split(", ") == sorted(path.stem for path in Path(CONF).parent.glob("sweeps/*.yaml"))


def test_the_commands_can_be_given() -> None:
    for command, _ in COMMANDS:
        arguments = command.replace("'", "").replace("-m", "").split()[1:]
        assert cells_of(*arguments)


def test_it_says_where_results_go_and_fits_a_terminal() -> None:
    assert "Results go to results/" in shown()
    assert max(map(len, shown(80).splitlines())) <= 80
