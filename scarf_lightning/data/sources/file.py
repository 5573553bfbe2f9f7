"""A table of the user's own, in a file."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ..arguments import argument
from ..columns import Advice, ColumnReading, Floats, Note, is_numeric, listed
from .column_options import MOST_NAMES, ColumnOptions, spelled
from .data_file import NAMELESS
from .source import ENDING, Source, SplitBy

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table
    from .data_file import DataFile

READING = 6
"""Raised by a change that reads a file differently: notes of its data from before are then ignored."""

PARTS = {"split.validation": 1.0, "split.test": 2.0}


@dataclass(frozen=True)
class FileSource(Source):
    """A file with a header and one row for each example: CSV and other separated text, JSON, ARFF, Parquet, Feather or
    Excel.

    **Kinds.** What a column holds is found out: numbers, also as text with thousands, a decimal comma, a percent sign
    or a currency; dates and times, which become numbers and categories; Booleans; categories; texts, and strings with
    many distinct values, which become hashes. Ids, constants and empty columns are left out. ``Table.reading`` says how
    each column was read, and ``Table.notes`` what a user should know of it.

    **Labels.** Rows without a label are kept, for pre-training and semi-supervised methods.

    **Missing values.** In CSV, empty fields and what pandas takes for missing: NA, N/A, NaN, nan, None, null and the
    like. A class or category of that name needs another one. In Parquet, only nulls and NaN.

    **Numbers and names of rows.** A column without a name that numbers the rows, as ``DataFrame.to_csv`` writes it, is
    left out: rows are often sorted by class, and their numbers would give it away. So are the names of the rows that R
    writes, and the index that pandas keeps in a Parquet file, unless an option names the column.

    Args:
        path: the file.
        target: the column to predict.
        categorical, numeric, dates, text: columns to read as categories, as numbers, as dates or times of day, or as
            text, whatever they hold.
        drop: columns to leave out.
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
        identifying = json.dumps(self._identifying(), sort_keys=True, default=str)
        digest = hashlib.sha256(identifying.encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.label)[:64]
        return f"{self.name}-{stem}-{digest}"

    def _identifying(self) -> dict[str, Any]:
        """The options that decide what is read, as JSON has them."""
        read_as: dict[str, Any] = {"reading": READING}
        for field in fields(FileSource):
            value = getattr(self, field.name)
            # The dataset's own name does not change how the file is read.
            if field.name != "dataset_name" and value:
                read_as[field.name] = _plain(value)
        return read_as

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
        from .weights import read_weights

        files = self._open()
        file, path = files["dataset.path"], str(self.path)
        lists = self._column_options(file.names).lists
        frame, split_by, notes = self._frame(files)
        labels = frame.pop(self.target)
        target = read_target(labels, path, self.target_kind, decimal=self.decimal, is_raw=True)

        # These columns are no features, and are shown as left out.
        left_out = []
        for name, kind in file.unusable.items():
            reading = ColumnReading(column=name, kind=kind, missing=0, distinct=0, done="left out by dataset.drop")
            left_out.append(reading)
        # A split and weights use their columns before features are made.
        if self.split and self.split.column:
            column = frame.pop(self.split.column)
            split_by = split_values(self.split.kind, column, path)
            left_out.append(_left_out(column, f"split={self.split.kind} splits by it"))
        weights = None
        if self.weight:
            column = frame.pop(self.weight)
            is_labelled = target.target.is_labelled(target.labels)
            weights = read_weights(column, is_labelled, path, self.decimal)
            left_out.append(_left_out(column, "it weighs the rows"))
        if len(frame.columns) == 0:
            self._refuse_target_alone(file, notes)

        options = ReadingOptions(
            drop=lists["dataset.drop"],
            dates=lists["dataset.dates"],
            categorical=lists["dataset.categorical"],
            numeric=lists["dataset.numeric"],
            text=lists["dataset.text"],
            decimal=self.decimal,
        )
        table = read_table(frame, target, options, name=self.dataset_name or self.label, source=path, split_by=split_by)
        # From the file as a whole to its columns.
        table = replace(table, reading=(*table.reading, *left_out), notes=(*file.notes, *notes, *table.notes))
        return table.weighted(weights)

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
        files = {}
        for option, path in self._paths().items():
            file = files[option] = self._open_file(option, path)
            name, count = Counter(file.names).most_common(1)[0]
            if count > 1:
                raise UsageError(f"{file.path} has more than one column {name!r}; rename all but one{file.hint}.")
        first = files["dataset.path"]
        columns = self._column_options(first.names)
        columns.check(first)
        for option, file in files.items():
            for name in self._needed(option, first, columns):
                if name not in file.names:
                    raise UsageError(
                        f"{file.path} has no column {name!r}, which {self.path} has; {option} needs the same columns."
                    )
        return files

    def _open_file(self, option: str, path: Path) -> "DataFile":
        """The file of an option with its header."""
        from .formats import open_file

        asked = {"separator": self.separator, "decimal": self.decimal, "encoding": self.encoding, "sheet": self.sheet}
        return open_file(path, option, **asked)

    def _needed(self, option: str, first: "DataFile", columns: ColumnOptions) -> list[str]:
        """The columns of the first file that the file of an option must have as well."""
        optional = {self.split and self.split.column, *columns.lists["dataset.drop"]}
        if option == "dataset.unlabelled":
            optional |= {self.target, self.weight}
        needed = []
        for name in first.names:
            # A column without a name, or of an index, is needed only if an option names it.
            is_feature = not NAMELESS.fullmatch(name) and name not in first.index
            if (is_feature or name in columns.named) and name not in optional:
                needed.append(name)
        return needed

    def _column_options(self, names: Sequence[str]) -> ColumnOptions:
        """The columns that the options name, as the file spells them."""
        roles: dict[str, str | None] = {
            "dataset.target": self.target,
            "split.column": self.split.column if self.split else None,
            "dataset.weight": self.weight,
        }
        lists = {
            "dataset.categorical": self.categorical,
            "dataset.numeric": self.numeric,
            "dataset.dates": self.dates,
            "dataset.text": self.text,
            "dataset.drop": self.drop,
        }
        return ColumnOptions(roles, {option: spelled(columns, names) for option, columns in lists.items()})

    def _frame(self, files: dict[str, "DataFile"]) -> tuple["pd.DataFrame", Floats | None, list[Note]]:
        """The rows of all files, the part of each row if the split is in files, and notes on odd lines and gaps."""
        import numpy as np
        import pandas as pd

        asked = self._column_options(files["dataset.path"].names)
        frames: list[pd.DataFrame] = []
        parts: list[Floats] = []
        notes: list[Note] = []
        for option, file in files.items():
            read = file.read()
            notes += file.odd_lines(read)
            # Empty rows would take a column of row numbers for one with gaps.
            filled, row_notes = _without_empty_rows(read, file.path)
            frame, column_notes = _without_names_of_rows(filled, file, asked)
            notes += [*row_notes, *column_notes]
            if option == "dataset.unlabelled":
                frame[self.target] = None
            if frames:
                frame = frame.reindex(columns=frames[0].columns)
            frames.append(frame)
            parts.append(np.full(len(frame), PARTS.get(option, 0.0)))
        whole = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        if self.split is None or self.split.kind != "files":
            return whole, None, notes
        return whole, np.concatenate(parts), notes

    def _refuse_target_alone(self, file: "DataFile", notes: Sequence[Note]) -> None:
        """Refuse a file whose other columns are all left out, with the option that keeps one if there is one."""
        others = [name for name in file.names if name != self.target]
        are = "is" if len(others) == 1 else "are"
        way_out = "add a column"
        for note in notes:
            if isinstance(note, Advice):
                way_out = f"{argument(note.option, note.value)} {note.effect}"
        raise UsageError(
            f"{self.path} has no column to predict {self.target!r} from: {listed(others, MOST_NAMES)} {are} left out; "
            f"{way_out}."
        )


def _without_names_of_rows(
    frame: "pd.DataFrame", file: "DataFile", asked: ColumnOptions
) -> tuple["pd.DataFrame", list[Note]]:
    """Leave out columns that no option names and that only number or name rows: those without a name, and the index of
    a frame of pandas. Notes say so."""
    kept: list[int] = []
    notes: list[Note] = []
    for place, name in enumerate(map(str, frame.columns)):
        is_nameless = NAMELESS.fullmatch(name) is not None
        if name in asked.named or not (is_nameless or name in file.index):
            kept.append(place)
        elif is_nameless:
            notes += _nameless_notes(frame.iloc[:, place], place, file.path)
        else:
            kind = "numeric" if is_numeric(frame.iloc[:, place]) else "categorical"
            sentence = f"Column {name!r} of {file.path} is the index of a frame, which is left out"
            notes.append(Advice(sentence, f"dataset.{kind}", [name], "makes it a feature"))
    return frame.iloc[:, kept], notes


def _nameless_notes(column: "pd.Series[Any]", place: int, path: Path) -> list[Note]:
    """Notes on a column without a name: it numbers the rows or names them, or is empty after a comma too many.

    Raises:
        UsageError: it holds something else.
    """
    import pandas as pd

    if column.isna().all():
        return []
    nameless = f"Column {place + 1} of {path} has no name and"
    tells_rows_apart = column.is_unique and not column.isna().any()
    if tells_rows_apart and pd.api.types.is_integer_dtype(column):
        return [f"{nameless} numbers the rows: an index, which is left out."]
    # Fractions are measured, also if they all differ.
    if tells_rows_apart and not is_numeric(column):
        sentence = f"{nameless} another value in every row: the names of the rows, which are left out"
        return [Advice(sentence, "dataset.text", [str(column.name)], "reads them as text")]
    raise UsageError(
        f"column {place + 1} of {path} has no name, and more in it than numbers or names of the rows; name it, or "
        f"leave it out by {argument('dataset.drop', [str(column.name)])}."
    )


def _without_empty_rows(frame: "pd.DataFrame", file: Path) -> tuple["pd.DataFrame", list[Note]]:
    """Leave out rows without any value, with a note: spreadsheets write lines of separators below a table."""
    is_empty = frame.isna().all(axis=1)
    if not is_empty.any():
        return frame, []
    note = f"{int(is_empty.sum())} rows of {file} hold no value and are left out."
    return frame[~is_empty].reset_index(drop=True), [note]


def _left_out(column: "pd.Series[Any]", why: str) -> ColumnReading:
    return ColumnReading(
        column=str(column.name),
        kind="not looked at",
        missing=int(column.isna().sum()),
        distinct=column.nunique(),
        done=f"left out: {why}",
    )


def _plain(value: Any) -> Any:
    """An option's value as it is hashed for the key: lists without order, absolute paths."""
    if isinstance(value, SplitBy):
        return {name: _plain(inner) for name, inner in vars(value).items()}
    if isinstance(value, Path):
        return str(value.resolve())
    # The order of columns in an option makes no difference.
    if isinstance(value, tuple):
        return sorted(value)
    return value
