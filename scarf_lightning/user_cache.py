"""Files in the user's cache folder: what takes a while to find out, and can be found out again at any moment."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def cache_file(*names: str) -> Path | None:
    """The file of this name below the package's cache folder; None for a user without a home."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return folder.joinpath("scarf-lightning", *names)


def read_cached(file: Path) -> Any:
    """The content of a file of JSON; None if it is missing or damaged."""
    # A pipe would wait for whoever writes into it.
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def write_cached(file: Path, content: Any) -> None:
    """Keep a content as one whole file. Where nothing can be written, the next process finds it out again."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as written:
            json.dump(content, written, indent=1)
        try:
            # Another process that reads meanwhile sees the earlier file or this one.
            Path(written.name).replace(file)
        finally:
            Path(written.name).unlink(missing_ok=True)
