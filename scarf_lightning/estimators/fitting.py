"""Training outside the store: the same stacks as those of a cell."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ..config import Config, build_parts
from ..config.combinations import check_labels, on_data, on_empty_selections
from ..data.reading import Reader
from ..data.table import Table
from ..engine.hardware import Hardware, choose_hardware, prepare_process
from ..errors import UsageError
from ..results import PretrainingStore, pretraining_identity
from ..training import make_stack, train_stack
from .cells import Kept, model_of
from .model import Model
from .tables import WithoutTest

NOWHERE = Path("nowhere")


@dataclass(frozen=True)
class Trained:
    """What came of training: the networks, and a row a trial as `scarf_lightning.results.load` has it."""

    model: Model
    rows: list[dict[str, object]]


def train(config: Config, table: Table) -> Trained:
    """Train the trials of a cell, which leaves nothing on the disk.

    Raises:
        UsageError: the table cannot be split so, its numbers are too large, its method needs rows without a label, or
            every trial diverged.
    """
    with _process(config) as hardware:
        check_labels(config, table.n_unlabelled)
        amounting = on_data(config, len(table.columns), table.n_encoded)
        for sentence in on_empty_selections(config, amounting):
            warnings.warn(sentence, UserWarning, stacklevel=4)
        parts = build_parts(amounting)
        no_cache = PretrainingStore(NOWHERE, pretraining_identity(amounting, table.hash), max_gb=0)
        together = 1 if parts.splitting.is_ragged else amounting.trainer.trials_per_stack
        records = []
        for company in hardware.stacks(range(amounting.trials), together):
            wanted = [trial for trial in company if trial < amounting.trials]
            records.append(
                train_stack(amounting, parts, table, wanted, no_cache, hardware, console=None, company=company)
            )
    rows = [dict(row) for record in records for row in record.rows]
    stacks = [Kept(record.rows, record.preprocessing, record.weights or {}) for record in records]
    return Trained(_model(amounting, Kept.of(stacks), table, table.classes), rows)


def pretrain(config: Config, table: Table) -> Trained:
    """Pre-train the encoders of trials, on all rows but those that validate; no label is looked at.

    Raises:
        UsageError: the table's numbers are too large, or every trial diverged.
    """
    with _process(config) as hardware:
        amounting = on_data(config, len(table.columns), table.n_encoded)
        parts = build_parts(amounting)
        assert parts.pretext is not None
        rows: list[dict[str, object]] = []
        stacks = []
        for trials in hardware.stacks(range(amounting.trials), amounting.trainer.trials_per_stack):
            stack = make_stack(amounting, parts, table, trials, hardware, splitting=WithoutTest())
            fit = stack.pretrain(amounting.pretrain, parts.pretext)
            of_stack: list[dict[str, object]] = [
                {"trial": trial, "diverged": "pretrain" if gone else None, "pretrain_epochs": int(n_epochs)}
                for trial, gone, n_epochs in zip(trials, fit.diverged, fit.epochs, strict=True)
                if trial < amounting.trials
            ]
            encoder = {f"encoder.{name}": weight.cpu().numpy() for name, weight in fit.part("encoder").items()}
            vectors = {name: getattr(stack.data.preprocessing, name) for name in ("fill", "shift", "scale")}
            rows += of_stack
            stacks.append(Kept(of_stack, vectors, encoder))
    return Trained(_model(amounting, Kept.of(stacks), table, ()), rows)


def _model(config: Config, kept: Kept, table: Table, classes: tuple[str, ...]) -> Model:
    n_diverged = config.trials - len(kept.rows)
    if not kept.rows:
        raise UsageError(
            f"All {config.trials} trials diverged; a smaller learning rate may help, as "
            'options={"finetune.learning_rate": 1e-4, "pretrain.learning_rate": 1e-4}.'
        )
    if n_diverged:
        warnings.warn(f"{n_diverged} of {config.trials} trials diverged, and have no vote.", UserWarning, stacklevel=5)
    columns = build_parts(config).encoding.columns(table.columns)
    return model_of(config, kept, replace(Reader.of(table), columns=columns), classes, table.name)


@contextmanager
def _process(config: Config) -> Iterator[Hardware]:
    """The process set up as for a cell, and as it was before in the end."""
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        prepare_process(config.trainer.threads)
        try:
            yield choose_hardware(config.trainer)
        finally:
            torch.set_num_threads(threads)
