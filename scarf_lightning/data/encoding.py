"""How categories become numbers: as indicator columns, which the paper's networks read, or as codes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..limits import Limit, Limited
from .table import Column, Table


@dataclass
class Encoding(Limited, ABC):
    """An encoding of categorical columns; numeric ones stay as they are.

    ``name`` is its name in a configuration; ``widens`` says whether a category may become a column of its own.
    """

    name: ClassVar[str]
    widens: ClassVar[bool] = True

    @abstractmethod
    def column(self, column: Column) -> Column:
        """A categorical column, its categories in the order of their codes, and how many indicators it has."""

    def columns(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Columns of both kinds."""
        return tuple(self.column(column) if column.is_categorical else column for column in columns)

    def encode(self, table: Table) -> Table:
        """The table with its columns so encoded. Rows and random streams are those of ``table``, and so is its hash:
        that of the encoded one is another."""
        columns = self.columns(table.columns)
        if columns == table.columns:
            return table
        values = table.values.copy()
        for m, (before, after) in enumerate(zip(table.columns, columns, strict=True)):
            if before.categories != after.categories:
                known = ~np.isnan(values[:, m])
                values[known, m] = codes_in(before, after.categories or ())[values[known, m].astype(np.int64)]
        return replace(table, columns=columns, values=values)


@dataclass
class OneHotEncoding(Encoding):
    """An indicator a category."""

    name: ClassVar[str] = "onehot"

    def column(self, column: Column) -> Column:
        return replace(column, indicators=None)


@dataclass
class OneHotDropLast(Encoding):
    """An indicator a category but the last, whose rows have zeros; a column of one category keeps it."""

    name: ClassVar[str] = "onehot_drop_last"

    def column(self, column: Column) -> Column:
        return replace(column, indicators=max(len(column.categories or ()) - 1, 1))


@dataclass
class Ordinal(Encoding):
    """Codes 0, 1, 2 ..., imputed by the mode and then scaled as numbers are.

    Args:
        order: of the categories: as the source has ``declared`` them, which is the order in the header of an ARFF file
            (where it has not, ``sorted``), or ``sorted``, numbers by size and other strings alphabetically.
    """

    name: ClassVar[str] = "ordinal"
    limits: ClassVar[dict[str, Limit]] = {"order": ("declared", "sorted")}
    widens: ClassVar[bool] = False
    order: str = "declared"

    def column(self, column: Column) -> Column:
        ordered = column.declared if self.order == "declared" else None
        return replace(column, categories=ordered or column.categories, indicators=0)


def codes_in(column: Column, order: Sequence[str]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The place in ``order`` of each of a column's categories, ``(n_categories,)``."""
    place = {category: float(position) for position, category in enumerate(order)}
    return np.array([place[category] for category in column.categories or ()])
