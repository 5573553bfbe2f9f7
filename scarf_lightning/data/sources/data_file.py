"""A file of a table, opened."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
"""The name that pandas gives a column without one, and keeps when it writes the frame again."""


@dataclass(frozen=True, kw_only=True)
class DataFile(ABC):
    """A file of a table whose columns are known.

    Attributes:
        names: of the columns as the file spells them. A column without one is called as pandas calls it, see `named`.
        index: the names of those columns that were the index of a frame of pandas.
        unusable: what the columns hold that cannot be read, such as lists.
        notes: sentences on how the file was opened.
        others: the names of other sheets in the file.
    """

    path: Path
    names: list[str]
    index: Sequence[str] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    others: Sequence[str] = ()

    @abstractmethod
    def read(self) -> "pd.DataFrame":
        """The rows, with columns named as in ``names``, without those that are ``unusable``.

        Whole numbers that float64 would not tell apart, or that have leading zeros, stay text.
        """

    def odd_lines(self, rows: "pd.DataFrame") -> list[str]:
        """Sentences on lines that may not be meant as they are read; ``rows`` are what `read` returned."""
        return []

    @property
    def hint(self) -> str:
        """A reason why a column may not be found, as the end of a sentence; empty if there is none."""
        are_nameless = [NAMELESS.fullmatch(name) is not None for name in self.names]
        # A first column without a name is an index.
        if 2 * sum(are_nameless) >= len(self.names) and not are_nameless[0]:
            return "; half of its columns or more have no name, so if titles stand above the header, delete them"
        return ""


def named(header: Sequence[str]) -> list[str]:
    """The names of a header. A column without one is called ``Unnamed: 2`` by its place, which counts from 0."""
    names: list[str] = []
    for place, name in enumerate(header):
        spelled = name or f"Unnamed: {place}"
        # A frame with an index that is written twice has a column of this name already.
        while not name and spelled in header:
            spelled += ".1"
        names.append(spelled)
    return names
