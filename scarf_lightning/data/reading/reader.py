"""Reads later rows as the rows of a table were read."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UsageError
from ...options.checking import checked
from ..columns import Coded, Column, Floats, listed, spell
from .frames import frame_of, plain_column
from .rules import SHOWN, Rule, Values, plain_text


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
        kinds = [Rule("plain categories" if column.is_categorical else "numbers") for column in columns]
        return cls(tuple((column.name, rule) for column, rule in zip(columns, kinds, strict=True)), tuple(columns))

    @classmethod
    def with_rules(cls, plain: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> "Reader":
        """A reader from `plain_rules` and the columns that they make.

        Raises:
            UsageError: a rule is none.
        """
        rules = []
        for each in plain:
            fields = {name: value for name, value in each.items() if name != "column"}
            rules.append((str(each["column"]), checked(Rule, fields, "model.rules", exact=True)))
        return cls(tuple(rules), tuple(columns))

    @property
    def plain_rules(self) -> list[dict[str, Any]]:
        """The rules as dictionaries, for JSON."""
        return [{"column": name, **asdict(rule)} for name, rule in self.rules]

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
        if missing := [name for name in self.names if name not in frame]:
            raise UsageError(f"The rows lack {listed(missing, SHOWN)}, which the model was trained on.")
        features: list[Values] = []
        for name, rule in self.rules:
            column = frame[name]
            if isinstance(column, pd.DataFrame):
                raise UsageError(f"The rows have {name!r} more than once.")
            # A rule may make several features of a column, as of a date.
            features += rule.features(plain_column(column)).values()
        encoded = [_encoded(feature, column) for feature, column in zip(features, self.columns, strict=True)]
        return np.column_stack(encoded)


def _encoded(feature: Values, column: Column) -> Floats:
    """A feature as the table holds it, ``(n,)``: numbers, or the places of categories among those of the table, NaN if
    they are not there."""
    # A crafted model may hold a rule that does not make its column.
    if column.is_categorical != isinstance(feature, Coded):
        raise ValueError(f"{column.name!r} is of another kind in the table than in its rule")
    if not isinstance(feature, Coded):
        if np.isinf(feature).any():
            raise UsageError(f"Column {column.name!r} holds an infinite value; mark it as missing.")
        return feature
    categories = column.categories or ()
    code_of = {category: code for code, category in enumerate(categories)}
    spelled = [spell(value) for value in feature.distinct]
    # Categories of a described table may have blanks around them.
    known = [text if text in code_of else plain_text(text, column.name) for text in spelled]
    unseen = [text for text in known if text not in code_of]
    # One unseen value may be a new category; several, and nothing else, are another column.
    if len(unseen) > 1 and len(unseen) == len(known):
        raise UsageError(
            f"Column {column.name!r} holds {listed(categories, SHOWN)} in the table, "
            f"but {listed(unseen, SHOWN)} in the rows; correct it."
        )
    if unseen:
        warnings.warn(
            f"Column {column.name!r} has {listed(unseen, SHOWN)}, which the training table did not: taken as missing.",
            stacklevel=4,
        )
    return feature.spread([code_of.get(text, np.nan) for text in known])
