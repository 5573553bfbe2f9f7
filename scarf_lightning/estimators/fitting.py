"""Training for the estimators: the stacks of a cell, without the store. Importing this imports Lightning."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from ..data.preprocessing import VECTORS
from ..data.splits import Split, Splitting
from ..data.table import Table
from ..data.targets import Target
from ..engine.hardware import Hardware, choose_hardware, own_torch, prepare_process
from ..engine.lifting import part_of
from ..errors import UsageError
from ..options import Config
from ..options.combinations import is_pretrained
from ..results import StackRecord, StoredTrial
from ..screen import screen
from ..training import CellTraining, Start
from .model import Model, model_of

JUDGES = 1 / 3
"""The share of the trials that are trained with pre-training and from scratch, to choose between the two. On 24 fits
with 3 trials, one judge chose networks as good as three did: accuracy 0.923 and 0.922, never 0.2 points worse."""


class WithoutTest(Splitting):
    """Another rule without test rows: all rows train but those that stop training, another tenth in each trial."""

    def __init__(self, rule: Splitting) -> None:
        self._rule = rule

    def is_ragged(self, table: Table) -> bool:
        return self._rule.is_ragged(table)

    def on_copies(self, table: Table, random: np.random.Generator) -> None:
        """Nothing: no row is tested."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        return self._rule.without_test(self._rule.split(table, random))


TrialRow = dict[str, object]
"""A row of a trial, as `scarf_lightning.results.load` has it."""


def train(
    config: Config,
    table: Table,
    *,
    start: Model | None = None,
    chooses: bool = False,
    tests: bool = False,
    verbose: bool = False,
) -> tuple[Model, list[TrialRow], str | None]:
    """Train the trials of a cell on a table: the model, a row for each trial, and what was chosen, in a sentence.

    Args:
        start: the model whose encoders networks start from.
        chooses: train the first trials from scratch too, and all trials if pre-training has the higher validation loss.
        tests: hold test rows back, as a cell does. Otherwise all rows train but those that stop training, by which
            the trials are scored.
        verbose: show progress, and what was chosen.
    """
    choice, console = None, screen(stderr=True) if verbose else None
    with _process(config) as hardware:
        splitting = None if tests else WithoutTest
        training = CellTraining.prepare(config, table, hardware, splitting=splitting, console=console)
        if start is not None:
            training = replace(training, start=Start(part_of(start.weights, "encoder"), start.preprocessing))
        for sentence in (*training.notes, *filter(None, [training.warning])):
            warnings.warn(sentence, UserWarning, stacklevel=4)
        records, n_judges = list[StackRecord](), 0
        if chooses and is_pretrained(training.config):
            n_judges = math.ceil(config.trials * JUDGES)
            scratch = training.from_scratch()
            records, others = (_train(each, range(n_judges)) for each in (training, scratch))
            epoch = "finetune_best_epoch" if config.finetune.restore_best else "finetune_epochs"
            losses = _validation_loss(records, epoch), _validation_loss(others, epoch)
            choice = f"Loss on validation rows: {losses[0]:.4g} with pre-training, {losses[1]:.4g} without."
            if losses[1] < losses[0]:
                training, records = scratch, others
                choice = f"Pre-training hurts and is not used. {choice}"
            if console is not None:
                console.say(choice)
        records += _train(training, range(n_judges, config.trials))
    rows = [dict(row) for record in records for row in record.rows]
    kept = [
        trial
        for record in records
        for trial in StoredTrial.of_stack(record.rows, record.preprocessing, record.weights or {})
    ]
    return _voting(training, kept, table.target), rows, choice


def _train(training: CellTraining, trials: Sequence[int]) -> list[StackRecord]:
    return [training.train(*stack) for stack in training.stacks(trials)]


def _validation_loss(records: Sequence[StackRecord], epoch: str) -> float:
    """The mean over trials of the validation loss at the epoch that the column names, infinite if one diverged."""
    losses = []
    for record in records:
        epochs = {row["trial"]: row[epoch] for row in record.rows if row["diverged"] is None}
        if len(epochs) < len(record.rows):
            return math.inf
        losses += [
            each["validation_loss"]
            for each in record.curves
            if each["phase"] == "finetune" and each["epoch"] == epochs[each["trial"]]
        ]
    return float(np.mean(losses))


def pretrain(config: Config, table: Table, *, verbose: bool = False) -> tuple[Model, list[TrialRow]]:
    """Pre-train the encoders of trials on nine tenths of the rows; no label is used."""
    console = screen(stderr=True) if verbose else None
    rows, kept = list[TrialRow](), list[StoredTrial]()
    with _process(config) as hardware:
        training = CellTraining.prepare(config, table, hardware, splitting=WithoutTest, console=console)
        for wanted, trials in training.stacks(range(config.trials)):
            stack = training.stack(trials)
            fit = training.pretrain(stack)
            assert fit is not None
            own: list[TrialRow] = [
                {"trial": trial, "diverged": "pretrain" if gone else None, "pretrain_epochs": int(n_epochs)}
                for trial, gone, n_epochs in zip(trials, fit.diverged, fit.epochs, strict=True)
                if trial in wanted
            ]
            encoder = {f"encoder.{name}": weight.cpu().numpy() for name, weight in fit.part("encoder").items()}
            vectors = {name: getattr(stack.data.preprocessing, name) for name in VECTORS}
            rows += own
            kept += StoredTrial.of_stack(own, vectors, encoder)
    return _voting(training, kept, None), rows


def _voting(training: CellTraining, trials: list[StoredTrial], target: Target | None) -> Model:
    """The model of the trials that did not diverge."""
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
            with own_torch():
                yield choose_hardware(config.trainer)
        finally:
            torch.set_num_threads(threads)
