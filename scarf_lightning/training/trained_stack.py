"""Measurements of a trained stack, and the part of it that the store keeps."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions, packages_distributions
from platform import platform, python_version
from typing import Any

import numpy as np

from ..engine.fit import Fit
from ..engine.hardware import Promise
from ..engine.stack import Stack
from ..errors import UsageError, counted
from ..methods import Method, MethodResult
from ..options import Config
from ..options.combinations import used_options
from ..results import Predictions, Row, StackRecord, source_commit
from ..version import __version__

EFFORT = {"epochs": "epochs", "steps": "steps", "best_epoch": "best_epochs", "seconds": "seconds"}
"""What a phase takes: the endings of its columns, and the attributes of its fit."""
PACKAGES = ("torch", "pytorch-lightning", "numpy", "pandas", "scikit-learn", "hydra-core", "openml")


@dataclass(frozen=True)
class TrainedStack:
    """A stack of T trials after its phases; ``together`` trials were pre-trained at once.

    ``measures`` has further columns of their rows, ``(T,)`` each: of frozen embeddings on the test rows, and what folds
    chose.
    """

    config: Config
    stack: Stack
    method: Method
    pretraining: Fit | None
    outcome: MethodResult
    together: int
    measures: Mapping[str, Any]

    def record(self, trials: Sequence[int]) -> StackRecord:
        """Records of these trials for the store."""
        data, fit = self.stack.data, self.outcome.fit
        positions = [position for position, trial in enumerate(data.trials) if trial in trials]
        rows = [self._row(position) for position in positions]
        # A diverged trial has no predictions that mean anything.
        sound_positions = [position for position, row in zip(positions, rows, strict=True) if row["diverged"] is None]
        weights = None
        if self.config.keep_weights and fit is not None:
            weights = {name: weight.cpu().numpy()[positions] for name, weight in fit.part("classifier").items()}
        curves = [
            {"phase": phase} | record
            for phase, phase_fit in self._fits.items()
            for record in phase_fit.curves
            if record["trial"] in trials
        ]
        return StackRecord(
            rows=rows,
            curves=curves,
            preprocessing={name: array[positions] for name, array in data.preprocessing.arrays().items()},
            environment=self._environment(),
            weights=weights,
            predictions=self._predictions(sound_positions),
            faults=self._faults(rows),
        )

    def _row(self, position: int) -> Row:
        """One row of results: metrics, epochs, steps and seconds of the phases, sizes of the split, hardware."""
        data, outcome, hardware = self.stack.data, self.outcome, self.stack.hardware
        test = data.test[position]
        target = self.stack.table.target
        predictions = outcome.predictions[position]
        diverged = self._diverged(position)
        scores: Row = dict.fromkeys(metric.name for metric in target.metrics())
        if diverged is None:
            labels, training_labels = self.stack.table.labels[test], data.labels[position]
            scores |= target.measured(predictions, labels, training_labels)
        row: Row = {"trial": data.trials[position], "diverged": diverged, **scores}
        for phase, fit in (("pretrain", self.pretraining), ("finetune", outcome.fit)):
            for name, attribute in EFFORT.items():
                row[f"{phase}_{name}"] = None if fit is None else getattr(fit, attribute)[position]
        for name, values in self.measures.items():
            # Like metrics, they are those of a sound network.
            row[name] = values[position] if diverged is None else None
        n_labelled, n_validation = data.labelled.shape[1], data.validation.shape[1]
        is_watched = n_labelled + data.n_labels_inside >= self.config.watched_from
        row |= {
            "fits": outcome.fits[position],
            "finetune_seconds": outcome.seconds[position],
            "n_train": data.usable.shape[1],
            # Of few labels none are held back to stop a fit.
            "n_labels": n_labelled + n_validation * is_watched,
            "n_labelled": n_labelled,
            "n_label_classes": len(np.unique(data.labels[position])) if target.has_classes else None,
            "n_unlabelled": data.usable.shape[1] - n_labelled,
            "n_validation": n_validation,
            "n_test": data.test.shape[1],
            # A column that is left out, or is constant in training, has the scale 0.
            "n_features": np.count_nonzero(data.preprocessing.scale[position]),
            "device": hardware.device.type,
            "precision": hardware.precision,
            "threads": self.config.trainer.threads,
        }
        return row

    def _diverged(self, position: int) -> str | None:
        """The phase in which a trial diverged. Its method runs on from the weights before, and is not measured."""
        if self.pretraining is not None and self.pretraining.diverged[position]:
            return "pretrain"
        is_finite = np.isfinite(self.outcome.predictions[position]).all()
        return "finetune" if self.outcome.diverged[position] or not is_finite else None

    def _faults(self, rows: Sequence[Row]) -> list[str]:
        """A sentence on the parts of a user's own with which trials have diverged.

        Raises:
            UsageError: all of them have.
        """
        lost = [row for row in rows if row["diverged"]]
        user_parts = ", ".join(f"{part.axis}={part.value}" for part in used_options(self.config) if part.own)
        if not lost or not user_parts:
            return []
        sentence = (
            f"{user_parts}: {counted(len(lost), 'trial')} of {len(rows)} diverged, for a loss, a weight or a "
            "prediction is not finite; keep divisors, logarithms and roots above 0, or take a smaller learning_rate."
        )
        if len(lost) == len(rows):
            raise UsageError(sentence)
        return [f"{sentence} They are in no mean."]

    def _predictions(self, positions: Sequence[int]) -> list[Predictions]:
        """The predictions of the trials at these positions; none if they would take more than is to be kept."""
        table, data = self.stack.table, self.stack.data
        predictions = []
        for position in positions:
            test = data.test[position]
            trial_predictions = self.outcome.predictions[position]
            predictions.append(
                Predictions(self.stack.trials[position], test, table.labels[test], trial_predictions, table.target)
            )
        # Whether a cell keeps its predictions must not depend on how its trials are divided into stacks.
        largest = max((prediction.size for prediction in predictions), default=0)
        megabytes = self.config.trials * largest / 1e6
        return predictions if megabytes <= self.config.keep_predictions_mb else []

    def _environment(self) -> dict[str, Any]:
        """Versions and hardware. The size of the stack is kept if numbers depend on it."""
        hardware = self.stack.hardware
        # Whether the steps of a phase on a GPU were captured, and why not.
        launches = {f"{phase}_launches": fit.launches for phase, fit in self._fits.items() if fit.launches is not None}
        return {
            "python": python_version(),
            "platform": platform(),
            "device": str(hardware.device),
            "precision": hardware.precision,
            "threads": self.config.trainer.threads,
            "promise": hardware.promise.value,
            "trials_per_stack": "any" if hardware.promise is Promise.EXACT else self.together,
            "MKL_CBWR": os.environ.get("MKL_CBWR"),
            **launches,
            "packages": package_versions(self.method.libraries),
            "commit": source_commit(),
        }

    @property
    def _fits(self) -> dict[str, Fit]:
        """The fits of networks by their phases."""
        fits = {"pretrain": self.pretraining, "finetune": self.outcome.fit}
        return {phase: fit for phase, fit in fits.items() if fit is not None}


@cache
def package_versions(libraries: Sequence[str] = ()) -> dict[str, str]:
    """Versions of the packages that decide numbers, those of these modules of other libraries among them."""
    names_by_module = packages_distributions() if libraries else {}
    names = [*PACKAGES, *(name for library in libraries for name in names_by_module.get(library, []))]
    # A checkout need not be installed, so its version is the package's own.
    versions = {"scarf-lightning": __version__}
    for name in names:
        # There is one at most, and none if it is not installed.
        for distribution in distributions(name=name):
            versions[name] = distribution.version
    return versions
