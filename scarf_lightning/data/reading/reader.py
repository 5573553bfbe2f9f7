"""Reads later rows as the rows of a table were read."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UsageError
from ..columns import Coded, Column, Floats, listed, spell
from .frames import frame_of, plain_column
from .rules import SHOWN, Feature, Rule, plain_text


@dataclass(frozen=True)
class Reader:
    """Reads rows as a table was read: what was found out of its columns is applied, and nothing is guessed.

    - An unseen category counts as missing, with a warning.
    - A missing value stays missing, and is imputed as in the trial.
    - Other columns, and those that the table left out, are ignored. The order of columns does not matter.
    - `UsageError` names a column that is missing, occurs twice, holds an infinite value or one that its rule cannot
      read, such as a word among numbers, or has several values, all of them unseen.

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
            rules.append((column.name, Rule("plain categories" if column.is_categorical else "numbers")))
        return cls(tuple(rules), tuple(columns))

    @classmethod
    def with_rules(cls, plain: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> "Reader":
        """A reader from `plain_rules` and the columns that they make."""
        return cls(tuple((str(rule["column"]), Rule.from_plain(rule)) for rule in plain), tuple(columns))

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
            features += rule.features(plain_column(frame[name]))
        values = np.empty((len(frame), len(self.columns)))
        for m, (feature, known) in enumerate(zip(features, self.columns, strict=True)):
            values[:, m] = _encoded(feature, known)
        return values


def _encoded(feature: Feature, column: Column) -> Floats:
    """A feature as the table holds it, ``(n,)``."""
    # A crafted model may hold a rule that does not make its column.
    if column.is_categorical != isinstance(feature.values, Coded):
        raise ValueError(f"{column.name!r} is of another kind in the table than in its rule")
    if isinstance(feature.values, Coded):
        return _codes(feature.values, column)
    if np.isinf(feature.values).any():
        raise UsageError(f"Column {column.name!r} holds an infinite value; mark it as missing.")
    return feature.values


def _codes(values: Coded, column: Column) -> Floats:
    """The places of categories among those of the table, ``(n,)``, NaN if they are not there."""
    categories = column.categories or ()
    code_of = {category: float(code) for code, category in enumerate(categories)}
    codes = []
    unseen = []
    for value in values.distinct:
        text = spell(value)
        code = code_of.get(text, code_of.get(plain_text(value, column.name)))
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
