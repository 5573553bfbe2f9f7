"""What each column of a user's file holds, and what is made of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..table import ColumnReading, spell
from .dates import as_dates, as_hours, date_features
from .numbers import Numbers, are_codes, as_numbers, is_missing
from .strings import as_hashes

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different are no sign of an id."""

ID_NAME = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$|[a-z]I[dD]$", re.IGNORECASE)

MOST_CATEGORIES = 100
"""Strings of more values than this, or than a tenth of the rows (but 20), are hashed and not one-hot encoded."""

MOSTLY = 0.95
"""This share of a column's values must be numbers for it to be read as numbers, and the others as missing."""

SHOWN = 3

Feature = tuple["pd.Series[Any]", bool]
"""A column, and whether it is one of categories."""


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
    """What a column turned out to be: its kind, what is done with it, the features made of it, what is to be said."""

    kind: str
    done: str
    features: list[Feature] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    """Look into one column, which is no target.

    Raises:
        UsageError: it holds a NUL character, or something else than the options say of it.
    """
    name = str(column.name)
    if name in options.drop:
        return Read("not looked at", "left out by dataset.drop")
    known = column.dropna()
    if not len(known):
        return Read("empty", "left out: it has no value")
    if pd.api.types.is_datetime64_any_dtype(column):
        return _dates(column)
    is_declared = isinstance(column.dtype, pd.CategoricalDtype)
    if name in options.categorical:
        return _categories(column if is_numeric(column) else as_text(column)[0])
    if is_numeric(column):
        return _numbers(column.astype("float64"), is_forced=name in options.numeric)
    if _is_boolean(known):
        if name in options.numeric:
            return _numbers(column.astype("object").astype("float64"), is_forced=True)
        return _constant(known) or Read("Boolean", "categories", [(column, True)])
    text, notes = as_text(column)
    read = _text_column(text, options, is_declared=is_declared)
    read.notes = [*notes, *read.notes]
    return read


def read_columns(
    frame: pd.DataFrame, options: ReadingOptions
) -> tuple[list[Feature], list[ColumnReading], list[str], list[list[int]]]:
    """Look into every column of a frame without its target.

    Returns:
        The features; how each column was read; sentences on what a user should know; and the positions of the features
        that were made of each column.

    Raises:
        UsageError: see `read_column`.
    """
    features: list[Feature] = []
    readings, notes, positions = [], [], []
    for name in frame.columns:
        column = frame[name]
        read = read_column(column, options)
        positions.append(list(range(len(features), len(features) + len(read.features))))
        features += read.features
        missing = int(column.isna().sum())
        readings.append(ColumnReading(str(name), read.kind, missing, int(column.nunique()), read.done))
        notes += [f"Column {str(name)!r}: {note}." for note in read.notes]
        if read.done.startswith("left out: a value a row"):
            notes.append(f"Column {str(name)!r} has a value of its own in every row and is left out.")
    return features, readings, notes, positions


def _numbers(column: "pd.Series[Any]", *, is_forced: bool = False, done: str = "as they are") -> Read:
    known = column.dropna()
    if not is_forced and (constant := _constant(known)):
        return constant
    if not is_forced and _counts_rows(str(column.name), known):
        return Read("id", "left out: a value a row")
    return Read("numbers", done, [(column, False)])


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
        made = as_hashes(text)
        return Read(
            "strings", f"{len(made)} numbers that are hashes of their letters", [(part, False) for part in made]
        )
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
    read = _numbers(text.map(numbers.values).astype("float64"), done="text read as numbers")
    read.notes += [*numbers.notes, *_on_others(others, "numbers")]
    return read


def _as_date_column(text: "pd.Series[Any]", options: ReadingOptions) -> Read | None:
    found = as_dates(text)
    if found is None:
        return None
    times, note = found
    read = _dates(times.rename(str(text.name)))
    read.notes += [*([note] if note else []), *_on_others(text[times.isna() & text.notna()], "dates")]
    return read


def _as_time_column(text: "pd.Series[Any]", options: ReadingOptions) -> Read | None:
    hours = as_hours(text)
    if hours is None:
        return None
    read = _constant(hours.dropna()) or Read("times of day", "hours", [(hours, False)])
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
    read = _numbers(text.map(numbers.values).astype("float64"), is_forced=True, done="text read as numbers")
    read.notes += [*numbers.notes, *_on_others(text[text.isin(numbers.others)], "numbers")]
    return read


def _forced_dates(text: "pd.Series[Any]") -> Read:
    read = _as_date_column(text, ReadingOptions()) or _as_time_column(text, ReadingOptions())
    if read is None:
        raise UsageError(
            f"dataset.dates names {text.name!r}, which holds {text.dropna().iloc[0]!r} and others that are no dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    return read


def _dates(times: "pd.Series[Any]") -> Read:
    features = date_features(times)
    if not features:
        return Read("dates", "left out: one value alone")
    made = [str(part.name).rpartition("(")[2].rstrip(")") for part, _ in features]
    return Read("dates", ", ".join(made), features)


def _categories(column: "pd.Series[Any]", notes: Sequence[str] = ()) -> Read:
    return Read("categories", f"{column.nunique()} categories", [(column, True)], list(notes))


def _constant(known: "pd.Series[Any]") -> Read | None:
    return Read("constant", "left out: one value alone") if len(known.unique()) == 1 else None


def as_text(column: "pd.Series[Any]") -> tuple["pd.Series[Any]", list[str]]:
    """A column as text without blanks around its values, None where they are missing."""
    spelled = {value: spell(value) for value in column.dropna().unique()}
    for text in spelled.values():
        if "\x00" in text:
            raise UsageError(f"column {column.name!r} holds a NUL character, in {text!r}; remove it from the file.")
    cut = {value: text.strip() for value, text in spelled.items()}
    without = column.astype("object").map(lambda value: cut.get(value) or None)
    n_merged = len(set(spelled.values())) - len(set(cut.values()))
    if n_merged == 0:
        return without, []
    return without, [f"blanks around its values are cut off; {n_merged} of them differed from another by those alone"]


def is_numeric(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _is_boolean(known: "pd.Series[Any]") -> bool:
    return pd.api.types.is_bool_dtype(known) or pd.api.types.infer_dtype(known) == "boolean"
