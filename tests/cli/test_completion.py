"""Completion scripts, run by the shells that they are for."""

import subprocess
from pathlib import Path

import pytest

from scarf_lightning.cli.completion import SHELLS, script, words
from tests.programs import program

COMMANDS = ["answer", "train", "report", "results", "options", "predict", "completion"]
LINES = {
    "scarf re": ["report", "results"],
    "scarf results d": ["diff", "drop"],
    "scarf results show ab": ["ab00000000000001"],
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
    for name in ("ab00000000000001", "cd00000000000002", "index"):
        (tmp_path / "results" / name).mkdir(parents=True)
    for shell in SHELLS:
        (tmp_path / shell).write_text(script(shell, COMMANDS), encoding="utf-8")
    return tmp_path


def lines_of(command: list[str], folder: Path) -> list[str]:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return [line for line in ran.stdout.splitlines() if line]


def test_bash_completes_each_line(folder: Path) -> None:
    bash = program("bash")
    for line, expected in LINES.items():
        asks = (
            f'source ./bash; COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}; _scarf; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )

        found = lines_of([bash, "--norc", "-c", asks], folder)

        # Readline keeps what is before the last equals sign.
        before = line.rpartition(" ")[2].rpartition("=")
        cut = len(before[0] + before[1])
        assert found == [word[cut:] for word in expected], line


ZSH = """
compdef() {{ }}
compadd() {{ shift 3; printf '%s\\n' "$@" | grep "^${{words[CURRENT]}}" }}
_files() {{ }}
source ./zsh
words=("${{(@s: :):-{line}}}")
CURRENT=${{#words}}
_scarf || true
"""


def test_zsh_completes_each_line(folder: Path) -> None:
    zsh = program("zsh")
    for line, expected in LINES.items():
        assert lines_of([zsh, "-f", "-c", ZSH.format(line=line)], folder) == expected, line


def test_words_are_the_options_with_their_values() -> None:
    found = words()

    assert len(found) == len(set(found))
    for word in ("pretrain=scarf", "dataset=cc18-adult", "method.C=", "trials=", "sweeps=answer", "recipe=practical"):
        assert word in found
    assert not [word for word in found if " " in word or "'" in word]
