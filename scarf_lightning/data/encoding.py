"""How categories become numbers: as columns of zeros and ones, as in the paper, or as codes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..options.option import Options, option
from .columns import Column, Floats

if TYPE_CHECKING:
    from .table import Table


@dataclass
class Encoding(Options, ABC):
    """An encoding of categorical columns; numeric ones stay as they are.

    ``widens`` says whether a category may become a column of its own.
    """

    name: ClassVar[str]
    widens: ClassVar[bool] = True

    @abstractmethod
    def column(self, column: Column) -> Column:
        """A categorical column with its categories in the order of their codes and its number of indicators."""

    def columns(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """All columns; numeric ones stay as they are."""
        return tuple(self.column(column) if column.is_categorical else column for column in columns)

    def encode(self, table: "Table") -> "Table":
        """The table with its columns encoded. Random streams must go on using the hash of ``table``; the hash of the
        encoded table differs."""
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
    """One indicator for each category."""

    name: ClassVar[str] = "onehot"

    def column(self, column: Column) -> Column:
        return replace(column, indicators=None)


@dataclass
class OneHotDropLast(Encoding):
    """One indicator for each category but the last, whose rows have zeros. A single category keeps its indicator."""

    name: ClassVar[str] = "onehot_drop_last"

    def column(self, column: Column) -> Column:
        return replace(column, indicators=max(len(column.categories or ()) - 1, 1))


@dataclass
class Ordinal(Encoding):
    """Codes 0, 1, 2 ..., imputed by the mode and then scaled as numbers are.

    The ``declared`` order is the order of the source, as in the header of an ARFF file. Without one, and with
    ``sorted``, numbers are ordered by size and other strings alphabetically.
    """

    name: ClassVar[str] = "ordinal"
    widens: ClassVar[bool] = False
    order: Literal["declared", "sorted"] = option("declared", "order of the categories: as in the source, or sorted")

    def column(self, column: Column) -> Column:
        ordered = column.declared if self.order == "declared" else None
        return replace(column, categories=ordered or column.categories, indicators=0)


def codes_in(column: Column, order: Sequence[str]) -> Floats:
    """The place in ``order`` of each of a column's categories, ``(n_categories,)``."""
    place = {category: float(position) for position, category in enumerate(order)}
    return np.array([place[category] for category in column.categories or ()])
