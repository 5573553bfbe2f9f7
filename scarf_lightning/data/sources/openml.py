"""Datasets and tasks of OpenML, through its own client and the client's cache."""

import os
import re
import threading
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlparse

from ...errors import UsageError
from ...importing import require
from ...options.paths import expanded
from .source import BY_TASK, Source

if TYPE_CHECKING:
    import pandas as pd

    from ..columns import Floats
    from ..table import Table

SERVER = "https://www.openml.org/api/v1/xml"
"""An id names a dataset on this server only, so that another server in the client's own settings is not used."""
TARGET_KINDS = {1: "classes", 2: "number"}
"""Kinds of targets by the types of tasks: classification and regression."""

# The client's settings are global to the process.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class OpenMLSource(Source):
    """A dataset of https://www.openml.org, from the client's cache, or else downloaded into it.

    A task names a dataset, its target, and splits that everyone who works on it shares. The client writes into its
    cache: downloads, and pickles of the data that are never read here.

    Args:
        dataset_id: the number in https://www.openml.org/d/N; None takes the dataset of the task.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
        split: the column that decides the split, which is not a feature; or `BY_TASK`.
        task_id: the number in https://www.openml.org/t/N.
    """

    name: ClassVar[str] = "openml"

    dataset_id: int | None = None
    cache: Path | None = None
    task_id: int | None = None

    @property
    def key(self) -> str:
        data = [self.dataset_id] if self.task_id is None else ["task", self.task_id]
        split = [self.split.kind, self.split.column] if self.split else []
        parts = filter(None, ["openml", *data, *split, self.target_kind])
        return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(map(str, parts)))

    @property
    def in_words(self) -> str:
        return f"OpenML dataset {self.dataset_id}" if self.task_id is None else f"OpenML task {self.task_id}"

    def check(self) -> None:
        require("openml", self.in_words)

    def files(self) -> tuple[Path, ...]:
        own, dataset_id = self._task_files(), self.dataset_id
        if own:
            # The rows are in the files of a dataset, which the task's own file names.
            named = re.search(r"<oml:data_set_id>\s*(\d+)\s*<", own[0].read_text(encoding="utf-8", errors="replace"))
            dataset_id = int(named[1]) if named else None
        return (*own, *self._dataset_files(dataset_id))

    def load(self) -> "Table":
        """Read the dataset, without any connection if the cache has it.

        Raises:
            UsageError: the client cannot read or download it; it has no target, or one that cannot be predicted; or the
                task is neither a classification nor a regression.
        """
        from ..reading.roles import split_values
        from ..table import Table
        from ..targets import read_target

        dataset, frame, categorical, task, parts = self._read()
        source, kind = f"openml:{dataset.dataset_id}", self.target_kind
        target = str(dataset.default_target_attribute or "")
        if task is not None:
            target, kind = str(task.target_name), kind or TARGET_KINDS[task.task_type_id.value]
        # Ignored columns are not in it.
        if target not in frame:
            raise UsageError(f"{self.in_words} has no target {target!r} among its columns; choose another one.")
        read = read_target(frame.pop(target), source, kind)
        notes = list[str]()
        if self.split == BY_TASK:
            source = f"openml-task:{self.task_id}"
        elif self.split is not None:
            column = str(self.split.column)
            if column not in frame:
                raise UsageError(f"split.column names {column!r}, which is no feature of {self.in_words}.")
            parts, notes = split_values(self.split.kind, frame.pop(column), source)
        table = Table.from_frame(
            frame,
            read,
            categorical=[categorical[column] for column in frame],
            name=self.dataset_name or dataset.name,
            source=source,
            dataset_id=dataset.dataset_id,
            split_by=parts,
        )
        return replace(table, notes=(*notes, *table.notes))

    def _read(self) -> "tuple[Any, pd.DataFrame, dict[Any, bool], Any, Floats | None]":
        """The client's dataset, its columns but ignored ones, whether each is categorical, the client's task, and the
        part of each row in each of its splits, ``(n, splits)``.

        Raises:
            UsageError: the client's error in a sentence.
        """
        require("openml", self.in_words)
        with _one_at_a_time, warnings.catch_warnings():
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
            f"{self.in_words} cannot be read ({reason}); make sure that it exists, that {urlparse(SERVER).netloc} can "
            f"be reached and that you may write into {root_of(self.cache)}, delete a damaged copy there, or set "
            "paths.openml to a cache that has it."
        ) from failure

    def _from_client(self) -> "tuple[Any, pd.DataFrame, dict[Any, bool], Any, Floats | None]":
        import openml

        # The public function wants the dataset's features too.
        from openml.tasks.functions import _get_task_description

        task: Any = None
        dataset_id: Any = self.dataset_id
        if self.task_id is not None:
            task = _get_task_description(self.task_id)
            dataset_id = task.dataset_id
            if task.task_type_id.value not in TARGET_KINDS:
                raise UsageError(f"{self.in_words} is no classification or regression; give the id of one that is.")
            if not self._task_files()[1].is_file():
                task.download_split()
        _, file = self._dataset_files(dataset_id)
        is_cached = file.is_file()
        dataset = openml.datasets.get_dataset(
            dataset_id,
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
        parts = self._parts(len(frame)) if self.split == BY_TASK else None
        return dataset, frame, dict(zip(frame.columns, categorical, strict=True)), task, parts

    def _parts(self, n_rows: int) -> "Floats":
        """The part of each row in each split of the task, ``(n, splits)``; NaN where a split leaves a row out."""
        import arff
        import numpy as np
        import pandas as pd

        from ..copies import TEST, TRAIN

        _, file = self._task_files()
        # The client would take its own pickle of the splits before their file.
        with file.open(encoding="utf-8") as opened:
            content = arff.load(opened)
        rows = pd.DataFrame(content["data"], columns=[name.lower() for name, _ in content["attributes"]])
        rows["part"] = rows["type"].map({"TRAIN": TRAIN, "TEST": TEST})
        parts = rows.astype({"rowid": int}).pivot_table(index="rowid", columns=["repeat", "fold"], values="part")
        return parts.reindex(range(n_rows)).to_numpy(dtype=np.float64)

    def _dataset_files(self, dataset_id: int | None) -> tuple[Path, Path]:
        folder = self._folder("datasets", dataset_id)
        # The client takes Parquet where it is there.
        parquet = folder / f"dataset_{dataset_id}.pq"
        return folder / "description.xml", parquet if parquet.is_file() else folder / "dataset.arff"

    def _task_files(self) -> tuple[Path, ...]:
        folder = self._folder("tasks", self.task_id)
        return () if self.task_id is None else (folder / "task.xml", folder / "datasplits.arff")

    def _folder(self, kind: str, number: int | None) -> Path:
        """The folder of a dataset or a task in the cache, as the client names it: ``org/openml/www/tasks/N``."""
        server = reversed(urlparse(SERVER).netloc.split("."))
        return root_of(self.cache).joinpath(*server, kind, str(number))


def root_of(cache: Path | None) -> Path:
    """A cache, or the client's own, found without importing the client, which takes over a second."""
    own = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml"
    return cache or expanded(os.environ.get("OPENML_CACHE_DIR") or own)
