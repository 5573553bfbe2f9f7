"""What each column of a user's file holds, and what is made of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..table import ColumnReading
from .dates import as_dates, as_hours, date_parts
from .numbers import Notation, Numbers, are_codes, as_numbers, is_missing
from .rules import (
    AsBooleans,
    AsCategories,
    AsDates,
    AsHashes,
    AsHours,
    AsNumbers,
    Feature,
    Rule,
    as_text,
    is_numeric,
    is_text,
)

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different are no sign of an id."""

ID_NAME = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$|[a-z]I[dD]$", re.IGNORECASE)

MOST_CATEGORIES = 100
"""Strings of more values than this, or than a tenth of the rows (but 20), are hashed and not one-hot encoded."""

MOSTLY = 0.95
"""This share of a column's values must be numbers for it to be read as numbers, and the others as missing."""

SHOWN = 3


@dataclass(frozen=True)
class ReadingOptions:
    """What a user says of columns; see `FileSource`."""

    drop: Sequence[str] = ()
    dates: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    decimal: str | None = None


@dataclass
class Read:
    """What a column turned out to be: its kind, what is done with it, the features made of it and by which rule (None
    for a column that is left out), what is to be said."""

    kind: str
    done: str
    rule: Rule | None = None
    features: list[Feature] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ColumnsRead:
    """What became of the columns of a frame.

    Attributes:
        features: of all of them, in their order.
        rules: by which they were made, and of which column.
        readings: how each column was read.
        notes: sentences on what a user should know.
        positions: those of the features that were made of each column.
    """

    features: list[Feature] = field(default_factory=list)
    rules: list[tuple[str, Rule]] = field(default_factory=list)
    readings: list[ColumnReading] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    positions: list[list[int]] = field(default_factory=list)

    def frame(self, index: pd.Index) -> pd.DataFrame:
        """The features of rows of this index."""
        columns = [column for column, _ in self.features]
        return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)


def read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    """Look into one column, which is no target.

    Raises:
        UsageError: it holds a NUL character, or something else than the options say of it.
    """
    read = _read_column(column, options)
    if read.features and all(feature.isna().all() for feature, _ in read.features):
        return Read("empty", "left out: it has no value", notes=read.notes)
    return read


def _read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    name = str(column.name)
    if name in options.drop:
        return Read("not looked at", "left out by dataset.drop")
    known = column.dropna()
    if not len(known):
        return Read("empty", "left out: it has no value")
    if pd.api.types.is_datetime64_any_dtype(column):
        return _dates(column, column, None)
    is_declared = isinstance(column.dtype, pd.CategoricalDtype)
    if name in options.categorical:
        return _categories(column)
    plain = Numbers({}, (), notation=Notation(options.decimal or ".", "." if options.decimal == "," else ","))
    if is_numeric(column):
        return _numbers(column, plain, is_forced=name in options.numeric)
    if _is_boolean(known):
        if name in options.numeric:
            return _numbers(column, plain, is_forced=True)
        return _constant(known) or _made("Boolean", "categories", AsBooleans(), column)
    text, notes = as_text(column)
    read = _text_column(text, options, is_declared=is_declared)
    read.notes = [*notes, *read.notes]
    if is_declared and isinstance(read.rule, AsCategories):
        read.features = read.rule.features(column)
    return read


def read_columns(frame: pd.DataFrame, options: ReadingOptions) -> ColumnsRead:
    """Look into every column of a frame without its target.

    Raises:
        UsageError: see `read_column`.
    """
    found = ColumnsRead()
    for name in frame.columns:
        column = frame[name]
        read = read_column(column, options)
        found.positions.append(list(range(len(found.features), len(found.features) + len(read.features))))
        found.features.extend(read.features)
        if read.rule is not None:
            found.rules.append((str(name), read.rule))
        missing = int(column.isna().sum())
        found.readings.append(ColumnReading(str(name), read.kind, missing, int(column.nunique()), read.done))
        found.notes.extend(f"Column {str(name)!r}: {note}." for note in read.notes)
        if read.done.startswith("left out: a value a row"):
            found.notes.append(f"Column {str(name)!r} has a value of its own in every row and is left out.")
    return found


def _made(kind: str, done: str, rule: Rule, column: "pd.Series[Any]", notes: Sequence[str] = ()) -> Read:
    return Read(kind, done, rule, rule.features(column), list(notes))


def _numbers(column: "pd.Series[Any]", numbers: Numbers, *, is_forced: bool = False, done: str = "as they are") -> Read:
    notation = numbers.notation
    read = _made("numbers", done, AsNumbers(is_text(column), notation.decimal, notation.group), column, numbers.notes)
    known = read.features[0][0].dropna()
    if not is_forced and (constant := _constant(known)):
        return constant
    if not is_forced and _counts_rows(str(column.name), known):
        return Read("id", "left out: a value a row")
    return read


def _counts_rows(name: str, known: "pd.Series[Any]") -> bool:
    """Whether whole numbers, all different, tell rows apart: by their range, or by the column's name."""
    if len(known) < FEWEST_FOR_IDS or not known.is_unique or np.isinf(known).any() or (known % 1).any():
        return False
    return bool(known.max() - known.min() < 2 * len(known) or ID_NAME.search(name))


def _text_column(text: "pd.Series[Any]", options: ReadingOptions, *, is_declared: bool) -> Read:
    name, known = str(text.name), text.dropna()
    distinct = known.unique().tolist()
    if name in options.numeric:
        return _forced_numbers(text, as_numbers(distinct, options.decimal))
    if name in options.dates:
        return _forced_dates(text)
    if constant := _constant(known):
        return constant
    if not is_declared:
        for attempt in (_as_number_column, _as_date_column, _as_time_column):
            read = attempt(text, options)
            if read is not None:
                return read
    if len(known) >= FEWEST_FOR_IDS and known.is_unique and not is_declared:
        return Read("id or text", "left out: a value a row")
    limit = min(MOST_CATEGORIES, max(20, len(text) // 10))
    if len(distinct) > limit:
        read = _made("strings", "", AsHashes(), text)
        read.done = f"{len(read.features)} numbers that are hashes of their letters"
        return read
    why = are_codes(distinct)
    notes = [f"it holds {why}, and is read as categories; dataset.numeric=[...] reads it as numbers"] if why else []
    return _categories(text, notes)


def _as_number_column(text: "pd.Series[Any]", options: ReadingOptions) -> Read | None:
    known = text.dropna()
    distinct = known.unique().tolist()
    numbers = as_numbers(distinct, options.decimal)
    if len(numbers.values) < 2 or are_codes(list(numbers.values)):
        return None
    others = known[known.isin(numbers.others)]
    named = all(is_missing(other) for other in numbers.others)
    if len(others) > len(known) * (0.5 if named else 1 - MOSTLY):
        return None
    read = _numbers(text, numbers, done="text read as numbers")
    if read.rule is not None:
        read.notes += _on_others(others, "numbers")
    return read


def _as_date_column(text: "pd.Series[Any]", options: ReadingOptions) -> Read | None:
    found = as_dates(text)
    if found is None:
        return None
    times, format, note = found
    read = _dates(text, times, format)
    read.notes += [*([note] if note else []), *_on_others(text[times.isna() & text.notna()], "dates")]
    return read


def _as_time_column(text: "pd.Series[Any]", options: ReadingOptions) -> Read | None:
    hours = as_hours(text)
    if hours is None:
        return None
    read = _constant(hours.dropna()) or _made("times of day", "hours", AsHours(), text)
    read.notes += _on_others(text[hours.isna() & text.notna()], "times")
    return read


def _on_others(others: "pd.Series[Any]", kind: str) -> list[str]:
    if not len(others):
        return []
    shown = ", ".join(repr(other) for other in others.unique()[:SHOWN])
    more = " and the like" if others.nunique() > SHOWN else ""
    return [f"{len(others)} of its values are no {kind} ({shown}{more}) and are read as missing"]


def _forced_numbers(text: "pd.Series[Any]", numbers: Numbers) -> Read:
    wrong = [other for other in numbers.others if not is_missing(other)]
    if wrong:
        raise UsageError(
            f"dataset.numeric names {text.name!r}, which holds {wrong[0]!r}; correct that value, or leave the column "
            "out of dataset.numeric."
        )
    read = _numbers(text, numbers, is_forced=True, done="text read as numbers")
    read.notes += _on_others(text[text.isin(numbers.others)], "numbers")
    return read


def _forced_dates(text: "pd.Series[Any]") -> Read:
    read = _as_date_column(text, ReadingOptions()) or _as_time_column(text, ReadingOptions())
    if read is None:
        raise UsageError(
            f"dataset.dates names {text.name!r}, which holds {text.dropna().iloc[0]!r} and others that are no dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    return read


def _dates(column: "pd.Series[Any]", times: "pd.Series[Any]", format: str | None) -> Read:
    """A column of dates: what is the same in all rows is left out of what they are made."""
    parts = tuple(name for name, (part, _) in date_parts(times).items() if len(part.dropna().unique()) > 1)
    if not parts:
        return Read("dates", "left out: one value alone")
    return _made("dates", ", ".join(parts), AsDates(format is not None, format, parts), column)


def _categories(column: "pd.Series[Any]", notes: Sequence[str] = ()) -> Read:
    read = _made("categories", "", AsCategories(is_text(column)), column, notes)
    read.done = f"{read.features[0][0].nunique()} categories"
    return read


def _constant(known: "pd.Series[Any]") -> Read | None:
    return Read("constant", "left out: one value alone") if len(known.unique()) == 1 else None


def _is_boolean(known: "pd.Series[Any]") -> bool:
    return pd.api.types.is_bool_dtype(known) or pd.api.types.infer_dtype(known) == "boolean"
