"""A table of the user's own, in a file."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ..columns import ColumnReading, Floats, listed
from .source import ENDING, Source, SplitBy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..table import Table
    from .formats import DataFile


UNNAMED = re.compile(r"(Unnamed: \d+)?")
"""No name, or the name that pandas gives such a column and keeps when it writes the frame again."""

MOST_NAMES = 30
"""The most columns that a message names."""

READING = 3
"""Raised by a change that reads a file differently: notes of its data from before are then ignored."""

PARTS = {"split.validation": 1.0, "split.test": 2.0}


@dataclass(frozen=True)
class FileSource(Source):
    """A file with a header and one row for each example: CSV, TSV, JSON lines, Parquet, Feather or Excel.

    **Kinds.** What a column holds is found out: numbers, also as text with thousands, a decimal comma, a percent sign
    or a currency; dates and times, which become numbers and categories; Booleans; categories; texts, and strings with
    many distinct values, which become hashes. Ids, constants and empty columns are left out. ``Table.reading`` says how
    each column was read, and ``Table.notes`` what a user should know of it.

    **Labels.** Rows without a label are kept, for pre-training and semi-supervised methods.

    **Missing values.** In CSV, empty fields and what pandas takes for missing: NA, N/A, NaN, nan, None, null and the
    like. A class or category of that name needs another one. In Parquet, only nulls and NaN.

    **Row numbers.** A column without a name that numbers the rows, as ``DataFrame.to_csv`` writes it, is left out: rows
    are often sorted by class, and their numbers would give it away. So is the index that pandas keeps in a Parquet
    file.

    Args:
        path: the file.
        target: the column to predict.
        categorical, numeric, dates, text: columns to read as categories, as numbers, as dates or times of day, or as
            text, whatever they hold.
        drop: columns to leave out.
        separator, decimal, encoding: of a text file; None takes what the file shows.
        weight: the column that says how much each row counts in supervised training, see `read_weights`; it is no
            feature.
        unlabelled: a file with more rows, without labels.
        split: what a split goes by, which is not a feature.
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
    weight: str | None = None
    unlabelled: Path | None = None
    split: SplitBy | None = None

    @property
    def key(self) -> str:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "dataset_name"}
        read_as = {name: _plain(value) for name, value in given.items() if value} | {"reading": READING}
        digest = hashlib.sha256(json.dumps(read_as, sort_keys=True, default=str).encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.label)[:64]
        return f"csv-{stem}-{digest}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        files = tuple(self._paths().values())
        return files if all(file.is_file() for file in files) else ()

    def check(self) -> None:
        self._open()

    def load(self) -> "Table":
        from ..reading import ReadingOptions
        from ..splits import split_values
        from ..targets import read_target
        from ..untyped import read_table

        files = self._open()
        frame, split_by, on_rows = self._frame(files)
        path = str(self.path)
        labels = frame.pop(self.target)
        target = read_target(labels, path, self.target_kind, decimal=self.decimal, is_raw=True)
        left_out = []
        if self.split and self.split.column:
            column = frame.pop(self.split.column)
            split_by = split_values(self.split.kind, column, path)
            left_out.append(_left_out(column, f"split={self.split.kind} goes by it"))
        weights = None
        if self.weight:
            column = frame.pop(self.weight)
            weights = read_weights(column, target.target.is_labelled(target.labels), path, self.decimal)
            left_out.append(_left_out(column, "it weighs the rows"))
        table = read_table(
            frame,
            target,
            ReadingOptions(self.drop, self.dates, self.categorical, self.numeric, self.text, self.decimal),
            name=self.dataset_name or self.label,
            source=path,
            split_by=split_by,
        )
        notes = (*self._on_format(files["dataset.path"], labels), *on_rows, *table.notes)
        return replace(table, reading=(*table.reading, *left_out), notes=notes).weighted(weights)

    def _paths(self) -> dict[str, Path]:
        """All files by the option that names them."""
        files = {
            "dataset.path": self.path,
            "split.validation": self.split and self.split.validation,
            "split.test": self.split and self.split.test,
            "dataset.unlabelled": self.unlabelled,
        }
        return {option: file for option, file in files.items() if file}

    def _open(self) -> dict[str, "DataFile"]:
        """All files with their headers, by option."""
        from .formats import DataFile

        text_format = {"separator": self.separator, "decimal": self.decimal, "encoding": self.encoding}
        files = {option: DataFile.open(path, option, **text_format) for option, path in self._paths().items()}
        for file in files.values():
            twice = [name for name, count in Counter(file.names).items() if name and count > 1]
            if twice:
                raise UsageError(f"{file.path} has more than one column {twice[0]!r}; rename all but one.")
        names = files["dataset.path"].names
        self._check_options(names)
        for option, file in files.items():
            known = {*file.names, self.split and self.split.column, *self.drop, ""}
            known |= {self.target, self.weight} if option == "dataset.unlabelled" else set()
            lacking = [name for name in names if name not in known]
            if lacking:
                raise UsageError(
                    f"{file.path} has no column {lacking[0]!r}, which {self.path} has; {option} needs the same columns."
                )
        return files

    def _frame(self, files: dict[str, "DataFile"]) -> tuple["pd.DataFrame", Floats | None, list[str]]:
        """The rows of all files, the part of each row if the split is in files, and notes on odd lines and gaps."""
        import numpy as np
        import pandas as pd

        frames: list[pd.DataFrame] = []
        notes: list[str] = []
        for option, file in files.items():
            frame = file.read()
            notes += file.odd_lines(frame)
            frame = self._without_row_numbers(_without_empty_rows(frame, file.path, notes), file.path, notes)
            if option == "dataset.unlabelled":
                frame[self.target] = None
            frames.append(frame if not frames else frame.reindex(columns=frames[0].columns))
        whole = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        if self.split is None or self.split.kind != "files":
            return whole, None, notes
        return whole, np.repeat([PARTS.get(option, 0.0) for option in files], list(map(len, frames))), notes

    def _on_format(self, file: "DataFile", labels: "pd.Series[Any]") -> list[str]:
        """Notes on the format that was found, and on labels that are read as missing."""
        notes = []
        if file.text and not self.separator and file.text.separator != "," and self.path.suffix.lower() != ".tsv":
            notes.append(
                f"The columns of {self.path} are separated by {file.text.separator!r}; dataset.separator sets another "
                "separator."
            )
        if file.text and not self.encoding and file.text.encoding:
            notes.append(f"{self.path} is read as {file.text.encoding} text; dataset.encoding sets another encoding.")
        spelled = file.spelled_missing(self.target) if labels.isna().any() else []
        if spelled:
            notes.append(
                f"Target {self.target!r}: {listed(spelled, MOST_NAMES)} stands for no label here; if it is a class, "
                "give it another name."
            )
        return notes

    def _check_options(self, names: list[str]) -> None:
        """Refuse options that name what is not a column, or not a feature, or contradict each other."""
        lists = ("categorical", "numeric", "dates", "text", "drop")
        given: dict[str, tuple[str, ...]] = {f"dataset.{option}": getattr(self, option) for option in lists}
        split_column = self.split.column if self.split else None
        single = {"dataset.target": self.target, "split.column": split_column, "dataset.weight": self.weight}
        if self.weight and self.weight == split_column:
            raise UsageError(
                f"dataset.weight and split.column both name {self.weight!r}; choose another column for one."
            )
        named = [(option, column) for option, column in single.items() if column is not None]
        named += [(option, column) for option, columns in given.items() for column in columns]
        known = set(names)
        first_option: dict[str, str] = {}
        for option, column in named:
            if not column or column not in known:
                wrong = f"names {column!r}, which is not a column of {self.path}{_similar(column, names)}"
                missing = f"must name a column of {self.path}"
                columns = listed([name for name in names if name], MOST_NAMES)
                raise UsageError(f"{option} {wrong if column else missing}; its columns are: {columns}.")
            if option != "dataset.target" and column == self.target:
                raise UsageError(f"{option} names the target {column!r}, which is no feature; leave it out.")
            if option in given and column == self.weight:
                raise UsageError(f"{option} names {column!r}, which dataset.weight names too; leave it out of one.")
            if option in given and first_option.setdefault(column, option) != option:
                raise UsageError(f"column {column!r} is in {first_option[column]} and {option}; leave it out of one.")

    def _without_row_numbers(self, frame: "pd.DataFrame", file: Path, notes: list[str]) -> "pd.DataFrame":
        """Leave out columns without a name, and note it: they number the rows, or are empty after a comma too many."""
        import pandas as pd

        roles = (self.target, self.weight, self.split and self.split.column)
        asked_for = {*roles, *self.categorical, *self.numeric, *self.dates, *self.text, *self.drop}
        nameless = [m for m, name in enumerate(frame) if UNNAMED.fullmatch(str(name)) and name not in asked_for]
        for position in nameless:
            column = frame.iloc[:, position]
            if column.isna().all():
                continue
            if not (pd.api.types.is_integer_dtype(column) and column.is_unique):
                raise UsageError(
                    f"column {position + 1} of {file} has no name, and more in it than row numbers; name it, or "
                    "drop it."
                )
            notes.append(
                f"Column {position + 1} of {file} has no name and numbers the rows: an index, which is left out."
            )
        return frame.iloc[:, [m for m in range(frame.shape[1]) if m not in nameless]]


def _without_empty_rows(frame: "pd.DataFrame", file: Path, notes: list[str]) -> "pd.DataFrame":
    """Leave out rows without any value: spreadsheets write lines of separators below a table."""
    is_empty = frame.isna().all(axis=1)
    if not is_empty.any():
        return frame
    notes.append(f"{int(is_empty.sum())} rows of {file} hold no value and are left out.")
    return frame[~is_empty].reset_index(drop=True)


def _similar(name: str, names: list[str]) -> str:
    """A question about the column whose name is most like another one, in brackets; empty if there is none."""
    folded = {each.casefold().strip(): each for each in names if each}
    near = get_close_matches(name.casefold().strip(), list(folded), n=1, cutoff=0.7)
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def _left_out(column: "pd.Series[Any]", why: str) -> ColumnReading:
    missing, distinct = int(column.isna().sum()), column.nunique()
    return ColumnReading(str(column.name), "not looked at", missing, distinct, f"left out: {why}")


def _plain(value: Any) -> Any:
    """An option's value as it is hashed for the key: lists without order, absolute paths."""
    if isinstance(value, SplitBy):
        return {name: _plain(inner) for name, inner in vars(value).items()}
    if isinstance(value, Path):
        return str(value.resolve())
    return sorted(value) if isinstance(value, tuple) else value


def read_weights(
    column: "pd.Series[Any]", is_labelled: "NDArray[np.bool_]", source: str, decimal: str | None = None
) -> Floats:
    """How much each of n rows counts in supervised training, ``(n,)``. Rows without a label may lack a weight and get
    the mean of the others: some methods label these rows and train on them. ``decimal`` is as of `as_numbers`.

    Raises:
        UsageError: a weight is no number, negative, infinite or too large, a row with a label has none, or all are
            zero.
    """
    import numpy as np

    from ..reading.rules import floats_of

    weights, others = floats_of(column, decimal)
    where = f"dataset.weight: column {column.name!r} of {source}"
    if others:
        raise UsageError(f"{where} holds {str(others[0])[:40]!r}; a weight must be a number.")
    known = weights[~np.isnan(weights)]
    if (known < 0).any():
        raise UsageError(f"{where} holds the negative weight {known.min():g}; a weight must be zero or more.")
    if (known > np.finfo(np.float32).max).any():
        raise UsageError(f"{where} holds the weight {known.max():g}, which is too large to train with; rescale it.")
    n_missing = int(np.isnan(weights[is_labelled]).sum())
    if n_missing:
        raise UsageError(f"{where} has no weight in {n_missing} of the rows with a label; fill them in.")
    if not weights[is_labelled].any():
        raise UsageError(f"{where} has the weight 0 in every row with a label; there is nothing to learn from.")
    return np.where(np.isnan(weights), known.mean(), weights)
