"""The rows of a cell's trials by columns, which take a fifth of the memory of a dictionary a trial."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]
Layout = Mapping[str, tuple[str, int]]
"""How and where each column is kept: ``float`` and ``int`` are rows of a block of numbers, ``same`` is one value that
all rows have, ``each`` a list of values."""

_layouts: dict[tuple[Any, ...], Layout] = {}
"""The cells of a sweep have few layouts, and share them."""


class Rows(Sequence[Row]):
    """Rows that are kept by columns. A row that is asked for is made anew, with None for what it lacks.

    Args:
        size: how many rows.
        layout: of the columns.
        numbers: a block ``(columns, size)``; whole numbers are below 2^53, so that float64 has them.
        others: values, and lists of values.
    """

    __slots__ = ("layout", "numbers", "others", "size")

    def __init__(self, size: int, layout: Layout, numbers: NDArray[np.float64], others: Sequence[Any]) -> None:
        self.size, self.layout = size, _layouts.setdefault(tuple(layout.items()), layout)
        self.numbers, self.others = numbers, others

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Rows":
        """Rows as columns."""
        layout, numbers, others = dict[str, tuple[str, int]](), list[list[Any]](), list[Any]()
        for name in dict.fromkeys(chain.from_iterable(rows)):
            values = [row.get(name) for row in rows]
            kinds = set(map(type, values))
            is_same = len(kinds) == 1 and kinds != {float} and values.count(values[0]) == len(values)
            if kinds == {float} or (kinds == {int} and not is_same):
                layout[name] = "float" if kinds == {float} else "int", len(numbers)
                numbers.append(values)
            else:
                layout[name] = "same" if is_same else "each", len(others)
                others.append(values[0] if is_same else values)
        return cls(len(rows), layout, np.array(numbers, dtype=np.float64).reshape(len(numbers), len(rows)), others)

    def column(self, name: str) -> list[Any]:
        """The value of each row; None where it has none."""
        if name not in self.layout:
            return [None] * self.size
        kept, place = self.layout[name]
        if kept == "same":
            return [self.others[place]] * self.size
        if kept == "each":
            return list(self.others[place])
        values: list[Any] = self.numbers[place].tolist()
        return values if kept == "float" else list(map(int, values))

    def first(self, size: int) -> "Rows":
        """The first rows."""
        if size >= self.size:
            return self
        lists = {place for kept, place in self.layout.values() if kept == "each"}
        others = [value[:size] if place in lists else value for place, value in enumerate(self.others)]
        return Rows(size, self.layout, self.numbers[:, :size].copy(), others)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Row]:
        columns = [self.column(name) for name in self.layout]
        return (dict(zip(self.layout, values, strict=True)) for values in zip(*columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return list(self)[place]


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The value of each row; None where it has none."""
    return rows.column(name) if isinstance(rows, Rows) else [row.get(name) for row in rows]
