"""Paths that a user names, and the files behind them."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..errors import UsageError


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path whose ``~`` or ``~NAME`` is the home of a user. A shell leaves the sign as it is behind an equals sign.

    Raises:
        UsageError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"{path}: this machine knows no home of {Path(path).parts[0]}; write the path in full."
        ) from error


def open_regular(path: Path | str) -> BinaryIO:
    """Open a regular file to read its bytes, without waiting for anything.

    Raises:
        ValueError: it is a pipe, a device or a folder, which may never end; or its name holds a null character.
        OSError: there is no such file, or it may not be read.
    """
    # A pipe would wait for somebody who writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is not a file")
    return os.fdopen(descriptor, "rb")
