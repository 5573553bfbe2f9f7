"""One stack of one cell, from its data to what the store keeps."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..config import CellParts, Config, build_parts
from ..data.table import Table
from ..engine.exactness import Promise
from ..engine.fitting import Fit
from ..engine.hardware import Hardware
from ..engine.stack import Stack
from ..methods import MethodResult
from ..metrics import classification_metrics, metrics
from ..randomness import Purpose, Streams
from ..results import Predictions, PretrainingStore, StackRecord
from ..results.steps import on_few_steps
from .environment import environment
from .phases import Trained, train_phases
from .telling import Tell
from .tuning import tune, tuning_metric


def train_stack(
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
) -> StackRecord:
    """Pre-train where the cell says so, train the method, measure on the test rows; with ``tune``, in every try.

    Args:
        config: the cell's configuration.
        parts: what it names.
        table: its data.
        trials: those to keep.
        pretrained: where pre-trainings are kept.
        hardware: what to train on.
        console: where progress is shown, if it is a terminal; None shows none.
        company: the trials to train at once, these among them; None for these alone. A tuned trial is always alone.
        tell: told of each epoch while it trains, see `EpochTeller`; but not of tries.
    """
    if config.tune:
        tuned = [_tune_trial(config, parts, table, trial, pretrained, hardware, console) for trial in trials]
        return StackRecord.join(tuned)
    trained = train_phases(config, parts, table, trials, pretrained, hardware, console, company=company, tell=tell)
    return _record(config, trained, trials)


def _tune_trial(
    config: Config,
    parts: CellParts,
    table: Table,
    trial: int,
    pretrained: PretrainingStore,
    hardware: Hardware,
    console: Console | None,
) -> StackRecord:
    """The record of the best try of one trial, with the effort of all of them."""
    metric = tuning_metric(config)

    def train(tried: Config) -> tuple[StackRecord, float]:
        own = tried is config
        kept = pretrained if own and hardware.promise is Promise.EXACT else PretrainingStore(Path(), {}, max_gb=0)
        made = parts if own else build_parts(tried)
        both = train_phases(tried, made, table, [trial], kept, hardware, console, predicts_validation=True)
        trained, on_validation = _apart(both)
        record = _record(tried, trained, [trial])
        labels = trained.stack.data.judged_labels[0]
        diverged = record.rows[0]["diverged"] is not None
        return record, math.nan if diverged else metric.function(on_validation[0], labels)

    tries, best = tune(config, Streams(config.seed, table.hash).seed_of(trial, Purpose.TUNING) % 2**32, train)
    rows = [each.came.rows[0] for each in tries]
    effort = {"fits": sum(row["fits"] for row in rows)}
    for phase in ("pretrain_seconds", "finetune_seconds"):
        effort[phase] = None if rows[0][phase] is None else sum(row[phase] for row in rows)
    history = [
        {"trial": trial, "try": number, "chosen": number == best, "metric": metric.name, "score": each.score}
        | {"seconds": (row["pretrain_seconds"] or 0) + row["finetune_seconds"]}
        | dict(each.options)
        for number, (each, row) in enumerate(zip(tries, rows, strict=True))
    ]
    return replace(tries[best].came, rows=[rows[best] | effort], tries=history)


def _apart(both: Trained) -> tuple[Trained, NDArray[np.float64]]:
    """What was trained with its test rows alone, and the probabilities of the validation rows before them."""
    data, probabilities = both.stack.data, both.outcome.probabilities
    n = data.judged.shape[1]
    stack = replace(both.stack, data=replace(data, test=data.test[:, n:]))
    return replace(both, stack=stack, outcome=replace(both.outcome, probabilities=probabilities[:, n:])), (
        probabilities[:, :n]
    )


def _record(config: Config, trained: Trained, trials: Sequence[int]) -> StackRecord:
    stack, outcome = trained.stack, trained.outcome
    kept = [stack.data.trials.index(trial) for trial in trials]
    rows = _rows(stack, trained.pretraining, outcome, config)
    weights = _weights(outcome.fit) if config.keep_weights else None
    wanted = [rows[position] for position in kept]
    predictions, too_many = _predictions(stack, outcome, [t for t in kept if rows[t]["diverged"] is None], config)
    return StackRecord(
        rows=wanted,
        curves=[record for record in _curves(trained.pretraining, outcome.fit) if record["trial"] in trials],
        preprocessing={name: getattr(stack.data.preprocessing, name)[kept] for name in ("fill", "shift", "scale")},
        environment=environment(stack.hardware, config.trainer.threads, trained.together),
        weights=weights and {name: weight[kept] for name, weight in weights.items()},
        predictions=predictions,
        notes=[*on_few_steps([wanted]), *too_many],
    )


def _rows(stack: Stack, pretraining: Fit | None, outcome: MethodResult, config: Config) -> list[dict[str, Any]]:
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


def _diverged(pretraining: Fit | None, outcome: MethodResult) -> list[str | None]:
    """The phase in which each trial diverged. It is predicted by the weights before, and not measured."""
    of_pretraining = np.zeros_like(outcome.diverged) if pretraining is None else pretraining.diverged
    of_method = outcome.diverged | ~np.isfinite(outcome.probabilities).all(axis=(1, 2))
    phases = zip(of_pretraining, of_method, strict=True)
    return ["pretrain" if first else "finetune" if second else None for first, second in phases]


def _predictions(
    stack: Stack, outcome: MethodResult, positions: Sequence[int], config: Config
) -> tuple[list[Predictions], list[str]]:
    """What the trials at these positions predicted, and no sentence; or none, and why."""
    labels = stack.table.labels
    found = [
        Predictions(stack.data.trials[t], test := stack.data.test[t], labels[test], outcome.probabilities[t])
        for t in positions
    ]
    most = config.keep_predictions_mb
    needed = config.trials * max((each.size for each in found), default=0) / 1e6
    if needed <= most:
        return found, []
    said = f"Test predictions are not kept: they may take {needed:.3g} MB, more than keep_predictions_mb={most:g}."
    return [], [said] if most else []


def _weights(finetuning: Fit | None) -> dict[str, Any] | None:
    """Of f and h as they were fine-tuned last; a method without a network has none."""
    if finetuning is None:
        return None
    return {name: weight.cpu().numpy() for name, weight in finetuning.part("classifier").items()}


def _effort(phase: str, fit: Fit | None, position: int) -> dict[str, Any]:
    if fit is None:
        return dict.fromkeys(f"{phase}_{what}" for what in ("epochs", "steps", "best_epoch", "seconds"))
    return {
        f"{phase}_epochs": fit.epochs[position],
        f"{phase}_steps": fit.steps[position],
        f"{phase}_best_epoch": fit.best_epochs[position],
        f"{phase}_seconds": fit.seconds[position],
    }


def _curves(pretraining: Fit | None, finetuning: Fit | None) -> list[dict[str, Any]]:
    phases = (("pretrain", pretraining), ("finetune", finetuning))
    return [{"phase": phase} | record for phase, fit in phases if fit is not None for record in fit.curves]
