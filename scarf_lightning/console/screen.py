"""The consoles that everything is printed on."""

import time
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


class NotebookLine:
    """A line in the output of a notebook's cell that is written over: what a progress bar is on a terminal."""

    SECONDS_BETWEEN = 0.2

    def __init__(self) -> None:
        self._handle: Any = None
        self._written = 0.0

    def write(self, text: str, *, last: bool = False) -> None:
        """Show this in place of what was there, unless that has only just been written."""
        now = time.monotonic()
        if now - self._written < self.SECONDS_BETWEEN and not last:
            return
        from IPython.display import display

        self._written = now
        shown = {"text/plain": escaped(text)}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)


def doing(what: str) -> AbstractContextManager[object]:
    """Say on a terminal what is being done, for as long as it takes; a file or a pipe is told nothing."""
    console = screen(stderr=True)
    return console.status(f"{what} ...") if console.is_terminal else nullcontext()


def screen(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, and wide enough for a table where the output is a file or a pipe."""
    console = Screen(stderr=stderr)
    return console if console.is_terminal else Screen(stderr=stderr, width=WIDTH_WITHOUT_TERMINAL)
