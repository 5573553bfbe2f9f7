"""Measurements of a trained stack, and the part of it that the store keeps."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions, version
from platform import platform, python_version
from typing import Any

import numpy as np

from ..engine.fitting import Fit
from ..engine.hardware import Promise
from ..engine.stack import Stack
from ..methods import MethodResult
from ..methods.named_estimator import distribution_of
from ..options import Config
from ..options.combinations import watched_from
from ..results import Predictions, Row, StackRecord, on_few_steps, source_commit

PACKAGES = ("scarf-lightning", "torch", "pytorch-lightning", "numpy", "pandas", "scikit-learn", "hydra-core")
OPTIONAL_PACKAGES = ("openml", "xgboost", "xgboost-cpu", "lightgbm", "catboost", "tabm", "optuna")


@dataclass(frozen=True)
class TrainedStack:
    """A stack of T trials after its phases; ``together`` trials were pre-trained at once."""

    config: Config
    stack: Stack
    pretraining: Fit | None
    outcome: MethodResult
    together: int

    def record(self, trials: Sequence[int]) -> StackRecord:
        """Records of these trials for the store."""
        data, fit = self.stack.data, self.outcome.fit
        rows = {trial: self._row(position) for position, trial in enumerate(data.trials) if trial in trials}
        kept = [data.trials.index(trial) for trial in rows]
        predictions, notes = self._predictions([p for p in kept if rows[data.trials[p]]["diverged"] is None])
        weights = None
        if self.config.keep_weights and fit is not None:
            weights = {name: weight.cpu().numpy()[kept] for name, weight in fit.part("classifier").items()}
        phases = (("pretrain", self.pretraining), ("finetune", fit))
        curves = [{"phase": phase} | record for phase, each in phases if each is not None for record in each.curves]
        return StackRecord(
            rows=list(rows.values()),
            curves=[record for record in curves if record["trial"] in trials],
            preprocessing={name: array[kept] for name, array in data.preprocessing.arrays().items()},
            environment=self._environment(),
            weights=weights,
            predictions=predictions,
            notes=[*on_few_steps([list(rows.values())]), *notes],
        )

    def _row(self, position: int) -> Row:
        """One row of results: metrics, epochs, steps and seconds of the phases, sizes of the split, hardware."""
        data, outcome, hardware = self.stack.data, self.outcome, self.stack.hardware
        test = data.test[position]
        # Tuning asks for other rows before the test rows; these are always the last.
        predictions, target = outcome.predictions[position, -len(test) :], self.stack.table.target
        diverged = self._diverged(position)
        measured: Row = dict.fromkeys(metric.name for metric in target.metrics())
        if diverged is None:
            measured |= target.measured(predictions, self.stack.table.labels[test])
            measured["one_class"] = target.is_one_class(predictions)
        effort = _effort("pretrain", self.pretraining, position) | _effort("finetune", outcome.fit, position)
        return {"trial": data.trials[position], "diverged": diverged, **measured, **effort} | {
            "fits": outcome.fits[position],
            "finetune_seconds": outcome.seconds[position],
            "n_train": data.usable.shape[1],
            "n_labels": self._n_labels(),
            "n_labelled": data.labelled.shape[1],
            "n_unlabelled": data.usable.shape[1] - data.labelled.shape[1],
            "n_validation": data.validation.shape[1],
            "n_test": data.test.shape[1],
            "device": hardware.device.type,
            "precision": hardware.precision,
            "threads": self.config.trainer.threads,
        }

    def _n_labels(self) -> int:
        """The labels that the supervised phase of a trial sees in all: those that train, and those that stop or
        choose."""
        data = self.stack.data
        n_labelled: int = data.labelled.shape[1]
        if n_labelled + data.n_labels_inside < watched_from(self.config):
            return n_labelled
        return n_labelled + int(data.validation.shape[1])

    def _diverged(self, position: int) -> str | None:
        """The phase in which a trial diverged. Its method runs on from the weights before, and is not measured."""
        if self.pretraining is not None and self.pretraining.diverged[position]:
            return "pretrain"
        is_finite = np.isfinite(self.outcome.predictions[position]).all()
        return None if is_finite and not self.outcome.diverged[position] else "finetune"

    def _predictions(self, positions: Sequence[int]) -> tuple[list[Predictions], list[str]]:
        """The predictions of the trials at these positions; or none, and a sentence on why."""
        table, test, given = self.stack.table, self.stack.data.test, self.outcome.predictions
        found = [
            Predictions(self.stack.trials[p], test[p], table.labels[test[p]], given[p, -test.shape[1] :], table.target)
            for p in positions
        ]
        most = self.config.keep_predictions_mb
        needed = self.config.trials * max((each.size for each in found), default=0) / 1e6
        if needed <= most:
            return found, []
        note = f"Test predictions are not kept: they may take {needed:.3g} MB, more than keep_predictions_mb={most:g}."
        return [], [note] if most else []

    def _environment(self) -> dict[str, Any]:
        """Versions and hardware. The size of the stack is kept if numbers depend on it."""
        hardware = self.stack.hardware
        return {
            "python": python_version(),
            "platform": platform(),
            "device": str(hardware.device),
            "precision": hardware.precision,
            "threads": self.config.trainer.threads,
            "promise": hardware.promise.value,
            "trials_per_stack": "any" if hardware.promise is Promise.EXACT else self.together,
            "MKL_CBWR": os.environ.get("MKL_CBWR"),
            "packages": _packages(self.config.method.get("estimator")),
            "commit": source_commit(),
        }


def _effort(phase: str, fit: Fit | None, position: int) -> Row:
    if fit is None:
        return dict.fromkeys(f"{phase}_{what}" for what in ("epochs", "steps", "best_epoch", "seconds"))
    return {
        f"{phase}_epochs": fit.epochs[position],
        f"{phase}_steps": fit.steps[position],
        f"{phase}_best_epoch": fit.best_epochs[position],
        f"{phase}_seconds": fit.seconds[position],
    }


@cache
def _packages(estimator: str | None = None) -> dict[str, str]:
    """Versions of the packages that decide numbers, that of an ``estimator`` of another library among them."""
    names = [*OPTIONAL_PACKAGES]
    if estimator is not None and (its := distribution_of(estimator)) is not None:
        names.append(its)
    optional = {name: found.version for name in names for found in distributions(name=name)}
    return {name: version(name) for name in PACKAGES} | optional
