"""Tables that a class of the user's own reads: from a database, in a format of their own, or made by a program."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ...options.option import Options
from ...options.plugins import source_of
from .data_file import DataFile
from .evidence import Stamp, Stamps
from .file import FileSource

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table

TABLES = 8
"""Tables without files that a process keeps, so that it reads each of them once."""


@dataclass
class OwnTable(Options, ABC):
    """A source of rows in a plugin, chosen by ``dataset=NAME``; ``dataset.target`` names the column to predict.

    Columns are read as those of a file are, with the same options, such as ``dataset.drop``. The content of the rows
    identifies a cell. The class and its options do not, so the same rows of another source are the same cell.
    """

    name: ClassVar[str]

    @abstractmethod
    def read(self) -> Any:
        """Rows with the target among their columns: a frame of pandas, polars, Arrow or another library.

        A second call must give the same rows in the same order. A row without a label has a missing target.
        """

    def files(self) -> Sequence[str | Path]:
        """The local files with the rows. A command reads them again only if one has changed.

        Without files, each command calls `read` once.
        """
        return ()


@dataclass(frozen=True)
class OwnSource(FileSource):
    """The rows of an `OwnTable`.

    Args:
        table: reads the rows; ``path`` is its name.
    """

    name: ClassVar[str] = "own"

    table: OwnTable = field(kw_only=True, hash=False)

    @property
    def label(self) -> str:
        return self.table.name

    @property
    def place(self) -> str:
        return self.table.name

    def files(self) -> tuple[Path, ...]:
        files = tuple(Path(file) for file in self.table.files())
        # A class of a notebook may have changed since it read the same files.
        return files if source_of(type(self.table)) and all(file.is_file() for file in files) else ()

    def stamps(self) -> Stamps:
        stamps = super().stamps()
        if stamps:
            return stamps
        # The content stands for files that the source does not have.
        table = _kept(self)
        return (Stamp(self.table.name, table.n_rows, table.hash, "0", ""),)

    def load(self) -> "Table":
        return super().load() if self.files() else _kept(self)

    def _load(self) -> "Table":
        """The table of a reading of its own, which `_kept` keeps."""
        return super().load()

    def _identifying(self) -> dict[str, Any]:
        # Another version of the class may read other rows of the same files.
        return super()._identifying() | {"table": [vars(self.table), source_of(type(self.table))]}

    def _open_file(self, option: str, path: Path) -> DataFile:
        from .documents import Document

        rows = read_rows_of(self.table)
        return Document(path=path, names=list(rows.columns), rows=rows)


@lru_cache(maxsize=TABLES)
def _kept(source: OwnSource) -> "Table":
    return source._load()


def read_rows_of(table: OwnTable) -> "pd.DataFrame":
    """The rows of a table of the user's own, with values as `plain_frame` gives them.

    Raises:
        UsageError: its ``read`` fails, or returns no table or no row.
    """
    from ..reading.frames import frame_of, plain_frame

    name = f"{type(table).__module__}.{type(table).__qualname__}.read"
    try:
        read = table.read()
    except UsageError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise UsageError(
            f"{name} fails, {type(error).__name__}: {reason}; it has to return a frame with a row for each example."
        ) from error
    frame = frame_of(read)
    if frame is None:
        raise UsageError(
            f"{name} returns a {type(read).__name__}; it has to return a frame of pandas, polars or Arrow, with names "
            "of columns."
        )
    if len(frame) == 0:
        raise UsageError(f"{name} returns no row; it has to return a row for each example.")
    return plain_frame(frame.reset_index(drop=True))
