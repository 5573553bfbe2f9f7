"""The code blocks of the README and of every page of the site: found, and run page by page in a folder of their own.

python -m tests.documentation PAGE runs a page in the working folder.

- A ``console`` block holds commands. Those of `train.py` train one epoch of each phase, and two trials in this process
  if no ``text`` block follows; a command that shows a plan or a help page runs as it is written.
- A ``python`` block runs in the namespace of its page. One that begins with ``# my_NAME.py`` is a part of a user's own:
  `test_a_part_of_your_own` runs it with its command.
- A ``text`` block that follows in the same section is what the command or the code prints, but for numbers and answers.
- ``<!-- before: CODE -->`` before a block is run first. ``<!-- not run: REASON -->`` spares a block.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "study", "study/fourth_edition", "paper/pages")
MADE = ("methods.md", "options.md")
"""Pages that the site makes from the classes."""
PAGES = [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")) if page.name not in MADE]
LANGUAGES = ("console", "python")
QUICK = ("max_epochs=1", "trials=2")
OPEN = 3
AS_WRITTEN = ("plan=true", "--help", "--cfg", "--version")
NUMBER = re.compile(r"\b[0-9a-f]{6}\b|[−+-]?\d[\d,.]*|<NA>|NaN")
"""A number, or the beginning of a fingerprint."""
ANSWER = re.compile(r"(helps|hurts)(, size open)?|makes no practical difference|undecided( \([^)]*\))?")
"""An answer, with what a claim lacks."""
MARK = r"<!-- (?P<mark>not run|before): (?P<said>.*?) -->"
BLOCK = r"```(?P<language>[^\n]*)\n(?P<code>.*?)^```$"
PIECE = re.compile(rf"^(?:#+ .*?$|{MARK}|{BLOCK})", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A block of code on a page."""

    language: str
    code: str
    not_run: str = ""
    before: str = ""
    shown: str = ""
    """What it prints, as the page says."""

    @property
    def commands(self) -> list[list[str]]:
        """Each command of a ``console`` block in words; a line may go on after a backslash."""
        lines = self.code.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page that hold commands or Python, in order."""
    marks: dict[str, str] = {}
    last: Block | None = None
    found = []
    for piece in PIECE.finditer(page.read_text(encoding="utf-8")):
        if piece["mark"]:
            marks[piece["mark"]] = piece["said"]
        elif piece["language"] is None:
            last = None
        elif piece["language"] in LANGUAGES:
            last = Block(piece["language"], piece["code"], marks.get("not run", ""), marks.get("before", ""))
            found.append(last)
            marks = {}
        elif piece["language"] == "text" and last is not None:
            last.shown, last = piece["code"], None
    yield from found


def run_page(page: Path) -> None:
    """Run the blocks of a page in the working folder."""
    names: dict[str, Any] = {}
    for block in blocks_of(page):
        # Parts of a user's own, for the commands that name their module.
        if block.code.startswith("# my_"):
            Path(block.code.split()[1]).write_text(block.code, encoding="utf-8")
    for block in blocks_of(page):
        if block.not_run or block.code.startswith("# my_") or "plugins=" in block.code:
            continue
        exec(block.before, names)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.language == "python":
                exec(compile(block.code, page.name, "exec"), names)
            else:
                for words in block.commands:
                    run_command(words, is_shown=bool(block.shown))
        compare(block, printed.getvalue(), page)


def run_command(words: list[str], *, is_shown: bool) -> None:
    """Run a command; in this process where that gives the same, for a start takes seconds."""
    import scarf_lightning

    if words[:2] == ["scarf", "train"]:
        words = ["python", "train.py", *words[2:]]
    trains = words[:2] == ["python", "train.py"] and not any(word.startswith(AS_WRITTEN) for word in words)
    if trains and is_shown:
        words = [*words, QUICK[0]]
    match words[:2]:
        case ["python", "train.py"] if trains and not is_shown:
            scarf_lightning.run([word for word in words[2:] if word != "-m"], *QUICK)
        case ["python", "train.py" | "report.py"]:
            start([sys.executable, str(ROOT / words[1]), *words[2:]])
        case ["scarf", *_]:
            start([sys.executable, "-m", "scarf_lightning.cli.scarf", *words[1:]])
        case ["python", _]:
            start([sys.executable, *words[1:]])
        case _:
            raise AssertionError(f"{words[0]} is not a command that is run: mark the block with the reason.")


def start(command: list[str]) -> None:
    ran = subprocess.run(
        command, env=os.environ | {"COLUMNS": "500"}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    # A report of which nothing can be told ends with the status 3.
    expected = (0, OPEN) if "report" in command else (0,)
    # A part that is wrong ends `scarf check` as bad input does.
    expected += (2,) if "check" in command else ()
    assert ran.returncode in expected, f"{shlex.join(command)}\n{ran.stdout}\n{ran.stderr}"
    print(ran.stdout, ran.stderr)


def compare(block: Block, printed: str, page: Path) -> None:
    """Every line that a page shows is printed, with any numbers and answers; long lines may be broken on the page."""
    found = pattern(printed)
    shown = [line for line in block.shown.splitlines() if line.strip() not in ("", "...")]
    missing = [line for line in shown if pattern(line) not in found]
    assert not missing, f"{page.name} shows what is not printed:\n" + "\n".join(missing) + f"\n\nprinted:\n{printed}"


def pattern(text: str) -> str:
    """Text without its numbers, its answers and its spaces."""
    return " ".join(ANSWER.sub("ANSWER", NUMBER.sub("0", text)).replace(str(Path.cwd()), "").split())


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
