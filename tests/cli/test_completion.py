"""Completion scripts in the shells that they are for."""

import os
import pty
import re
import sys
from pathlib import Path
from select import select

import pytest

from scarf_lightning.cli.completion import script, words
from scarf_lightning.cli.scarf import SHELLS, make_parser
from scarf_lightning.errors import UsageError
from tests.processes import MINUTES
from tests.programs import program

LINES = {
    "scarf tra": ["scarf", "train"],
    "scarf results dr": ["scarf", "results", "drop"],
    "scarf results ls pretrain=scarf_a": ["scarf", "results", "ls", "pretrain=scarf_ae"],
    "scarf options net": ["scarf", "options", "network"],
    "scarf completion z": ["scarf", "completion", "zsh"],
    "scarf train trials=2 corruption=ma": ["scarf", "train", "trials=2", "corruption=marginal"],
    "scarf train corruption.ra": ["scarf", "train", "corruption.rate="],
    "scarf report --json sweeps=qu": ["scarf", "report", "--json", "sweeps=quick"],
    "scarf train nothing_like_this": ["scarf", "train", "nothing_like_this"],
}
"""What a line becomes by the tabulator."""
STARTS = {
    "bash": (["--norc", "--noprofile", "-i"], "source ./script"),
    "zsh": (
        ["-f", "-i"],
        "bindkey -e; autoload -U compinit; compinit -u -D; source ./script; compdef _shtab_scarf scarf",
    ),
}
LINE_START, LINE_END = "\x01", "\x05"
"""The keys that lead to the ends of a line."""


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_the_tabulator_completes_each_line(shell: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script(shell, make_parser()), encoding="utf-8")
    flags, start = STARTS[shell]
    executable = program(shell)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execve(executable, [shell, *flags], os.environ | {"PS1": "% ", "TERM": "dumb"})
    try:
        _typed(terminal, f"{start}; echo rea''dy\n", "ready")
        for line, expected in LINES.items():
            # The shell shows the words of the line in which it is left.
            shown = _typed(terminal, f"{line}\t{LINE_START}printf '<%s>' {LINE_END} EN''D\n", "<END>")
            (completed,) = re.findall(r"<scarf>\S*<END>", shown)
            assert re.findall("<(.*?)>", completed)[:-1] == expected
    finally:
        os.write(terminal, b"\x03\nexit\n")
        os.close(terminal)
        os.waitpid(process, 0)


def _typed(terminal: int, keys: str, mark: str) -> str:
    """What a terminal shows up to a mark after these keys."""
    os.write(terminal, keys.encode())
    shown = ""
    while mark not in shown:
        readable, _, _ = select([terminal], [], [], MINUTES)
        assert readable, f"the shell is silent behind {shown!r}"
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def test_words_are_the_options_with_their_values() -> None:
    found = words()

    assert len(found) == len(set(found))
    for word in ("pretrain=scarf", "dataset=cc18-adult", "method.C=", "trials=", "sweeps=answer", "recipe=practical"):
        assert word in found
    assert not [word for word in found if " " in word or "'" in word]


def test_a_script_without_shtab_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)

    with pytest.raises(UsageError, match=re.escape("needs the package shtab: pip install 'shtab<2,>=1.13'")):
        script("bash", make_parser())
