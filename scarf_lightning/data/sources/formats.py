"""Files of tables by their format."""

from pathlib import Path

from ...errors import UsageError
from .arrow_file import ArrowFile
from .data_file import DataFile
from .documents import ArffFile, ExcelFile, JsonFile
from .file_access import without_compression
from .source import ENDING, KNOWN, check_is_file
from .text_file import TextFile

FORMATS = (TextFile, JsonFile, ArffFile, ArrowFile, ExcelFile)


def open_file(path: Path, option: str = "dataset.path", **asked: str | None) -> DataFile:
    """Find the format of a file and read its header. Of Excel, JSON and ARFF the rows are read too.

    Args:
        option: names the file, for messages.
        asked: ``separator``, ``decimal`` and ``encoding`` of a text file and the ``sheet`` of an Excel file, if
            they are known.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """
    check_is_file(path, option)
    if not ENDING.search(path.name):
        raise UsageError(f"{path} is of no known format; {option} takes {KNOWN}; write it again as one of these.")
    ending = without_compression(path).suffix.lower()
    kind = next(kind for kind in FORMATS if ending in kind.endings)
    if asked.get("sheet") and kind is not ExcelFile:
        raise UsageError(f"dataset.sheet names a sheet of an Excel file, and {path} is none; leave dataset.sheet out.")
    return kind.open(path, **asked)
