"""Measurements on the disk, so that a question that was stopped goes on where it ended.

Each has a file ``columns/FINGERPRINT.npz`` in the folder of results. Nothing but its own question reads it, and what
was lost or damaged is measured again.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..results.files import temporary
from ..verdicts.trials import RowsOfTrial
from .asked import Measurement, Question, Task
from .competing import Tested

FOLDER = "columns"
DAMAGE = (OSError, EOFError, ValueError, KeyError, IndexError, zipfile.BadZipFile)
"""Errors of reading a file that is not whole."""


@dataclass(frozen=True)
class Kept:
    """The measurements of a question in a folder of results.

    Attributes:
        question: that they answer.
        results: the folder.
    """

    question: Question
    results: Path

    def path(self, task: Task) -> Path:
        return self.results / FOLDER / f"{self.question.fingerprint(task)}.npz"

    def read(self, task: Task) -> Measurement | None:
        """The measurement of a task with the trials that are wanted and kept; None if there are none."""
        measurement = self._read(task)
        if measurement is None:
            return None
        # An earlier command may have asked for more trials.
        wanted = measurement.of(self._wanted(task))
        return wanted if wanted.trials else None

    def missing(self, task: Task) -> list[int]:
        """The trials of a task that are wanted and not kept."""
        measurement = self.read(task)
        missing = set(self._wanted(task))
        if measurement is not None:
            missing -= set(measurement.trials)
        return sorted(missing)

    def add(self, task: Task) -> None:
        """Measure the missing trials of a task, and keep them beside those that are there."""
        missing = self.missing(task)
        if not missing:
            return
        measured = self.question.measure(task, missing)
        earlier = self._read(task)
        if earlier is not None:
            measured = earlier.joined(measured)
        write(self.path(task), measured)

    def _wanted(self, task: Task) -> Sequence[int]:
        """The trials that the question wants of a task."""
        return self.question.competitors[task.competitor].trials

    def _read(self, task: Task) -> Measurement | None:
        path = self.path(task)
        if not path.exists():
            return None
        n_tested = 1
        if task.unit is None:
            n_tested += len(self.question.units)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                measurement = _measurement(arrays)
        except DAMAGE:
            return None
        # A file of another layout is as good as none.
        return measurement if len(measurement.tested) == n_tested else None


def write(path: Path, measured: Measurement) -> None:
    """Write the arrays of a measurement. Tested rows of a trial differ in their values alone."""
    arrays: dict[str, Any] = {
        "trials": np.array(measured.trials),
        "seconds": np.array(measured.seconds),
        "tested": np.array(len(measured.tested)),
    }
    # The first are the test rows as they are, or the only ones.
    for trial, own in measured.tested[0].items():
        # Rows on which the metric is not defined have no number.
        undefined = replace(own, values=np.full_like(own.values, np.nan), added=np.full_like(own.added, np.nan))
        each = [tested.get(trial, undefined) for tested in measured.tested]
        arrays[f"{trial}_rows"] = own.rows
        arrays[f"{trial}_codes"] = own.codes
        arrays[f"{trial}_one_class"] = np.array(own.one_class)
        arrays[f"{trial}_values"] = np.stack([rows.values for rows in each])
        arrays[f"{trial}_added"] = np.stack([rows.added for rows in each])
    path.parent.mkdir(parents=True, exist_ok=True)
    # A file that a stopped command leaves half written gets no name.
    with temporary(path) as unfinished:
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays)
        unfinished.replace(path)


def _measurement(arrays: Any) -> Measurement:
    """The measurement of the arrays of a file."""
    tested: list[Tested] = [{} for _ in range(int(arrays["tested"]))]
    trials = arrays["trials"].tolist()
    for trial in trials:
        # A trial that diverged has no rows.
        if f"{trial}_rows" not in arrays:
            continue
        rows = arrays[f"{trial}_rows"]
        codes = arrays[f"{trial}_codes"]
        one_class = bool(arrays[f"{trial}_one_class"])
        every_value = arrays[f"{trial}_values"]
        every_added = arrays[f"{trial}_added"]
        for its, values, added in zip(tested, every_value, every_added, strict=True):
            if np.isfinite(values).all():
                its[trial] = RowsOfTrial(rows, values, added, codes, one_class)
    return Measurement(tested, trials, float(arrays["seconds"]))
