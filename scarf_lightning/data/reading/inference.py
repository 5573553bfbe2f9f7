"""The kind of each column of a user's file, and the rule by which it is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..columns import Advice, Coded, Floats, Note, are_whole, is_numeric
from .dates import OTHER_ZONES, PARTS, as_dates, date_parts
from .durations import as_seconds
from .numbers import are_codes, as_numbers, is_missing
from .rules import Feature, Rule, text_of

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different do not show that a column is an id."""

ID_NAME = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$|[a-z]I[dD]$", re.IGNORECASE)

MOST_CATEGORIES = 100
"""Strings with more distinct values than this, or than a tenth of the rows (at least 20), are hashed: one-hot encoding
would make the first layer of the networks as wide."""

MOSTLY = 0.95
"""If this share of a column's values are numbers, the column is read as numbers and the others as missing."""

FEWEST_WORDS = 5
"""Strings with at least so many words in the median are texts. In a simulation of 600 rows with 10 other columns,
hashes of texts of 10 words that tell of the target raised the accuracy of a linear model by 7 points, and those of
random words lowered it by 2; with 3 words, as names have, they raised it by half a point at best."""

SHOWN = 3

EMPTY = "left out: it has no value"
ID = "left out: an ID (every row has another value)"
ID_OR_TEXT = "id or text"


@dataclass(frozen=True)
class ReadingOptions:
    """The options of reading that name columns; see `scarf_lightning.data.sources.FileSource`."""

    drop: Sequence[str] = ()
    dates: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    text: Sequence[str] = ()
    decimal: str | None = None


@dataclass
class Read:
    """Reading of one column.

    Attributes:
        kind, done: see `ColumnReading`.
        rule: None if the column is left out.
        features: what the rule makes of the column.
        notes: for the user, without a full stop.
        counts: the numbers of missing and of distinct values, if they were counted.
    """

    kind: str
    done: str
    rule: Rule | None = None
    features: list[Feature] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    counts: tuple[int, int] | None = None


def read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    """Find out what a column other than the target holds.

    Raises:
        UsageError: the column holds a NUL character, or something else than the options say.
    """
    read = _read_column(column, options)
    if not read.features:
        return read
    # Texts that stand for no value may be all that a column holds.
    is_empty = all(feature.is_missing.all() for feature in read.features)
    if is_empty:
        return Read("empty", EMPTY, notes=read.notes, counts=read.counts)
    return read


def _read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    name = str(column.name)
    if name in options.drop:
        return Read("not looked at", "left out by dataset.drop")
    plain = Rule("numbers", decimal=options.decimal or ".", group="." if options.decimal == "," else ",")
    # Types first: they say more than any value.
    if is_numeric(column) and name not in (*options.categorical, *options.text):
        return _numbers(column, plain, is_forced=name in options.numeric)
    if column.isna().all():
        return Read("empty", EMPTY)
    if pd.api.types.is_timedelta64_dtype(column):
        return _durations(column)
    if pd.api.types.is_datetime64_any_dtype(column):
        read = _dates(column, None)
        if str(column.dt.tz or "UTC") != "UTC":
            read.notes.append(OTHER_ZONES)
        return read
    # Then the options, and the values.
    if name in options.categorical:
        return _categories(column)
    if name in options.text:
        return _hashed(column, "text")
    coded = Coded.of(column)
    if all(isinstance(value, (bool, np.bool_)) for value in coded.distinct):
        return _booleans(column, coded, plain, is_number=name in options.numeric)
    text, notes = text_of(coded, name)
    read = _text(column, text, options)
    read.notes[:0] = notes
    read.counts = int((coded.codes < 0).sum()), len(coded.distinct)
    return read


def _booleans(column: "pd.Series[Any]", coded: Coded, plain: Rule, *, is_number: bool) -> Read:
    """A column of true and false."""
    if is_number:
        return _numbers(column, plain, is_forced=True)
    if len(coded.distinct) == 1:
        return _constant(column)
    return _made("Boolean", "categories", Rule("Booleans"), column)


def _text(column: "pd.Series[Any]", text: Coded, options: ReadingOptions) -> Read:
    """A column of text, or of values of several types as text."""
    name = str(column.name)
    n_known = int((text.codes >= 0).sum())
    is_declared = isinstance(column.dtype, pd.CategoricalDtype)
    if name in options.numeric:
        read = _text_numbers(column, text, options, is_forced=True)
        if read:
            return read
    if name in options.dates:
        read = _text_times(column, text)
        if read:
            return read
        raise UsageError(
            f"dataset.dates names {name!r}, which holds {text.distinct[0]!r} and other values that are not dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    if len(text.distinct) == 1:
        return _constant(column)
    # A type that lists its categories says that they are categories, also if they look like numbers.
    if not is_declared:
        read = _text_numbers(column, text, options) or _text_times(column, text)
        if read:
            return read
        if n_known >= FEWEST_FOR_IDS and len(text.distinct) == n_known:
            read = Read(ID_OR_TEXT, ID)
            if _are_texts(text):
                read = _hashed(column, "text")
            return read
    if len(text.distinct) > min(MOST_CATEGORIES, max(20, len(column) // 10)):
        kind = "text" if _are_texts(text) and not is_declared else "strings"
        return _hashed(column, kind)
    notes: list[Note] = []
    codes = are_codes(text.distinct)
    if codes:
        reason = f"it holds {codes}, and is read as categories"
        notes.append(Advice(reason, "dataset.numeric", [name], "reads it as numbers"))
    return _categories(column, notes, from_text=bool(text.distinct))


def _text_times(column: "pd.Series[Any]", text: Coded) -> Read | None:
    """A column of text that holds dates, times of day or lengths of time; None if it holds others."""
    return _text_dates(column, text) or _text_durations(column, text)


def _made(kind: str, done: str, rule: Rule, column: "pd.Series[Any]", notes: Sequence[Note] = ()) -> Read:
    """A column with the features that a rule makes of it."""
    return Read(kind, done, rule, rule.features(column), list(notes))


def _hashed(column: "pd.Series[Any]", kind: str) -> Read:
    """A column of ``text`` or of ``strings``."""
    read = _made(kind, "", Rule(kind, from_text=True), column)
    read.done = f"{len(read.features)} numbers that are hashes of their letters"
    return read


def _are_texts(text: Coded) -> bool:
    """Tell whether strings are texts, by their number of words."""
    n_words = [len(value.split()) for value in text.distinct]
    return bool(np.median(n_words) >= FEWEST_WORDS)


def _numbers(column: "pd.Series[Any]", rule: Rule, *, is_forced: bool, done: str = "as they are") -> Read:
    """A column of numbers, left out if it is empty, constant or an id; ``is_forced`` keeps it."""
    read = _made("numbers", done, rule, column)
    values = read.features[0].values
    assert isinstance(values, np.ndarray)
    known = values[~np.isnan(values)]
    # Sorting is faster than hashing if most values differ, as those with fractions do.
    distinct = pd.unique(known) if are_whole(known[:1000]) else np.unique(known)
    n_distinct = len(distinct)
    read.counts = len(values) - len(known), n_distinct
    # Later rows may spell 0 and 1 as false and true.
    if n_distinct == 2 and np.isin(known, (0, 1)).all():
        read.rule = replace(rule, flags=True)
    if is_forced:
        return read
    if n_distinct == 0:
        read = Read("empty", EMPTY, counts=read.counts)
    elif n_distinct == 1:
        read = _constant(column, read.counts)
    elif n_distinct == len(known) and _tell_rows_apart(str(column.name), known):
        read = Read("id", ID, counts=read.counts)
    return read


def _tell_rows_apart(name: str, values: Floats) -> bool:
    """Tell whether numbers that are all different are ids, by their range or by the column's name."""
    if len(values) < FEWEST_FOR_IDS:
        return False
    if not np.isfinite(values).all() or not are_whole(values):
        return False
    # Numbers that count rows leave few numbers out.
    counts_rows = values.max() - values.min() < 2 * len(values)
    return bool(counts_rows or ID_NAME.search(name))


def _text_numbers(
    column: "pd.Series[Any]", text: Coded, options: ReadingOptions, *, is_forced: bool = False
) -> Read | None:
    """A column of text that holds numbers; None if too many of its values are none.

    Raises:
        UsageError: the user says that they are numbers, and one is not.
    """
    numbers = as_numbers(text.distinct, options.decimal)
    wrong = [other for other in numbers.others if not is_missing(other)]
    are_others = [each not in numbers.values for each in text.distinct]
    if is_forced and wrong:
        raise UsageError(
            f"dataset.numeric names {column.name!r}, which holds {wrong[0]!r}; correct that value, or leave the column "
            "out of dataset.numeric."
        )
    if not is_forced:
        # Texts that stand for no value may be more than words that nobody knows.
        most_others = (1 - MOSTLY if wrong else 0.5) * text.counts.sum()
        has_many_others = text.counts[are_others].sum() > most_others
        if len(numbers.values) < 2 or has_many_others or are_codes(list(numbers.values)):
            return None
    notation = numbers.notation
    rule = Rule("numbers", from_text=True, decimal=notation.decimal, group=notation.group, unit=notation.unit)
    read = _numbers(column, rule, is_forced=is_forced, done="text read as numbers")
    if read.rule is not None:
        read.notes += [*numbers.notes, *_missing_note(text, are_others, "numbers")]
    return read


def _text_dates(column: "pd.Series[Any]", text: Coded) -> Read | None:
    """A column of text that holds dates; None if it holds others."""
    dates = as_dates(text.distinct)
    if dates is None:
        return None
    times, format, notes = dates
    read = _dates(column, format, times)
    read.notes += [*notes, *_missing_note(text, times.isna().tolist(), "dates")]
    return read


def _text_durations(column: "pd.Series[Any]", text: Coded) -> Read | None:
    """A column of text that holds lengths of time; None if it holds others."""
    seconds = as_seconds(text.distinct)
    if seconds is None:
        return None
    read = _durations(column, from_text=True)
    read.notes += _missing_note(text, np.isnan(seconds).tolist(), "durations")
    return read


def _durations(column: "pd.Series[Any]", *, from_text: bool = False) -> Read:
    """A column of lengths of time."""
    read = _made("durations", "seconds", Rule("durations", from_text=from_text), column)
    (feature,) = read.features
    assert isinstance(feature.values, np.ndarray)
    if len(np.unique(feature.values[~feature.is_missing])) == 1:
        return _constant(column)
    return read


def _dates(column: "pd.Series[Any]", format: str | None, distinct: "pd.Series[Any] | None" = None) -> Read:
    """A column of dates, without parts that are the same in all rows."""
    values_of = date_parts(column if distinct is None else distinct)
    parts = []
    for name in PARTS:
        values = values_of[name]
        known = values[~np.isnan(values)]
        if len(pd.unique(known)) > 1:
            parts.append(name)
    if not parts:
        return replace(_constant(column), kind="dates")
    rule = Rule("dates", from_text=format is not None, format=format, parts=tuple(parts))
    return _made("dates", ", ".join(parts), rule, column)


def _categories(column: "pd.Series[Any]", notes: Sequence[Note] = (), *, from_text: bool | None = None) -> Read:
    """A column of categories; ``from_text`` is as of `Rule`, and None takes what the values show."""
    if from_text is None:
        is_declared = isinstance(column.dtype, pd.CategoricalDtype)
        known = Coded.of(column).distinct
        from_text = not is_declared and all(isinstance(value, str) for value in known)
    read = _made("categories", "", Rule("categories", from_text), column, notes)
    values = read.features[0].values
    assert isinstance(values, Coded)
    read.done = f"{len(values.distinct)} categories"
    return read


def _constant(column: "pd.Series[Any]", counts: tuple[int, int] | None = None) -> Read:
    """A column of one value, of which only the gaps can tell something."""
    rule = Rule("gaps", from_text=pd.api.types.is_string_dtype(column))
    read = _made("constant", "2 categories: its one value, or none", rule, column)
    read.counts = counts
    (feature,) = read.features
    assert isinstance(feature.values, Coded)
    # A gap is a category of its own here.
    if len(np.unique(feature.values.codes)) < 2:
        return Read("constant", "left out: one value alone", counts=counts)
    return read


def _missing_note(text: Coded, are_others: Sequence[bool], kind: str) -> list[str]:
    """A note on the texts that are read as missing."""
    others = []
    for value, is_other in zip(text.distinct, are_others, strict=True):
        if is_other:
            others.append(value)
    if not others:
        return []
    shown = ", ".join(map(repr, others[:SHOWN]))
    if len(others) > SHOWN:
        shown += " and the like"
    n_rows = text.counts[np.asarray(are_others)].sum()
    return [f"{n_rows} of its values are not {kind} ({shown}) and are read as missing"]
