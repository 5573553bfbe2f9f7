"""Files that a command writes where its user says."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pandas as pd

from ..errors import UsageError
from ..screen import spreadsheet


def write_output(file: Path, write: Callable[[Path], object], *, force: bool) -> None:
    """Write a file beside its place, and give it its name once it is whole. A failure leaves what was there.

    Args:
        file: where it is to be.
        write: writes to the path that it is given, which has the ending of ``file``.
        force: replace a file that is there.

    Raises:
        UsageError: there is a file already, or anything that is no file of its own; or it cannot be written.
    """
    _check_free(file, force=force)
    # The ending says how pandas writes it.
    unfinished = file.with_name(f".{uuid4().hex}-{file.name}")
    try:
        write(unfinished)
        # Writing takes a while, in which the file may have come.
        _check_free(file, force=force)
        unfinished.replace(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _check_free(file: Path, *, force: bool) -> None:
    """Refuse a name that is taken."""
    # The file that a link leads to may be anybody's.
    if file.is_symlink():
        raise UsageError(f"{file} is a link; name the file that it leads to, or another one.")
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is there and is no file; name another one.")
    if file.exists() and not force:
        raise UsageError(f"{file} is there already; name another file, or replace it by --force.")


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of the frame whose texts no spreadsheet takes for formulas."""
    quoted = frame.set_axis([spreadsheet(name) for name in frame.columns], axis=1)
    # By position: the names of classes may be equal to other names.
    for position in range(quoted.shape[1]):
        values = quoted.iloc[:, position]
        if not pd.api.types.is_numeric_dtype(values):
            quoted.isetitem(position, values.map(spreadsheet).tolist())
    return quoted


def mixed_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of the frame in which a column of several types holds text, as in a file of CSV; missing values stay.

    A Parquet file has one type a column, and an option may be a number in one cell and the text "null" in another.
    """
    texts = {str(name): values.map(str, na_action="ignore") for name, values in frame.select_dtypes(object).items()}
    return frame.assign(**texts)
