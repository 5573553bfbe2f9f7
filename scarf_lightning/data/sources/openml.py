"""Datasets from OpenML, through the genuine client, kept from harming the cache and the process it runs in."""

import configparser
import logging
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlparse
from uuid import uuid4

from ...errors import UsageError
from ..split_columns import SplitBy, split_values
from .base import Source

if TYPE_CHECKING:
    from ..table import Table
    from .openml_client import Downloaded

SERVER = "https://www.openml.org/api/v1/xml"
"""An id names a dataset on this server only, so another one in the client's own settings is not followed."""

logger = logging.getLogger(__name__)


@dataclass
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache where it is there, else downloaded into it.

    The client deletes a dataset's cached files when it cannot complete them, writes downloads in place, where an
    interruption leaves a stump, and adds pickles that a later pandas may not read. Guarding against each would mean
    patching its insides. Instead it works on a copy of the few files that matter, in a scratch folder, and what it has
    downloaded and read without fault is then moved into the cache, one whole file at a time. So a cache may be
    read-only, shared, or incomplete, and is never worse off for having been used.

    Args:
        dataset_id: the number in https://www.openml.org/d/N.
        dataset_name: shown in tables and charts; None takes OpenML's.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
        split: what a split goes by, which is no feature.
        target: the column that holds the classes; None takes OpenML's default.
    """

    name: ClassVar[str] = "openml"

    dataset_id: int
    dataset_name: str | None = None
    cache: Path | None = None
    split: SplitBy | None = None
    target: str | None = None

    @property
    def key(self) -> str:
        return f"openml-{self.dataset_id}{split_suffix(self.split)}"

    def files(self) -> tuple[Path, ...]:
        description, data = self._cached()
        return (description, data) if description and data else ()

    def load(self) -> "Table":
        """Read the dataset, without any connection where the cache has it.

        Raises:
            UsageError: it is not in the cache and cannot be had from OpenML; or the cached copy is damaged, is not the
                file that its description gives the checksum of, or has another number of rows than its qualities
                say; or it has no default target or cannot be used for classification.
        """
        from ..table import Table

        root, folder = self._locations()
        source = f"openml:{self.dataset_id}"
        cached = {file.name for file in self._cached() if file}
        with tempfile.TemporaryDirectory(prefix="openml-") as scratch:
            copy = Path(scratch, folder.relative_to(root))
            copy.mkdir(parents=True)
            for name in cached:
                shutil.copyfile(folder / name, copy / name)
            read = self._read(Path(scratch))
            downloaded = {"description.xml", "dataset.arff", f"dataset_{self.dataset_id}.pq"} - cached
            keep(copy, folder, downloaded, f"dataset {self.dataset_id}")

        if self.target is not None:
            read = replace(read, target=self.target)
        if read.target not in read.frame.columns:  # ignored columns are gone from it
            default = "default " if self.target is None else ""
            problem = f"target {read.target!r} among the columns that count" if read.target else "target"
            raise UsageError(f"OpenML dataset {self.dataset_id} has no {default}{problem}, so it cannot be classified.")
        is_feature = (read.frame.columns != read.target) & (read.frame.columns != self._split_column(read))
        return Table.from_frame(
            read.frame.loc[:, is_feature],
            read.frame[read.target],
            categorical=[known for known, is_kept in zip(read.categorical, is_feature, strict=True) if is_kept],
            name=self.dataset_name or read.name,
            source=source,
            dataset_id=self.dataset_id,
            split_by=split_values(self.split, read.frame[self.split.column], source) if self.split else None,
        )

    def _split_column(self, read: "Downloaded") -> str | None:
        if self.split is None:
            return None
        features = [str(name) for name in read.frame.columns if name != read.target]
        if self.split.column not in features:
            raise UsageError(
                f"split.column names {self.split.column!r}, which is no feature of OpenML dataset {self.dataset_id}; "
                f"they are: {', '.join(features)}."
            )
        return self.split.column

    def _read(self, scratch: Path) -> "Downloaded":
        from .openml_client import UnreachableError, read_dataset
        from .openml_integrity import DamagedError, check_files, published_rows

        root, folder = self._locations()
        environment = environment_of(self.cache, scratch)
        copied = scratch / folder.relative_to(root)
        if any(copied.glob("dataset*")):  # read what there is: the client would ask the server for parquet before ARFF
            environment["OPENML_SKIP_PARQUET"] = str((copied / "dataset.arff").exists()).lower()
        try:
            check_files(copied)
            read = read_dataset(self.dataset_id, server=SERVER, cache=scratch, environment=environment)
            published = published_rows(folder / "qualities.xml")
            if published not in (None, len(read.frame)):
                raise DamagedError(f"they have {len(read.frame)} rows, and {published} by qualities.xml")
            return read
        except UnreachableError as error:
            state = f"incomplete or damaged in {folder}" if folder.exists() else f"not in the cache {root}"
            raise UsageError(
                f"OpenML dataset {self.dataset_id} is {state}, and {urlparse(SERVER).netloc} {error}; connect to the "
                "network, or set paths.openml to a cache that has it."
            ) from error
        except DamagedError as error:
            raise UsageError(
                f"the data of OpenML dataset {self.dataset_id} cannot be read ({error}); delete {folder} to download "
                "them again."
            ) from error

    def _locations(self) -> tuple[Path, Path]:
        """The cache, and the dataset's folder in it as the client lays it out: ``org/openml/www/datasets/N``."""
        return locations(self.cache, "datasets", self.dataset_id)

    def _cached(self) -> tuple[Path | None, Path | None]:
        """The cached description and data, each None where it is missing or a stump."""
        _, folder = self._locations()
        data = [folder / f"dataset_{self.dataset_id}.pq", folder / "dataset.arff"]
        if os.environ.get("OPENML_SKIP_PARQUET", "false").casefold() == "true":  # the client's own switch
            data.reverse()
        description = folder / "description.xml"
        return description if _is_whole(description) else None, next(filter(_is_whole, data), None)


def split_suffix(split: SplitBy | None) -> str:
    """What a key says of a split."""
    return "" if split is None else re.sub(r"[^A-Za-z0-9.-]+", "-", f"-{split.kind}-{split.column}")


def locations(cache: Path | None, kind: str, number: int) -> tuple[Path, Path]:
    """The cache, and the folder in it of a dataset or a task, as the client lays it out: ``org/openml/www/tasks/N``."""
    root = cache or _default_cache()
    return root, root.joinpath(*reversed(urlparse(SERVER).netloc.split(".")), kind, str(number))


def environment_of(cache: Path | None, scratch: Path) -> dict[str, str]:
    """Variables without which importing the client makes its two folders in the home directory."""
    environment = {}
    if cache and cache.is_dir():
        environment["OPENML_CACHE_DIR"] = str(cache)
    if not _client_settings().exists():
        environment["XDG_CONFIG_HOME"] = str(scratch)
    return environment


def keep(copy: Path, folder: Path, names: Iterable[str], subject: str) -> None:
    """Put downloaded files into a folder of the cache, each whole or not at all."""
    for name in names:
        if not (copy / name).exists():
            continue
        partial = folder / f".{name}.{uuid4().hex}"  # process ids meet across nodes and containers
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(copy / name, partial)
                partial.replace(folder / name)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("OpenML %s is not kept for the next time: %s", subject, error)
            return


def _is_whole(file: Path) -> bool:
    """Whether a cached file can be read and ends as its format does."""
    end = {".pq": b"PAR1", ".xml": b"</oml:data_set_description>", ".arff": b""}[file.suffix]
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(-min(size, 64), os.SEEK_END)
            return size > 0 and opened.read().rstrip().endswith(end)
    except OSError:
        return False


def _client_settings() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME", "~/.config") + "/openml" if platform.system() == "Linux" else "~/.openml"
    return Path(home, "config").expanduser()


def _default_cache() -> Path:
    """Where the client keeps its cache, found without the 1.6 s that importing it takes."""
    named = os.environ.get("OPENML_CACHE_DIR")
    if not named and _client_settings().exists():
        settings = configparser.RawConfigParser()
        settings.read_string("[client]\n" + _client_settings().read_text(encoding="utf-8"))
        named = settings.get("client", "cachedir", fallback=None)
    if not named and platform.system() == "Linux":
        named = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return Path(named or "~/.openml").expanduser()
