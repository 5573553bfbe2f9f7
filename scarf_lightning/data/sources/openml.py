"""Datasets and tasks of OpenML, through the genuine client, kept from harming the cache and its process."""

import configparser
import hashlib
import logging
import os
import platform
import re
import shutil
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlparse
from uuid import uuid4
from xml.parsers.expat import ExpatError

from ...errors import UsageError
from ...importing import require
from .source import Source, SplitBy

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table

SERVER = "https://www.openml.org/api/v1/xml"
"""An id names a dataset on this server only, so that another server in the client's own settings is not used."""

CONNECT = 5.0
"""Seconds in which a connection must be made. Looking a name up without a network can take half a minute."""

TIMEOUT = 30.0
"""Seconds that a server may stay silent. The client itself waits for ever."""

UNKNOWN = (111, 151)
"""The codes with which OpenML answers if it does not have the id of a dataset, or of a task."""

TASK_FILES = ("task.xml", "datasplits.arff")

logger = logging.getLogger(__name__)
# The client's settings are global to the process.
_one_at_a_time = threading.Lock()


class _UnreachableError(Exception):
    """The server cannot be reached, or does not answer in time; the message says which."""


class _DamagedError(Exception):
    """Cached files cannot be used; the message says why."""


@dataclass(frozen=True)
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache, or else downloaded into it.

    The client deletes a dataset's cached files if it cannot complete them, writes downloads in place, where an
    interruption leaves a stump, and adds pickles that a later pandas may not read. So it works on a copy of the few
    files that matter, in a scratch folder. Files that it has downloaded and read without fault are then moved into the
    cache, one whole file at a time. The cache may be read-only, shared or incomplete, and using it never harms it.

    Args:
        dataset_id: the number in https://www.openml.org/d/N.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
        split: the column that decides the split, which is not a feature.
        target: the column to predict; None takes OpenML's default.
    """

    name: ClassVar[str] = "openml"

    dataset_id: int
    cache: Path | None = None
    split: SplitBy | None = None
    target: str | None = None

    @property
    def key(self) -> str:
        return f"openml-{self.dataset_id}{_suffix(self.split, self.target_kind)}"

    def check(self) -> None:
        require("openml", f"OpenML dataset {self.dataset_id}")

    def files(self) -> tuple[Path, ...]:
        _, folder = _locations(self.cache, "datasets", self.dataset_id)
        data = [folder / f"dataset_{self.dataset_id}.pq", folder / "dataset.arff"]
        if os.environ.get("OPENML_SKIP_PARQUET", "false").casefold() == "true":
            # The client's own switch.
            data.reverse()
        description, whole = (folder / "description.xml", next(filter(_is_whole, data), None))
        return (description, whole) if whole and _is_whole(description) else ()

    def load(self) -> "Table":
        """Read the dataset, without any connection if the cache has it.

        Raises:
            UsageError: the dataset is not in the cache and OpenML does not give it; the cached copy is damaged; or the
                dataset has no default target, or one that cannot be predicted.
        """
        from ..splits import split_values
        from ..table import Table
        from ..targets import read_target

        name, default, frame, categorical = self._read()
        target = default if self.target is None else self.target
        if target not in frame.columns:
            # Ignored columns are not in it.
            kind = "default " if self.target is None else ""
            problem = f"target {target!r} among the columns that count" if target else "target"
            raise UsageError(
                f"OpenML dataset {self.dataset_id} has no {kind}{problem}, so there is nothing to predict."
            )
        source = f"openml:{self.dataset_id}"
        split_by, left_out = None, {target}
        if self.split is not None:
            features = [str(column) for column in frame.columns if column != target]
            if self.split.column not in features:
                raise UsageError(
                    f"split.column names {self.split.column!r}, which is no feature of OpenML dataset "
                    f"{self.dataset_id}; they are: {', '.join(features)}."
                )
            split_by = split_values(self.split.kind, frame[self.split.column], source)
            left_out.add(self.split.column)
        kept = [position for position, column in enumerate(frame.columns) if column not in left_out]
        return Table.from_frame(
            frame.iloc[:, kept],
            read_target(frame[target], source, self.target_kind),
            categorical=[categorical[position] for position in kept],
            name=self.dataset_name or name,
            source=source,
            dataset_id=self.dataset_id,
            split_by=split_by,
        )

    def _read(self) -> "tuple[str, str | None, pd.DataFrame, list[bool]]":
        """The dataset's name and default target, its columns but ignored ones, and whether each is categorical."""
        files = ("description.xml", f"dataset_{self.dataset_id}.pq", "dataset.arff")
        cached = [file.name for file in self.files()]
        with _client("dataset", self.dataset_id, self.cache, files, cached) as copy:
            import arff  # type: ignore[import-untyped]
            import openml

            if cached:
                # Read the file that is there: the client would ask the server for Parquet before ARFF.
                os.environ["OPENML_SKIP_PARQUET"] = str("dataset.arff" in cached).lower()
                _check_cached(copy)
            with _described(f"OpenML dataset {self.dataset_id}"):
                dataset = openml.datasets.get_dataset(
                    self.dataset_id,
                    download_data=True,
                    download_qualities=False,
                    # The data say the same, and a cache may lack it.
                    download_features_meta_data=False,
                )
            if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
                raise UsageError(
                    f"OpenML dataset {self.dataset_id} comes as sparse ARFF alone, whose classes the openml client "
                    "cannot read."
                )
            try:
                frame, _, categorical, _ = dataset.get_data()
            except (arff.ArffException, UnicodeDecodeError) as error:
                raise _DamagedError("they are no ARFF") from error
            except Exception as error:
                # The client wraps what the Parquet reader raises in a bare Exception; nothing else is caught.
                if type(error) is Exception and isinstance(error.__cause__, (ValueError, OSError)):
                    raise _DamagedError("they are no Parquet") from error
                raise
        return str(dataset.name), dataset.default_target_attribute, frame, categorical  # type: ignore[return-value]


@dataclass(frozen=True)
class OpenMLTaskSource(Source):
    """A task of https://www.openml.org: a dataset, its target, and splits that everyone who works on it shares.

    Args:
        task_id: the number in https://www.openml.org/t/N.
        cache: see `OpenMLSource`.
        split: what another split than the task's goes by.
        is_split: whether rows are split as in the task, see `scarf_lightning.data.splits.Task`.
    """

    name: ClassVar[str] = "openml_task"

    task_id: int
    cache: Path | None = None
    split: SplitBy | None = None
    is_split: bool = True

    @property
    def key(self) -> str:
        whose = "" if self.is_split else "-data"
        return f"openml-task-{self.task_id}{whose}{_suffix(self.split, self.target_kind)}"

    def check(self) -> None:
        require("openml", f"OpenML task {self.task_id}")

    def files(self) -> tuple[Path, ...]:
        own = self._own_files()
        if len(own) < len(TASK_FILES):
            return ()
        # The rows are in the files of a dataset, which the task's own file names.
        named = re.search(r"<oml:data_set_id>\s*(\d+)\s*<", own[0].read_text(encoding="utf-8", errors="replace"))
        of_dataset = OpenMLSource(int(named.group(1)), cache=self.cache).files() if named else ()
        return (*own, *of_dataset) if of_dataset else ()

    def load(self) -> "Table":
        """Read the task, its dataset and its splits, without any connection if the cache has them.

        Raises:
            UsageError: see `OpenMLSource.load`; or the task is neither a classification nor a regression.
        """
        import numpy as np

        from ..parts import TEST, TRAIN

        dataset_id, target, kind, splits = self._read()
        named = {"dataset_name": self.dataset_name, "target_kind": self.target_kind or kind}
        table = OpenMLSource(dataset_id, self.cache, self.split, target, **named).load()
        if not self.is_split:
            return table
        parts = np.full((table.n_rows, len(splits)), np.nan)
        # NaN stays where a repetition leaves a row out.
        for position, (train, test) in enumerate(splits):
            parts[train, position], parts[test, position] = TRAIN, TEST
        return replace(table, source=f"openml-task:{self.task_id}", split_by=parts)

    def _own_files(self) -> tuple[Path, ...]:
        _, folder = _locations(self.cache, "tasks", self.task_id)
        return tuple(file for name in TASK_FILES if (file := folder / name).is_file())

    def _read(self) -> tuple[int, str, str, list[Any]]:
        """The dataset's id, its target, the target's kind, and the rows of each fold of each repetition."""
        cached = [file.name for file in self._own_files()]
        with _client("task", self.task_id, self.cache, TASK_FILES, cached):
            import arff
            from openml.tasks import OpenMLClassificationTask, OpenMLLearningCurveTask, OpenMLRegressionTask

            # The public one wants the dataset too.
            from openml.tasks.functions import _get_task_description

            subject = f"OpenML task {self.task_id}"
            with _described(subject):
                try:
                    task = _get_task_description(self.task_id)
                except NotImplementedError:
                    task = None
                kinds = (OpenMLClassificationTask, OpenMLRegressionTask)
                if not isinstance(task, kinds) or isinstance(task, OpenMLLearningCurveTask):
                    raise UsageError(f"{subject} is no classification or regression; give the id of one that is.")
                try:
                    repetitions = task.download_split().split
                except (arff.ArffException, UnicodeDecodeError, ValueError) as error:
                    raise _DamagedError("its splits are no ARFF") from error
        splits = []
        for folds in repetitions.values():
            for samples in folds.values():
                # Only a learning curve has more samples of a fold than the first, which is the whole fold.
                train, test = samples[0][:2]
                splits.append((train, test))
        kind = "number" if isinstance(task, OpenMLRegressionTask) else "classes"
        return int(task.dataset_id), str(task.target_name), kind, splits


def _suffix(split: SplitBy | None, target_kind: str | None) -> str:
    """The end of a key that names a split and a kind of target."""
    of_split = "" if split is None else re.sub(r"[^A-Za-z0-9.-]+", "-", f"-{split.kind}-{split.column}")
    return of_split + ("" if target_kind is None else f"-{target_kind}")


def _locations(cache: Path | None, kind: str, number: int) -> tuple[Path, Path]:
    """The cache, and the folder of a dataset or a task in it, as the client names it: ``org/openml/www/tasks/N``."""
    root = cache or _default_cache()
    return root, root.joinpath(*reversed(urlparse(SERVER).netloc.split(".")), kind, str(number))


def _settings() -> Path:
    """The file with the client's settings."""
    is_linux = platform.system() == "Linux"
    home = os.environ.get("XDG_CONFIG_HOME", "~/.config") + "/openml" if is_linux else "~/.openml"
    return Path(home, "config").expanduser()


def _default_cache() -> Path:
    """Where the client keeps its cache, without importing it, which takes over a second."""
    named = os.environ.get("OPENML_CACHE_DIR")
    if not named and _settings().exists():
        settings = configparser.RawConfigParser()
        settings.read_string("[client]\n" + _settings().read_text(encoding="utf-8"))
        named = settings.get("client", "cachedir", fallback=None)
    if not named and platform.system() == "Linux":
        named = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return Path(named or "~/.openml").expanduser()


def _is_whole(file: Path) -> bool:
    """True if a cached file can be read and ends as files of its format end."""
    end = {".pq": b"PAR1", ".xml": b"</oml:data_set_description>", ".arff": b""}[file.suffix]
    # The last bytes suffice: a copy that broke off ends in the middle.
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(-min(size, 64), os.SEEK_END)
            return size > 0 and opened.read().rstrip().endswith(end)
    except OSError:
        return False


def _check_cached(folder: Path) -> None:
    """Compare a cached ARFF file with the checksum in its description. The client does so only after a download."""
    import xmltodict

    try:
        content = xmltodict.parse((folder / "description.xml").read_bytes())
        published = content["oml:data_set_description"].get("oml:md5_checksum")
    except (ExpatError, ValueError, AttributeError) as error:
        # ValueError: XML entities of its own.
        raise _DamagedError(f"description.xml is not XML as OpenML writes it, {error}") from error
    if not published or not (folder / "dataset.arff").exists():
        return
    data = (folder / "dataset.arff").read_bytes()
    # The client writes text, so on Windows the line ends differ from those of the published file.
    versions = (data, data.replace(b"\r\n", b"\n"))
    if published not in [hashlib.md5(version, usedforsecurity=False).hexdigest() for version in versions]:
        raise _DamagedError("dataset.arff is not the file whose checksum description.xml gives")


@contextmanager
def _client(kind: str, number: int, cache: Path | None, files: Iterable[str], cached: Iterable[str]) -> Iterator[Path]:
    """Let the client work on a copy of the ``cached`` files, whose folder is yielded, and keep those ``files`` that it
    downloads. Errors of the network and of the files become a `UsageError`."""
    root, folder = _locations(cache, f"{kind}s", number)
    subject = f"OpenML {kind} {number}"
    require("openml", subject)
    with tempfile.TemporaryDirectory(prefix="openml-") as scratch:
        copy = Path(scratch, folder.relative_to(root))
        copy.mkdir(parents=True)
        for name in cached:
            shutil.copyfile(folder / name, copy / name)
        try:
            with _contained(Path(scratch)):
                if not cached:
                    _reach_server()
                yield copy
        except _UnreachableError as error:
            state = f"incomplete or damaged in {folder}" if folder.exists() else f"not in the cache {root}"
            raise UsageError(
                f"{subject} is {state}, and {urlparse(SERVER).netloc} {error}; connect to the network, or set "
                "paths.openml to a cache that has it."
            ) from error
        except _DamagedError as error:
            what, them = (f"the data of {subject}", "them") if kind == "dataset" else (subject, "it")
            raise UsageError(f"{what} cannot be read ({error}); delete {folder} to download {them} again.") from error
        try:
            for name in set(files) - set(cached):
                if (copy / name).exists():
                    _keep(copy / name, folder)
        except OSError:
            logger.warning("%s could not be kept in the cache %s", subject, root)


def _keep(file: Path, folder: Path) -> None:
    """Put a downloaded file into a folder of the cache, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    # Process ids repeat across nodes and containers.
    partial = folder / f".{file.name}.{uuid4().hex}"
    try:
        shutil.copyfile(file, partial)
        partial.replace(folder / file.name)
    finally:
        partial.unlink(missing_ok=True)


def _reach_server() -> None:
    """Find out within seconds whether the server, or the proxy in front of it, can be reached."""
    import requests

    url = urlparse(requests.utils.select_proxy(SERVER, requests.utils.get_environ_proxies(SERVER)) or SERVER)
    address = (url.hostname or "", url.port or (443 if url.scheme == "https" else 80))
    answered = threading.Event()

    def connect() -> None:
        with suppress(OSError):
            socket.create_connection(address, timeout=CONNECT).close()
            answered.set()

    # In a thread, since nothing else bounds the time in which the system looks up a name.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(CONNECT)
    if not answered.is_set():
        raise _UnreachableError("cannot be reached")


@contextmanager
def _described(subject: str) -> Iterator[None]:
    """Turn errors of the client's description or download of something into ones that say what is wrong."""
    import minio.error
    import openml
    import requests
    import urllib3

    network_errors = (requests.RequestException, urllib3.exceptions.HTTPError, minio.error.MinioException)
    try:
        yield
    except (UsageError, _DamagedError):
        raise
    except network_errors as error:
        silent = isinstance(error, requests.Timeout)
        raise _UnreachableError(f"did not answer within {TIMEOUT:g} s" if silent else "cannot be reached") from error
    except openml.exceptions.PyOpenMLError as error:
        if getattr(error, "code", None) in UNKNOWN:
            raise UsageError(f"{subject} does not exist; look its id up at https://www.openml.org.") from error
        answer = error.message.partition("\n")[0].rstrip(".!")
        raise UsageError(f"OpenML does not give {subject.removeprefix('OpenML ')}: {answer}.") from error
    except ValueError as error:
        # Entities in XML, or a name that the client refuses.
        raise UsageError(f"the description of {subject} cannot be used: {str(error).rstrip('.')}.") from error
    except KeyError as error:
        # A well-formed page that is not OpenML's.
        raise UsageError(
            f"the description of {subject} has no entry {error}; a proxy or log-in page may have answered in the "
            "server's place."
        ) from error


@contextmanager
def _contained(root: Path) -> Iterator[None]:
    """Make the client silent, impatient and with its cache in ``root``; everything global is restored afterwards.

    The client's own ``overwrite_config_context`` does not restore after an exception, and makes folders.
    """
    with _one_at_a_time, ExitStack() as restore, warnings.catch_warnings():

        def change(owner: Any, name: str, value: Any) -> None:
            restore.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

        warnings.simplefilter("ignore")
        # The client logs to the root logger too, which makes a handler for it if there is none.
        change(logging.root, "handlers", [logging.NullHandler()])
        before = dict(os.environ)
        restore.callback(os.environ.update, before)
        restore.callback(os.environ.clear)
        # Else importing the client makes folders in the home directory.
        os.environ["OPENML_CACHE_DIR"] = str(root)
        if not _settings().exists():
            os.environ["XDG_CONFIG_HOME"] = str(root)

        import openml
        import requests
        import urllib3

        change(openml.config, "server", SERVER)
        change(openml.config, "_root_cache_directory", root)
        change(openml.config, "show_progress", False)
        change(openml.config, "retry_policy", "human")
        change(openml.config, "connection_n_retries", 1)
        change(requests.Session, "request", partialmethod(requests.Session.request, timeout=TIMEOUT))
        # Parquet files come through minio, which makes urllib3 pools of its own.
        impatient = partialmethod(urllib3.PoolManager.urlopen, timeout=TIMEOUT, retries=0)
        change(urllib3.PoolManager, "urlopen", impatient)
        yield
