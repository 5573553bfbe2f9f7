"""The kind of each column that nobody has described, and the rule by which it is read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..arguments import argument
from ..columns import Coded, Floats, are_whole, is_numeric
from .rules import Rule, Values, text_of
from .values import DATE_PARTS, LIKE_A_NUMBER, OTHER_ZONES, date_format, known_values, notation_of, why_codes

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different do not show that a column is an id."""
ID_NAME = re.compile(r"(?i:(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$)|[a-z]I[dD]$")
MOST_CATEGORIES = 100
"""Strings with more distinct values than this, or than a tenth of the rows (at least 20), are hashed: one-hot encoding
would make the first layer of the networks as wide."""
SAMPLE, PARTLY = 1000, 0.5
"""If this share of the first distinct values begins like a number and not all are numbers, the user is told."""
FEWEST_WORDS = 5
"""Strings with at least so many words in the median are texts. In a simulation of 600 rows with 10 other columns,
hashes of texts of 10 words that tell of the target raised the accuracy of a linear model by 7 points, and those of
random words lowered it by 2; with 3 words, as names have, they raised it by half a point at best."""
ASKED = ("categorical", "text", "numeric", "dates")


@dataclass(frozen=True)
class ReadingOptions:
    """The options of reading that name columns; see `scarf_lightning.data.sources.FileSource`."""

    drop: Sequence[str] = ()
    dates: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    text: Sequence[str] = ()
    decimal: str | None = None


@dataclass(frozen=True)
class Read:
    """Reading of one column.

    Attributes:
        kind, done, missing, distinct: see `ColumnReading`.
        rule: None if the column is left out.
        features: what the rule makes of the column, by the names of the features.
        notes: for the user, without a full stop.
        keeps: the option that keeps a column which is left out as an id, and what it does.
    """

    kind: str
    done: str
    missing: int
    distinct: int
    rule: Rule | None = None
    features: Mapping[str, Values] = field(default_factory=dict)
    notes: Sequence[str] = ()
    keeps: str = ""


def read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    """Find out what a column other than the target holds.

    Raises:
        UsageError: the column holds a NUL character, or something else than the options say.
    """
    name = str(column.name)
    asked = next((option for option in ASKED if name in getattr(options, option)), None)
    # Types first: they say more than any value.
    if is_numeric(column) and asked not in ("categorical", "text"):
        return _numbers(column, Rule("numbers", options.decimal or "."), asked)
    if pd.api.types.is_datetime64_any_dtype(column) and column.notna().any():
        zone = column.dt.tz
        notes = [OTHER_ZONES] if str(zone or "UTC") != "UTC" else []
        return _dates(column, Rule("dates", has_zone=zone is not None), notes)
    # Then the options, and the values.
    text = text_of(column)
    missing, distinct = int((text.codes < 0).sum()), len(text.distinct)
    if distinct == 0:
        return _left_out("empty", "it has no value", missing, distinct)
    rule, doubts = _rule(column, text, options, asked)
    if rule is None:
        return _id("id or text", name, missing, distinct)
    if rule.rule == "numbers":
        return _numbers(column, rule, asked, doubts)
    if rule.rule == "dates":
        return _dates(column, rule, doubts)
    if rule.rule == "gaps":
        return _one_value(column, missing)
    features = rule.features(column)
    done = f"{len(features)} numbers that are hashes of their letters"
    if rule.rule == "categories":
        done = f"{distinct} categories"
    return Read(rule.rule, done, missing, distinct, rule, features, doubts)


def _one_value(column: "pd.Series[Any]", missing: int) -> Read:
    """A column of one value, of which only the gaps can tell something."""
    if missing == 0:
        return _left_out("constant", "one value alone", missing, 1)
    gaps = Rule("gaps")
    return Read("constant", "2 categories: its one value, or none", missing, 1, gaps, gaps.features(column))


def quantity_rule(texts: Sequence[str], decimal: str | None = None) -> tuple[Rule, list[str]] | None:
    """The rule by which distinct texts are numbers or dates, and notes on doubts; None if one is neither.

    Codes, such as 007, and a single number are none.
    """
    known = known_values(texts)
    notation, others, notes = notation_of(known, decimal)
    if not others and len(known) > 1 and not why_codes(known):
        return Rule("numbers", *notation), notes
    found = date_format(known)
    if found is None:
        return None
    format, notes = found
    return Rule("dates", format=format, has_zone="%z" in format), notes


def _rule(
    column: "pd.Series[Any]", text: Coded, options: ReadingOptions, asked: str | None
) -> tuple[Rule | None, list[str]]:
    """The rule for a column of text, or of values of several types as text, and notes; no rule for ids."""
    name, n_distinct = str(column.name), len(text.distinct)
    if asked in ("categorical", "text"):
        return Rule("text" if asked == "text" else "categories"), []
    is_truth = pd.api.types.is_bool_dtype(column)
    if asked == "numeric":
        notation, others, notes = notation_of(known_values(text.distinct), options.decimal)
        if others and not is_truth:
            raise UsageError(
                f"dataset.numeric names {name!r}, which holds {others[0]!r}; correct that value, or leave the column "
                "out of dataset.numeric."
            )
        return Rule("numbers", *notation), notes
    # A type that lists its categories, or has two, says that they are categories.
    is_declared = is_truth or isinstance(column.dtype, pd.CategoricalDtype)
    found = None if is_declared else quantity_rule(text.distinct, options.decimal)
    if asked == "dates" and (found is None or found[0].rule != "dates"):
        raise UsageError(
            f"dataset.dates names {name!r}, which holds {text.distinct[0]!r} and other values that are not dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    if n_distinct == 1:
        return Rule("gaps"), []
    if found is not None:
        return found
    if is_declared:
        is_text, notes, is_id = False, [], False
    else:
        n_known = int((text.codes >= 0).sum())
        is_text = bool(np.median([len(value.split()) for value in text.distinct]) >= FEWEST_WORDS)
        notes = [] if is_text else _partly_notes(name, text, options.decimal)
        is_id = n_distinct == n_known
    if is_id and not is_text and n_distinct >= FEWEST_FOR_IDS:
        return None, []
    if n_distinct > min(MOST_CATEGORIES, max(20, len(column) // 10)) or (is_id and is_text):
        return Rule("text" if is_text else "strings"), notes
    return Rule("categories"), notes


def _partly_notes(name: str, text: Coded, decimal: str | None) -> list[str]:
    """A note on codes, or on a column of which some values, or parts of all, are numbers."""
    known = known_values(text.distinct)
    reads = argument("dataset.numeric", [name])
    _, others, _ = notation_of(known, decimal)
    codes = why_codes(known)
    if not others:
        return [f"it holds {codes}, which are read as text; {reads} reads it as numbers"] if codes else []
    n_like = sum(LIKE_A_NUMBER.fullmatch(each) is not None for each in known[:SAMPLE])
    if not codes and n_like < max(1, PARTLY * len(known[:SAMPLE])):
        return []
    rows = pd.Series(text.distinct).isin(others)[text.codes[text.codes >= 0]]
    return [
        f"{rows.sum()} of its {len(rows)} values are no numbers, such as {others[0]!r}, so it is read as text; clean "
        f"them, and {reads} reads it as numbers"
    ]


def _left_out(kind: str, why: str, missing: int, distinct: int) -> Read:
    return Read(kind, f"left out: {why}", missing, distinct)


def _id(kind: str, name: str, missing: int, distinct: int) -> Read:
    """An id, with a note on the option that keeps it."""
    option, reads = ("numeric", "numbers") if kind == "id" else ("text", "text")
    keeps = f"{argument(f'dataset.{option}', [name])} reads it as {reads}"
    note = f"it has a different value in every row and is left out; {keeps}"
    return Read(kind, "left out: an ID (every row has another value)", missing, distinct, notes=[note], keeps=keeps)


def _numbers(column: "pd.Series[Any]", rule: Rule, asked: str | None, notes: Sequence[str] = ()) -> Read:
    """A column of numbers, left out if it is empty, constant or an id, unless the user says that it holds numbers."""
    name = str(column.name)
    features = rule.features(column)
    values = features[name]
    assert isinstance(values, np.ndarray)
    known = values[~np.isnan(values)]
    # Sorting is faster than hashing if most values differ, as those with fractions do.
    unique = pd.unique(known) if are_whole(known[:1000]) else np.unique(known)
    missing, distinct = len(values) - len(known), len(unique)
    if asked != "numeric":
        if distinct == 0:
            return _left_out("empty", "it has no value", missing, distinct)
        if distinct == 1:
            return _one_value(column, missing)
        if distinct == len(known) and _tell_rows_apart(name, known):
            return _id("id", name, missing, distinct)
    done = "as they are" if is_numeric(column) else "text read as numbers"
    return Read("numbers", done, missing, distinct, rule, features, notes)


def _tell_rows_apart(name: str, values: Floats) -> bool:
    """Tell whether numbers that are all different are ids, by their range or by the column's name."""
    if len(values) < FEWEST_FOR_IDS or not np.isfinite(values).all() or not are_whole(values):
        return False
    # Numbers that count rows leave few numbers out.
    counts_rows = values.max() - values.min() < 2 * len(values)
    return bool(counts_rows or ID_NAME.search(name))


def _dates(column: "pd.Series[Any]", rule: Rule, notes: Sequence[str]) -> Read:
    """A column of dates, without parts that are the same at all times."""
    missing, distinct = int(column.isna().sum()), int(column.nunique())
    if distinct == 1:
        return _one_value(column, missing)
    features = replace(rule, parts=DATE_PARTS).features(column)
    parts, differing = [], {}
    for part, (name, values) in zip(DATE_PARTS, features.items(), strict=True):
        known = values.distinct if isinstance(values, Coded) else pd.unique(values[~np.isnan(values)])
        if len(known) > 1:
            parts.append(part)
            differing[name] = values
    if not parts:
        return _left_out("dates", "one value alone", missing, distinct)
    return Read("dates", ", ".join(parts), missing, distinct, replace(rule, parts=tuple(parts)), differing, notes)
