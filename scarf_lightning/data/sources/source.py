"""What every source of tables offers, and the bundled one."""

import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..table import Table


@dataclass(frozen=True)
class SplitBy:
    """What a source must know of a split: its name, and the column or the files that it goes by."""

    kind: str
    column: str | None = None
    validation: Path | None = None
    test: Path | None = None


@dataclass
class Source(ABC):
    """A place that a table is read from. Making a source is cheap: it loads nothing and imports no client.

    ``is_found_out`` says whether loading finds out what the columns hold, so that a user wants to see the result.
    """

    name: ClassVar[str]
    is_found_out: ClassVar[bool] = False

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the data: letters, digits, dots and dashes, such as ``openml-1510``."""

    @property
    def label(self) -> str:
        """What to call data that have no other name."""
        return self.key

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The local files that hold the data; none if they are not there yet.

        Their sizes and times tell whether a hash that was computed earlier still describes the data.
        """

    def check(self) -> None:  # noqa: B027 - most sources can check nothing without loading
        """Find what is wrong as far as possible without loading the data, before anything trains.

        Raises:
            UsageError: `load` would raise it.
        """

    @abstractmethod
    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: the table is not available, or cannot be used for classification.
        """


@dataclass
class WdbcSource(Source):
    """Breast cancer Wisconsin (diagnostic) as scikit-learn ships it: 569 rows, 30 numeric columns, two classes.

    It needs no network and is the default. Column names ``V1`` to ``V30`` and classes ``1`` (benign) and ``2``
    (malignant) are those of https://www.openml.org/d/1510. Copies of that dataset may round values differently; for the
    store they are other data.
    """

    name: ClassVar[str] = "wdbc"
    dataset_id: ClassVar[int] = 1510

    dataset_name: str = "wdbc"

    @property
    def key(self) -> str:
        return "wdbc"

    def files(self) -> tuple[Path, ...]:
        found = importlib.util.find_spec("sklearn")
        if found is None or found.origin is None:
            return ()
        path = Path(found.origin).parent / "datasets" / "data" / "breast_cancer.csv"
        return (path,) if path.exists() else ()

    def load(self) -> "Table":
        from sklearn.datasets import load_breast_cancer

        from ..table import Table

        bundle = load_breast_cancer(as_frame=True)
        features = bundle.data.set_axis([f"V{i + 1}" for i in range(bundle.data.shape[1])], axis=1)
        malignant = bundle.target == list(bundle.target_names).index("malignant")
        return Table.from_frame(
            features,
            malignant.map({False: "1", True: "2"}).rename("Class"),
            categorical=[False] * features.shape[1],
            name=self.dataset_name,
            source="scikit-learn:breast_cancer",
            dataset_id=self.dataset_id,
        )


class LastTable:
    """Keeps the table that was loaded last: the cells of a dataset follow one another.

    Attributes:
        source: the source of that table; None before the first one.
    """

    def __init__(self) -> None:
        self.source: Source | None = None

    def load(self, source: Source) -> "Table":
        """The table of a source.

        Raises:
            UsageError: see `Source.load`.
        """
        if source != self.source:
            self._table = source.load()
            self.source = source
        return self._table
