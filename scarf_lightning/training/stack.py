"""One stack of one cell, from its data to what the store keeps."""

from collections.abc import Sequence
from typing import Any

from pytorch_lightning import Callback
from rich.console import Console

from ..config import Config, Parts
from ..console.progress import StackProgress
from ..data.table import Table
from ..data.trials import prepare_trials
from ..methods import Outcome, Supervision
from ..metrics import classification_metrics
from ..modules.early_stopping import TrialStopping
from ..modules.fitting import Fit
from ..modules.hardware import Hardware
from ..modules.stack import Stack
from ..randomness import Streams
from ..results import PretrainingStore, StackRecord
from .environment import environment
from .pretraining import pretrain


def train_stack(
    config: Config,
    parts: Parts,
    table: Table,
    trials: Sequence[int],
    pretrained: PretrainingStore,
    hardware: Hardware,
    console: Console | None,
) -> StackRecord:
    """Pre-train where the cell says so, train the method, measure on the test rows.

    Args:
        config: the cell's configuration.
        parts: what it names.
        table: its data.
        trials: the stack's.
        pretrained: where pre-trainings are kept.
        hardware: what to train on.
        console: where progress is shown, if it is a terminal; None shows none.
    """

    def watch(phase: str, stopping: TrialStopping, max_epochs: int) -> list[Callback]:
        return [StackProgress(phase, stopping, max_epochs, console)] if console else []

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
        return Stack(
            table,
            data,
            streams,
            config.network,
            hardware,
            watch=watch,
        )

    stack, pretext, pretraining = stack_of(trials), parts.pretext, None
    if pretext is not None:
        pretraining = pretrain(
            trials,
            pretrained,
            lambda missing: (stack if missing == trials else stack_of(missing)).pretrain(config.pretrain, pretext),
        )
    encoder = pretraining.part("encoder") if pretraining else None
    outcome = parts.method.run(stack, Supervision(config.finetune, encoder, parts.augmentation, parts.cotraining))
    return StackRecord(
        rows=_rows(stack, pretraining, outcome, config),
        curves=_curves(pretraining, outcome.fit),
        preprocessing={name: getattr(stack.data.preprocessing, name) for name in ("fill", "shift", "scale")},
        environment=environment(hardware, config.trainer.threads),
        weights=_weights(outcome.fit) if config.keep_weights else None,
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
    return [
        {"trial": trial}
        | classification_metrics(outcome.probabilities[t], labels[data.test[t]])
        | _effort("pretrain", pretraining, t)
        | _effort("finetune", outcome.fit, t)
        | {"fits": outcome.fits[t], "finetune_seconds": outcome.seconds[t]}
        | sizes
        | place
        for t, trial in enumerate(data.trials)
    ]


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
