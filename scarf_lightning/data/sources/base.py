"""What every source of tables offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..table import Table


@dataclass
class Source(ABC):
    """A place a table is read from. Making one is cheap: it loads nothing and imports no client."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the data: letters, digits, dots and dashes, such as ``openml-1510``."""

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The local files that hold the data, empty where there are none yet.

        Their sizes and times tell whether a hash computed earlier still describes the data, without loading them.
        """

    @abstractmethod
    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: it cannot be had, or cannot be used for classification.
        """


def open_source(source: str, *, id: int | None, name: str | None, openml_cache: str | None) -> Source:
    """The source that a dataset's configuration names.

    Raises:
        UsageError: no such source, or it lacks the option that it needs.
    """
    from ...errors import UsageError
    from .openml import OpenMLSource
    from .wdbc import WdbcSource

    if source == "wdbc":
        return WdbcSource()
    if source == "openml":
        if id is None:
            raise UsageError("dataset=openml needs the dataset's id: add dataset.id=N.")
        return OpenMLSource(id, name, Path(openml_cache).expanduser() if openml_cache else None)
    raise UsageError(f"dataset.source={source} is not a source; the sources are openml, wdbc.")
