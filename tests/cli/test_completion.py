"""Completion scripts, run by the shells that they are for."""

import subprocess
from pathlib import Path

import pytest

from scarf_lightning.cli.completion import SHELLS, script, words
from tests.programs import program

COMMANDS = ["answer", "train", "report", "results", "options", "predict", "completion"]
LINES = {
    "scarf re": ["report", "results"],
    "scarf results d": ["drop"],
    "scarf results drop ab": ["ab00000000000001"],
    "scarf options net": ["network"],
    "scarf completion z": ["zsh"],
    "scarf train corruption=ma": ["corruption=marginal"],
    "scarf train trials=2 corruption=mean,ma": ["corruption=mean,marginal"],
    "scarf train corruption.ra": ["corruption.rate="],
    "scarf report sweeps=qu": ["sweeps=quick"],
    "scarf answer customers.csv plan time_l": ["time_limit="],
    "scarf train nothing_like_this": [],
}
"""Words that each line may end with."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two cells and the scripts."""
    for name in ("ab00000000000001", "cd00000000000002", "datasets"):
        (tmp_path / "results" / name).mkdir(parents=True)
    for shell in SHELLS:
        (tmp_path / shell).write_text(script(shell, COMMANDS), encoding="utf-8")
    return tmp_path


ZSH = """
compdef() {{ }}
compadd() {{ shift 3; printf '%s\\n' "$@" | grep "^${{words[CURRENT]}}" }}
_files() {{ }}
source ./zsh
words=("${{(@s: :):-{line}}}")
CURRENT=${{#words}}
_scarf || true
"""
BASH = 'source ./bash; COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}; _scarf; printf "%s\\n" "${{COMPREPLY[@]}}"'


@pytest.mark.parametrize(("shell", "asks"), [(["bash", "--norc"], BASH), (["zsh", "-f"], ZSH)])
def test_a_shell_completes_each_line(shell: list[str], asks: str, folder: Path) -> None:
    name, *flags = shell
    for line, expected in LINES.items():
        ran = subprocess.run(
            [program(name), *flags, "-c", asks.format(line=line)], cwd=folder, capture_output=True, text=True
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        # Readline keeps what is before the last equals sign.
        before = line.rpartition(" ")[2].rpartition("=")
        cut = len(before[0] + before[1]) if name == "bash" else 0
        assert [word for word in ran.stdout.splitlines() if word] == [word[cut:] for word in expected], line


def test_words_are_the_options_with_their_values() -> None:
    found = words()

    assert len(found) == len(set(found))
    for word in ("pretrain=scarf", "dataset=cc18-adult", "method.C=", "trials=", "sweeps=answer", "recipe=practical"):
        assert word in found
    assert not [word for word in found if " " in word or "'" in word]
