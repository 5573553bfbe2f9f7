"""Places of a view's numbers in every logger, and what all loggers need of files and of the process."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

TRIALS, SUMMARY = "trials", "summary"
"""Places beside the phases: ``trials/<metric>`` over trials, and ``summary/<metric>`` once."""
LIVE = "live"
"""Before the name of a phase whose curves are shown while a cell trains."""


def as_file_name(text: str) -> str:
    """A text without the characters that file systems refuse, and short enough for them."""
    return re.sub(r"[^\w.=+,-]+", "_", text)[:150]


@contextmanager
def own_environment(**chosen: str) -> Iterator[None]:
    """Within this context variables of the environment have these values. What the user has set stays as it is."""
    ours = {name: value for name, value in chosen.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
