"""Datasets and tasks of OpenML, through its own client and the client's cache."""

import os
import platform
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlparse

from ...errors import UsageError, unknown_name
from ...importing import require
from ...options.paths import expanded
from .source import Source, SplitBy

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table

SERVER = "https://www.openml.org/api/v1/xml"
"""An id names a dataset on this server only, so that another server in the client's own settings is not used."""

SKIP_PARQUET = "OPENML_SKIP_PARQUET"
"""The environment variable by which the client takes ARFF where there is Parquet."""

UNKNOWN = (111, 151)
"""The codes with which OpenML answers if it does not have the id of a dataset, or of a task."""

# The client's settings are global to the process.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache, or else downloaded into it.

    The client writes into its cache: downloads, and pickles of the data that are never read here. It deletes the cached
    files of a dataset that it cannot complete.

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
        folder = _folder(self.cache, "datasets", self.dataset_id)
        # The client takes Parquet where it is there.
        parquet, text = folder / f"dataset_{self.dataset_id}.pq", folder / "dataset.arff"
        return _there(folder / "description.xml", parquet if parquet.is_file() else text)

    def load(self) -> "Table":
        """Read the dataset, without any connection if the cache has it.

        Raises:
            UsageError: the dataset is not in the cache and OpenML does not give it; the cached copy is damaged; or the
                dataset has no default target, or one that cannot be predicted.
        """
        from ..reading.roles import split_values
        from ..table import Table
        from ..targets import read_target

        source, subject = f"openml:{self.dataset_id}", f"OpenML dataset {self.dataset_id}"
        name, default, frame, categorical = self._read(subject)
        target = self.target or default
        # Ignored columns are not in it.
        if target is None or target not in frame:
            kind = "" if self.target else "default "
            problem = f"target {target!r} among the columns that count" if target else "target"
            raise UsageError(f"{subject} has no {kind}{problem}, so there is nothing to predict.")
        is_categorical = dict(zip(map(str, frame.columns), categorical, strict=True))
        read = read_target(frame.pop(target), source, self.target_kind)
        split_by, notes = None, list[str]()
        if self.split is not None:
            column = str(self.split.column)
            if column not in frame:
                fault = f"split.column names {column!r}, which is no feature of {subject}"
                raise UsageError(unknown_name(fault, column, map(str, frame.columns), "its features", shown=repr))
            split_by, notes = split_values(self.split.kind, frame.pop(column), source)
        table = Table.from_frame(
            frame,
            read,
            categorical=[is_categorical[str(column)] for column in frame],
            name=self.dataset_name or name,
            source=source,
            dataset_id=self.dataset_id,
            split_by=split_by,
        )
        return replace(table, notes=(*notes, *table.notes))

    def _read(self, subject: str) -> "tuple[str, str | None, pd.DataFrame, list[bool]]":
        """The dataset's name and default target, its columns but ignored ones, and whether each is categorical."""
        cached = self.files()
        # Read the file that is there: the client would ask the server for Parquet before ARFF.
        skips_parquet = cached[1].suffix == ".arff" if cached else None
        with _client(subject, self.cache, _folder(self.cache, "datasets", self.dataset_id), skips_parquet):
            import openml

            dataset = openml.datasets.get_dataset(
                self.dataset_id,
                download_data=True,
                download_qualities=False,
                # The data say the same, and a cache may lack it.
                download_features_meta_data=False,
            )
            if dataset.parquet_file is None and dataset.format.lower() == "sparse_arff":
                raise UsageError(f"{subject} comes as sparse ARFF alone, whose classes the openml client cannot read.")
            # A pickle of another version of pandas, or of other data, would go before the file.
            dataset.data_pickle_file = None
            frame, _, categorical, _ = dataset.get_data()
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
        data_suffix = "" if self.is_split else "-data"
        return f"openml-task-{self.task_id}{data_suffix}{_suffix(self.split, self.target_kind)}"

    def check(self) -> None:
        require("openml", f"OpenML task {self.task_id}")

    def files(self) -> tuple[Path, ...]:
        own = self._own_files()
        # The rows are in the files of a dataset, which the task's own file names.
        text = own[0].read_text(encoding="utf-8", errors="replace") if own else ""
        named = re.search(r"<oml:data_set_id>\s*(\d+)\s*<", text)
        dataset_files = OpenMLSource(int(named[1]), cache=self.cache).files() if named else ()
        return (*own, *dataset_files) if dataset_files else ()

    def load(self) -> "Table":
        """Read the task, its dataset and its splits, without any connection if the cache has them.

        Raises:
            UsageError: see `OpenMLSource.load`; or the task is neither a classification nor a regression.
        """
        import numpy as np

        from ..copies import TEST, TRAIN

        dataset_id, target, kind, rows = self._read(f"OpenML task {self.task_id}")
        named = {"dataset_name": self.dataset_name, "target_kind": self.target_kind or kind}
        table = OpenMLSource(dataset_id, self.cache, self.split, target, **named).load()
        if not self.is_split:
            return table
        folds = rows.groupby(["repeat", "fold"], sort=False)
        # NaN stays where a repetition leaves a row out.
        parts = np.full((table.n_rows, len(folds)), np.nan)
        for place, (_, fold) in enumerate(folds):
            parts[fold["rowid"].astype(int), place] = fold["type"].map({"TRAIN": TRAIN, "TEST": TEST})
        return replace(table, source=f"openml-task:{self.task_id}", split_by=parts)

    def _own_files(self) -> tuple[Path, ...]:
        folder = _folder(self.cache, "tasks", self.task_id)
        return _there(folder / "task.xml", folder / "datasplits.arff")

    def _read(self, subject: str) -> "tuple[int, str, str, pd.DataFrame]":
        """The dataset's id, its target, the target's kind, and a line for each row of each fold of each repetition."""
        import pandas as pd

        folder = _folder(self.cache, "tasks", self.task_id)
        with _client(subject, self.cache, folder):
            import arff
            from openml.tasks import OpenMLClassificationTask, OpenMLLearningCurveTask, OpenMLRegressionTask

            # The public one wants the dataset too.
            from openml.tasks.functions import _get_task_description

            task = None
            with suppress(NotImplementedError):
                task = _get_task_description(self.task_id)
            kinds = (OpenMLClassificationTask, OpenMLRegressionTask)
            if not isinstance(task, kinds) or isinstance(task, OpenMLLearningCurveTask):
                raise UsageError(f"{subject} is no classification or regression; give the id of one that is.")
            if not self._own_files():
                task.download_split()
            # The client would take its own pickle of the splits before their file.
            with (folder / "datasplits.arff").open(encoding="utf-8") as opened:
                content = arff.load(opened)
        rows = pd.DataFrame(content["data"], columns=[name.lower() for name, _ in content["attributes"]])
        kind = "number" if isinstance(task, OpenMLRegressionTask) else "classes"
        return int(task.dataset_id), str(task.target_name), kind, rows


def _suffix(split: SplitBy | None, target_kind: str | None) -> str:
    """The end of a key that names a split and a kind of target."""
    split_suffix = "" if split is None else re.sub(r"[^A-Za-z0-9.-]+", "-", f"-{split.kind}-{split.column}")
    return split_suffix + ("" if target_kind is None else f"-{target_kind}")


def _root(cache: Path | None) -> Path:
    """A cache, or the one that the client keeps by itself, without importing it, which takes over a second."""
    named = os.environ.get("OPENML_CACHE_DIR")
    if not named and platform.system() == "Linux":
        named = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return cache or expanded(named or "~/.openml")


def _folder(cache: Path | None, kind: str, number: int) -> Path:
    """The folder of a dataset or a task in a cache, as the client names it: ``org/openml/www/tasks/N``."""
    return _root(cache).joinpath(*reversed(urlparse(SERVER).netloc.split(".")), kind, str(number))


def _there(*files: Path) -> tuple[Path, ...]:
    """The files, if all are there."""
    return files if all(file.is_file() for file in files) else ()


@contextmanager
def _client(subject: str, cache: Path | None, folder: Path, skips_parquet: bool | None = None) -> Iterator[None]:
    """Point the client at OpenML's server and at a cache, and turn its errors into sentences.

    Its settings are restored afterwards; its own ``overwrite_config_context`` does not do so after an exception.
    """
    require("openml", subject)
    root = _root(cache)
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import minio.error
        import openml
        import requests
        import urllib3

        before, skipped = openml.config.get_config_as_dict(), os.environ.get(SKIP_PARQUET)
        openml.config.server = SERVER
        openml.config.set_root_cache_directory(root)
        # By default a command without a network tries for a minute.
        openml.config.set_retry_policy("human", 1)
        if skips_parquet is not None:
            os.environ[SKIP_PARQUET] = str(skips_parquet).lower()
        try:
            yield
        except UsageError:
            raise
        except (requests.RequestException, urllib3.exceptions.HTTPError, minio.error.MinioException) as error:
            state = f"incomplete or damaged in {folder}" if any(folder.glob("*")) else f"not in the cache {root}"
            raise UsageError(
                f"{subject} is {state}, and {urlparse(SERVER).netloc} cannot be reached; connect to the network, or "
                "set paths.openml to a cache that has it."
            ) from error
        except Exception as error:
            if getattr(error, "code", None) in UNKNOWN:
                raise UsageError(f"{subject} does not exist; look its id up at https://www.openml.org.") from error
            reason = (str(error).splitlines() or [type(error).__name__])[0].removesuffix(" - None").rstrip(".!")
            raise UsageError(
                f"{subject} cannot be read ({reason}); delete {folder} to download it again, and make sure that you "
                f"may write into {root}, or set paths.openml to another cache."
            ) from error
        finally:
            openml.config.server = before["server"]
            openml.config.set_root_cache_directory(before["cachedir"])
            openml.config.set_retry_policy(before["retry_policy"], before["connection_n_retries"])
            os.environ.pop(SKIP_PARQUET, None)
            if skipped is not None:
                os.environ[SKIP_PARQUET] = skipped
