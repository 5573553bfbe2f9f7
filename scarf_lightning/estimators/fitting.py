"""Training for the estimators: the stacks of a cell, without the store. Importing this imports Lightning."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.splits import PARTS, Shuffled, Split, Splitting
from ..data.table import Table
from ..data.targets import Classes, Target
from ..engine.hardware import LOGGERS, choose_hardware, own_torch, prepare_process
from ..errors import UsageError
from ..options import Config
from ..results import StackRecord, StoredTrial
from ..screen import screen
from ..training import CellTraining
from .model import Model, model_of

CHEAPER = "trained without pre-training, which is cheaper"
ENOUGH = 30
"""Rows that can tell whether pre-training helps. The losses of fewer are too skewed for an interval."""
SMALLEST = 1e-12
"""The smallest probability in a loss."""


class WithoutTest(Splitting):
    """Another rule without test rows: all rows train but those that stop training, another tenth in each trial."""

    def __init__(self, rule: Splitting) -> None:
        self._rule = rule

    def is_ragged(self, table: Table) -> bool:
        return self._rule.is_ragged(table)

    def split(self, table: Table, random: np.random.Generator) -> Split:
        rule = self._rule
        n_different = len(np.unique(table.alike[table.is_labelled]))
        if isinstance(rule, Shuffled) and n_different < len(PARTS):
            # Fewer different rows than parts cannot be kept together.
            rule = replace(rule, copies="apart")
        return rule.without_test(rule.split(table, random))


TrialRow = Mapping[str, Any]
"""A row of a trial, as `scarf_lightning.results.load` has it."""


def train(
    config: Config, table: Table, *, chooses: bool = False, verbose: bool = False
) -> tuple[Model, list[TrialRow], str | None]:
    """Train the trials of a cell on all rows of a table but those that stop training, by which they are scored.

    Args:
        chooses: train all trials from scratch too, and keep the pre-trained ones only if pre-training lowers the
            loss of validation rows by more than chance would.
        verbose: show progress.

    Returns:
        The model, a row for each trial, and what was chosen, in a sentence.
    """
    choice = None
    with _prepared_training(config, table, verbose=verbose) as training:
        # Both ways must be tried on the same rows, so the rows that choose are held back from both.
        if chooses and training.config.is_pretrained:
            training, records, choice = _choose_training(replace(training, holds_back=True))
        else:
            records = [training.run(trials, block).record(trials) for trials, block in _stacks(training)]
    for sentence in dict.fromkeys(sentence for record in records for sentence in record.faults):
        warnings.warn(sentence, UserWarning, stacklevel=3)
    stored_trials: list[StoredTrial] = []
    for record in records:
        stored_trials += StoredTrial.of_stack(record.rows, record.preprocessing, record.weights or {})
    return _voting_model(training, stored_trials, table.target), [trial.row for trial in stored_trials], choice


def pretrain(config: Config, table: Table, *, verbose: bool = False) -> tuple[Model, list[TrialRow]]:
    """Pre-train the encoders of trials on nine tenths of the rows; no label is used."""
    stored_trials: list[StoredTrial] = []
    with _prepared_training(config, table, verbose=verbose) as training:
        for trials, block in _stacks(training):
            stored_trials += _encoders(training, trials, block)
    return _voting_model(training, stored_trials, None), [trial.row for trial in stored_trials]


@contextmanager
def _prepared_training(config: Config, table: Table, *, verbose: bool) -> Iterator[CellTraining]:
    """The training of a cell without test rows. What is noted becomes warnings.

    The process is set up as for a cell, and gradients are computed even if the caller has switched them off. In the
    end its threads and its loggers are restored.
    """
    from ..trying import check_used

    notes = check_used([config])
    console = screen(stderr=True) if verbose else None
    # An estimator runs inside a user's program, so it restores the settings of the process.
    threads = torch.get_num_threads()
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    with warnings.catch_warnings():
        prepare_process(config.trainer.threads)
        try:
            with own_torch():
                hardware = choose_hardware(config.trainer)
                training = CellTraining.prepare(config, table, hardware, splitting=WithoutTest, console=console)
                for note in (*notes, *training.notes, training.warning):
                    if note is not None:
                        warnings.warn(note, UserWarning, stacklevel=5)
                yield training
        finally:
            torch.set_num_threads(threads)
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)


def _stacks(training: CellTraining) -> Iterator[tuple[list[int], list[int]]]:
    """The trials of each stack of a cell, and all that are trained with them."""
    return training.stacks(range(training.config.trials))


def _choose_training(pretrained: CellTraining) -> tuple[CellTraining, list[StackRecord], str]:
    """All trials with pre-training or from scratch, whichever is better, and a sentence on the choice."""
    # The same splits and streams, so that the losses are paired row by row.
    config = replace(pretrained.config, pretrain=replace(pretrained.config.pretrain, name="none", options={}))
    scratch = replace(pretrained, config=config, parts=replace(pretrained.parts, pretext=None), pretrained=None)
    scratch_records, scratch_losses = _losses(scratch)
    n_rows = len(scratch_losses)
    # A trial that diverged is worse by whatever rows.
    if n_rows < ENOUGH and np.isfinite(scratch_losses).all():
        return scratch, scratch_records, f"{n_rows} validation rows are too few to tell: {CHEAPER}."
    pretrained_records, pretrained_losses = _losses(pretrained)
    is_used, choice = _choice(pretrained_losses, scratch_losses)
    return (pretrained, pretrained_records, choice) if is_used else (scratch, scratch_records, choice)


def _losses(training: CellTraining) -> tuple[list[StackRecord], NDArray[np.float64]]:
    """Train all stacks, and compute the loss of each validation row, infinite where a trial diverged, ``(n,)``."""
    records, losses = [], []
    for trials, block in _stacks(training):
        trained = training.run(trials, block)
        record, data = trained.record(trials), trained.stack.data
        records.append(record)
        for trial, row in zip(trials, record.rows, strict=True):
            position = data.trials.index(trial)
            labels = data.validation_labels[position]
            # The validation rows are the test rows too.
            trial_losses = row_losses(training.table.target, trained.outcome.predictions[position], labels)
            # Left out, a trial that diverged would make its side look better.
            losses.append(trial_losses if row["diverged"] is None else np.full(len(labels), np.inf))
    return records, np.concatenate(losses)


def row_losses(target: Target, predictions: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """The cross-entropy of classes, or the squared error of numbers, of each row ``(n,)``."""
    if isinstance(target, Classes):
        probabilities = predictions[np.arange(len(labels)), labels]
        return np.asarray(-np.log(np.maximum(probabilities, SMALLEST)))
    return np.asarray(np.square(predictions - labels))


def _choice(pretrained_losses: NDArray[np.float64], scratch_losses: NDArray[np.float64]) -> tuple[bool, str]:
    """Use of pre-training by the paired losses of the same rows ``(n,)``, and a sentence on it.

    It is used if a paired t-test finds lower losses at 5 %: otherwise training from scratch is cheaper.
    """
    n = len(pretrained_losses)
    rows = f"{n:,} validation rows"
    means = f"{pretrained_losses.mean():.3g} with pre-training, {scratch_losses.mean():.3g} without"
    helps = f"Pre-training helps: loss on {rows} {means}."
    hurts = f"Pre-training hurts and is not used: loss on {rows} {means}."
    # A trial that diverged is worse than any that did not.
    if np.isinf(pretrained_losses).any():
        return False, hurts
    if np.isinf(scratch_losses).any():
        return True, helps
    # Imports half of scipy.
    from scipy.stats import ttest_rel

    test = ttest_rel(pretrained_losses, scratch_losses)
    if test.pvalue < 0.05:
        return (True, helps) if test.statistic < 0 else (False, hurts)
    # In doubt pre-training is left out, because training from scratch is cheaper.
    return False, f"No clear difference on {rows} ({means}): {CHEAPER}."


def _encoders(training: CellTraining, trials: Sequence[int], block: Sequence[int]) -> list[StoredTrial]:
    """Pre-train a stack: its encoders."""
    stack = training.stack(block)
    fit = training.pretrain(stack)
    assert fit is not None
    rows: list[TrialRow] = []
    for position, trial in enumerate(block):
        # Trials that only fill up a block are not kept.
        if trial in trials:
            diverged = "pretrain" if fit.diverged[position] else None
            n_epochs = int(fit.epochs[position])
            rows.append({"trial": trial, "diverged": diverged, "pretrain_epochs": n_epochs})
    encoder = {f"encoder.{name}": weight.cpu().numpy() for name, weight in fit.part("encoder").items()}
    return StoredTrial.of_stack(rows, stack.data.preprocessing.arrays(), encoder)


def _voting_model(training: CellTraining, trials: list[StoredTrial], target: Target | None) -> Model:
    """The model of the trials that did not diverge."""
    config, table = training.config, training.table
    # Weights that are not finite would make every mean prediction NaN.
    converged_trials = [trial for trial in trials if trial.row["diverged"] is None]
    if not converged_trials:
        raise UsageError(
            f"All {config.trials} trials diverged; a smaller learning rate may help, as "
            'options={"finetune.learning_rate": 1e-4, "pretrain.learning_rate": 1e-4}.'
        )
    n_diverged = config.trials - len(converged_trials)
    if n_diverged:
        sentence = f"{n_diverged} of {config.trials} trials diverged and have no vote."
        warnings.warn(sentence, UserWarning, stacklevel=5)
    columns = training.parts.encoding.columns(table.columns)
    reader = replace(table.rows_reader, columns=columns)
    return model_of(config, converged_trials, reader, target, table.name)
