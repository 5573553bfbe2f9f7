"""What Hydra calls: one job."""

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from ..config import read
from ..errors import UsageError
from ..metrics import metrics
from ..sweeping.cell import Cell
from ..sweeping.chunks import read_chunk
from ..sweeping.expand import one_cell
from ..sweeping.hydra_options import check_hydra
from ..sweeping.run import run
from .cells import train_cells
from .signals import ended_by_sigterm

VALIDATION_ERROR = "validation_error"
"""The objective that looks at no test row."""


def train_job(job: DictConfig) -> float | None:
    """Train a chunk of the cells that our sweeper found unfinished; what came of them is in the store.

    Without a chunk, the job's configuration is itself a cell: so it is in Hydra's mode RUN and by sweepers that are not
    ours, such as Optuna's. They are given the objective: the mean over trials of what ``objective`` names.

    Raises:
        UsageError: something is wrong with the cell, and nothing was trained.
        UnfinishedError: the cell failed.
    """
    with ended_by_sigterm():
        if job.chunk.file is not None:
            train_cells(read_chunk(job.chunk.file))
            return None
        hydra = HydraConfig.get()
        check_hydra(hydra)
        request = one_cell(hydra.overrides.task, read(job))
        (cell,) = request.cells
        names = (VALIDATION_ERROR, *(metric.name for metric in metrics()))
        if cell.config.objective not in names:
            raise UsageError(f"objective must be one of {', '.join(names)}, not {cell.config.objective}.")
        run(request, lambda chunks: train_cells([cell for chunk in chunks for cell in chunk.cells]))
        return objective(cell)


def objective(cell: Cell) -> float:
    """The mean over a finished cell's trials of what its configuration says; of those that diverged there is none."""
    from ..loggers import validation_errors
    from ..results import load_cell

    store, name = cell.store(), cell.config.objective
    assert store is not None
    stored = load_cell(store.fingerprint, cell.results)
    values = stored.trials.assign(**{VALIDATION_ERROR: validation_errors(stored)})[name]
    return float(values[stored.trials["trial"] < cell.config.trials].mean())
