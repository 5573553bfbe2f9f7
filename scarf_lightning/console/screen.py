"""The consoles that everything is printed on."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.text import Text

from ..escaping import escaped

WIDTH_WITHOUT_TERMINAL = 160


class Screen(Console):
    """Shows text as text, in sentences and in tables: brackets are no markup, and control characters are escaped."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(escaped(text), **options)


def doing(what: str) -> AbstractContextManager[object]:
    """Say on a terminal what is being done, for as long as it takes; a file or a pipe is told nothing."""
    console = screen(stderr=True)
    return console.status(f"{what} ...") if console.is_terminal else nullcontext()


def screen(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, and wide enough for a table where the output is a file or a pipe."""
    console = Screen(stderr=stderr)
    return console if console.is_terminal else Screen(stderr=stderr, width=WIDTH_WITHOUT_TERMINAL)
