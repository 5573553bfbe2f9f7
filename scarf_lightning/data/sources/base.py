"""What every source of tables offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..table import Table


@dataclass
class Source(ABC):
    """A place a table is read from. Making one is cheap: it loads nothing and imports no client.

    ``is_found_out`` says whether what the columns hold is found out in loading, so that a user wants to see it.
    """

    name: ClassVar[str]
    is_found_out: ClassVar[bool] = False

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the data: letters, digits, dots and dashes, such as ``openml-1510``."""

    @property
    def label(self) -> str:
        """What to call the data where they have no other name."""
        return self.key

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The local files that hold the data, empty where there are none yet.

        Their sizes and times tell whether a hash computed earlier still describes the data, without loading them.
        """

    def check(self) -> None:  # noqa: B027 - nothing to be seen is the rule
        """Find what is wrong as far as that can be seen without loading the data, before anything trains.

        Raises:
            UsageError: `load` would raise it.
        """

    @abstractmethod
    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: it cannot be had, or cannot be used for classification.
        """
