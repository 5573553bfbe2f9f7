"""Reads later rows as the rows of a table were read."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ..columns import Coded, Column, Floats, listed, spell
from .dates import OTHER_ZONES, are_in_other_zones
from .frames import frame_of, plain_column
from .rules import Feature, Rule, unread
from .truths import truth_of

SHOWN = 5


@dataclass(frozen=True)
class Reader:
    """Reads rows as a table was read.

    Rows may differ from the table:

    - An unseen category, and a value of another kind, such as a word among numbers, count as missing. A warning names
      them, except for texts that stand for a missing value (``?``, ``n/a`` and the like).
    - A missing value stays missing, and is imputed as in the trial.
    - Truth values may be spelled otherwise: 1, true, TRUE, Y and yes are one value.
    - Other columns, and those that the table left out, are ignored. The order of columns does not matter.
    - `UsageError` names a column that is missing, occurs twice, holds an infinite value, has no value of its kind, or
      has several values, all of them unseen.

    A table that did not come from a file has no text to read: there (`Reader.plain`) anything but a finite number in a
    numeric column raises `UsageError`.

    Attributes:
        rules: how features are made, each with the name of its column in the rows.
        columns: the columns of the table.
    """

    rules: tuple[tuple[str, Rule], ...]
    columns: tuple[Column, ...]

    @classmethod
    def plain(cls, columns: Sequence[Column]) -> "Reader":
        """A reader that takes columns as they are, by their names in the table."""
        rules = []
        for column in columns:
            kind = "plain categories" if column.is_categorical else "plain numbers"
            rules.append((column.name, Rule(kind)))
        return cls(tuple(rules), tuple(columns))

    @classmethod
    def with_rules(cls, plain: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> "Reader":
        """A reader from `plain_rules` and the columns that they make."""
        rules = []
        for rule in plain:
            name = str(rule["column"])
            rules.append((name, Rule.from_plain(rule)))
        return cls(tuple(rules), tuple(columns))

    @property
    def plain_rules(self) -> list[dict[str, Any]]:
        """The rules as dictionaries, for JSON."""
        return [{"column": name, **rule.plain()} for name, rule in self.rules]

    @property
    def names(self) -> list[str]:
        """The columns that rows must have."""
        return [name for name, _ in self.rules]

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
        # Extra columns may occur twice.
        counts = Counter(frame.columns)
        missing = [name for name in self.names if not counts[name]]
        if missing:
            raise UsageError(f"The rows lack {listed(missing, SHOWN)}, which the model was trained on.")
        twice = [name for name in self.names if counts[name] > 1]
        if twice:
            raise UsageError(f"The rows have {listed(twice, SHOWN)} more than once.")
        # A rule may make several features of a column, as of a date.
        features: list[Feature] = []
        for name, rule in self.rules:
            column = plain_column(frame[name])
            features += _features(column, rule)
        values = np.empty((len(frame), len(self.columns)))
        for m, (feature, known) in enumerate(zip(features, self.columns, strict=True)):
            values[:, m] = _encoded(feature, known)
        return values


def _features(column: "pd.Series[Any]", rule: Rule) -> list[Feature]:
    """The features of a column of later rows.

    Raises:
        UsageError: it has values, and none that the rule reads.
    """
    features = rule.features(column)
    others = unread(column, features)
    # Of text in a format with zones, the user was told when the table was read.
    if rule.kind == "dates" and rule.format is None and are_in_other_zones(column):
        warnings.warn(f"Column {column.name!r}: {OTHER_ZONES}.", stacklevel=4)
    if not others:
        return features
    shown = listed(others, SHOWN)
    # Rows of another kind altogether, such as another column of the same name.
    if features[0].is_missing.all():
        raise UsageError(f"Column {column.name!r} holds {rule.of} in the table, but {shown} in the rows; correct it.")
    warnings.warn(f"Column {column.name!r} has {shown} among its {rule.of}: taken as missing.", stacklevel=4)
    return features


def _encoded(feature: Feature, column: Column) -> Floats:
    """A feature as the table holds it, ``(n,)``."""
    # A crafted model may hold a rule that does not make its column.
    if column.categories is not None:
        if not isinstance(feature.values, Coded):
            raise ValueError(f"{column.name!r} is categorical in the table and numeric in its rule")
        return _codes(feature.values, column)
    if isinstance(feature.values, Coded):
        raise ValueError(f"{column.name!r} is numeric in the table and categorical in its rule")
    if np.isinf(feature.values).any():
        raise UsageError(f"Column {column.name!r} holds an infinite value; mark it as missing.")
    return feature.values


def _codes(values: Coded, column: Column) -> Floats:
    """The places of categories among those of the table, ``(n,)``, NaN if they are not there."""
    categories = column.categories or ()
    known = {category: float(code) for code, category in enumerate(categories)}
    truths = _codes_of_truths(categories)
    codes: list[float] = []
    unseen: list[str] = []
    for text in map(spell, values.distinct):
        code = known.get(text)
        if code is None:
            code = truths.get(truth_of(text))
        if code is None:
            unseen.append(text)
        codes.append(np.nan if code is None else code)
    # One unseen value may be a new category; several, and nothing else, are another column.
    if len(unseen) > 1 and len(unseen) == len(codes):
        raise UsageError(
            f"Column {column.name!r} holds {listed(categories, SHOWN)} in the table, "
            f"but {listed(unseen, SHOWN)} in the rows; correct it."
        )
    if unseen:
        warnings.warn(
            f"Column {column.name!r} has {listed(unseen, SHOWN)}, which the training table did not: taken as missing.",
            stacklevel=5,
        )
    return values.spread(codes)


def _codes_of_truths(categories: Sequence[str]) -> dict[bool | None, float]:
    """The codes of true and false, if the categories are these two in some spelling."""
    codes: dict[bool | None, float] = {}
    for code, category in enumerate(categories):
        codes[truth_of(category)] = float(code)
    if set(codes) == {True, False} and len(categories) == 2:
        return codes
    return {}
