"""Records that are not used any more, kept where nothing looks for them: no result is ever deleted."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from .files import write_whole

FOLDER = "set_aside"


def set_aside(results: Path, paths: Sequence[Path], reason: str) -> str:
    """Move records out of the way.

    Args:
        results: the folder of all results.
        paths: files and folders in it; they keep their places under ``results/set_aside/<time>/``.
        reason: why, kept beside them.

    Returns:
        A sentence that names them, where they are, and the reason.
    """
    place = results / FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:4]}"
    named = ", ".join(str(path.relative_to(results)) for path in paths)
    write_whole(place / "reason.txt", f"{named}: {reason}\n")
    for path in paths:
        target = place / path.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # set aside by another process meanwhile
            path.rename(target)
    return f"{named} is set aside in {place}: {reason}."
