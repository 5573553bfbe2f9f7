"""The consoles that everything is printed on."""

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 160


def screen(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, and wide enough for a table where the output is a file or a pipe."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH_WITHOUT_TERMINAL)
