"""Training for the estimators: the stacks of a cell, without the store. Importing this imports Lightning."""

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.parts import PARTS
from ..data.splits import Shuffled, Split, Splitting
from ..data.table import Table
from ..data.targets import Classes, Number, Target
from ..engine.hardware import Hardware, choose_hardware, own_torch, prepare_process
from ..engine.lifting import part_of
from ..errors import UsageError
from ..intervals import student_quantile
from ..options import Config
from ..results import StackRecord, StoredTrial
from ..screen import screen
from ..training import CellTraining, Start
from .defaults import helping_budget
from .model import Model, model_of

T = TypeVar("T")

ROWS = "validation rows"
CHEAPER = "trained without pre-training, which is cheaper"
ENOUGH = 30
"""Rows that can tell whether pre-training helps. The losses of fewer are too skewed for an interval."""
SMALLEST = 1e-12
"""The smallest probability in a loss."""

LOGGERS = ("pytorch_lightning", "lightning.fabric", "lightning_fabric")
"""Loggers that are silenced in training."""


class WithoutTest(Splitting):
    """Another rule without test rows: all rows train but those that stop training, another tenth in each trial."""

    def __init__(self, rule: Splitting) -> None:
        self._rule = rule

    def is_ragged(self, table: Table) -> bool:
        return self._rule.is_ragged(table)

    def copies_note(self, table: Table, random: np.random.Generator) -> None:
        """Nothing: no row is tested."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        rule = self._rule
        n_different = len(np.unique(table.alike[table.is_labelled]))
        if isinstance(rule, Shuffled) and n_different < len(PARTS):
            # Fewer different rows than parts cannot be kept together.
            rule = replace(rule, copies="apart")
        return rule.without_test(rule.split(table, random))


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
        chooses: train all trials from scratch too, and keep the pre-trained ones only if pre-training lowers the
            loss of validation rows by more than chance would.
        tests: hold test rows back, as a cell does. Otherwise all rows train but those that stop training, by which
            the trials are scored.
        verbose: show progress, and what was chosen.
    """
    choice = None
    _try_own_parts(config)
    console = screen(stderr=True) if verbose else None
    with process_of(config) as hardware:
        splitting = None if tests else WithoutTest
        training = CellTraining.prepare(config, table, hardware, splitting=splitting, console=console)
        # Rows must be prepared as the encoders' own were, so their preprocessing comes with them.
        if start is not None:
            encoders = part_of(start.weights, "encoder")
            training = replace(training, start=Start(encoders, start.preprocessing))
        said = list(training.notes)
        if training.warning is not None:
            said.append(training.warning)
        for sentence in said:
            warnings.warn(sentence, UserWarning, stacklevel=4)
        # Both ways must be tried on the same rows, so the rows that choose are held back from both.
        if chooses and training.config.is_pretrained:
            training, records, choice = _chosen(replace(training, holds_back=True))
            if console is not None:
                console.say(choice)
        else:
            records = [training.run(trials, block).record(trials) for trials, block in _stacks(training)]
    rows = [dict(row) for record in records for row in record.rows]
    for sentence in dict.fromkeys(sentence for record in records for sentence in record.faults):
        warnings.warn(sentence, UserWarning, stacklevel=3)
    kept = []
    for record in records:
        weights = record.weights or {}
        kept += StoredTrial.of_stack(record.rows, record.preprocessing, weights)
    return _voting(training, kept, table.target), rows, choice


def _try_own_parts(config: Config) -> None:
    """Try the parts of a user's own before they train, and warn of what is noted of them."""
    from ..trying import check_used

    for note in check_used([config]):
        warnings.warn(note, UserWarning, stacklevel=4)


def _stacks(training: CellTraining) -> Iterator[tuple[list[int], list[int]]]:
    """The trials of each stack of a cell, and all that are trained with them."""
    return training.stacks(range(training.config.trials))


def _chosen(pretrained: CellTraining) -> tuple[CellTraining, list[StackRecord], str]:
    """All trials with pre-training or from scratch, whichever is better, and a sentence on the choice."""
    # The same splits and streams, so that the losses are paired row by row.
    scratch = pretrained.from_scratch()
    n_rows = _validation_rows(pretrained)
    if n_rows is not None and n_rows < ENOUGH:
        budget = helping_budget(pretrained.table.target.name, pretrained.table.n_labelled)
        # What cannot be judged is not trained; a trial that diverges is judged worse by whatever rows.
        training = scratch if budget is None else pretrained
        alone = _judged(training)
        if np.isfinite(alone.losses).all():
            why = CHEAPER if budget is None else f"pre-trained, because SCARF helps with {budget} labels in the study"
            return training, alone.records, f"{n_rows} {ROWS} are too few to tell: {why}."
    judged_pretrained, judged_scratch = _judged(pretrained), _judged(scratch)
    is_used, choice = _choice(judged_pretrained.losses, judged_scratch.losses, judged_pretrained.of)
    if is_used:
        return pretrained, judged_pretrained.records, choice
    return scratch, judged_scratch.records, choice


def _validation_rows(training: CellTraining) -> int | None:
    """The validation rows of all trials, each of which has a loss; None for a plugin's kind of target."""
    if not isinstance(training.table.target, (Classes, Number)):
        return None
    total = 0
    for trials, _ in _stacks(training):
        total += training.stack(trials).data.validation.size
    return total


@dataclass(frozen=True)
class Judged:
    """Trained trials and their losses.

    Attributes:
        losses: of the validation rows of all trials, or of the trials, infinite if one diverged, ``(n,)``.
        of: what the losses are of.
    """

    records: list[StackRecord]
    losses: NDArray[np.float64]
    of: str


JudgedStack = tuple[StackRecord, list[NDArray[np.float64]]]
"""The record of a stack, and the losses of the validation rows of each of its trials."""


def _judged_stack(training: CellTraining, wanted: Sequence[int], block: Sequence[int]) -> JudgedStack:
    """Train a stack and compute the loss of each validation row."""
    losses: list[NDArray[np.float64]] = []
    target = training.table.target
    trained = training.run(wanted, block, predicts_validation=True)
    data = trained.stack.data
    record = trained.record(wanted)
    for trial, row in zip(wanted, record.rows, strict=True):
        position = data.trials.index(trial)
        labels = data.validation_labels[position]
        # Validation rows are predicted before the test rows.
        predictions = trained.outcome.predictions[position, : len(labels)]
        if row["diverged"] is None:
            losses.append(row_losses(target, predictions, labels))
        else:
            # Left out, a trial that diverged would make its side look better.
            losses.append(np.full(len(labels), np.inf))
    return record, losses


def _judged(training: CellTraining) -> Judged:
    """Train all stacks. The losses are of the rows of all trials; of the trials, for a plugin's kind of target."""
    stacks = [_judged_stack(training, trials, block) for trials, block in _stacks(training)]
    records = [record for record, _ in stacks]
    # Other kinds of target are a plugin's, whose rows have no loss of their own here.
    if isinstance(training.table.target, (Classes, Number)):
        validation_losses = [losses for _, stack_losses in stacks for losses in stack_losses]
        return Judged(records, np.concatenate(validation_losses), ROWS)
    # The epoch whose weights are kept.
    epoch = "finetune_best_epoch" if training.config.finetune.restore_best else "finetune_epochs"
    trial_losses = []
    for record in records:
        trial_losses += _trial_losses(record, epoch)
    return Judged(records, np.array(trial_losses), "trials")


def row_losses(target: Target, predictions: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """The cross-entropy of classes, or the squared error of numbers, of each row ``(n,)``; a scalar for other kinds."""
    if isinstance(target, Classes):
        rows = np.arange(len(labels))
        probabilities = predictions[rows, labels]
        return np.asarray(-np.log(np.maximum(probabilities, SMALLEST)))
    if isinstance(target, Number):
        return np.asarray(np.square(predictions - labels))
    return np.array(np.nan)


def _trial_losses(record: StackRecord, epoch: str) -> list[float]:
    """The validation loss of each trial at the epoch that the column names, infinite if it diverged."""
    losses = []
    for row in record.rows:
        loss = math.inf
        wanted = ("finetune", row["trial"], row[epoch])
        for each in record.curves:
            place = (each["phase"], each["trial"], each["epoch"])
            if place == wanted and row["diverged"] is None:
                loss = float(each["validation_loss"])
        losses.append(loss)
    return losses


def _choice(pretrained_losses: NDArray[np.float64], scratch_losses: NDArray[np.float64], unit: str) -> tuple[bool, str]:
    """Use of pre-training by the paired losses of the same rows or trials ``(n,)``, and a sentence on it.

    It is used if the 95 % t-interval of the mean difference is below zero: otherwise training from scratch is cheaper.
    """
    n = len(pretrained_losses)
    noun = unit if n > 1 else unit.removesuffix("s")
    means = f"{pretrained_losses.mean():.3g} with pre-training, {scratch_losses.mean():.3g} without"
    helps = f"Pre-training helps: loss on {n:,} {noun} {means}."
    hurts = f"Pre-training hurts and is not used: loss on {n:,} {noun} {means}."
    # A trial that diverged is worse than any that did not.
    if np.isinf(pretrained_losses).any():
        return False, hurts
    if np.isinf(scratch_losses).any():
        return True, helps
    # In doubt pre-training is left out, because training from scratch is cheaper.
    if unit == ROWS and n < ENOUGH:
        return False, f"{n} {noun} are too few to tell ({means}): {CHEAPER}."
    differences = pretrained_losses - scratch_losses
    # One difference has no spread.
    width = math.inf
    if n > 1:
        error = differences.std(ddof=1) / math.sqrt(n)
        width = student_quantile(n - 1) * error
    if differences.mean() < -width:
        return True, helps
    if differences.mean() > width:
        return False, hurts
    unclear = f"No clear difference on {n:,} {noun} ({means})"
    return False, f"{unclear}: {CHEAPER}."


def pretrain(config: Config, table: Table, *, verbose: bool = False) -> tuple[Model, list[TrialRow]]:
    """Pre-train the encoders of trials on nine tenths of the rows; no label is used."""
    _try_own_parts(config)
    console = screen(stderr=True) if verbose else None
    rows: list[TrialRow] = []
    kept: list[StoredTrial] = []
    with process_of(config) as hardware:
        training = CellTraining.prepare(config, table, hardware, splitting=WithoutTest, console=console)
        for wanted, together in _stacks(training):
            own, trials = _encoders(training, wanted, together)
            rows += own
            kept += trials
    return _voting(training, kept, None), rows


def _encoders(
    training: CellTraining, wanted: Sequence[int], trials: Sequence[int]
) -> tuple[list[TrialRow], list[StoredTrial]]:
    """Pre-train a stack: a row for each trial, and its encoders."""
    stack = training.stack(trials)
    fit = training.pretrain(stack)
    assert fit is not None
    rows: list[TrialRow] = []
    for position, trial in enumerate(trials):
        # Trials that only fill up a block are not kept.
        if trial in wanted:
            diverged = "pretrain" if fit.diverged[position] else None
            n_epochs = int(fit.epochs[position])
            rows.append({"trial": trial, "diverged": diverged, "pretrain_epochs": n_epochs})
    encoder = {}
    for name, weight in fit.part("encoder").items():
        encoder[f"encoder.{name}"] = weight.cpu().numpy()
    vectors = stack.data.preprocessing.arrays()
    # No label was seen, so there is no target to undo the scaling of.
    vectors.pop("target", None)
    return rows, StoredTrial.of_stack(rows, vectors, encoder)


def _voting(training: CellTraining, trials: list[StoredTrial], target: Target | None) -> Model:
    """The model of the trials that did not diverge."""
    config, table = training.config, training.table
    # Weights that are not finite would make every mean prediction NaN.
    converged = [kept for kept in trials if kept.row["diverged"] is None]
    if not converged:
        raise UsageError(
            f"All {config.trials} trials diverged; a smaller learning rate may help, as "
            'options={"finetune.learning_rate": 1e-4, "pretrain.learning_rate": 1e-4}.'
        )
    n_diverged = config.trials - len(converged)
    if n_diverged:
        sentence = f"{n_diverged} of {config.trials} trials diverged and have no vote."
        warnings.warn(sentence, UserWarning, stacklevel=5)
    encoded = training.parts.encoding.columns(table.columns)
    reader = replace(table.rows_reader, columns=encoded)
    return model_of(config, converged, reader, target, table.name)


@contextmanager
def process_of(config: Config) -> Iterator[Hardware]:
    """Set up the process as for a cell. Its threads and its loggers are as they were in the end.

    Within, gradients are computed, even if the caller has switched them off.
    """
    # An estimator runs inside somebody's program, which must find its process as it left it.
    threads = torch.get_num_threads()
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    with warnings.catch_warnings():
        prepare_process(config.trainer.threads)
        try:
            with own_torch():
                yield choose_hardware(config.trainer)
        finally:
            torch.set_num_threads(threads)
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
