"""Tables of a user's own are tried: their rows are read twice."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.reading.frames import frame_of, plain_frame
from .call import WrongError

RETURNS = "a frame of pandas, polars or Arrow with a row for each example and names of columns"


def try_table(cls: type[Any]) -> tuple[str, float]:
    """Read the rows of a class with its defaults, twice.

    Returns:
        A sentence on the rows, and the milliseconds of a reading.

    Raises:
        WrongError: the rows cannot be trained on, or differ the second time.
    """
    table = cls()
    _check_files(table.files())
    start = time.perf_counter()
    read = table.read()
    milliseconds = 1000 * (time.perf_counter() - start)
    frame, again = frame_of(read), frame_of(table.read())
    if frame is None or again is None:
        raise WrongError(f"returns a {type(read).__name__}; it has to return {RETURNS}")
    if len(frame) == 0:
        raise WrongError(f"returns no row with the defaults of its options; it has to return {RETURNS}")
    name, n_same = Counter(frame.columns).most_common(1)[0]
    if n_same > 1:
        raise WrongError(f"returns {n_same} columns {name!r}; rename all but one")
    if len(frame.columns) == 1:
        raise WrongError(f"returns the one column {name!r}; return the target and a column to predict it from")
    if not plain_frame(frame).equals(plain_frame(again)):
        raise WrongError("returns other rows the second time; sort them, and draw from np.random.default_rng(0)")
    return f"{len(frame):,} rows; columns: {', '.join(frame.columns)}", milliseconds


def _check_files(files: Sequence[str | Path]) -> None:
    if isinstance(files, str):
        raise WrongError(f'has files that are one text; let files return a list, ["{files}"]')
    for file in files:
        if not Path(file).is_file():
            raise WrongError(f"reads from {file}, which files names and which is no file; name the file with the rows")
