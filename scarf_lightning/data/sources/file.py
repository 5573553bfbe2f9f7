"""A table of the user's own, in files."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...errors import UsageError, unknown_name
from .source import Source

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table

ENDING = re.compile(
    r"\.((csv|tsv|tab|txt|dat|data|json|jsonl|ndjson)(\.(gz|bz2|xz|zip))?|parquet|pq|feather|xlsx)$", re.IGNORECASE
)
READING = 9
"""Raised by a change that reads a file differently: notes of its data from before are then ignored."""

NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
"""The name that pandas gives a column without one, such as the index of a frame, and keeps when it writes it again."""
KINDS = ("categorical", "numeric", "text")
LISTS_OF_COLUMNS = (*KINDS, "drop")


@dataclass(frozen=True)
class FileSource(Source):
    """Files with a header and one row for each example: CSV and other separated text, JSON, Parquet, Feather or Excel.

    **Kinds.** What a column holds is found out: numbers, also as text with thousands, a decimal comma, a percent sign
    or a currency; dates, which become numbers and categories; Booleans; categories; texts, and strings with many
    distinct values, which become hashes. Ids, constants, empty columns and those without a name are left out.
    ``Table.reading`` says how each column was read, and ``Table.notes`` what a user should know of it.

    **Labels.** Rows without a label are kept, for pre-training and semi-supervised methods.

    **Missing values.** What pandas takes for missing: empty fields, NA, N/A, NaN, nan, None, null and the like. A class
    or category of that name needs another one. In Parquet, only nulls and NaN.

    Args:
        path: the file, or a pattern of files with the same columns, such as ``parts/*.parquet``.
        target: the column to predict.
        categorical, numeric, text: columns to read as categories, as numbers, or as text, whatever they hold.
        drop: columns to leave out, which may hold anything.
        separator, decimal, encoding: of a text file; None takes what the file shows.
        weight: the column that says how much each row counts in supervised training, see `read_weights`; it is no
            feature.
        split: the name of a split, and the column that decides it, which is not a feature.
    """

    name: ClassVar[str] = "csv"
    is_found_out: ClassVar[bool] = True

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    weight: str | None = None
    split: tuple[str, str] | None = None

    @property
    def key(self) -> str:
        # The dataset's own name does not change how the file is read.
        options = asdict(replace(self, dataset_name=None))
        identifying = json.dumps([READING, options], default=lambda path: str(path.resolve()))
        return f"{self.name}-{hashlib.sha256(identifying.encode()).hexdigest()[:12]}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        """All files.

        Raises:
            UsageError: there is none.
        """
        path = self.path
        matches = [path] if path.exists() else sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        # A pipe would wait for somebody who writes into it.
        files = [match for match in matches if match.is_file()]
        if not files:
            raise UsageError(
                f"there is no file {path}; set dataset.path to a file of a table, or to a pattern such as "
                "'parts/*.csv', relative to the folder that the command runs in."
            )
        return tuple(files)

    def check(self) -> None:
        self.files()

    def load(self) -> "Table":
        from ..reading.roles import read_weights, split_values
        from ..table import Table
        from ..targets import read_target

        path, frame = str(self.path), self._rows()
        read = read_target(frame.pop(self.target), path, self.target_kind, decimal=self.decimal, is_raw=True)
        parts, weights, doubts = None, None, list[str]()
        if self.split:
            kind, column = self.split
            parts, doubts = split_values(kind, frame.pop(column), path, self.decimal)
        if self.weight:
            is_labelled = read.target.is_labelled(read.labels)
            weights = read_weights(frame.pop(self.weight), is_labelled, path, self.decimal)
        kinds = {column: kind for kind in KINDS for column in getattr(self, kind)}
        name = self.dataset_name or self.label
        table = Table.read(frame, read, kinds, self.decimal, name=name, source=path, split_by=parts)
        return replace(table, notes=(*doubts, *table.notes)).weighted(weights)

    def _rows(self) -> "pd.DataFrame":
        """The rows of all files.

        Raises:
            UsageError: a file cannot be read, or lacks a column.
        """
        import pandas as pd

        from .table_file import read_file

        frames: list[pd.DataFrame] = []
        for file in self.files():
            frame = read_file(file, self.separator, self.decimal, self.encoding)
            frames.append(frame)
            if missing := {*frames[0]}.difference(frame, self.drop):
                raise UsageError(
                    f"{file} has no column {min(missing)!r}, which {self.path} has; both need the same columns."
                )
        names = frames[0].columns.tolist()
        split_column = self.split and self.split[1]
        named = [("dataset.target", self.target), ("dataset.weight", self.weight), ("split.column", split_column)]
        named += [(f"dataset.{option}", column) for option in LISTS_OF_COLUMNS for column in getattr(self, option)]
        for option, column in named:
            if column is not None and column not in names:
                fault = f"{option} names {column!r}, which is not a column of {self.path}"
                raise UsageError(unknown_name(fault, column, names, "its columns", shown=repr))
        used = {column for option, column in named if option != "dataset.drop"}
        kept = [name for name in names if name in used or not (name in self.drop or NAMELESS.fullmatch(name))]
        # Spreadsheets write lines of separators below a table.
        return pd.concat(frames, ignore_index=True)[kept].dropna(how="all").reset_index(drop=True)
