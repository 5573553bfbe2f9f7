"""A table's reading, kept: rows that come later are read as the table was."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError
from ..table import Column, Table, spell
from .rules import AsPlainCategories, AsPlainNumbers, Feature, Rule, rule_of, unread

SHOWN = 5


@dataclass(frozen=True)
class Reader:
    """Reads rows as a table was read.

    Of rows that are unlike the table:

    - an unseen category counts as a missing value, with a warning that names it;
    - a value that is none of its column's kind, such as a word among numbers, counts as missing, with a warning; where
      no value of a column is of its kind, `UsageError` names the column. What says itself that there is no value
      (``?``, ``n/a`` and the like) is missing without a word;
    - a missing value stays missing, to be imputed as the trial did;
    - a missing column, or one that is there twice, raises `UsageError`;
    - further columns, and those that the table left out, are ignored, and the order of columns does not matter;
    - an infinite value raises `UsageError`, which names its column.

    A table that did not come from a file has no text to be read: there (`Reader.plain`) everything but a finite number
    in a numeric column raises `UsageError`.

    Attributes:
        rules: how features are made, and of which column of the rows.
        columns: the table's.
    """

    rules: tuple[tuple[str, Rule], ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, table: Table) -> "Reader":
        """That of a table."""
        return table.reader or cls.plain(table.columns)

    @classmethod
    def plain(cls, columns: Sequence[Column]) -> "Reader":
        """Takes columns as they are, by the names that they have in the table."""
        rules = (AsPlainCategories() if column.is_categorical else AsPlainNumbers() for column in columns)
        return cls(tuple((column.name, rule) for column, rule in zip(columns, rules, strict=True)), tuple(columns))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Reader":
        """What `as_plain` gave."""
        return cls.with_rules(plain["rules"], [Column.from_plain(column) for column in plain["columns"]])

    @classmethod
    def with_rules(cls, plain: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> "Reader":
        """That of columns which were made by rules that were kept."""
        rules = tuple((rule.pop("column"), rule_of(rule)) for rule in map(dict, plain))
        return cls(rules, tuple(columns))

    def as_plain(self) -> dict[str, Any]:
        """All of it as lists, texts and numbers."""
        columns = [
            {"name": column.name, "categories": column.categories}
            | ({} if column.indicators is None else {"indicators": column.indicators})
            for column in self.columns
        ]
        return {"rules": [{"column": name, **rule.plain()} for name, rule in self.rules], "columns": columns}

    @property
    def names(self) -> list[str]:
        """The columns that rows must have."""
        return [name for name, _ in self.rules]

    @property
    def text(self) -> list[str]:
        """Those of them that a file is to be read as text in."""
        return [name for name, rule in self.rules if rule.from_text]

    def values(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """The rows as `Table` holds them: float64 ``(n, M)``, codes of categorical columns, NaN where missing.

        Raises:
            UsageError: see above, or the rows are no DataFrame.
        """
        if not isinstance(rows, pd.DataFrame):
            raise UsageError(
                f"The rows must be a pandas DataFrame whose columns have names, not {type(rows).__name__}."
            )
        rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
        missing = [name for name in self.names if name not in rows.columns]
        if missing:
            raise UsageError(f"The rows lack {_named(missing)}, which the model was trained on.")
        twice = [name for name in self.names if isinstance(rows[name], pd.DataFrame)]
        if twice:
            raise UsageError(f"The rows have {_named(twice)} more than once.")
        features = [feature for name, rule in self.rules for feature in _features(rows[name], rule)]
        return np.stack([_encoded(f, c) for (f, _), c in zip(features, self.columns, strict=True)], axis=1)


def _features(column: "pd.Series[Any]", rule: Rule) -> list[Feature]:
    made = rule.features(column)
    others = unread(column, made)
    if len(others) == 0:
        return made
    distinct = others.unique().tolist()
    if made[0][0].isna().all():
        raise UsageError(
            f"Column {column.name!r} holds {rule.of} in the table, but {_named(distinct)} in the rows; correct it."
        )
    warnings.warn(f"Column {column.name!r} has {_named(distinct)} among its {rule.of}: taken as missing.", stacklevel=4)
    return made


def _encoded(series: "pd.Series[Any]", column: Column) -> NDArray[np.float64]:
    """A feature as the table holds it, ``(n,)``."""
    if column.categories is not None:
        return _codes(series, column.name, column.categories)
    numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise UsageError(f"Column {column.name!r} holds an infinite value; mark it as missing.")
    return numbers


def _codes(series: "pd.Series[Any]", name: str, categories: Sequence[str]) -> NDArray[np.float64]:
    try:
        positions, distinct = pd.factorize(series, use_na_sentinel=True)
    except TypeError:
        odd = next(value for value in series if type(value).__hash__ is None)
        raise UsageError(f"Column {name!r} is categorical, but the rows hold {odd!r} in it.") from None
    known = {category: float(code) for code, category in enumerate(categories)}
    unseen = [spell(value) for value in distinct if spell(value) not in known]
    if unseen:
        warnings.warn(
            f"Column {name!r} has {_named(unseen)}, which the training table did not: taken as missing.", stacklevel=5
        )
    codes = np.array([known.get(spell(value), np.nan) for value in distinct] + [np.nan])  # the last is the sentinel's
    return codes[positions]


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
