"""The two phases of a stack of trials, from its data to the method's outcome."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pytorch_lightning import Callback
from rich.console import Console
from torch import Tensor

from ..config import CellParts, Config
from ..console.progress import StackProgress
from ..data.splits import Splitting
from ..data.table import Table
from ..data.trials import prepare_trials
from ..engine.early_stopping import TrialStopping
from ..engine.exactness import Promise
from ..engine.fitting import Fit, Watch, unwatched
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..methods import MethodResult, SupervisedPhase
from ..randomness import Streams
from ..results import PretrainingStore
from .pretraining import pretrain
from .telling import EpochTeller, Tell


@dataclass(frozen=True)
class Trained:
    """A stack of trials, and what came of its phases; ``together`` is how many were pre-trained at once."""

    stack: Stack
    pretraining: Fit | None
    outcome: MethodResult
    together: int


def train_phases(
    config: Config,
    parts: CellParts,
    table: Table,
    trials: Sequence[int],
    pretrained: PretrainingStore,
    hardware: Hardware,
    console: Console | None,
    *,
    company: Sequence[int] | None = None,
    tell: Tell | None = None,
    predicts_validation: bool = False,
) -> Trained:
    """Pre-train where the cell says so, and run the method.

    Args:
        config: the cell's configuration.
        parts: what it names.
        table: its data.
        trials: those that are asked for.
        pretrained: where pre-trainings are kept.
        hardware: what to train on.
        console: where progress is shown, if it is a terminal; None shows none.
        company: the trials to train at once, these among them; None for these alone.
        tell: told of each epoch while it trains, see `EpochTeller`.
        predicts_validation: whether the validation rows that stop training are predicted too, before the test rows.
    """
    together = list(trials if company is None else company)

    def watch(phase: str, stopping: TrialStopping, max_epochs: int) -> list[Callback]:
        shown: list[Callback] = [StackProgress(phase, stopping, max_epochs, console)] if console else []
        return [*shown, *([EpochTeller(phase, stopping, tell)] if tell else [])]

    def stack_of(chosen: Sequence[int]) -> Stack:
        return make_stack(config, parts, table, chosen, hardware, watch, predicts_validation=predicts_validation)

    stack, pretext, pretraining = stack_of(together), parts.pretext, None
    if pretext is not None:
        pretraining = pretrain(
            together,
            pretrained,
            lambda missing: (stack if missing == together else stack_of(missing)).pretrain(config.pretrain, pretext),
            steps_per_epoch=stack.steps_per_epoch(config.pretrain),
            together=hardware.promise is Promise.FIXED,
        )
    if parts.method.trains_each_alone and list(trials) != together:
        pretraining = pretraining and pretraining.of([together.index(trial) for trial in trials])
        stack = stack_of(trials)
    start = _start(pretraining, pretext.first_layer) if pretraining and pretext else None
    return Trained(stack, pretraining, parts.method.run(stack, SupervisedPhase(config.finetune, start)), len(together))


def _start(pretraining: Fit, first_layer: str) -> dict[str, Tensor]:
    """What a pre-training leaves: the weights of f, and the first layer of g, if it has one, by its names in h."""
    first = pretraining.part(f"head.{first_layer}")
    return pretraining.part("encoder") | {f"head.layers.0.{name}": weight for name, weight in first.items()}


def make_stack(
    config: Config,
    parts: CellParts,
    table: Table,
    trials: Sequence[int],
    hardware: Hardware,
    watch: Watch = unwatched,
    *,
    splitting: Splitting | None = None,
    predicts_validation: bool = False,
) -> Stack:
    """Trials of a cell with their data, ready to train.

    Args:
        config, parts, table, trials, hardware: as in `train_phases`.
        watch: the callbacks of a fit.
        splitting: in place of the cell's own.
        predicts_validation: as in `train_phases`.
    """
    streams, encoded = Streams(config.seed, table.hash), parts.encoding.encode(table)
    data = prepare_trials(
        encoded,
        trials,
        streams,
        regime=parts.regime,
        scaling=parts.scaling,
        fit_on=config.fit_on,
        impute_on=config.impute_on,
        splitting=splitting or parts.splitting,
    )
    if predicts_validation:
        data = replace(data, test=np.concatenate([data.judged, data.test], axis=1))
    return Stack.make(encoded, data, streams, parts.network, config.network, hardware, watch)
