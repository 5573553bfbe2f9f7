"""The kind of each column that nobody has described, and the rule by which it is read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..arguments import argument
from ..columns import Coded, ColumnReading, Floats, are_whole, floats, is_numeric
from .rules import Rule, Values, text_of
from .values import CODE, DATE_PARTS, OTHER_ZONES, date_format, known_values, notation_of

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different do not show that a column is an id."""
ID_NAME = re.compile(r"(?i:(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$)|[a-z]I[dD]$")
MOST_CATEGORIES = 100
"""Strings with more distinct values than this, or than a tenth of the rows (at least 20), are hashed: one-hot encoding
would make the first layer of the networks as wide."""
LIKE_A_NUMBER = re.compile(r"(\w{1,3}\. ?)?[^\w\s]{0,2} ?\d[\d.,']* ?\S{0,5}")
"""Such as ``120 m2``, ``<120``, ``5k`` and ``ca. 120``."""
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
    """Reading of one column: its record, its rule, the features that the rule makes of it, and notes for the user,
    without a full stop. A column that is left out has no rule."""

    reading: ColumnReading
    rule: Rule | None = None
    features: Mapping[str, Values] = field(default_factory=dict)
    notes: Sequence[str] = ()


def read_column(column: "pd.Series[Any]", options: ReadingOptions) -> Read:
    """Find out what a column other than the target holds.

    Raises:
        UsageError: a value cannot be written, or the column holds something else than the options say.
    """
    name = str(column.name)
    asked = next((option for option in ASKED if name in getattr(options, option)), None)
    rule, notes, counted = _fitted(column, options, asked)
    known = counted[~np.isnan(counted)]
    missing, distinct = len(counted) - len(known), len(pd.unique(known))

    def left_out(kind: str, why: str, *notes: str) -> Read:
        return Read(ColumnReading(name, kind, missing, distinct, f"left out: {why}"), notes=notes)

    if distinct == 0:
        return left_out("empty", "it has no value")
    if distinct == 1 and asked in (None, "dates"):
        if not missing:
            return left_out("constant", "one value alone")
        # Only its gaps can tell something.
        rule, notes = Rule("gaps"), []
    is_number = rule is not None and rule.rule == "numbers"
    if rule is None or (is_number and asked is None and _are_ids(name, known, distinct)):
        kind, option, reads = ("id", "numeric", "numbers") if is_number else ("id or text", "text", "text")
        keeps = f"{argument(f'dataset.{option}', [name])} reads it as {reads}"
        note = f"it has a different value in every row and is left out; {keeps}"
        return left_out(kind, "an ID (every row has another value)", note)
    features = rule.features(column)
    if rule.rule == "dates":
        # Parts that are the same at all times tell nothing.
        features = {part: values for part, values in features.items() if _differ(values)}
        rule = replace(rule, parts=tuple(part for part in DATE_PARTS if f"{name} ({part})" in features))
    done = {
        "numbers": "as they are" if is_numeric(column) else "text read as numbers",
        "dates": ", ".join(rule.parts),
        "gaps": "2 categories: its one value, or none",
        "categories": f"{distinct} categories",
    }.get(rule.rule, f"{len(features)} numbers that are hashes of their letters")
    kind = "constant" if rule.rule == "gaps" else rule.rule
    return Read(ColumnReading(name, kind, missing, distinct, done, len(features)), rule, features, notes)


def _fitted(
    column: "pd.Series[Any]", options: ReadingOptions, asked: str | None
) -> tuple[Rule | None, list[str], Floats]:
    """The rule for a column, notes, and a number for each distinct value ``(n,)``; no rule for ids that are text."""
    # Types first: they say more than any value.
    typed = typed_rule(column, options.decimal)
    if typed is not None and (asked not in ("categorical", "text") or not is_numeric(column)):
        return *typed, floats(column) if is_numeric(column) else _numbered(Coded.of(column))
    text = text_of(column)
    rule, notes = _rule_of_text(column, text, options, asked)
    is_number = rule is not None and rule.rule == "numbers"
    return rule, notes, rule.numbers(column) if rule and is_number else _numbered(text)


def _numbered(coded: Coded) -> Floats:
    return coded.spread(range(len(coded.distinct)))


def _rule_of_text(
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
    found = None if is_declared else quantity_rule(column, options.decimal, text)
    if asked == "dates" and n_distinct and (found is None or found[0].rule != "dates"):
        raise UsageError(
            f"dataset.dates names {name!r}, which holds {text.distinct[0]!r} and other values that are not dates in "
            "one format; write them as 2024-12-31, or leave the column out of dataset.dates."
        )
    if found is not None:
        return found
    is_many = n_distinct > min(MOST_CATEGORIES, max(20, len(column) // 10))
    few_or_many = Rule("strings" if is_many else "categories")
    if is_declared:
        return few_or_many, []
    is_id = n_distinct == int((text.codes >= 0).sum())
    if np.median([len(value.split()) for value in text.distinct] or [0]) >= FEWEST_WORDS:
        return Rule("text" if is_many or is_id else "categories"), []
    if is_id and n_distinct >= FEWEST_FOR_IDS:
        return None, []
    return few_or_many, _partly_notes(name, text, options.decimal)


def typed_rule(column: "pd.Series[Any]", decimal: str | None = None) -> tuple[Rule, list[str]] | None:
    """The rule for a column whose type says that it holds numbers or times, and notes on doubts."""
    if is_numeric(column):
        return Rule("numbers", decimal or "."), []
    if not pd.api.types.is_datetime64_any_dtype(column):
        return None
    zone = column.dt.tz
    return Rule("dates", has_zone=zone is not None), [OTHER_ZONES] if str(zone or "UTC") != "UTC" else []


def quantity_rule(
    column: "pd.Series[Any]", decimal: str | None = None, text: Coded | None = None
) -> tuple[Rule, list[str]] | None:
    """The rule by which a column holds numbers or dates, and notes on doubts; None if it holds neither.

    Text that is codes, such as 007, or a single number is neither. ``text`` is of the column, if it is known already.
    """
    if typed := typed_rule(column, decimal):
        return typed
    known = known_values((text or text_of(column)).distinct)
    notation, others, notes = notation_of(known, decimal)
    if not others and len(known) > 1 and not any(map(CODE.fullmatch, known)):
        return Rule("numbers", *notation), notes
    if found := date_format(known):
        format, notes = found
        return Rule("dates", format=format, has_zone="%z" in format), notes
    return None


def _partly_notes(name: str, text: Coded, decimal: str | None) -> list[str]:
    """A note on codes, or on a column of which some values, or parts of all, are numbers."""
    known = known_values(text.distinct)
    reads = f"{argument('dataset.numeric', [name])} reads it as numbers"
    _, others, _ = notation_of(known, decimal)
    has_codes = any(map(CODE.fullmatch, known))
    if not others:
        codes = "it holds whole numbers with leading zeros, or too large for float64, which are read as text"
        return [f"{codes}; {reads}"] if has_codes else []
    n_like = sum(LIKE_A_NUMBER.fullmatch(each) is not None for each in known[:SAMPLE])
    if not has_codes and n_like < max(1, PARTLY * len(known[:SAMPLE])):
        return []
    rows = pd.Series(text.distinct).isin(others)[text.codes[text.codes >= 0]]
    return [
        f"{rows.sum()} of its {len(rows)} values are no numbers, such as {others[0]!r}, so it is read as text; clean "
        f"them, and {reads}"
    ]


def _are_ids(name: str, values: Floats, n_distinct: int) -> bool:
    """Tell whether numbers are ids: whole, all different, and in the range or with the name of ids."""
    if not FEWEST_FOR_IDS <= len(values) == n_distinct or not np.isfinite(values).all() or not are_whole(values):
        return False
    # Numbers that count rows leave few numbers out.
    counts_rows = values.max() - values.min() < 2 * len(values)
    return bool(counts_rows or ID_NAME.search(name))


def _differ(values: Values) -> bool:
    """Tell whether a part of dates has several values."""
    return len(values.distinct if isinstance(values, Coded) else pd.unique(values[~np.isnan(values)])) > 1
