"""The interface of all sources of tables, and the bundled sources.

A stamp of a file is taken before a table is read and again afterwards. Only if both are equal, the table is known to be
the content of files with these stamps, and a note may say so for ever. Everything that keeps the hash of a table keeps
it with the stamps of `ReadTable`, never with stamps that are taken later.
"""

import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...errors import UsageError

if TYPE_CHECKING:
    from ..table import Table


@dataclass(frozen=True)
class Stamp:
    """A file's record in the file system. Numbers of 64 bits are texts, which JSON keeps exactly.

    A program may set the time of the last modification, but none can set the time at which the record itself last
    changed. The inode is another one where a file of the same size and times was moved over this one.

    Attributes:
        name: of the file.
        size: in bytes.
        modified_ns: time of the last modification, in nanoseconds.
        changed_ns: time of the last change of the file's record, in nanoseconds.
        inode: number of the file in its file system.
    """

    name: str
    size: int
    modified_ns: str
    changed_ns: str
    inode: str

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        status = path.stat()
        return cls(path.name, status.st_size, str(status.st_mtime_ns), str(status.st_ctime_ns), str(status.st_ino))


Stamps = tuple[Stamp, ...]
"""Of all files that hold a table, in their order; none if the files are not there."""


@dataclass(frozen=True)
class ReadTable:
    """A table, and the stamps that its files had while it was read; none if it came from no local file."""

    table: "Table"
    stamps: Stamps


_last: "dict[Source, ReadTable]" = {}
"""The source that was read last, if it has files, and its table."""


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """A place that a table is read from. Making a source is cheap: it loads nothing and imports no client.

    Class variables:

    - ``is_found_out``: whether loading finds out what the columns hold, so that a user wants to see the result;
    - ``known_size``: the numbers of rows and of columns, if they are known without loading.

    Args:
        dataset_name: shown in tables and charts; None takes the source's own name of the data.
        target_kind: of the target, see `read_target`; None finds it.
    """

    name: ClassVar[str]
    is_found_out: ClassVar[bool] = False
    known_size: ClassVar[tuple[int, int] | None] = None

    dataset_name: str | None = None
    target_kind: str | None = None

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the data: letters, digits, dots and dashes, such as ``openml-1510``."""

    @property
    def label(self) -> str:
        """Name of data that have no other one."""
        return self.key

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The local files that hold the data, by whose sizes and times changes are noticed."""

    def check(self) -> None:  # noqa: B027 - most sources can check nothing without loading
        """Raise as many errors of `load` as possible without loading the data, before anything trains."""

    def stamps(self) -> Stamps:
        """The stamps of these files as they are at this moment; none if one of them is not there."""
        try:
            return tuple(map(Stamp.of, self.files()))
        except (OSError, UsageError):
            return ()

    @abstractmethod
    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: the table is not available, or its target cannot be predicted.
        """

    def read(self) -> ReadTable:
        """Read the table with evidence of what was read, see `ReadTable`.

        The table that was read last is kept, for the cells of a dataset follow one another; it is read again if its
        files have changed. A table that was downloaded is read again: its stamps are those of the copy in the cache.

        Raises:
            UsageError: as by `load`; or the files changed meanwhile.
        """
        before = self.stamps()
        kept = _last.get(self)
        if kept and kept.stamps == before:
            return kept
        read = ReadTable(self.load(), before)
        after = self.stamps()
        if after and not before:
            return self.read()
        if after != before:
            raise UsageError(f"{self.label} changed while it was read; wait until it is written, or name a copy.")
        _last.clear()
        if before:
            _last[self] = read
        return read


@dataclass(frozen=True)
class BundledSource(Source):
    """A table that scikit-learn ships, in its files ``bundled``."""

    bundled: ClassVar[tuple[str, ...]]

    @property
    def key(self) -> str:
        return self.name

    def files(self) -> tuple[Path, ...]:
        # It is found without being imported, which takes over a second.
        spec = importlib.util.find_spec("sklearn")
        folder = Path(str(spec and spec.origin)).parent / "datasets" / "data"
        return tuple(folder / name for name in self.bundled)


@dataclass(frozen=True)
class WdbcSource(BundledSource):
    """Breast cancer Wisconsin (diagnostic) as scikit-learn ships it: 569 rows, 30 numeric columns, two classes.

    It needs no network and is the default. Column names ``V1`` to ``V30`` and classes ``1`` (benign) and ``2``
    (malignant) are those of https://www.openml.org/d/1510. Copies of that dataset may round values differently; for the
    store they are other data.
    """

    name: ClassVar[str] = "wdbc"
    dataset_id: ClassVar[int] = 1510
    bundled: ClassVar[tuple[str, ...]] = ("breast_cancer.csv",)
    known_size: ClassVar[tuple[int, int] | None] = (569, 30)

    target_kind: str | None = "classes"

    def load(self) -> "Table":
        from sklearn.datasets import load_breast_cancer

        from ..table import Table

        bundle = load_breast_cancer(as_frame=True)
        names = [f"V{i}" for i in range(1, 31)]
        # scikit-learn's class 0 is malignant.
        return Table.from_frame(
            bundle.data.set_axis(names, axis=1),
            bundle.target.map({0: "2", 1: "1"}).rename("Class"),
            categorical=[False] * len(names),
            name=self.dataset_name or self.name,
            source="scikit-learn:breast_cancer",
            dataset_id=self.dataset_id,
        )


@dataclass(frozen=True)
class DiabetesSource(BundledSource):
    """Progression of diabetes after a year as scikit-learn ships it: 442 patients, ten columns, a number to predict.

    Source: Efron, Hastie, Johnstone and Tibshirani, 2004, DOI 10.1214/009053604000000067.
    """

    name: ClassVar[str] = "diabetes"
    bundled: ClassVar[tuple[str, ...]] = ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz")
    known_size: ClassVar[tuple[int, int] | None] = (442, 10)

    target_kind: str | None = "number"

    def load(self) -> "Table":
        from sklearn.datasets import load_diabetes

        from ..table import Table
        from ..targets import read_target

        bundle = load_diabetes(as_frame=True, scaled=False)
        source = "scikit-learn:diabetes"
        return Table.from_frame(
            bundle.data,
            read_target(bundle.target.rename("progression"), source, self.target_kind),
            categorical=[name == "sex" for name in bundle.data],
            name=self.dataset_name or self.name,
            source=source,
        )
