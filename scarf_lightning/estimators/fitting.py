"""Training for the estimators: the stacks of a cell, without the store. Importing this imports Lightning."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from ..data.table import Table
from ..data.targets import Target
from ..engine.hardware import Hardware, choose_hardware, prepare_process
from ..errors import UsageError
from ..options import Config
from ..results import StoredTrial
from ..screen import screen
from ..training import CellTraining
from .loading import model_of
from .model import Model
from .tables import WithoutTest
from .trained_networks import VECTORS


@dataclass(frozen=True)
class Fitted:
    """The trained networks, and a row for each trial as `scarf_lightning.results.load` has it."""

    model: Model
    rows: list[dict[str, object]]


def train(config: Config, table: Table, *, verbose: bool = False) -> Fitted:
    """Train the trials of a cell. Nothing is written to the disk.

    Raises:
        UsageError: the table cannot be split as asked, its numbers are too large, its method needs rows without a
            label, or every trial diverged.
    """
    with _process(config) as hardware:
        training = CellTraining.prepare(config, table, hardware, console=screen(stderr=True) if verbose else None)
        for sentence in training.notes:
            warnings.warn(sentence, UserWarning, stacklevel=4)
        records = [training.train(*stack) for stack in training.stacks(range(config.trials))]
    rows = [dict(row) for record in records for row in record.rows]
    kept = [
        trial
        for record in records
        for trial in StoredTrial.of_stack(record.rows, record.preprocessing, record.weights or {})
    ]
    return Fitted(_model(training, kept, table.target), rows)


def pretrain(config: Config, table: Table, *, verbose: bool = False) -> Fitted:
    """Pre-train the encoders of trials on nine tenths of the rows; no label is used.

    Raises:
        UsageError: the table's numbers are too large, or every trial diverged.
    """
    console = screen(stderr=True) if verbose else None
    rows, kept = list[dict[str, object]](), list[StoredTrial]()
    with _process(config) as hardware:
        training = CellTraining.prepare(config, table, hardware, splitting=WithoutTest(), console=console)
        for wanted, trials in training.stacks(range(config.trials)):
            stack = training.stack(trials)
            fit = training.pretrain(stack)
            assert fit is not None
            own: list[dict[str, object]] = [
                {"trial": trial, "diverged": "pretrain" if gone else None, "pretrain_epochs": int(n_epochs)}
                for trial, gone, n_epochs in zip(trials, fit.diverged, fit.epochs, strict=True)
                if trial in wanted
            ]
            encoder = {f"encoder.{name}": weight.cpu().numpy() for name, weight in fit.part("encoder").items()}
            vectors = {name: getattr(stack.data.preprocessing, name) for name in VECTORS}
            rows += own
            kept += StoredTrial.of_stack(own, vectors, encoder)
    return Fitted(_model(training, kept, None), rows)


def _model(training: CellTraining, trials: list[StoredTrial], target: Target | None) -> Model:
    config, table = training.config, training.table
    converged = [kept for kept in trials if kept.row["diverged"] is None]
    if not converged:
        raise UsageError(
            f"All {config.trials} trials diverged; a smaller learning rate may help, as "
            'options={"finetune.learning_rate": 1e-4, "pretrain.learning_rate": 1e-4}.'
        )
    if n_diverged := config.trials - len(converged):
        warnings.warn(f"{n_diverged} of {config.trials} trials diverged and have no vote.", UserWarning, stacklevel=5)
    reader = replace(table.rows_reader, columns=training.parts.encoding.columns(table.columns))
    return model_of(config, converged, reader, target, table.name)


@contextmanager
def _process(config: Config) -> Iterator[Hardware]:
    """Set up the process as for a cell, and restore its number of threads in the end."""
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        prepare_process(config.trainer.threads)
        try:
            yield choose_hardware(config.trainer)
        finally:
            torch.set_num_threads(threads)
