"""A table of the user's own, in files."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import UsageError, unknown_name
from ..columns import Floats
from .source import ENDING, Source, SplitBy

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table
    from .table_file import TableFile

READING = 8
"""Raised by a change that reads a file differently: notes of its data from before are then ignored."""

NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
"""The name that pandas gives a column without one, such as the index of a frame, and keeps when it writes it again."""
PARTS = {"split.validation": 1.0, "split.test": 2.0}
LISTS_OF_COLUMNS = ("categorical", "numeric", "drop", "dates", "text")


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
        categorical, numeric, dates, text: columns to read as categories, as numbers, as dates, or as text,
            whatever they hold.
        drop: columns to leave out, which are not read.
        separator, decimal, encoding: of a text file; None takes what the file shows.
        sheet: of an Excel file; None takes the first one.
        weight: the column that says how much each row counts in supervised training, see `read_weights`; it is no
            feature.
        unlabelled: a file with more rows, without labels.
        split: the column that decides the split, which is not a feature.
    """

    name: ClassVar[str] = "csv"
    is_found_out: ClassVar[bool] = True

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    weight: str | None = None
    unlabelled: Path | None = None
    split: SplitBy | None = None

    @property
    def key(self) -> str:
        # The dataset's own name does not change how the file is read.
        given = {name: value for name, value in asdict(self).items() if name != "dataset_name" and value}
        identifying = json.dumps({"reading": READING} | _plain(given), sort_keys=True)
        digest = hashlib.sha256(identifying.encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.label)[:64]
        return f"{self.name}-{stem}-{digest}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        from .table_file import matching

        try:
            return tuple(file for option, path in self._paths().items() for file in matching(path, option))
        except UsageError:
            return ()

    def check(self) -> None:
        self._open()

    def load(self) -> "Table":
        from ..reading import ReadingOptions
        from ..reading.roles import read_weights, split_values
        from ..targets import read_target
        from ..untyped import left_out, read_table

        files, kept = self._open()
        path, frame, parts, notes = str(self.path), *self._rows(files, kept)
        read = read_target(frame.pop(self.target), path, self.target_kind, decimal=self.decimal, is_raw=True)
        # These columns are no features, and are shown as left out.
        why = {}
        for name in files[0][1].names:
            if name not in kept:
                why[name] = " by dataset.drop" if name in self.drop else ": it has no name"
        weights = None
        if self.split and self.split.column:
            parts, doubts = split_values(self.split.kind, frame.pop(self.split.column), path, self.decimal)
            notes += doubts
            why[self.split.column] = f": split={self.split.kind} splits by it"
        if self.weight:
            is_labelled = read.target.is_labelled(read.labels)
            weights = read_weights(frame.pop(self.weight), is_labelled, path, self.decimal)
            why[self.weight] = ": it weighs the rows"
        if frame.shape[1] == 0:
            raise UsageError(f"{path} has no column to predict {self.target!r} from; add one.")
        lists = {option: getattr(self, option) for option in LISTS_OF_COLUMNS}
        options = ReadingOptions(**lists, decimal=self.decimal)
        table = read_table(frame, read, options, name=self.dataset_name or self.label, source=path, split_by=parts)
        others = [left_out(name, f"left out{reason}") for name, reason in why.items()]
        # From the file as a whole to its columns.
        table = replace(table, reading=(*table.reading, *others), notes=(*notes, *table.notes))
        return table.weighted(weights)

    def _paths(self) -> dict[str, Path]:
        """All files by the option that names them."""
        split = self.split or SplitBy("random")
        paths = {"dataset.path": self.path, "split.validation": split.validation, "split.test": split.test}
        paths["dataset.unlabelled"] = self.unlabelled
        return {option: path for option, path in paths.items() if path}

    def _open(self) -> tuple[list[tuple[str, "TableFile"]], list[str]]:
        """All files with the names of their columns, each with the option that names it; and the columns to read."""
        from .table_file import matching, open_file

        files: list[tuple[str, TableFile]] = []
        for option, path in self._paths().items():
            for each in matching(path, option):
                files.append((option, open_file(each, self.separator, self.decimal, self.encoding, self.sheet)))
        first = files[0][1]
        left_out = {*self.drop, *(name for name in first.names if NAMELESS.fullmatch(name))}
        left_out -= self._check_columns(first) - {*self.drop}
        kept = [name for name in first.names if name not in left_out]
        for option, file in files:
            not_there = {*kept}.difference(file.names)
            if option == "dataset.unlabelled":
                not_there -= {self.target, self.weight}
            if not_there:
                raise UsageError(
                    f"{file.path} has no column {min(not_there)!r}, which {first.path} has; {option} needs the same "
                    "columns."
                )
        return files, kept

    def _check_columns(self, file: "TableFile") -> set[str]:
        """The columns that options name; what is not a column, or is named twice, is refused."""
        roles = {"dataset.target": (self.target,), "dataset.weight": (self.weight,)}
        roles["split.column"] = (self.split.column if self.split else None,)
        roles |= {f"dataset.{option}": getattr(self, option) for option in LISTS_OF_COLUMNS}
        seen: dict[str, str] = {}
        for option, columns in roles.items():
            for column in columns:
                if column is None:
                    continue
                if column not in file.names:
                    fault = f"{option} names {column!r}, which is not a column of {file.path}"
                    raise UsageError(unknown_name(fault, column, file.names, "its columns", shown=repr))
                other = seen.setdefault(column, option)
                # A column is read in one way.
                if other != option:
                    raise UsageError(f"{option} names {column!r}, which {other} names too; leave it out of one.")
        return {*seen}

    def _rows(
        self, files: "list[tuple[str, TableFile]]", kept: list[str]
    ) -> tuple["pd.DataFrame", Floats | None, list[str]]:
        """The rows of all files, the part of each row if the split is in files, and notes."""
        import pandas as pd

        frames: list[pd.DataFrame] = []
        parts: list[Floats] = []
        notes: list[str] = []
        for option, file in files:
            is_unlabelled = option == "dataset.unlabelled"
            frame = file.read([name for name in kept if name != self.target or not is_unlabelled])
            # Spreadsheets write lines of separators below a table.
            filled = frame.dropna(how="all")
            if len(filled) < len(frame):
                notes.append(f"{len(frame) - len(filled)} rows of {file.path} hold no value and are left out.")
            frames.append(filled)
            parts.append(np.full(len(filled), PARTS.get(option, 0.0)))
            notes += file.notes
        is_split = self.split is not None and self.split.kind == "files"
        whole = pd.concat(frames, ignore_index=True)[kept]
        return whole, np.concatenate(parts) if is_split else None, notes


def _plain(value: Any) -> Any:
    """An option's value as it is hashed for the key: lists without order, absolute paths."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, Path):
        return str(value.resolve())
    # The order of columns in an option makes no difference.
    return sorted(value) if isinstance(value, tuple) else value
