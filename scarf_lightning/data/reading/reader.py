"""The fitted reader of a table: the kind of each column that is not described, and how later rows are read."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ...options.checking import checked
from ..columns import Coded, Column, ColumnReading, Floats, are_whole, is_numeric, listed, spell
from .frames import frame_of, plain_column
from .rules import Rule, Values, date_parts, known_values, notation_of, plain_text, quantity_rule, text_of

FEWEST_FOR_IDS = 30
"""In fewer rows, values that are all different do not show that a column is an id."""
ID_NAME = re.compile(r"(?i:(^|[\W_])(id|ids|key|uuid|guid|index|nr|no|number|row)$)|[a-z]I[dD]$")
MOST_CATEGORIES = 100
"""Strings with more distinct values than this, or than a tenth of the rows (at least 20), are hashed: one-hot encoding
would make the first layer of the networks as wide."""
LIKE_A_NUMBER = re.compile(r"[^\w\s]{0,2} ?\d[\d.,']* ?\S{0,5}")
"""Such as ``120 m2``, ``<120`` and ``5k``."""
FEWEST_WORDS = 5
"""Strings with at least so many words in the median are texts. In a simulation of 600 rows with 10 other columns,
hashes of texts of 10 words that depend on the target raised the accuracy of a linear model by 7 points, and those of
random words lowered it by 2; with 3 words, as names have, they raised it by half a point at best."""
BOOLEANS = {"true": ("true", "True", "1"), "false": ("false", "False", "0")}
"""The words for a Boolean of OpenML, of Python and of an array of numbers."""
DONE = {
    "empty": "left out: it has no value",
    "constant": "left out: one value alone",
    "id": "left out: an ID (every row has another value)",
    "gaps": "2 categories: its one value, or none",
    "numbers": "as they are",
    "categories": "one-hot encoded",
    "dates": "days, month, weekday, hour, where they differ",
    "strings": "16 numbers that are hashes of their letters",
    "text": "32 numbers that are hashes of their letters",
}
"""What is done with columns of a kind, in words."""


def read_column(
    column: "pd.Series[Any]", kind: str | None = None, decimal: str | None = None
) -> tuple[ColumnReading, Rule, Mapping[str, Values], list[str]]:
    """Find out what a column other than the target holds, in the form of `plain_column`.

    Args:
        column: of a table that is not described.
        kind: categorical, numeric or text, if the user sets it.
        decimal: see `notation_of`.

    Returns:
        The record of its reading; its rule; the features that the rule makes of it; and notes for the user, without a
        full stop.

    Raises:
        UsageError: a value cannot be written, or the column holds something else than the user says.
    """
    name = str(column.name)
    text = None if is_numeric(column) and kind is None else text_of(column)
    coded = text or Coded.of(column)
    missing, distinct = int((coded.codes < 0).sum()), len(coded.distinct)
    rule, notes = _rule(column, coded, decimal, kind)
    if distinct == 0:
        rule = Rule(name, "empty")
    elif distinct == 1 and kind is None:
        # Only its gaps can carry information.
        rule = Rule(name, "gaps" if missing else "constant")
    elif rule.rule == "dates":
        # Parts that are the same at all times carry no information.
        parts = date_parts(rule.times(column, text))
        rule = replace(rule, parts=tuple(part for part in parts if len(parts[part].dropna().unique()) > 1))
    features = rule.features(column, text)
    if rule.rule == "numbers":
        numbers = np.asarray(features[name])
        # Words that stand for a gap among numbers count too.
        missing = int(np.isnan(numbers).sum())
        if kind is None and _are_ids(name, numbers):
            rule, features = Rule(name, "id"), {}
    if rule.rule == "id":
        option = "numeric" if is_numeric(column) else "text"
        notes = [f"it has a different value in every row and is left out; \"dataset.{option}=['{name}']\" reads it"]
    return ColumnReading(name, rule.rule, missing, distinct, DONE[rule.rule], len(features)), rule, features, notes


def _rule(column: "pd.Series[Any]", coded: Coded, decimal: str | None, kind: str | None) -> tuple[Rule, list[str]]:
    """The rule for a column by the form of its values, and notes."""
    name, n_distinct = str(column.name), len(coded.distinct)
    if kind in ("categorical", "text"):
        return Rule(name, "text" if kind == "text" else "categories"), []
    # A type that lists its categories, or has two, says that they are categories.
    is_declared = pd.api.types.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype)
    quantity = None if is_declared and kind is None else quantity_rule(column, decimal, coded, kind)
    if quantity is not None:
        return quantity
    is_many = n_distinct > min(MOST_CATEGORIES, max(20, len(column) // 10))
    few_or_many = Rule(name, "strings" if is_many else "categories")
    if is_declared:
        return few_or_many, []
    is_id = n_distinct == (coded.codes >= 0).sum()
    if np.median([len(value.split()) for value in coded.distinct] or [0]) >= FEWEST_WORDS:
        return Rule(name, "text" if is_many or is_id else "categories"), []
    if is_id and n_distinct >= FEWEST_FOR_IDS:
        return Rule(name, "id"), []
    return few_or_many, _partly_notes(name, coded, decimal)


def _partly_notes(name: str, text: Coded, decimal: str | None) -> list[str]:
    """A note on a column of which some values, or parts of all, are numbers."""
    texts = known_values(text.distinct)
    _, others, _ = notation_of(texts, decimal)
    n_like = sum(LIKE_A_NUMBER.fullmatch(each) is not None for each in texts)
    if not others or n_like < len(texts) / 2:
        return []
    n_wrong = int(pd.Series(text.distinct).isin(others)[text.codes[text.codes >= 0]].sum())
    return [
        f"{n_wrong} of its values are no numbers, such as {others[0]!r}, so it is read as text; clean them, and "
        f"\"dataset.numeric=['{name}']\" reads it as numbers"
    ]


def _are_ids(name: str, values: Floats) -> bool:
    """Tell whether numbers are ids: whole, all different, and in the range or with the name of ids."""
    finite = values[np.isfinite(values)]
    if not FEWEST_FOR_IDS <= len(finite) == len(pd.unique(finite)) or not are_whole(finite):
        return False
    # Numbers that count rows leave few numbers out.
    return bool(np.ptp(finite) < 2 * len(finite) or ID_NAME.search(name))


@dataclass(frozen=True)
class Reader:
    """Reads rows as a table was read: what was found out of its columns is applied, and nothing is guessed.

    - An unseen category counts as missing, with a warning. Booleans may be text, or 1 and 0.
    - A missing value stays missing, and is imputed as in the trial.
    - Other columns, and those that the table left out, are ignored. The order of columns does not matter.
    - `UsageError` names a column that is missing, occurs twice, or holds an infinite value or one that its rule cannot
      read, such as a word among numbers.

    Attributes:
        rules: how features are made, each with the name of its column in the rows.
        columns: the columns of the table.
    """

    rules: tuple[Rule, ...]
    columns: tuple[Column, ...]

    @classmethod
    def plain(cls, columns: Sequence[Column]) -> "Reader":
        """A reader that takes columns as they are, by their names in the table."""
        rules = [Rule(column.name, "categories" if column.is_categorical else "numbers") for column in columns]
        return cls(tuple(rules), tuple(columns))

    @classmethod
    def with_rules(cls, plain: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> "Reader":
        """A reader from `plain_rules` and the columns that they make.

        Raises:
            UsageError: a rule is none.
        """
        return cls(tuple(checked(Rule, each, "model.rules", exact=True) for each in plain), tuple(columns))

    @property
    def plain_rules(self) -> list[dict[str, Any]]:
        """The rules as dictionaries, for JSON."""
        return list(map(asdict, self.rules))

    @property
    def names(self) -> list[str]:
        """The columns that rows must have."""
        return [rule.column for rule in self.rules]

    def values(self, rows: Any) -> Floats:
        """The rows as `Table` holds them: float64 ``(n, M)``, codes of categorical columns, NaN where missing.

        Args:
            rows: a table of any library that `frame_of` takes.

        Raises:
            UsageError: see above, or the rows are no table whose columns have names.
        """
        frame = frame_of(rows)
        if frame is None:
            raise UsageError(f"The rows must be a table whose columns have names, not {type(rows).__name__}.")
        counts = frame.columns.value_counts()
        if lacking_names := [name for name in self.names if counts.get(name) != 1]:
            raise UsageError(f"The rows lack {listed(lacking_names)}, or have a column of that name twice.")
        # A rule may make several features of a column, as of a date.
        features = [
            feature for rule in self.rules for feature in rule.features(plain_column(frame[rule.column])).values()
        ]
        encoded = [_encode(feature, column) for feature, column in zip(features, self.columns, strict=True)]
        return np.column_stack(encoded)


def _encode(feature: Values, column: Column) -> Floats:
    """A feature as the table holds it, ``(n,)``: numbers, or the places of categories among those of the table, NaN if
    they are not there."""
    if not isinstance(feature, Coded):
        if np.isinf(feature).any():
            raise UsageError(f"Column {column.name!r} holds an infinite value; mark it as missing.")
        return feature
    categories = column.categories or ()
    # Categories of a described table may have blanks around them.
    code_of = {plain_text(category, column.name): code for code, category in enumerate(categories)}
    if {text.lower() for text in code_of} <= BOOLEANS.keys():
        code_of = {way: code for text, code in code_of.items() for way in BOOLEANS[text.lower()]} | code_of
    texts = list(map(spell, feature.distinct))
    if unseen := [text for text in texts if text not in code_of]:
        fault = f"Column {column.name!r} has {listed(unseen)}, which the training table did not: taken as missing."
        warnings.warn(fault, stacklevel=4)
    return feature.spread([code_of.get(text, np.nan) for text in texts])
