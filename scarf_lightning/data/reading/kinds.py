"""The kind of each column that nobody has described, and the rule by which it is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..arguments import argument
from ..columns import Advice, Coded, Floats, Note, are_whole, is_numeric
from .rules import Feature, Rule, text_of
from .values import (
    LIKE_A_NUMBER,
    OTHER_ZONES,
    SAMPLE,
    Notation,
    date_format,
    date_parts,
    is_missing,
    notation_of,
    times_of,
    why_codes,
)

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different do not show that a column is an id."""

ID_NAME = re.compile(r"(?i:(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$)|[a-z]I[dD]$")

MOST_CATEGORIES = 100
"""Strings with more distinct values than this, or than a tenth of the rows (at least 20), are hashed: one-hot encoding
would make the first layer of the networks as wide."""

PARTLY = 0.5
"""If this share of the distinct values begins like a number and not all are numbers, the user is told."""

FEWEST_WORDS = 5
"""Strings with at least so many words in the median are texts. In a simulation of 600 rows with 10 other columns,
hashes of texts of 10 words that tell of the target raised the accuracy of a linear model by 7 points, and those of
random words lowered it by 2; with 3 words, as names have, they raised it by half a point at best."""

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
    name = str(column.name)
    # Types first: they say more than any value.
    if is_numeric(column) and name not in (*options.categorical, *options.text):
        rule = Rule("numbers", Notation(options.decimal or "."))
        return _numbers(column, rule, is_forced=name in options.numeric)
    if column.isna().all():
        return Read("empty", EMPTY)
    if pd.api.types.is_datetime64_any_dtype(column):
        zone = column.dt.tz
        notes = [OTHER_ZONES] if str(zone or "UTC") != "UTC" else []
        return _dates(column, column, Rule("dates", has_zone=zone is not None), notes)
    # Then the options, and the values.
    if name in options.categorical:
        return _categories(column)
    if name in options.text:
        return _hashed(column, "text")
    text = text_of(Coded.of(column), name)
    read = _text(column, text, options)
    read.counts = int((text.codes < 0).sum()), len(text.distinct)
    # Texts that stand for no value may be all that a column holds.
    if read.features and all(feature.is_missing.all() for feature in read.features):
        return Read("empty", EMPTY, counts=read.counts)
    return read


def quantity_rule(text: Coded, decimal: str | None = None) -> tuple[Rule, list[Note]] | None:
    """The rule by which text is numbers or dates, and notes on doubts; None if a value is neither.

    Codes, such as 007, and a single number are none.
    """
    known = [each for each in text.distinct if not is_missing(each)]
    notation, others, notes = notation_of(known, decimal)
    if not others and len(known) > 1 and not why_codes(known):
        return Rule("numbers", notation), notes
    found = date_format(known)
    if found is None:
        return None
    format, notes = found
    return Rule("dates", format=format, has_zone="%z" in format), notes


def _text(column: "pd.Series[Any]", text: Coded, options: ReadingOptions) -> Read:
    """A column of text, or of values of several types as text."""
    name = str(column.name)
    # A type that lists its categories, or has two, says that they are categories.
    is_declared = isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column)
    known = [each for each in text.distinct if not is_missing(each)]
    if name in options.numeric:
        return _forced_numbers(column, known, options.decimal)
    found = None if is_declared else quantity_rule(text, options.decimal)
    if name in options.dates and (found is None or found[0].kind != "dates"):
        raise UsageError(
            f"dataset.dates names {name!r}, which holds {text.distinct[0]!r} and other values that are not dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    if len(text.distinct) == 1:
        return _constant(column)
    if found is not None:
        rule, notes = found
        if rule.kind == "numbers":
            return _numbers(column, rule, notes)
        return _dates(column, times_of(known, rule.format), rule, notes)
    n_known = int((text.codes >= 0).sum())
    is_text = not is_declared and _are_texts(text)
    if not is_declared and not is_text and n_known >= FEWEST_FOR_IDS and len(text.distinct) == n_known:
        return Read(ID_OR_TEXT, ID)
    notes = [] if is_declared or is_text else _partly_notes(name, text, options.decimal)
    if len(text.distinct) > min(MOST_CATEGORIES, max(20, len(column) // 10)) or (
        is_text and len(text.distinct) == n_known
    ):
        return _hashed(column, "text" if is_text else "strings", notes)
    return _categories(column, notes)


def _partly_notes(name: str, text: Coded, decimal: str | None) -> list[Note]:
    """A note on codes, or on a column of which some values, or parts of all, are numbers."""
    known = [each for each in text.distinct if not is_missing(each)]
    codes = why_codes(known)
    sample = known[:SAMPLE]
    n_like = sum(LIKE_A_NUMBER.fullmatch(each) is not None for each in sample)
    if not codes and n_like < max(1, PARTLY * len(sample)):
        return []
    _, others, _ = notation_of(known, decimal)
    if not others:
        reason = f"it holds {codes}, which are read as text"
        return [Advice(reason, "dataset.numeric", [name], "reads it as numbers")] if codes else []
    is_other = np.isin(np.array(text.distinct, dtype=object), np.array(others, dtype=object))
    n_others, n_all = int(text.counts[is_other].sum()), int(text.counts.sum())
    clean = argument("dataset.numeric", [name])
    return [
        f"{n_others} of its {n_all} values are no numbers, such as {others[0]!r}, so it is read as text; clean them, "
        f"and {clean} reads it as numbers"
    ]


def _made(kind: str, done: str, rule: Rule, column: "pd.Series[Any]", notes: Sequence[Note] = ()) -> Read:
    """A column with the features that a rule makes of it."""
    return Read(kind, done, rule, rule.features(column), list(notes))


def _hashed(column: "pd.Series[Any]", kind: str, notes: Sequence[Note] = ()) -> Read:
    """A column of ``text`` or of ``strings``."""
    read = _made(kind, "", Rule(kind), column, notes)
    read.done = f"{len(read.features)} numbers that are hashes of their letters"
    return read


def _are_texts(text: Coded) -> bool:
    """Tell whether strings are texts, by their number of words."""
    n_words = [len(value.split()) for value in text.distinct]
    return bool(np.median(n_words) >= FEWEST_WORDS)


def _forced_numbers(column: "pd.Series[Any]", known: Sequence[str], decimal: str | None) -> Read:
    """A column of text that the user says holds numbers."""
    if pd.api.types.is_bool_dtype(column):
        return _numbers(column, Rule("numbers"), is_forced=True)
    notation, others, notes = notation_of(known, decimal)
    if others:
        raise UsageError(
            f"dataset.numeric names {column.name!r}, which holds {others[0]!r}; correct that value, or leave the "
            "column out of dataset.numeric."
        )
    return _numbers(column, Rule("numbers", notation), notes, is_forced=True)


def _numbers(column: "pd.Series[Any]", rule: Rule, notes: Sequence[Note] = (), *, is_forced: bool = False) -> Read:
    """A column of numbers, left out if it is empty, constant or an id; ``is_forced`` keeps it."""
    read = _made("numbers", "as they are" if is_numeric(column) else "text read as numbers", rule, column, notes)
    values = read.features[0].values
    assert isinstance(values, np.ndarray)
    known = values[~np.isnan(values)]
    # Sorting is faster than hashing if most values differ, as those with fractions do.
    distinct = pd.unique(known) if are_whole(known[:1000]) else np.unique(known)
    read.counts = len(values) - len(known), len(distinct)
    if is_forced:
        return read
    if len(distinct) == 0:
        return Read("empty", EMPTY, counts=read.counts)
    if len(distinct) == 1:
        return replace(_constant(column), counts=read.counts)
    if len(distinct) == len(known) and _tell_rows_apart(str(column.name), known):
        return Read("id", ID, counts=read.counts)
    return read


def _tell_rows_apart(name: str, values: Floats) -> bool:
    """Tell whether numbers that are all different are ids, by their range or by the column's name."""
    if len(values) < FEWEST_FOR_IDS or not np.isfinite(values).all() or not are_whole(values):
        return False
    # Numbers that count rows leave few numbers out.
    counts_rows = values.max() - values.min() < 2 * len(values)
    return bool(counts_rows or ID_NAME.search(name))


def _dates(column: "pd.Series[Any]", times: "pd.Series[Any]", rule: Rule, notes: Sequence[Note]) -> Read:
    """A column of dates, without parts that are the same at all times."""
    parts = []
    for name, values in date_parts(times).items():
        if len(pd.unique(values[~np.isnan(values)])) > 1:
            parts.append(name)
    if not parts:
        return replace(_constant(column), kind="dates")
    return _made("dates", ", ".join(parts), replace(rule, parts=tuple(parts)), column, notes)


def _categories(column: "pd.Series[Any]", notes: Sequence[Note] = ()) -> Read:
    """A column of categories."""
    read = _made("categories", "", Rule("categories"), column, notes)
    values = read.features[0].values
    assert isinstance(values, Coded)
    read.done = f"{len(values.distinct)} categories"
    return read


def _constant(column: "pd.Series[Any]") -> Read:
    """A column of one value, of which only the gaps can tell something."""
    read = _made("constant", "2 categories: its one value, or none", Rule("gaps"), column)
    (feature,) = read.features
    assert isinstance(feature.values, Coded)
    # A gap is a category of its own here.
    if len(np.unique(feature.values.codes)) < 2:
        return Read("constant", "left out: one value alone")
    return read
