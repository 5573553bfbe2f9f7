"""Places of a view's numbers in every logger, and what all loggers need of files and of the process."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

TRIALS, SUMMARY = "trials", "summary"
"""Places beside the phases: ``trials/<metric>`` over trials, and ``summary/<metric>`` once."""
LONGEST_NAME = 128
"""Characters of a run's name and of a group's; W&B's server refuses longer ones."""
LIVE = "live"
"""Before the name of a phase whose curves are shown while a cell trains."""


def as_file_name(text: str) -> str:
    """A text without the characters that file systems refuse, and short enough for them."""
    return re.sub(r"[^\w.=+,-]+", "_", text)[:150]


def shortened(name: str, id: str) -> str:
    """A name of at most `LONGEST_NAME` characters, which ends with the fingerprint if it was cut."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - len(id) - 1]} {id}"


def remove_own(folders: Iterable[Path], *patterns: str) -> None:
    """Remove those of the folders that hold files of such names and nothing else, as a logger writes them.

    A record of the store, or a copy of one, may have the same name as the folder of its view.
    """
    for folder in list(folders):
        if folder.is_symlink() or not folder.is_dir():
            continue
        held = list(folder.iterdir())
        if held and all(_is_own(path, patterns) for path in held):
            shutil.rmtree(folder)


def _is_own(path: Path, patterns: tuple[str, ...]) -> bool:
    is_plain = path.is_file() and not path.is_symlink()
    return is_plain and any(fnmatch(path.name, pattern) for pattern in patterns)


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
