"""Chunks to jobs."""

from collections.abc import Callable, Sequence

from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.utils import JobStatus
from hydra.plugins.launcher import Launcher

from ..results import give_back
from .cell import Cell
from .chunks import Chunk, written

Launch = Callable[[Sequence[Chunk]], None]
"""Has the cells of each chunk trained, and returns when all jobs have ended; what came of a cell is in the store."""


def by(launcher: Launcher) -> Launch:
    """By a launcher of Hydra's: a job a chunk. It raises what a job did that was killed or never started."""
    return lambda chunks: _launch(chunks, launcher)


def _launch(chunks: Sequence[Chunk], launcher: Launcher) -> None:
    with written(chunks, chunks[0].cells[0].results) as files:
        asked = [
            [*_shared_overrides(chunk.cells), f"chunk.file={_quoted(str(file))}"]
            for chunk, file in zip(chunks, files, strict=True)
        ]
        try:
            jobs = launcher.launch(asked, initial_job_idx=0)
        except BaseException:  # an interrupt among them: joblib kills its processes then
            _give_back_claims([cell for chunk in chunks for cell in chunk.cells])
            raise
    for job in jobs:
        if job.status != JobStatus.COMPLETED:  # cells fail by themselves, so this is the job's own error
            error = job._return_value  # the property of that name prints a line of its own before it raises
            raise error if isinstance(error, Exception) else RuntimeError("a job did not finish")


def _shared_overrides(cells: Sequence[Cell]) -> list[str]:
    """What all cells of a job are asked for by: its configuration is what they share, and that of a cell alone its."""
    first, *others = (cell.overrides for cell in cells)
    return [override for override in first if all(override in overrides for overrides in others)]


def _give_back_claims(cells: Sequence[Cell]) -> None:
    """Of jobs that were killed; what a living process holds stays with it."""
    for cell in cells:
        for store in (cell.store(), cell.pretraining()):
            if store is not None:
                give_back(store.folder)


def _quoted(text: str) -> str:
    """A value in Hydra's notation, whatever is in it."""
    return QuotedString(text, Quote.single).with_quotes()
