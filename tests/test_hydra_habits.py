"""Habits of Hydra's users: each works, or is refused with the way to do it. docs/hydra.md names them."""

from pathlib import Path

import pytest

from scarf_lightning.cli import commands
from tests.processes import here

PRESET = "# @package _global_\ndefaults:\n  - override /corruption: mean\n\ntrials: 2\n"
PARAMS = "params: {corruption: 'mean,marginal', scaling: 'zscore,minmax'}"
SWEPT = f"# @package _global_\nhydra:\n  sweeper:\n    {PARAMS}\n"
OWN = "defaults:\n  - marginal\n  - _self_\n\nrate: 0.3\n"

WORKS = {
    "commas": (("corruption=mean,marginal", "plan=true"), "2 cells"),
    "--multirun": (("--multirun", "corruption=mean,marginal", "scaling=zscore,minmax", "plan=true"), "4 cells"),
    "glob": (("recipe=glob(real*)", "pretrain=none", "plan=true"), "3 cells"),
    "--cfg job": (("corruption=mean", "--cfg", "job"), "name: mean"),
    "--cfg job --resolve": (("max_epochs=7", "--cfg", "job", "--resolve"), "max_epochs: 7"),
    "--info defaults": (("--info", "defaults"), "corruption/marginal"),
    "--help": (("--help",), "corruption"),
    "a preset": (("--config-dir", "mine", "+experiment=short", "plan=true"), "2 trials to train"),
    "a preset with another choice": (
        ("--config-dir", "mine", "+experiment=short", "corruption=marginal", "--cfg", "job"), "name: marginal",
    ),
    "a choice of one's own": (("--config-dir", "mine", "corruption=mild", "--cfg", "job"), "rate: 0.3"),
    "debug": (("debug=default", "plan=true"), "1 trial to train"),
    "a value that refers to another": (("trials=${seed}", "seed=3", "plan=true"), "3 trials to train"),
}  # fmt: skip

REFUSED = {
    "a + before an option": (("+corruption.rate=0.3",), "remove + prefix"),
    "a preset that sweeps": (("--config-dir", "mine", "+experiment=swept", "plan=true"), "params"),
    "an axis taken away": (("~corruption",), "corruption"),
    "a slip of the pen": (("corruption=maen",), "Did you mean mean?"),
    "a section of another template": (("model=resnet",), "network=NAME"),
    "a callback": (("callbacks=early",), "scarf_lightning.lightning"),
    "a rerun": (("--experimental-rerun", "x.pickle"), "repeat"),
    "two choices for one configuration": (("corruption=mean,marginal", "--cfg", "job"), "give every option one value"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with files of the user's own."""
    for name, text in {"experiment/short": PRESET, "experiment/swept": SWEPT, "corruption/mild": OWN}.items():
        file = tmp_path / "mine" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("habit", WORKS)
def test_a_habit_works(habit: str, folder: Path) -> None:
    arguments, shown = WORKS[habit]
    ran = here(commands.train, *arguments, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
    assert not (folder / "results").exists(), "nothing was trained"


@pytest.mark.parametrize("habit", REFUSED)
def test_a_habit_is_refused_with_the_way_to_do_it(habit: str, folder: Path) -> None:
    arguments, words = REFUSED[habit]
    ran = here(commands.train, *arguments, cwd=folder)
    assert ran.returncode == 2
    assert words in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
