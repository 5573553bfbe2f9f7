"""``each``: a value of an option of columns that stands for every column of the table in turn.

``dataset.drop=null,each`` is a cell with all columns, and a cell without each of them.
"""

from collections.abc import Iterator

from ..data.arguments import override
from ..errors import UsageError
from .cell import Cell
from .composer import Composer

EACH = "each"
OPTIONS = ("dataset.drop", "pretrain.drop", "corruption.keep", "cotrain.corruption.keep")
"""Lists of columns that ``each`` may be the value of."""


class EachColumn:
    """Puts every column of a table in the place of ``each``. Tables are read once.

    Args:
        composer: of the cells.
    """

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._columns: dict[str, list[str]] = {}

    def __call__(self, overrides: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The overrides with a list of one column in the place of ``each``, in the order of the table.

        Raises:
            UsageError: the table cannot be read, or the other overrides make no cell.
        """
        for place, text in enumerate(overrides):
            if _is_each(text):
                option = text.partition("=")[0]
                for column in self._table_columns(overrides):
                    yield from self((*overrides[:place], override(option, [column]), *overrides[place + 1 :]))
                return
        yield overrides

    def number(self, overrides: tuple[str, ...]) -> int:
        """The number of overrides that a call gives; it raises what a call does."""
        n_options = sum(map(_is_each, overrides))
        return len(self._table_columns(overrides)) ** n_options if n_options else 1

    def _table_columns(self, overrides: tuple[str, ...]) -> list[str]:
        """The columns of the table that these overrides name."""
        # Only the data matter here, so the other options cannot be wrong.
        data_overrides = [text for text in overrides if _is_of_data(text) and not text.endswith(f"={EACH}")]
        source = Cell(tuple(data_overrides), self._composer(tuple(data_overrides))).source
        if source.key not in self._columns:
            self._columns[source.key] = list(source.read().table.features_of)
        columns = self._columns[source.key]
        if len(columns) < 2:
            raise UsageError(f"{EACH} needs a table of two columns at least, and {source.label} has {len(columns)}.")
        return columns


def _is_each(override: str) -> bool:
    option, _, value = override.partition("=")
    return option in OPTIONS and value == EACH


def _is_of_data(override: str) -> bool:
    """Tell whether an override decides which table is read, and how."""
    option = override.partition("=")[0].lstrip("+")
    return option.partition(".")[0] in ("dataset", "paths", "split", "recipe", "plugins")
