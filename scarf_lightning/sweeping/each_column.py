"""``each``: a value of an option of columns that stands for every column of the table in turn.

``dataset.drop=null,each`` is a cell with all columns, and a cell without each of them.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import cache

from ..data.arguments import override
from ..errors import UsageError
from .cell import Cell
from .composer import Composer

Overrides = tuple[str, ...]
EACH = tuple(
    f"{option}=each" for option in ("dataset.drop", "pretrain.drop", "corruption.keep", "cotrain.corruption.keep")
)
"""Lists of columns with this value."""
OF_DATA = ("dataset", "paths", "split", "recipe", "plugins")
"""Sections that decide which table is read, and how."""


def columns_by(composer: Composer) -> Callable[[Overrides], list[str]]:
    """A function that gives the columns of the table that overrides name, which is read once.

    Raises:
        UsageError: the table cannot be read, or has a single column.
    """

    @cache
    def columns(of_data: Overrides) -> list[str]:
        source = Cell(of_data, composer(of_data)).source
        found = list(source.read().table.features_of)
        if len(found) < 2:
            raise UsageError(f"each needs a table of two columns at least, and {source.label} has {len(found)}.")
        return found

    def columns_of(overrides: Overrides) -> list[str]:
        # Only the data matter here, so the other options cannot be wrong.
        named = (each for each in overrides if each.partition("=")[0].lstrip("+").partition(".")[0] in OF_DATA)
        return columns(tuple(each for each in named if each not in EACH))

    return columns_of


def number_with_columns(overrides: Overrides, columns_of: Callable[[Overrides], list[str]]) -> int:
    """The number of overrides that `with_columns` makes."""
    n_options = sum(each in EACH for each in overrides)
    return len(columns_of(overrides)) ** n_options if n_options else 1


def with_columns(overrides: Overrides, columns_of: Callable[[Overrides], list[str]]) -> Iterator[Overrides]:
    """The overrides with a list of one column in the place of ``each``, in the order of the table."""
    choices = []
    for text in overrides:
        option = text.partition("=")[0]
        lists = [override(option, [column]) for column in columns_of(overrides)] if text in EACH else [text]
        choices.append(lists)
    return itertools.product(*choices)
