"""A launcher that starts no process: its jobs run `train.py`'s loop here, with training made up."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from scarf_lightning.cli import running
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.launchers import read_job
from scarf_lightning.training.cell_loop import CellLoop

Train = Callable[[Cell], object]


class FakeLauncher:
    """Runs each job by `train_job`, with this function in place of `train_cell`.

    ``launched`` holds the overrides of every cell of every job.
    """

    def __init__(self, train_cell: Train) -> None:
        self._train_cell = train_cell
        self.launched: list[list[tuple[str, ...]]] = []

    def launch(self, job_overrides: Sequence[list[str]], initial_job_idx: int) -> list[JobReturn]:
        assert initial_job_idx == 0
        return [self._job(overrides) for overrides in job_overrides]

    def _job(self, overrides: list[str]) -> JobReturn:
        (override,) = OverridesParser.create().parse_overrides(overrides)
        assert override.key_or_group == "chunk.file"
        file = str(override.value())
        self.launched.append([cell.overrides for cell in read_job(Path(file))])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CellLoop, "train_cell", lambda _, cell, trials: self._train_cell(cell))
            running.train_job(OmegaConf.create({"chunk": {"file": file}}))
        return JobReturn(overrides=overrides, status=JobStatus.COMPLETED)
