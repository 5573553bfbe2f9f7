"""Where tables come from: files of a user's own, OpenML, and scikit-learn's bundled tables. Opening a source imports no
client and loads nothing.

A stamp of a file is taken before a table is read and again afterwards. Only if both are equal, the table is known to be
the content of files with these stamps, and a note may say so for ever. Everything that keeps the hash of a table keeps
it with the stamps of `ReadTable`, never with stamps that are taken later.
"""

import hashlib
import importlib.util
import json
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import UsageError, require, unknown_name
from ..options.settings import expanded

if TYPE_CHECKING:
    import pandas as pd

    from .table import Table

ENDING = re.compile(
    r"\.((csv|tsv|tab|txt|dat|data|json|jsonl|ndjson)(\.(gz|bz2|xz|zip))?|parquet|pq|feather|xlsx)$", re.IGNORECASE
)
READING = 9
"""Raised by a change that reads a file differently: notes of its data from before are then ignored."""

NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
"""The name that pandas gives a column without one, such as the index of a frame, and keeps when it writes it again."""
KINDS = ("categorical", "numeric", "text")
LISTS_OF_COLUMNS = (*KINDS, "drop")
BY_NOTHING = ("random", "stratified")
"""Splits that need no column."""

SERVER, CACHED = "https://www.openml.org/api/v1/xml", "org/openml/www/datasets"
"""An id names a dataset on this server only, so that another server in the client's own settings is not used; and the
folder of its datasets in a cache."""


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
    def is_here(self) -> bool:
        """Tell whether the data are a user's file, or come with a package, so that reading them needs no network."""
        return self.is_found_out or self.known_size is not None

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

        The table that was read last is kept, because the cells of a dataset follow one another. It is read again if its
        files have changed. A table that was downloaded is read again: its stamps are those of the copy in the cache.

        Raises:
            UsageError: as by `load`; or the files changed meanwhile.
        """
        before = self.stamps()
        last = _last.get(self)
        if last and last.stamps == before:
            return last
        table = ReadTable(self.load(), before)
        after = self.stamps()
        if after and not before:
            return self.read()
        if after != before:
            raise UsageError(f"{self.label} changed while it was read; wait until it is written, or name a copy.")
        _last.clear()
        if before:
            _last[self] = table
        return table


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

        from .table import Table

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

        from .reading.roles import read_target
        from .table import Table

        bundle = load_diabetes(as_frame=True, scaled=False)
        source = "scikit-learn:diabetes"
        return Table.from_frame(
            bundle.data,
            read_target(bundle.target.rename("progression"), source, self.target_kind),
            categorical=[name == "sex" for name in bundle.data],
            name=self.dataset_name or self.name,
            source=source,
        )


@dataclass(frozen=True)
class FileSource(Source):
    """Files with a header and one row for each example: CSV and other separated text, JSON, Parquet, Feather or Excel.

    **Kinds.** What a column holds is found out: numbers, also as text with thousands, a decimal comma, a percent sign
    or a currency; dates, which become numbers and categories; Booleans; categories; texts, and strings with many
    distinct values, which become hashes. Ids, constants, empty columns and those without a name are left out.
    ``Table.reading`` says how each column was read, and ``Table.notes`` what a user should know of it.

    **Labels.** Rows without a label are kept, for pre-training and semi-supervised methods.

    **Missing values.** What pandas takes for missing: empty fields, NA, N/A, NaN, nan, None, null and the like. A class
    or category of that name needs another one. In Parquet, only nulls and NaN.

    Args:
        path: the file, or a pattern of files with the same columns, such as ``parts/*.parquet``.
        target: the column to predict.
        categorical, numeric, text: columns to read as categories, as numbers, or as text, whatever they hold.
        drop: columns to leave out, which may hold anything.
        separator, decimal, encoding: of a text file; None takes what the file shows.
        weight: the column that says how much each row counts in supervised training, see `read_weights`; it is no
            feature.
        split: the name of a split, and the column that decides it, which is not a feature.
    """

    name: ClassVar[str] = "csv"
    is_found_out: ClassVar[bool] = True

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    weight: str | None = None
    split: tuple[str, str] | None = None

    @property
    def key(self) -> str:
        # The dataset's own name does not change how the file is read.
        options = asdict(replace(self, dataset_name=None))
        identity = json.dumps([READING, options], default=lambda path: str(path.resolve()))
        return f"{self.name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        """All files.

        Raises:
            UsageError: there is none.
        """
        path = self.path
        matches = [path] if path.exists() else sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        # A pipe would wait for somebody who writes into it.
        files = [match for match in matches if match.is_file()]
        if not files:
            fault = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
            raise UsageError(
                f"{fault}; set dataset.path to a file of a table, or to a pattern such as 'parts/*.csv', relative to "
                "the folder that the command runs in."
            )
        return tuple(files)

    def check(self) -> None:
        self.files()

    def load(self) -> "Table":
        from .reading.roles import read_target, read_weights
        from .table import Table

        path, frame = str(self.path), self._rows()
        target_column = read_target(frame.pop(self.target), path, self.target_kind, decimal=self.decimal, is_raw=True)
        weights = None
        if self.weight:
            is_labelled = target_column.target.is_labelled(target_column.labels)
            weights = read_weights(frame.pop(self.weight), is_labelled, path, self.decimal)
        kinds = {column: kind for kind in KINDS for column in getattr(self, kind)}
        name = self.dataset_name or self.label
        table = Table.read(frame, target_column, kinds, self.decimal, self.split, name=name, source=path)
        return table.weighted(weights)

    def _rows(self) -> "pd.DataFrame":
        """The rows of all files.

        Raises:
            UsageError: a file cannot be read, or lacks a column.
        """
        import pandas as pd

        from .reading.frames import read_file

        frames: list[pd.DataFrame] = []
        for file in self.files():
            frame = read_file(file, self.separator, self.decimal, self.encoding)
            frames.append(frame)
            if missing := {*frames[0]}.difference(frame, self.drop):
                raise UsageError(
                    f"{file} has no column {min(missing)!r}, which {self.path} has; both need the same columns."
                )
        names = frames[0].columns.tolist()
        split_column = self.split and self.split[1]
        column_options = [
            ("dataset.target", self.target),
            ("dataset.weight", self.weight),
            ("split.column", split_column),
        ]
        column_options += [
            (f"dataset.{option}", column) for option in LISTS_OF_COLUMNS for column in getattr(self, option)
        ]
        for option, column in column_options:
            if column is not None and column not in names:
                fault = f"{option}={column} names no column of {self.path}"
                raise UsageError(unknown_name(fault, column, names, "its columns", write=repr))
        named_columns = {column for option, column in column_options if option != "dataset.drop"}
        columns = [
            name for name in names if name in named_columns or not (name in self.drop or NAMELESS.fullmatch(name))
        ]
        # Spreadsheets write lines of separators below a table.
        return pd.concat(frames, ignore_index=True)[columns].dropna(how="all").reset_index(drop=True)


@dataclass(frozen=True)
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache, or else downloaded into it.

    The client writes into its cache: downloads, and pickles of the data that are never read here.

    Args:
        dataset_id: the number in https://www.openml.org/d/N.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
    """

    name: ClassVar[str] = "openml"

    dataset_id: int
    cache: Path | None = None

    @property
    def key(self) -> str:
        return "-".join(filter(None, ["openml", str(self.dataset_id), self.target_kind]))

    @property
    def in_words(self) -> str:
        return f"OpenML dataset {self.dataset_id}"

    def check(self) -> None:
        require("openml", self.in_words)

    def files(self) -> tuple[Path, ...]:
        folder = root_of(self.cache) / CACHED / str(self.dataset_id)
        # The client takes Parquet where it is there.
        parquet = folder / f"dataset_{self.dataset_id}.pq"
        return folder / "description.xml", parquet if parquet.is_file() else folder / "dataset.arff"

    def load(self) -> "Table":
        """Read the dataset, without any connection if the cache has it.

        Raises:
            UsageError: the client cannot read or download it; or it has no target, or one that cannot be predicted.
        """
        from .reading.roles import read_target
        from .table import Table

        dataset, frame, is_categorical = self._read()
        source, target = f"openml:{self.dataset_id}", str(dataset.default_target_attribute or "")
        # The frame lacks ignored columns.
        if target not in frame:
            raise UsageError(f"{self.in_words} has no target {target!r} among its columns; choose another one.")
        target_column = read_target(frame.pop(target), source, self.target_kind)
        return Table.from_frame(
            frame,
            target_column,
            categorical=[is_categorical[column] for column in frame],
            name=self.dataset_name or dataset.name,
            source=source,
            dataset_id=self.dataset_id,
        )

    def _read(self) -> tuple[Any, Any, dict[Any, bool]]:
        """The client's dataset, the frame of its columns but ignored ones, and whether each is categorical.

        Raises:
            UsageError: the client's error in a sentence.
        """
        require("openml", self.in_words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openml

            # By default a command without a network tries for a minute.
            settings = {"server": SERVER, "retry_policy": "human", "connection_n_retries": 1}
            # The client restores its settings only if no error leaves the context.
            with openml.config.overwrite_config_context(settings):
                openml.config.set_root_cache_directory(root_of(self.cache))
                try:
                    return self._from_client()
                except Exception as error:
                    failure = error
        if isinstance(failure, UsageError):
            raise failure
        reason = (str(failure).splitlines() or [type(failure).__name__])[0].rstrip(".!")
        raise UsageError(
            f"{self.in_words} cannot be read ({reason}); make sure that it exists, that www.openml.org can be "
            f"reached and that you may write into {root_of(self.cache)}, delete a damaged copy there, or set "
            "paths.openml to a cache that has it."
        ) from failure

    def _from_client(self) -> tuple[Any, Any, dict[Any, bool]]:
        import openml

        _, file = self.files()
        is_cached = file.is_file()
        dataset = openml.datasets.get_dataset(
            self.dataset_id,
            download_data=not is_cached,
            download_qualities=False,
            # The data say the same, and a cache may lack it.
            download_features_meta_data=False,
        )
        # The client would ask the server for Parquet before it takes ARFF from the cache.
        if is_cached:
            setattr(dataset, "parquet_file" if file.suffix == ".pq" else "data_file", str(file))
        if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
            raise UsageError(f"{self.in_words} comes as sparse ARFF alone, whose classes the client cannot read.")
        # A pickle of another version of pandas, or of other data, would go before the file.
        dataset.data_pickle_file = None
        frame: Any
        frame, _, categorical, _ = dataset.get_data()
        return dataset, frame, dict(zip(frame.columns, categorical, strict=True))


def root_of(cache: Path | None) -> Path:
    """A cache, or the client's own, found without importing the client, which takes over a second."""
    default = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return cache or expanded(os.environ.get("OPENML_CACHE_DIR") or default)


BUNDLED: dict[str, type[BundledSource]] = {source.name: source for source in (WdbcSource, DiabetesSource)}
"""What needs neither a file nor a network."""
OPTIONS = {
    FileSource.name: tuple(field.name for field in fields(FileSource) if field.name not in ("dataset_name", "split")),
    OpenMLSource.name: ("id", "target_kind"),
    WdbcSource.name: ("id",),
    DiabetesSource.name: (),
}
"""The options of each source, besides the name of its data."""


def open_source(
    source: str,
    *,
    name: str | None,
    openml_cache: str | None,
    split: Mapping[str, Any] | None = None,
    size: Sequence[int] | None = None,
    **settings: Any,
) -> Source:
    """The source that the options of a dataset name. Options that are not set are None; so is the paper's split.

    Raises:
        UsageError: an option that it needs is missing, or it does not know an option.
    """
    options = {option: value for option, value in settings.items() if value is not None}
    for option in options:
        if option not in OPTIONS[source]:
            fault = f"dataset.{option} is not an option of dataset.source={source}"
            raise UsageError(unknown_name(fault, option, ("name", *OPTIONS[source]), "its options"))
    split_by = _split_by(split or {}, source)
    # A bundled table is one table, so nothing of it can be chosen but its name.
    if source in BUNDLED:
        if options.get("id", WdbcSource.dataset_id) != WdbcSource.dataset_id:
            raise UsageError(f"dataset=wdbc is OpenML dataset {WdbcSource.dataset_id}; for others use dataset=openml.")
        return BUNDLED[source](dataset_name=name)
    common_arguments: dict[str, Any] = {"dataset_name": name, "target_kind": options.pop("target_kind", None)}
    if source == OpenMLSource.name:
        if "id" not in options:
            raise UsageError("dataset=openml needs the id of a dataset: set dataset.id=N.")
        return OpenMLSource(options["id"], expanded(openml_cache) if openml_cache else None, **common_arguments)
    if not options.get("path"):
        raise UsageError("dataset=csv needs a file and its column to predict: set dataset.path=F and dataset.target=C.")
    lists = {option: tuple(options.get(option, ())) for option in LISTS_OF_COLUMNS}
    # A file that is there says which columns it has.
    options["path"] = expanded(options["path"])
    return FileSource(**{"target": "", "split": split_by} | options | common_arguments | lists)


def _split_by(split: Mapping[str, Any], source: str) -> tuple[str, str] | None:
    """The name of a split and the column that decides it; None if it needs nothing but the labels."""
    kind = split.get("name", "random")
    if kind in BY_NOTHING:
        return None
    if source != FileSource.name:
        raise UsageError(f"split={kind} does not go with dataset.source={source}; use it with dataset=csv.")
    if not split.get("column"):
        raise UsageError(f"split={kind} needs split.column; set it.")
    return kind, split["column"]
