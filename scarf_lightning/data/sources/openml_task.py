"""Tasks of OpenML: a dataset, its target, and splits that everyone who works on it shares."""

import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlparse

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ..split_columns import NAMES, SplitBy
from .base import Source
from .openml import SERVER, OpenMLSource, environment_of, keep, locations, split_suffix

if TYPE_CHECKING:
    from ..table import Table
    from .openml_client import DownloadedTask

FILES = ("task.xml", "datasplits.arff")


@dataclass
class OpenMLTaskSource(Source):
    """A task of https://www.openml.org, read as `OpenMLSource` reads a dataset.

    Args:
        task_id: the number in https://www.openml.org/t/N.
        dataset_name: shown in tables and charts; None takes OpenML's.
        cache: the folder that holds ``org/openml/www``; None takes the client's own.
        split: what a split goes by that is not the task's.
        is_split: whether rows are split as the task says, see `scarf_lightning.data.splits.Task`.
    """

    name: ClassVar[str] = "openml_task"

    task_id: int
    dataset_name: str | None = None
    cache: Path | None = None
    split: SplitBy | None = None
    is_split: bool = True

    @property
    def key(self) -> str:
        return f"openml-task-{self.task_id}" + ("" if self.is_split else f"-data{split_suffix(self.split)}")

    def files(self) -> tuple[Path, ...]:
        _, folder = locations(self.cache, "tasks", self.task_id)
        own = tuple(folder / name for name in FILES)
        if not all(file.is_file() for file in own):
            return ()
        named = re.search(r"<oml:data_set_id>\s*(\d+)\s*<", own[0].read_text(encoding="utf-8"))
        of_dataset = OpenMLSource(int(named.group(1)), cache=self.cache).files() if named else ()
        return (*own, *of_dataset) if of_dataset else ()

    def load(self) -> "Table":
        """Read the task, its dataset and its splits, without any connection where the cache has them.

        Raises:
            UsageError: as by `OpenMLSource.load`; or the task is no classification.
        """
        task = self._read()
        table = OpenMLSource(task.dataset_id, self.dataset_name, self.cache, self.split, task.target).load()
        if not self.is_split:
            return table
        return replace(table, source=f"openml-task:{self.task_id}", split_by=_parts(task, table.n_rows))

    def _read(self) -> "DownloadedTask":
        from .openml_client import UnreachableError, read_task
        from .openml_integrity import DamagedError

        root, folder = locations(self.cache, "tasks", self.task_id)
        with tempfile.TemporaryDirectory(prefix="openml-") as scratch:
            copy = Path(scratch, folder.relative_to(root))
            copy.mkdir(parents=True)
            cached = {name for name in FILES if (folder / name).is_file()}
            for name in cached:
                shutil.copyfile(folder / name, copy / name)
            environment = environment_of(self.cache, Path(scratch))
            try:
                task = read_task(self.task_id, server=SERVER, cache=Path(scratch), environment=environment)
            except UnreachableError as error:
                raise UsageError(
                    f"OpenML task {self.task_id} is not in the cache {root}, and {urlparse(SERVER).netloc} {error}; "
                    "connect to the network, or set paths.openml to a cache that has it."
                ) from error
            except DamagedError as error:
                raise UsageError(
                    f"OpenML task {self.task_id} cannot be read ({error}); delete {folder} to download it again."
                ) from error
            keep(copy, folder, set(FILES) - cached, f"task {self.task_id}")
        return task


def _parts(task: "DownloadedTask", n_rows: int) -> NDArray[np.float64]:
    """For each row its part in each of the task's splits, ``(n, splits)``; NaN where it is in none."""
    parts = np.full((n_rows, len(task.splits)), np.nan)
    for position, (train, test) in enumerate(task.splits):
        parts[train, position], parts[test, position] = NAMES["train"], NAMES["test"]
    return parts
