"""Datasets from OpenML, through the genuine client, kept from harming the cache and the process it runs in."""

import configparser
import logging
import os
import platform
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlparse
from uuid import uuid4

import pandas as pd

from ...errors import UsageError
from ..table import Table
from .base import Source

SERVER = "https://www.openml.org/api/v1/xml"
"""An id names a dataset on this server only, so another one in the client's own settings is not followed."""

TIMEOUT = 30.0
"""Seconds that a server may stay silent. The client itself waits for ever."""

ATTEMPTS = 2
"""How often a refused connection is tried, a second apart."""

UNKNOWN_DATASET = 111
"""The code with which OpenML answers for an id that it does not have."""

logger = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()  # the client's settings are global to the process


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
    """

    name: ClassVar[str] = "openml"

    dataset_id: int
    dataset_name: str | None = None
    cache: Path | None = None

    @property
    def key(self) -> str:
        return f"openml-{self.dataset_id}"

    def files(self) -> tuple[Path, ...]:
        description, data = self._cached()
        return (description, data) if description and data else ()

    def load(self) -> Table:
        """Read the dataset, without any connection where the cache has it.

        Raises:
            UsageError: it is not in the cache and cannot be had from OpenML, or the cached copy is damaged, or it has
                no default target or cannot be used for classification.
        """
        root, folder = self._locations()
        cached = {file.name for file in self._cached() if file}
        with tempfile.TemporaryDirectory(prefix="openml-") as scratch:
            copy = Path(scratch, folder.relative_to(root))
            copy.mkdir(parents=True)
            for name in cached:
                shutil.copyfile(folder / name, copy / name)
            dataset, frame, categorical = self._read(Path(scratch), copy)
            self._keep(copy, {"description.xml", "dataset.arff", f"dataset_{self.dataset_id}.pq"} - cached)

        target = dataset.default_target_attribute
        if target not in frame.columns:  # ignored columns are gone from it
            problem = f"default target {target!r} among the columns that count" if target else "default target"
            raise UsageError(f"OpenML dataset {self.dataset_id} has no {problem}, so it cannot be classified.")
        is_target = frame.columns == target
        return Table.from_frame(
            frame.loc[:, ~is_target],
            frame[target],
            categorical=[known for known, drop in zip(categorical, is_target, strict=True) if not drop],
            name=self.dataset_name or dataset.name,
            source=f"openml:{self.dataset_id}",
            dataset_id=self.dataset_id,
        )

    def _locations(self) -> tuple[Path, Path]:
        """The cache, and the dataset's folder in it as the client lays it out: ``org/openml/www/datasets/N``."""
        root = self.cache or _default_cache()
        host = urlparse(SERVER).netloc.split(".")
        return root, root.joinpath(*reversed(host), "datasets", str(self.dataset_id))

    def _cached(self) -> tuple[Path | None, Path | None]:
        """The cached description and data, each None where it is missing or a stump."""
        _, folder = self._locations()
        data = [folder / f"dataset_{self.dataset_id}.pq", folder / "dataset.arff"]
        if os.environ.get("OPENML_SKIP_PARQUET", "false").casefold() == "true":  # the client's own switch
            data.reverse()
        description = folder / "description.xml"
        return description if _is_whole(description) else None, next(filter(_is_whole, data), None)

    def _read(self, scratch: Path, copy: Path) -> tuple[Any, pd.DataFrame, list[bool]]:
        """The client's dataset, its columns without the ignored ones, and which of these are categorical."""
        environment = {}
        if any(copy.glob("dataset*")):  # read what there is: the client would ask the server for parquet before ARFF
            environment["OPENML_SKIP_PARQUET"] = str((copy / "dataset.arff").exists()).lower()
        # Importing the client makes its two folders in the home directory, unless it finds these.
        if self.cache and self.cache.is_dir():
            environment["OPENML_CACHE_DIR"] = str(self.cache)
        if not _client_settings().exists():
            environment["XDG_CONFIG_HOME"] = str(scratch)

        with _contained_client(scratch, environment):
            import arff  # type: ignore[import-untyped]
            import minio.error
            import openml
            import requests
            import urllib3

            network_errors = (requests.RequestException, urllib3.exceptions.HTTPError, minio.error.MinioException)
            subject = f"OpenML dataset {self.dataset_id}"
            try:
                dataset = openml.datasets.get_dataset(
                    self.dataset_id,
                    download_data=True,
                    download_qualities=False,
                    download_features_meta_data=False,  # the data say the same, and a cache may lack it
                )
            except network_errors as error:
                raise self._unreachable(timed_out=isinstance(error, requests.Timeout)) from error
            except openml.exceptions.PyOpenMLError as error:
                if getattr(error, "code", None) == UNKNOWN_DATASET:
                    raise UsageError(f"{subject} does not exist; look its id up at https://www.openml.org.") from error
                answer = error.message.partition("\n")[0].rstrip(".!")
                raise UsageError(f"{subject} cannot be had: {answer}.") from error
            except KeyError as error:  # a well-formed page that is not OpenML's
                raise UsageError(
                    f"the description of {subject} has no entry {error}; a proxy or log-in page may have answered in "
                    "the server's place."
                ) from error

            if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
                raise UsageError(f"{subject} comes as sparse ARFF alone, whose classes the openml client cannot read.")
            _, folder = self._locations()
            damaged = UsageError(f"the data of {subject} cannot be read; delete {folder} to download them again.")
            try:
                frame, _, categorical, _ = dataset.get_data()
            except (arff.ArffException, UnicodeDecodeError) as error:
                raise damaged from error
            except Exception as error:
                # What the parquet reader raises, the client wraps in a bare Exception; nothing else is caught.
                if type(error) is Exception and isinstance(error.__cause__, (ValueError, OSError)):
                    raise damaged from error
                raise
            assert isinstance(frame, pd.DataFrame)  # the format that get_data returns by default
            return dataset, frame, categorical

    def _keep(self, copy: Path, names: set[str]) -> None:
        """Put downloaded files into the cache, each whole or not at all."""
        _, folder = self._locations()
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
                logger.warning("OpenML dataset %d is not kept for the next time: %s", self.dataset_id, error)
                return

    def _unreachable(self, *, timed_out: bool) -> UsageError:
        root, folder = self._locations()
        state = f"incomplete or damaged in {folder}" if folder.exists() else f"not in the cache {root}"
        problem = f"did not answer within {TIMEOUT:g} s" if timed_out else "cannot be reached"
        return UsageError(
            f"OpenML dataset {self.dataset_id} is {state}, and {urlparse(SERVER).netloc} {problem}; connect to the "
            "network, or set paths.openml to a cache that has it."
        )


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


@contextmanager
def _contained_client(root: Path, environment: dict[str, str]) -> Iterator[None]:
    """The client silent, impatient and on a cache of our choice; everything global is put back afterwards.

    The client's own ``overwrite_config_context`` does not restore after an exception, and makes folders.
    """
    with _one_at_a_time, ExitStack() as restore, warnings.catch_warnings():

        def replace(owner: Any, name: str, value: Any) -> None:
            restore.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

        warnings.simplefilter("ignore")
        # The client logs to the root logger too, which gives that a handler if it has none.
        replace(logging.root, "handlers", [logging.NullHandler()])
        for variable, text in environment.items():
            if variable in os.environ:
                restore.callback(os.environ.__setitem__, variable, os.environ[variable])
            else:
                restore.callback(os.environ.pop, variable, None)
            os.environ[variable] = text

        import openml
        import requests
        import urllib3

        replace(openml.config, "server", SERVER)
        replace(openml.config, "_root_cache_directory", root)
        replace(openml.config, "show_progress", False)
        replace(openml.config, "retry_policy", "human")
        replace(openml.config, "connection_n_retries", ATTEMPTS)
        replace(requests.Session, "request", _with_options(requests.Session.request, timeout=TIMEOUT))
        # Parquet files come through minio, which makes urllib3 pools of its own.
        impatient = _with_options(urllib3.PoolManager.urlopen, timeout=TIMEOUT, retries=ATTEMPTS - 1)
        replace(urllib3.PoolManager, "urlopen", impatient)
        yield


def _with_options(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        return function(*args, **{**options, **given})

    return call
