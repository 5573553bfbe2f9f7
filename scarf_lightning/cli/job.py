"""A job, the function that Hydra calls."""

from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from ..errors import UsageError
from ..metrics import metrics
from ..options import Config
from ..sweeping.cell import Cell
from ..sweeping.chunks import read_chunk
from ..sweeping.expand import one_cell
from ..sweeping.hydra import check_hydra, read_config
from ..sweeping.run import run
from .show import Terminal
from .signals import ended_by_signals

VALIDATION_ERROR = "validation_error"
"""The objective that uses no test row."""


def train_job(job: DictConfig) -> float | None:
    """Train a chunk of cells, and keep their results in the store.

    Our sweeper writes the chunk. Without one, as in Hydra's mode RUN and with other sweepers such as Optuna's, the
    configuration of the job is itself a cell. The job then returns the mean over trials of the metric ``objective``.
    """
    with ended_by_signals():
        if job.chunk.file is not None:
            train_cells(read_chunk(job.chunk.file))
            return None
        hydra = HydraConfig.get()
        check_hydra(hydra)
        request = one_cell(hydra.overrides.task, read_config(job))
        (cell,) = request.cells
        names = (VALIDATION_ERROR, *(metric.name for metric in metrics()))
        if cell.config.objective not in names:
            raise UsageError(f"objective must be one of {', '.join(names)}, not {cell.config.objective}.")
        run(request, lambda chunks: train_cells([cell for chunk in chunks for cell in chunk.cells]), Terminal())
        return objective(cell)


def train_cells(cells: Sequence[Cell]) -> None:
    """Train cells one after the other in this process."""
    from ..training.loop import CellLoop  # imports torch and Lightning

    CellLoop(_save_model).train(cells)


def _save_model(config: Config, folder: Path) -> None:
    from ..estimators import save_model  # imports scikit-learn

    save_model(config, folder)


def objective(cell: Cell) -> float:
    """The mean of the metric ``objective`` over a finished cell's trials that did not diverge."""
    from ..loggers import validation_errors
    from ..results import load_cell

    store, name = cell.store(), cell.config.objective
    assert store is not None
    stored = load_cell(store.fingerprint, cell.results)
    values = stored.trials.assign(**{VALIDATION_ERROR: validation_errors(stored)})[name]
    return float(values[stored.trials["trial"] < cell.config.trials].mean())
