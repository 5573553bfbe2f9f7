"""Output for people: consoles, and text that others wrote made safe for terminals and spreadsheets."""

import re
import shlex
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

WIDTH_WITHOUT_TERMINAL = 160

ALLOWED = "\n\t"
NOT_PLAIN = re.compile(r"[^\x20-\x7e]")

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that a terminal acts on instead of showing: controls, writing directions, lone surrogates."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes an entry that begins with one of these for a formula (CWE-1236)."""

COMMANDS = {"train.py": "train", "report.py": "report"}
"""Programs of the repository, and the sub-commands of ``scarf`` that do the same."""

_is_silent = ContextVar("_is_silent", default=False)
"""A variable of a context, since threads of a program may run our functions side by side."""


@contextmanager
def silent() -> Iterator[None]:
    """Within this context, consoles show nothing."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def program(name: str) -> str:
    """The command that starts a program of the repository: ``python train.py``; or ``scarf train`` where the installed
    command started this process."""
    if Path(sys.argv[0]).stem == "scarf" and name in COMMANDS:
        return f"scarf {COMMANDS[name]}"
    return f"python {name}"


def command_line(name: str, arguments: Iterable[str]) -> str:
    """A command for the shell, which calls a program with these arguments."""
    return f"{program(name)} {shlex.join(arguments)}".rstrip()


def escaped(text: str, allowed: str = ALLOWED) -> str:
    """Replace every character that a terminal would act on by Python's notation for it: ESC becomes ``\\x1b``. The
    characters ``allowed`` stay as they are: by default line feeds and tabs."""

    def written_out(match: re.Match[str]) -> str:
        character = match.group()
        is_hidden = unicodedata.category(character) in HIDDEN and character not in allowed
        if not is_hidden:
            return character
        return character.encode("unicode_escape").decode("ascii")

    # The pattern passes over ASCII, of which most texts are, without a call a character.
    return NOT_PLAIN.sub(written_out, text)


def spreadsheet(value: Any) -> Any:
    """A value for a CSV file. Text that a spreadsheet would take for a formula gets a leading quote."""
    if not isinstance(value, str):
        return value
    quote = "'" if value.startswith(FORMULA) else ""
    return quote + escaped(value)


class Screen(Console):
    """A console that shows text literally: brackets are no markup, and control characters are escaped."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(escaped(text), **options)

    def say(self, sentence: str) -> None:
        """Print a sentence, wrapped by words on a terminal; a longer word, such as a path, stays whole."""
        if self.is_terminal and not self.is_jupyter:
            lines = []
            for line in sentence.splitlines() or [""]:
                lines += wrap(line, self.width, break_long_words=False, break_on_hyphens=False) or [""]
            sentence = "\n".join(lines)
        self.print(sentence, soft_wrap=True)


def screen(*, stderr: bool = False) -> Screen:
    """A console as wide as the terminal, or wide enough for a table where the output is a file or a pipe."""
    if _is_silent.get():
        return Screen(quiet=True, force_terminal=False, force_jupyter=False)
    console = Screen(stderr=stderr)
    if console.is_terminal:
        return console
    # Rich would take 80 characters, and fold tables that nobody has to fit on a screen.
    return Screen(stderr=stderr, width=WIDTH_WITHOUT_TERMINAL)


def doing(what: str) -> AbstractContextManager[object]:
    """Show what is being done: on a terminal while the block runs, in a file or a pipe in a line that stays."""
    console = screen(stderr=True)
    if console.is_terminal:
        return console.status(f"{what} ...")
    # In a notebook the line would stay in the output, which is kept with the file.
    if not console.is_jupyter:
        console.say(f"{what} ...")
    return nullcontext()


class NotebookLine:
    """A line in the output of a notebook's cell that is overwritten, as a progress bar is on a terminal."""

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, text: str) -> None:
        """Replace the line. Each update is a message to the browser, which may fall behind if they are many."""
        # IPython is there only where a notebook runs.
        from IPython.display import display

        bundle = {"text/plain": escaped(text)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)
