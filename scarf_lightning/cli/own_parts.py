"""A user's own parts are tried before they train: those that the cells of a run use."""

import re
from collections.abc import Sequence

from ..screen import screen
from ..sweeping.cell import Cell


def refuse_untaken(plugins: Sequence[str], arguments: Sequence[str]) -> None:
    """Refuse a class of a user's modules that is no part, and that the arguments of a command mean all the same.

    Raises:
        UsageError: a module cannot be imported, or the sentence on such a class.
    """
    if not plugins:
        return
    # It imports torch, which the parts need anyway.
    from .. import trying

    words = set[str]()
    for argument in arguments:
        words.update(re.findall(r"[\w.-]+", argument.partition("=")[2]))
    trying.refuse_untaken(plugins, words)


def check_own_parts(cells: Sequence[Cell]) -> None:
    """Try the parts of a user's own that cells use, in silence if there is nothing to say.

    Raises:
        UsageError: one of them is wrong.
    """
    if not any(cell.config.plugins for cell in cells):
        return
    from ..trying import check_used

    for note in check_used([cell.config for cell in cells]):
        screen().say(note)
