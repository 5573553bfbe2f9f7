"""One stack of one cell, from its data to what the store keeps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytorch_lightning import Callback
from rich.console import Console

from ..config import Config, Parts
from ..console.progress import StackProgress
from ..data.table import Table
from ..data.trials import prepare_trials
from ..engine.early_stopping import TrialStopping
from ..engine.exactness import Promise
from ..engine.fitting import Fit
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..methods import Outcome, Supervision
from ..metrics import classification_metrics, metrics
from ..randomness import Streams
from ..results import PretrainingStore, StackRecord
from .environment import environment
from .pretraining import pretrain
from .telling import EpochTeller, Tell


def train_stack(
    config: Config,
    parts: Parts,
    table: Table,
    trials: Sequence[int],
    pretrained: PretrainingStore,
    hardware: Hardware,
    console: Console | None,
    *,
    company: Sequence[int] | None = None,
    tell: Tell | None = None,
) -> StackRecord:
    """Pre-train where the cell says so, train the method, measure on the test rows.

    Args:
        config: the cell's configuration.
        parts: what it names.
        table: its data.
        trials: those to keep.
        pretrained: where pre-trainings are kept.
        hardware: what to train on.
        console: where progress is shown, if it is a terminal; None shows none.
        company: the trials to train at once, these among them; None for these alone.
        tell: told of each epoch while it trains, see `EpochTeller`.
    """
    together = list(trials if company is None else company)

    def watch(phase: str, stopping: TrialStopping, max_epochs: int) -> list[Callback]:
        shown: list[Callback] = [StackProgress(phase, stopping, max_epochs, console)] if console else []
        return [*shown, *([EpochTeller(phase, stopping, tell)] if tell else [])]

    def stack_of(chosen: Sequence[int]) -> Stack:
        streams = Streams(config.seed, table.hash)
        data = prepare_trials(
            table,
            chosen,
            streams,
            regime=parts.regime,
            scaling=parts.scaling,
            fit_on=config.fit_on,
            splitting=parts.splitting,
        )
        return Stack.make(table, data, streams, parts.network, config.network, hardware, watch)

    stack, pretext, pretraining = stack_of(together), parts.pretext, None
    if pretext is not None:
        pretraining = pretrain(
            together,
            pretrained,
            lambda missing: (stack if missing == together else stack_of(missing)).pretrain(config.pretrain, pretext),
            together=hardware.promise is Promise.FIXED,
        )
    if parts.method.trains_each_alone and list(trials) != together:
        pretraining = pretraining and pretraining.of([together.index(trial) for trial in trials])
        stack = stack_of(trials)
    encoder = pretraining.part("encoder") if pretraining else None
    outcome = parts.method.run(stack, Supervision(config.finetune, encoder))
    kept = [stack.data.trials.index(trial) for trial in trials]
    rows = _rows(stack, pretraining, outcome, config)
    weights = _weights(outcome.fit) if config.keep_weights else None
    return StackRecord(
        rows=[rows[position] for position in kept],
        curves=[record for record in _curves(pretraining, outcome.fit) if record["trial"] in trials],
        preprocessing={name: getattr(stack.data.preprocessing, name)[kept] for name in ("fill", "shift", "scale")},
        environment=environment(hardware, config.trainer.threads, len(together)),
        weights=weights and {name: weight[kept] for name, weight in weights.items()},
    )


def _rows(stack: Stack, pretraining: Fit | None, outcome: Outcome, config: Config) -> list[dict[str, Any]]:
    data, labels = stack.data, stack.table.labels
    sizes = {
        "n_train": data.train.shape[1],
        "n_labelled": data.labelled.shape[1],
        "n_unlabelled": data.train.shape[1] - data.labelled.shape[1],
        "n_validation": data.validation.shape[1],
        "n_test": data.test.shape[1],
    }
    place = {
        "device": stack.hardware.device.type,
        "precision": stack.hardware.precision,
        "threads": config.trainer.threads,
    }
    diverged = _diverged(pretraining, outcome)
    return [
        {"trial": trial, "diverged": diverged[t]}
        | (
            dict.fromkeys(metric.name for metric in metrics())
            if diverged[t]
            else classification_metrics(outcome.probabilities[t], labels[data.test[t]])
        )
        | _effort("pretrain", pretraining, t)
        | _effort("finetune", outcome.fit, t)
        | {"fits": outcome.fits[t], "finetune_seconds": outcome.seconds[t]}
        | sizes
        | place
        for t, trial in enumerate(data.trials)
    ]


def _diverged(pretraining: Fit | None, outcome: Outcome) -> list[str | None]:
    """The phase in which each trial diverged. It is predicted by the weights before, and not measured."""
    of_pretraining = np.zeros_like(outcome.diverged) if pretraining is None else pretraining.diverged
    of_method = outcome.diverged | ~np.isfinite(outcome.probabilities).all(axis=(1, 2))
    phases = zip(of_pretraining, of_method, strict=True)
    return ["pretrain" if first else "finetune" if second else None for first, second in phases]


def _weights(finetuning: Fit | None) -> dict[str, Any] | None:
    """Of f and h as they were fine-tuned last; a method without a network has none."""
    if finetuning is None:
        return None
    return {name: weight.cpu().numpy() for name, weight in finetuning.part("classifier").items()}


def _effort(phase: str, fit: Fit | None, position: int) -> dict[str, Any]:
    if fit is None:
        return {f"{phase}_epochs": None, f"{phase}_best_epoch": None, f"{phase}_seconds": None}
    return {
        f"{phase}_epochs": fit.epochs[position],
        f"{phase}_best_epoch": fit.best_epochs[position],
        f"{phase}_seconds": fit.seconds[position],
    }


def _curves(pretraining: Fit | None, finetuning: Fit | None) -> list[dict[str, Any]]:
    phases = (("pretrain", pretraining), ("finetune", finetuning))
    return [{"phase": phase} | record for phase, fit in phases if fit is not None for record in fit.curves]
