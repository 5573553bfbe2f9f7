"""A cell from its data to the records of its trials.

For each stack of trials that the cell lacks: split the rows and apply the regime (`CellTraining.stack`), pre-train or
load the pre-training (`pretrain`), run the method (`run`), measure on the test rows and record (`TrainedStack.record`).

A stack is the trials that are trained at once. Where a trial's numbers do not depend on the others (`Promise.EXACT`),
it holds the wanted trials alone. Where they do (`Promise.FIXED`), it is a block of ``trials_per_stack`` trials, counted
from trial 0, of which the wanted ones are kept. With blocks of five, of which 3, 4 and 7 are wanted::

    trial    0  1  2  3  4 | 5  6  7  8  9
    EXACT             3  4         7            one stack of three trials
    FIXED    0  1  2  3  4 | 5  6  7  8  9      two stacks of five trials; 3, 4 and 7 are kept

`CellTraining.pretrain` is Algorithm 1 of the paper. Its lines are

- 1 to 3, the inputs, the marginals and q: `Stack.pretrain`, `CorruptionSource` and `corruption.strategies.n_selected`;
- 4, mini-batches: `StackDataModule.training_examples`;
- 5, corrupted views: `Pretext.make_views`, which asks `BatchRows.corrupted`;
- 6, embeddings of the views: `PretextTask.losses`;
- 7 and 8, similarities and the loss: `losses.loss.InfoNCE`;
- 9, the update: `StackLoop.training_step`;
- 10 and 11, the end and f: `fitting.fit` and `Fit.part`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from ..corruption import check_kept
from ..data.splits import Splitting
from ..data.table import Table
from ..data.trials import EVALUATION_ROWS, RowRules, prepare_trials
from ..engine.fit import Fit
from ..engine.hardware import Demand, Hardware, Promise, free_memory, trials_that_fit
from ..engine.stack import Stack
from ..engine.watching import StackProgress, TrialStopping, Watcher
from ..errors import UsageError, counted
from ..methods import SupervisedPhase
from ..options import CellParts, Config, build_parts
from ..options.combinations import (
    check_labels,
    check_target,
    fit_to_data,
    fit_to_target,
    no_effect_sentences,
)
from ..pretexts import rows_and_views
from ..randomness import Streams
from ..results import CellStore, Claim, PretrainedTrial, PretrainingStore, columns
from ..sweeping.folders import recipe_options
from .folds import train_by_folds
from .trained_stack import TrainedStack, package_versions

if TYPE_CHECKING:
    from rich.console import Console


Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Takes a phase and the records of its latest epoch, one for each trial that still trains."""


@dataclass(frozen=True, eq=False)
class CellTraining:
    """A cell, its data, and everything that its stacks are trained with. Make one with `prepare`.

    Attributes:
        config: the configuration that the cell has on its data.
        parts: the objects that the configuration names.
        store: keeps the cell's records; None keeps none.
        pretrained: keeps its pre-trainings; None keeps none.
        notes: sentences on options that have no effect on these data.
        console: shows progress; None shows none.
        tell: called after each epoch.
        holds_back: validation labels train nothing, even if nothing stops or chooses in a trial: the caller needs
            them for a score.
        most_at_once: the largest stack that fits into the memory; None for no limit.
        warning: a sentence if it is smaller than planned.
    """

    config: Config
    parts: CellParts
    table: Table
    hardware: Hardware
    store: CellStore | None = None
    pretrained: PretrainingStore | None = None
    notes: Sequence[str] = ()
    console: "Console | None" = None
    tell: Tell | None = None
    holds_back: bool = False
    most_at_once: int | None = None
    warning: str | None = None

    @classmethod
    def prepare(
        cls,
        config: Config,
        table: Table,
        hardware: Hardware,
        *,
        store: CellStore | None = None,
        pretrained: PretrainingStore | None = None,
        splitting: Callable[[Splitting], Splitting] | None = None,
        console: "Console | None" = None,
    ) -> "CellTraining":
        """Check a cell against its data, and make its parts.

        Args:
            store, pretrained: where its records and its pre-trainings are kept, if they are.
            splitting: replaces the rule that the configuration names.

        Raises:
            UsageError: the data cannot be split so, or lack unlabelled rows that the method needs; or training needs
                more memory than there is.
        """
        check_labels(config, table.n_unlabelled)
        check_target(config, type(table.target))
        # Two configurations with the same effect on these data are one cell.
        effective_config = fit_to_target(fit_to_data(config, len(table.columns), table.n_encoded), type(table.target))
        parts = build_parts(effective_config)
        # Folds validate their labels in one batch, in which each network's outputs are there for the others.
        if effective_config.folds_on(EVALUATION_ROWS):
            raise UsageError(f"finetune.folds needs a finetune.fixed_below of at most {EVALUATION_ROWS}.")
        if parts.pretext is not None and effective_config.pretrain.drop:
            table.places(effective_config.pretrain.drop, "pretrain.drop")
        auxiliary = None if parts.method.auxiliary is None else parts.method.auxiliary[0]
        check_kept((parts.pretext, parts.method, auxiliary), table)
        if splitting is not None:
            parts = replace(parts, splitting=splitting(parts.splitting))

        if store is not None:
            # A record holds them. An error here comes before training, not after it.
            package_versions(parts.method.libraries)
        notes = list(no_effect_sentences(config, effective_config, recipe_options(config.recipe)))
        return cls(effective_config, parts, table, hardware, store, pretrained, notes, console)._within_memory()

    def _within_memory(self) -> "CellTraining":
        """The same with as many trials at once as fit into the memory, if that changes no number; else a UsageError."""
        is_exact = self.hardware.promise is Promise.EXACT
        stack_size = self.hardware.stack_size(self._trials_per_stack)
        if is_exact:
            # A block of a fixed size is filled up with further trials; an exact one is not.
            stack_size = min(stack_size, self.config.trials)
        demand = self._demand
        # A network of each fold trains beside that of the trial.
        demand = replace(demand, trial=demand.trial * (1 + self.config.folds_on(0)))
        limit = self.config.trainer.memory_gb
        free = free_memory(self.hardware.device, demand.needed(stack_size)) if limit is None else int(limit * 1e9)
        if free is None:
            return self
        n_fitting = trials_that_fit(demand, stack_size, free)
        if n_fitting >= stack_size:
            return self
        # Smaller stacks give the same numbers here. Elsewhere they give others, so the user has to choose them.
        if is_exact and n_fitting:
            warning = (
                f"{self.table.name}: {n_fitting} of the trials are trained at once, for which the memory that is left "
                "suffices; their numbers are the same."
            )
            return replace(self, most_at_once=n_fitting, warning=warning)
        n_trials, instead = 1, "a smaller batch_size, network or table"
        if n_fitting:
            n_trials, instead = stack_size, f"trainer.trials_per_stack={n_fitting}"
        memory = f"{free / 1e9:.1f} GB are left" if limit is None else f"trainer.memory_gb={limit:g} allows less"
        raise UsageError(
            f"Training {self.table.name} needs about {demand.needed(n_trials) / 1e9:.1f} GB for "
            f"{counted(n_trials, 'trial')} at once, and {memory}; use {instead}, or set a larger trainer.memory_gb."
        )

    @property
    def _demand(self) -> Demand:
        """The memory of a stack."""
        config, parts = self.config, self.parts
        pretraining = None if parts.pretext is None else config.pretrain
        rows, views = rows_and_views(config.finetune.batch_size, pretraining, parts.method.auxiliary)
        encoded_table = replace(self.table, columns=parts.encoding.columns(self.table.columns))
        network = parts.network if "network" in parts.method.uses else None
        return Demand.of(
            encoded_table,
            network,
            config.network,
            self.hardware.dtype,
            rows=rows,
            views=views,
            embeds=parts.method.embeds,
            is_shared=config.fit_on == "all",
        )

    @property
    def _trials_per_stack(self) -> int | Literal["auto"]:
        """Trials to train at once if the memory allows it."""
        # Trials of a ragged split have their own batches.
        if self.parts.splitting.is_ragged(self.table):
            return 1
        return self.config.trainer.trials_per_stack

    @property
    def streams(self) -> Streams:
        """The random streams of the cell's trials."""
        return Streams(self.config.seed, self.table.n_labelled)

    def describe(self, overrides: Sequence[str]) -> None:
        """Write a description of the cell, with the ``overrides`` that make it, into the store before any record."""
        assert self.store is not None
        table, descriptions = self.table, []
        for column in self.parts.encoding.columns(table.columns):
            gaps = {"tells_gaps": True} if column.tells_gaps else {}
            descriptions.append({"name": column.name, "categories": column.categories} | gaps)
        self.store.describe(
            dataset=table.name,
            dataset_id=table.dataset_id,
            source=table.source,
            columns=descriptions,
            target=table.target,
            overrides=overrides,
            config=self.config.recorded(),
            options=dict(columns(self.config)),
            reading=table.report(self.notes),
        )

    def stacks(self, trials: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
        """Divide trials into stacks: the trials to keep, and the trials to train at once, which contain them."""
        for block in self.hardware.stacks(trials, self.most_at_once or self._trials_per_stack):
            yield [trial for trial in block if trial in trials], block

    def run(self, trials: Sequence[int], block: Sequence[int] | None = None) -> TrainedStack:
        """Train one stack: pre-train if the cell does, and run the method.

        Args:
            trials: the trials to keep.
            block: all trials to train at once; None adds no others.
        """
        stack_trials, method = list(block or trials), self.parts.method
        stack = self.stack(stack_trials)
        pretraining = self.pretrain(stack)
        start = None if pretraining is None else pretraining.part("encoder")
        phase, measures = SupervisedPhase(self.config.finetune, start), self._probe(stack, start)
        if self.config.folds_on(stack.data.labels.shape[1] + stack.data.n_labels_inside):
            outcome, stack, fold_measures = train_by_folds(stack, method, phase)
            measures |= fold_measures
        else:
            outcome = method.run(stack, phase)
        # A plugin's method may predict the test rows alone, and would be measured on other rows than it predicted.
        if outcome.predictions.shape[:2] != stack.data.test.shape:
            raise UsageError(f"method={method.name} must predict the rows of stack.data.test.")
        return TrainedStack(self.config, stack, method, pretraining, outcome, len(stack_trials), measures)

    def _probe(self, stack: Stack, encoder: Any) -> dict[str, Any]:
        """The measures of the frozen embeddings by their columns, ``(T,)`` each; empty without ``pretrain.probe``."""
        settings, pretext = self.config.pretrain, self.parts.pretext
        if settings.probe is None or pretext is None or encoder is None:
            return {}
        return {f"probe_{name}": values for name, values in stack.probed(settings, pretext, encoder).items()}

    def stack(self, trials: Sequence[int]) -> Stack:
        """The rows of trials that are trained at once, preprocessed and encoded, and the networks to train."""
        encoded_table = self.parts.encoding.encode(self.table)
        data = prepare_trials(
            encoded_table,
            trials,
            self.streams,
            RowRules(
                self.parts.regime,
                self.parts.splitting,
                lambda n_labels: self.holds_back or n_labels >= self.config.watched_from,
                self.config.pretrain.rows,
            ),
            scaling=self.parts.scaling,
            fit_on=self.config.fit_on,
        )
        return Stack(
            encoded_table, data, self.streams, self.hardware, self.parts.network, self.config.network, self._watch
        )

    def pretrain(self, stack: Stack) -> Fit | None:
        """Pre-train a stack; trials in the cache are loaded instead. None if the cell has no pre-training."""
        pretext, settings = self.parts.pretext, self.config.pretrain
        if pretext is None:
            return None
        if self.pretrained is None:
            return stack.pretrain(settings, pretext)
        stack_trials = list(stack.trials)
        diverged = set[int]()
        with _load_or_claim(stack_trials, self.pretrained) as (pretrainings, claim):
            to_train = [trial for trial in stack_trials if trial not in pretrainings]
            if to_train:
                # Numbers that depend on the stack are those of a whole block.
                if self.hardware.promise is Promise.FIXED:
                    to_train = stack_trials
                missing = stack if to_train == stack_trials else self.stack(to_train)
                diverged = _keep(pretrainings, missing.pretrain(settings, pretext), to_train, self.pretrained, claim)
        return _join(stack_trials, pretrainings, diverged, stack.steps_per_epoch(settings))

    def _watch(self, phase: str, stopping: TrialStopping) -> list[Watcher]:
        """The watchers that show a fit."""
        watchers: list[Watcher] = []
        if self.console is not None:
            watchers.append(StackProgress(phase, stopping, self.console))
        if self.tell is not None:
            watchers.append(CurveSender(self.tell, phase, stopping))
        return watchers


@dataclass(frozen=True)
class CurveSender(Watcher):
    """Passes the curves of each epoch on to ``tell``."""

    tell: Tell
    phase: str
    stopping: TrialStopping

    def after_epoch(self) -> None:
        self.tell(self.phase, self.stopping.curves[-1].records())


@contextmanager
def _load_or_claim(
    trials: Sequence[int], store: PretrainingStore
) -> Iterator[tuple[dict[int, PretrainedTrial], Claim | None]]:
    """The pre-trainings that a cache has of trials. Within the context it is claimed if it lacks some, and another
    process that needs the same ones waits."""
    pretrainings = store.load(trials)
    if len(pretrainings) == len(trials):
        yield pretrainings, None
        return
    with store.claim(waits=True) as claim:
        # Another process may have trained them while this one waited for the claim.
        yield store.load(trials), claim


def _keep(
    pretrainings: dict[int, PretrainedTrial],
    fit: Fit,
    trials: Sequence[int],
    store: PretrainingStore,
    claim: Claim | None,
) -> set[int]:
    """Take what was trained: of a block those trials that the cache lacks. Returns the trials that have diverged."""
    additions = [addition for addition in _pretrained_trials(fit, trials) if addition.trial not in pretrainings]
    diverged = {
        trial for trial, is_lost in zip(trials, fit.diverged, strict=True) if is_lost and trial not in pretrainings
    }
    pretrainings |= {addition.trial: addition for addition in additions}
    # A diverged trial has no weights that another cell could start from.
    store.add([addition for addition in additions if addition.trial not in diverged], claim)
    return diverged


def _join(
    trials: Sequence[int], by_trial: Mapping[int, PretrainedTrial], diverged: Collection[int], steps_per_epoch: int
) -> Fit:
    """All trials as one fit, in this order."""
    pretrainings = [by_trial[trial] for trial in trials]
    epochs = np.array([pretraining.epochs for pretraining in pretrainings])
    return Fit(
        weights={
            name: torch.from_numpy(np.stack([pretraining.weights[name] for pretraining in pretrainings]))
            for name in pretrainings[0].weights
        },
        epochs=epochs,
        # The cache keeps no steps: of one pre-training every epoch has as many.
        steps=epochs * steps_per_epoch,
        best_epochs=np.array([pretraining.best_epoch for pretraining in pretrainings]),
        seconds=np.array([pretraining.seconds for pretraining in pretrainings]),
        curves=[record for pretraining in pretrainings for record in pretraining.curve],
        diverged=np.array([trial in diverged for trial in trials]),
    )


def _pretrained_trials(fit: Fit, trials: Sequence[int]) -> list[PretrainedTrial]:
    """The parts of a fit that each of its trials has, as the cache keeps them."""
    # To the host at once: a copy for each trial would wait for the device each time.
    weights = {name: weight.cpu().numpy() for name, weight in fit.weights.items()}
    return [
        PretrainedTrial(
            trial=trial,
            weights={name: weight[position] for name, weight in weights.items()},
            epochs=int(fit.epochs[position]),
            best_epoch=int(fit.best_epochs[position]),
            seconds=float(fit.seconds[position]),
            curve=[record for record in fit.curves if record["trial"] == trial],
        )
        for position, trial in enumerate(trials)
    ]
