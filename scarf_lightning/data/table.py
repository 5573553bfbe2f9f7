"""A dataset after loading: typed columns, labels and what they mean, and where it came from."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich import box
from rich.table import Table as Grid

from ..errors import UsageError, counted, unknown_name
from .columns import Coded, Column, ColumnReading, Floats, Ints, canonical, first_positions, floats, is_numeric, spell
from .reading import Reader, read_column
from .reading.frames import plain_column
from .reading.roles import ReadTarget, read_target, split_values
from .reading.rules import Rule
from .targets import Labels, Target

ODD = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: a multiplier that makes a hash depend on the order of the columns."""
LONGEST = 40
"""Columns that are shown a line each; of more, those of which something else is done than to take them as they are."""


@dataclass(frozen=True)
class Table:
    """A dataset in canonical form.

    The same data give the same table in every file format: categories and classes are those that occur, in natural
    order (numbers by size, other strings alphabetically). Columns that are always missing are left out (paper,
    section 4).

    Attributes:
        name: shown in tables and charts.
        dataset_id: the OpenML id, if there is one.
        source: where the data came from, such as ``openml:1510``.
        values: float64 ``(n, M)``: numbers, or codes of categorical columns; NaN where missing.
        labels: ``(n,)``, in the form that the ``target`` gives them.
        split_by: the values that decide a split: float64 ``(n,)`` for a group, a time or a part; for an OpenML task
            ``(n, splits)``, the part in each of its splits; None if the split needs nothing.
        reading, notes: how a user's file was read, and what the user should know about it.
        reader: reads later rows as the rows of this table.
        weights: of the rows in training, ``(n,)``; None if all weigh the same.
    """

    name: str
    dataset_id: int | None
    source: str
    columns: tuple[Column, ...]
    values: Floats
    labels: Labels
    target: Target
    split_by: Floats | None = None
    reading: tuple[ColumnReading, ...] = ()
    notes: tuple[str, ...] = ()
    reader: Reader | None = None
    weights: Floats | None = None

    @classmethod
    def from_frame(
        cls,
        features: pd.DataFrame,
        target: "pd.Series[Any] | ReadTarget",
        *,
        categorical: Sequence[bool],
        **properties: Any,
    ) -> "Table":
        """Build the table from a frame of n rows and its target.

        Args:
            features: one column for each feature. Those without a value are left out (paper, section 4).
            target: labels of any type, missing where a row has none; or labels that were read already.
            categorical: whether to read each feature as categorical. Columns that are not numeric always are.
            properties: name, source, dataset_id, split_by: see `Table`.

        Raises:
            UsageError: see `of`.
        """
        columns = []
        for (name, column), is_declared in zip(features.items(), categorical, strict=True):
            if column.notna().any():
                is_categorical = is_declared or not is_numeric(column)
                columns.append(_describe(str(name), column, Coded.of(column) if is_categorical else floats(column)))
        return cls.of(columns, target, **properties)

    @classmethod
    def read(
        cls,
        frame: pd.DataFrame,
        target: "pd.Series[Any] | ReadTarget",
        kinds: Mapping[str, str],
        decimal: str | None = None,
        split: tuple[str, str] | None = None,
        *,
        source: str,
        **properties: Any,
    ) -> "Table":
        """Build the table from a frame of n rows, whose columns are not described, and its target.

        Args:
            frame: every column has a name of its own.
            target: see `from_frame`.
            kinds: the kinds that the user sets, by column; see `read_column`.
            decimal: see `notation_of`.
            split: the name of a split, and the column that decides it, which is no feature: the groups or times of
                later rows are others.
            source, properties: see `from_frame`.

        Raises:
            UsageError: see `split_values`, `read_column` and `of`.
        """
        columns, rules = list[tuple[Column, Floats]](), list[Rule]()
        readings, notes = list[ColumnReading](), list[str]()
        split_by, split_notes = None, list[str]()
        if split is not None:
            kind, deciding_column = split
            split_by, split_notes = split_values(kind, frame[deciding_column], source, decimal)
            frame = frame.drop(columns=deciding_column)
        for name, raw in frame.items():
            column = plain_column(raw)
            reading, rule, features, doubts = read_column(column, kinds.get(str(name)), decimal)
            columns += [_describe(feature, column, values) for feature, values in features.items()]
            readings.append(reading)
            notes += [f"Column {name!r}: {doubt}." for doubt in doubts]
            if features:
                rules.append(rule)
        table = cls.of(columns, target, source=source, split_by=split_by, **properties)
        reader = Reader(tuple(rules), table.columns)
        return replace(table, reading=tuple(readings), notes=(*split_notes, *table.notes, *notes), reader=reader)

    @classmethod
    def of(
        cls,
        columns: Iterable[tuple[Column, Floats]],
        target: "pd.Series[Any] | ReadTarget",
        *,
        source: str,
        dataset_id: int | None = None,
        **properties: Any,
    ) -> "Table":
        """Build the table from its columns with their values ``(n,)``; other arguments are as of `from_frame`.

        Raises:
            UsageError: see `read_target`; or there is no column, or a value is infinite.
        """
        target_column = target if isinstance(target, ReadTarget) else read_target(target, source)
        features, values = [], []
        for column, column_values in columns:
            if np.isinf(column_values).any():
                raise UsageError(f"column {column.name!r} of {source} holds an infinite value; mark it as missing.")
            features.append(replace(column, has_gaps=bool(np.isnan(column_values).any())))
            values.append(column_values)
        if not features:
            raise UsageError(
                f"{source} has no column to learn from: all are empty, constant or IDs; dataset.numeric=[NAME] or "
                "dataset.text=[NAME] keeps one."
            )
        return cls(
            columns=tuple(features),
            # Rows in one piece: the order of sums, and with it their last bits, depends on it.
            values=np.ascontiguousarray(np.array(values).T),
            labels=target_column.labels,
            target=target_column.target,
            notes=target_column.notes,
            source=source,
            dataset_id=dataset_id,
            **properties,
        )

    @property
    def features_of(self) -> dict[str, list[int]]:
        """The features of each column of its source that has any, by their places in ``columns``."""
        counts = [(reading.column, reading.n_features) for reading in self.reading]
        features, start = {}, 0
        for name, n_features in counts or [(column.name, 1) for column in self.columns]:
            if n_features:
                features[name] = list(range(start, start + n_features))
            start += n_features
        return features

    def places(self, names: Sequence[str], option: str) -> list[int]:
        """The places of all features of these columns of its source.

        Raises:
            UsageError: there is no such column; the message calls the ``option`` that names it.
        """
        features = self.features_of
        for name in names:
            if name not in features:
                fault = f"{option} names {name!r}, which is not a column that {self.name} is trained on"
                raise UsageError(unknown_name(fault, name, features, "the columns", write=repr))
        return [place for name in names for place in features[name]]

    def weighted(self, weights: Floats | None) -> "Table":
        """The table with weights of its rows ``(n,)``; equal ones change nothing."""
        # A cell of equal weights is the cell without weights, which may be finished.
        if weights is None or weights.min() == weights.max():
            return self
        return replace(self, weights=weights)

    def report(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """Report of the table's reading, for a record, with further ``notes``."""
        rules = {} if self.reader is None else {"rules": self.reader.plain_rules}
        return rules | {
            "n_labelled": self.n_labelled,
            "n_unlabelled": self.n_unlabelled,
            "n_copies": self.n_copies,
            "columns": [asdict(reading) for reading in self.reading],
            "notes": [*map(str, self.notes), *notes],
        }

    @property
    def rows_reader(self) -> Reader:
        """Reads later rows: as the file was read, or columns as they are if the table did not come from a file."""
        return self.reader or Reader.plain(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_unlabelled(self) -> int:
        """The number of rows without a label."""
        return self.n_rows - self.n_labelled

    @property
    def n_labelled(self) -> int:
        """The number of rows with a label, which the random streams depend on."""
        return int(self.is_labelled.sum())

    @cached_property
    def is_labelled(self) -> NDArray[np.bool_]:
        """True for rows with a label, ``(n,)``."""
        return self.target.is_labelled(self.labels)

    @cached_property
    def alike(self) -> Ints:
        """For each row the first row that equals it in every column, ``(n,)``; the target does not count."""
        return first_alike(self.values)

    @cached_property
    def n_copies(self) -> int:
        """The number of rows with a label that equal an earlier row with one in every column."""
        alike = self.alike[self.is_labelled]
        return len(alike) - len(np.unique(alike))

    @property
    def n_categories(self) -> list[int]:
        """For each column the number of categories with an indicator; 0 for a column that is one number."""
        return [column.n_indicators for column in self.columns]

    @property
    def n_encoded(self) -> int:
        """The number of columns after the encoding."""
        # A number is one column, and may have one beside it that shows its gaps.
        return sum((column.n_indicators or 1) + column.adds_gap_column for column in self.columns)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """True for categorical columns, ``(M,)``."""
        return np.array([column.is_categorical for column in self.columns])

    @cached_property
    def hash(self) -> str:
        """SHA-256 of column names, values, categories, labels, class names, weights, and the values that decide a
        split. It is part of the identity of every stored result."""
        digest = hashlib.sha256()
        columns = [[column.name, column.categories] for column in self.columns]
        header = {"columns": columns} | self.target.identity
        # In ASCII: a name may hold half of a surrogate pair, which UTF-8 refuses.
        digest.update(json.dumps(header, ensure_ascii=True).encode())
        digest.update(canonical(self.values).tobytes())
        digest.update(self.labels.tobytes())
        # Words before arrays that most tables lack, so that one is never taken for the other.
        if self.split_by is not None:
            digest.update(b"split" + self.split_by.astype(np.float64).tobytes())
        if self.weights is not None:
            digest.update(b"weights" + self.weights.astype(np.float64).tobytes())
        return digest.hexdigest()


def reading_report(table: Table) -> list[str | Grid]:
    """The report on reading that is printed before training, as sentences and a table of columns.

    A table whose columns have declared types has sentences alone.
    """
    parts: list[str | Grid] = []
    if table.reading:
        # Columns that are left out make no feature.
        features = counted(sum(each.n_features > 0 for each in table.reading), "feature")
        columns = f"{counted(len(table.columns), 'column')}, {table.n_encoded:,} after one-hot encoding"
        parts.append(f"{table.source}: {table.n_rows:,} rows, {features} ({columns}) for {table.target.in_words}")
        parts.append(_columns(table))
    if table.n_unlabelled:
        parts.append(
            f"{table.n_labelled:,} of {table.n_rows:,} rows of {table.name} have a label; the others are for "
            "pre-training and for methods that use unlabelled rows."
        )
    if table.n_copies:
        parts.append(
            f"{table.name} has {counted(table.n_copies, 'labelled row')} with an equal one above, the target aside; "
            "split.copies=together keeps equal rows in one part of a random split, apart does not."
        )
    return [*parts, *table.notes]


def _columns(table: Table) -> Grid:
    """A line for each column, or for those of many with which something is done."""
    grid = Grid(box=box.SIMPLE_HEAD)
    for heading in ("column", "kind", "missing", "distinct", "what is done"):
        # Counts are compared digit by digit.
        grid.add_column(heading, justify="right" if heading in ("missing", "distinct") else "left")
    for reading in table.reading:
        # In a wide table the columns that are read otherwise would not be seen.
        if len(table.reading) <= LONGEST or reading.done != "as they are":
            counts = f"{reading.missing:,}", f"{reading.distinct:,}"
            grid.add_row(reading.column, reading.kind, *counts, reading.done)
    return grid


def first_alike(values: Floats) -> Ints:
    """For each row of ``(n, M)`` the number of the first row that equals it, ``(n,)``. A gap equals a gap.

    Rows are compared by 64-bit hashes: two different ones of a million share one once in 37 million tables.
    """
    hashes = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        hashes = pd.util.hash_array(hashes ^ canonical(column).view(np.uint64), categorize=False) * ODD
    return first_positions(hashes)


def _describe(name: str, column: "pd.Series[Any]", values: Coded | Floats) -> tuple[Column, Floats]:
    """A feature of a column, with its numbers or the codes of its categories, ``(n,)``."""
    if not isinstance(values, Coded):
        return Column(name), values
    codes, categories = values.sorted_codes()
    # A type may declare categories that no row has.
    declared = [text for text in map(spell, getattr(column.dtype, "categories", ())) if text in categories]
    return Column(name, categories, tuple(declared) or None), codes
