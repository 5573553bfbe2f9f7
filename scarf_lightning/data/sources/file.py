"""A table of the user's own, in a CSV or Parquet file."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ..split_columns import SplitBy, split_values
from .base import Source

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..table import ColumnReading, Table
    from .text_format import TextFormat

ENDING = re.compile(r"\.((csv|tsv)(\.(gz|bz2|xz|zip))?|parquet|pq)$", re.IGNORECASE)

UNNAMED = re.compile(r"(Unnamed: \d+)?")
"""No name, or the one that pandas gives such a column, which stays when the frame is written again."""

MOST_NAMES = 30
"""So many columns are named in a refusal."""

READING = 1
"""Raised by a change that reads a file otherwise than before: what was noted of its data then no longer holds."""


@dataclass
class FileSource(Source):
    """A file with a header and one row an example: comma-separated, tab-separated (``.tsv``), or Parquet.

    **Kinds.** What a column holds is found out: numbers, also as text with thousands, a decimal comma, a percent sign
    or a currency; dates and times, which become numbers and categories; Booleans; categories; strings of very many
    values, which become hashes. Ids, constants and empty columns are left out. How each column was read is kept in
    ``Table.reading``, and what should be known of it in ``Table.notes``.

    **Labels.** Rows without a class are kept, for pre-training and semi-supervised methods.

    **Missing values.** In CSV, empty fields and what pandas takes for missing: NA, N/A, NaN, nan, None, null and the
    like; a class or category of that name needs another one. In Parquet, nulls and NaN alone.

    **Row numbers.** A column without a name that counts the rows, as ``DataFrame.to_csv`` writes it, is left out: rows
    are often sorted by class, and their numbers would give it away. The index that pandas keeps in a Parquet file is
    no column either.

    Args:
        path: where the file is.
        target: the column that holds the classes.
        categorical: columns to read as categories whatever they hold.
        numeric: columns to read as numbers.
        dataset_name: shown in tables and charts; None takes the file's name without its ending.
        drop: columns to leave out.
        dates: columns to read as dates or times of day.
        separator, decimal, encoding: of a text file; None takes what is seen in it.
        is_classes: the target's values are classes, however much they look like a quantity.
        unlabelled: a file of more rows, without labels.
        split: what a split goes by, which is no feature.
    """

    name: ClassVar[str] = "csv"
    is_found_out: ClassVar[bool] = True

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    dataset_name: str | None = None
    drop: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    is_classes: bool = False
    unlabelled: Path | None = None
    split: SplitBy | None = None

    @property
    def key(self) -> str:
        options = {name: value for name, value in vars(self).items() if value and name != "dataset_name"}
        read_as = {name: _plain(value) for name, value in options.items()} | {"reading": READING}
        digest = hashlib.sha256(json.dumps(read_as, sort_keys=True, default=str).encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.label)[:64]
        return f"csv-{stem}-{digest}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        files = tuple(self._files().values())
        return files if all(file.is_file() for file in files) else ()

    def check(self) -> None:
        for option, file in self._files().items():
            self._check_file(option, file)
        names = self._names(self.path)
        self._check_options(names)
        for option, file in self._files().items():
            may_lack = {self.target, self._split_column} if option == "dataset.unlabelled" else {self._split_column}
            lacking = [name for name in names if name not in {*self._names(file), *may_lack, *self.drop, ""}]
            if lacking:
                raise UsageError(
                    f"{file} has no column {lacking[0]!r}, which {self.path} has; {option} needs the same columns."
                )

    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: the file cannot be read, or its table cannot be used for classification, or what the options
                say of its columns does not hold.
        """
        from ..reading import Reader, ReadingOptions, leaks, read_columns, read_target
        from ..table import FEWEST_ROWS, Table

        self.check()
        frame, part = self._frame()
        target, notes = read_target(
            frame[self.target], str(self.path), is_classes=self.is_classes, decimal=self.decimal
        )
        split_by = part
        if self.split and self.split.column:
            split_by = split_values(self.split, frame[self.split.column], str(self.path))
        options = ReadingOptions(self.drop, self.dates, self.categorical, self.numeric, self.decimal)
        features = frame.drop(columns=list({self.target, self._split_column} - {None}))
        found = read_columns(features, options)
        if found.readings and not found.features and len(frame) >= FEWEST_ROWS:
            why = "; ".join(f"{reading.column!r} is {reading.done}" for reading in found.readings[:MOST_NAMES])
            raise UsageError(f"{self.path} has no column with a value in it to learn from: {why}.")
        table = Table.from_frame(
            found.frame(frame.index),
            target,
            categorical=[is_categorical for _, is_categorical in found.features],
            name=self.dataset_name or self.label,
            source=str(self.path),
            split_by=split_by,
        )
        notes = [
            *self._on_format(),
            *self._on_labels(target),
            *notes,
            *found.notes,
            *leaks(table, list(map(str, features.columns)), found.positions),
        ]
        readings = (*found.readings, *self._on_split(frame))
        return replace(table, reading=readings, notes=tuple(notes), reader=Reader(tuple(found.rules), table.columns))

    @property
    def _split_column(self) -> str | None:
        return self.split.column if self.split else None

    def _files(self) -> dict[str, Path]:
        """All files by the option that names them."""
        files = {"dataset.path": self.path}
        if self.split and self.split.validation and self.split.test:
            files |= {"split.validation": self.split.validation, "split.test": self.split.test}
        return files | ({"dataset.unlabelled": self.unlabelled} if self.unlabelled else {})

    def _format(self, file: Path) -> "TextFormat":
        from .file_formats import format_of

        return format_of(file, separator=self.separator, decimal=self.decimal, encoding=self.encoding)

    def _names(self, file: Path) -> list[str]:
        from .file_formats import read_names

        return read_names(file, self._format(file))

    def _frame(self) -> tuple["pd.DataFrame", "NDArray[np.float64] | None"]:
        """The rows of all files, and of which part each is where the split is in files."""
        import numpy as np
        import pandas as pd

        from .file_formats import read_frame

        frames: list[pd.DataFrame] = []
        parts = []
        for option, file in self._files().items():
            frame = self._without_row_numbers(read_frame(file, self._format(file)), file)
            if option == "dataset.unlabelled":
                frame[self.target] = None
            frames.append(frame if not frames else frame.reindex(columns=frames[0].columns))
            parts.append(np.full(len(frame), {"split.validation": 1.0, "split.test": 2.0}.get(option, 0.0)))
        whole = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        return whole, np.concatenate(parts) if self.split and self.split.files else None

    def _on_labels(self, target: "pd.Series[Any]") -> list[str]:
        from .file_formats import spelled_missing

        said = spelled_missing(self.path, self._format(self.path), self.target) if target.isna().any() else []
        if not said:
            return []
        spelled = _listed(said)
        return [f"Target {self.target!r}: {spelled} stands for no label here; if it is a class, give it another name."]

    def _on_split(self, frame: "pd.DataFrame") -> "list[ColumnReading]":
        from ..table import ColumnReading

        if not self.split or not self.split.column:
            return []
        column = frame[self.split.column]
        done = f"left out: split={self.split.kind} goes by it"
        return [ColumnReading(self.split.column, "not looked at", int(column.isna().sum()), column.nunique(), done)]

    def _on_format(self) -> list[str]:
        from .file_formats import is_parquet

        found = self._format(self.path)
        if is_parquet(self.path) or self.separator or found.separator == "," or self.path.suffix.lower() == ".tsv":
            return []
        return [f"The columns of {self.path} are parted by {found.separator!r}; dataset.separator says otherwise."]

    def _check_file(self, option: str, file: Path) -> None:
        """Refuse what is no file with a table in it."""
        if not file.is_file():
            raise UsageError(
                f"there is no file {file}; set {option} to a CSV or Parquet file, relative to the folder that the "
                "command runs in."
            )
        if not ENDING.search(file.name):
            raise UsageError(
                f"{file} is of no known format; {option} takes .csv and .tsv (also with .gz, .bz2, .xz or .zip), "
                ".parquet and .pq."
            )
        twice = [name for name, count in Counter(self._names(file)).items() if name and count > 1]
        if twice:
            raise UsageError(f"{file} has more than one column {twice[0]!r}; rename all but one.")

    def _check_options(self, names: list[str]) -> None:
        """Refuse options that name what is no column, or no feature, or contradict each other."""
        features = {"categorical": self.categorical, "numeric": self.numeric, "dates": self.dates, "drop": self.drop}
        given = {f"dataset.{option}": columns for option, columns in features.items()}
        needed = {"dataset.target": (self.target,), "split.column": (self._split_column,)}
        for option, columns in (needed | given).items():
            for column in columns:
                if column is not None and column not in names:
                    raise UsageError(
                        f"{option} names {column!r}, which is not a column of {self.path}; "
                        f"its columns are: {_listed([name for name in names if name])}."
                    )
                if option != "dataset.target" and column == self.target:
                    raise UsageError(f"{option} names the target {column!r}, which is no feature; leave it out.")
        seen: dict[str, str] = {}
        for option, columns in given.items():
            for column in columns:
                if seen.setdefault(column, option) != option:
                    raise UsageError(f"column {column!r} is in {seen[column]} and {option}; leave it out of one.")

    def _without_row_numbers(self, frame: "pd.DataFrame", file: Path) -> "pd.DataFrame":
        """Leave out columns without a name: they count the rows, or hold nothing, as after a comma too many."""
        asked_for = {self.target, self._split_column, *self.categorical, *self.numeric, *self.dates, *self.drop}
        kept = []
        for position, name in enumerate(frame.columns):
            column = frame.iloc[:, position]
            if name in asked_for or not UNNAMED.fullmatch(name):
                kept.append(position)
            elif not (column.isna().all() or _counts(column)):
                raise UsageError(
                    f"column {position + 1} of {file} has no name, and more in it than row numbers; name it, or "
                    "drop it."
                )
        return frame.iloc[:, kept]


def _counts(column: "pd.Series[Any]") -> bool:
    """Whether each value is the whole number after the one before it."""
    import pandas as pd

    return pd.api.types.is_integer_dtype(column) and bool(column.diff().iloc[1:].eq(1).all())


def _plain(value: Any) -> Any:
    """A value of an option as what names data: lists without order, files by where they are."""
    if isinstance(value, SplitBy):
        return {name: _plain(inner) for name, inner in vars(value).items()}
    if isinstance(value, Path):
        return str(value.resolve())
    return sorted(value) if isinstance(value, tuple) else value


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    left_out = len(names) - MOST_NAMES
    return f"{shown} and {left_out} more" if left_out > 0 else shown
