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
        """Takes columns as they are, by their names in the table."""
        kinds = ("plain categories" if column.is_categorical else "plain numbers" for column in columns)
        return cls(tuple((c.name, Rule(kind)) for c, kind in zip(columns, kinds, strict=True)), tuple(columns))

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

    @property
    def text(self) -> list[str]:
        """The columns that must be read from a file as text."""
        return [name for name, rule in self.rules if rule.from_text]

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
        counts = Counter(frame.columns)
        missing = [name for name in self.names if not counts[name]]
        if missing:
            raise UsageError(f"The rows lack {listed(missing, SHOWN)}, which the model was trained on.")
        twice = [name for name in self.names if counts[name] > 1]
        if twice:
            raise UsageError(f"The rows have {listed(twice, SHOWN)} more than once.")
        features: list[Feature] = []
        for name, rule in self.rules:
            features += _features(plain_column(frame[name]), rule)
        values = np.empty((len(frame), len(self.columns)))
        for m, (feature, known) in enumerate(zip(features, self.columns, strict=True)):
            values[:, m] = _encoded(feature, known)
        return values


def _features(column: "pd.Series[Any]", rule: Rule) -> list[Feature]:
    made = rule.features(column)
    others = unread(column, made)
    # Of text in a format with zones, the user was told when the table was read.
    if rule.kind == "dates" and rule.format is None and are_in_other_zones(column):
        warnings.warn(f"Column {column.name!r}: {OTHER_ZONES}.", stacklevel=4)
    if not others:
        return made
    if made[0].is_missing.all():
        raise UsageError(
            f"Column {column.name!r} holds {rule.of} in the table, but {listed(others, SHOWN)} in the rows; correct it."
        )
    warnings.warn(
        f"Column {column.name!r} has {listed(others, SHOWN)} among its {rule.of}: taken as missing.", stacklevel=4
    )
    return made


def _encoded(feature: Feature, column: Column) -> Floats:
    """A feature as the table holds it, ``(n,)``."""
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
    codes, unseen = [], []
    for text in map(spell, values.distinct):
        code = known.get(text, truths.get(truth_of(text), np.nan))
        codes.append(code)
        if np.isnan(code):
            unseen.append(text)
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
    return codes if set(codes) == {True, False} and len(categories) == 2 else {}
