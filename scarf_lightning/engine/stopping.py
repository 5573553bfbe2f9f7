"""The early stopping of each trial by itself, its curves, and the weights with which it ends."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..metrics import Metric
from ..options.settings import FitSettings
from .lifting import state
from .stack_modules import StackModule

MUST_BE_FINITE = {"train_loss", "validation_loss", "validation_error"}
"""A trial has diverged if one of these is not finite. Other metrics may be undefined for a sound network."""


@dataclass(frozen=True)
class EpochCurve:
    """The losses and metrics of an epoch.

    Attributes:
        epoch: its number, counted from 1.
        trials: the numbers of the trials in it, ``(A,)``.
        metrics: by name, float64 ``(A,)`` each.
    """

    epoch: int
    trials: NDArray[np.int64]
    metrics: Mapping[str, NDArray[np.float64]]

    def records(self) -> list[dict[str, Any]]:
        """A record for each trial."""
        records: list[dict[str, Any]] = [{"trial": trial, "epoch": self.epoch} for trial in self.trials.tolist()]
        for name, values in self.metrics.items():
            for record, value in zip(records, values.tolist(), strict=True):
                # Records are JSON, which has no infinity.
                record[name] = value if math.isfinite(value) else math.nan
        return records


class TrialStopping:
    """Watches each trial's validation metric.

    A trial's numbers do not depend on the trials beside it, so leaving changes only the time. A trial stops after more
    than ``patience`` validations without improvement: one that never improves trains patience + 2 epochs, 5 in the
    paper's table of training epochs (dataset 40923).

    A trial with a loss that is not finite has diverged: it stops, and the others go on. It keeps its last good
    weights, and its curve ends with that epoch, with NaN in place of numbers that are not finite.

    Args:
        trials: the trials' numbers, in the order of the stack.
        metric: watched in place of the settings' monitor.
        min_epochs: the first epoch after which a trial may stop.

    Attributes:
        longest_wait: validations without improvement after which a trial stops.
        active: positions in the stack of the trials that have not stopped.
        best: best ``sign`` times metric so far, ``(T,)``; ``sign`` is -1 if higher is better.
        best_epochs: the epoch, counted from 1, that reached it, ``(T,)``; the last one if nothing is watched.
        waited: validations since the best one, ``(T,)``.
        curves: of all epochs.
    """

    def __init__(
        self, trials: Sequence[int], settings: FitSettings, *, metric: Metric | None = None, min_epochs: int = 1
    ) -> None:
        n_trials = len(trials)
        self.trials = np.array(trials)
        self.monitor = f"validation_{settings.monitor}"
        self.sign = 1
        if metric is not None:
            self.monitor = f"validation_{metric.name}"
            self.sign = -metric.sign
        self.min_epochs = min_epochs
        self.longest_wait = settings.stops_after
        self._takes_ties = settings.ties == "last"
        self._watches = settings.monitor != "none"

        # The state of early stopping. These arrays keep the size T; `active` says whose entries still change.
        self.active: NDArray[np.int64] = np.arange(n_trials)
        self.best = np.full(n_trials, np.inf)
        self.best_epochs = np.zeros(n_trials, dtype=np.int64)
        self.epochs = np.zeros(n_trials, dtype=np.int64)
        self.waited = np.zeros(n_trials, dtype=np.int64)
        self.diverged = np.zeros(n_trials, dtype=bool)
        self.curves: list[EpochCurve] = []

    def end_epoch(self, metrics: Mapping[str, NDArray[np.float64]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the means of an epoch over the rows of the active trials, ``(A,)`` each.

        Returns:
            the masks ``(A,)`` of the trials that have improved and of those that have stopped; the latter are no
            longer active.
        """
        finite = _are_finite(metrics)
        self.diverged[self.active] = ~finite
        self.epochs[self.active] += 1
        epoch = int(self.epochs[self.active[0]])
        self.curves.append(EpochCurve(epoch, self.trials[self.active], metrics))

        improved = np.zeros_like(finite)
        if not self._watches:
            # The weights of the last epoch count.
            self.best_epochs[self.active] = self.epochs[self.active]
        elif self.monitor in metrics:
            # A trial that has diverged is as bad as the start.
            watched = np.where(finite, self.sign * metrics[self.monitor], np.inf)
            improved = self._update_best(watched)

        is_patience_over = self.waited[self.active] >= self.longest_wait
        may_stop = self.epochs[self.active] >= self.min_epochs
        stopped = ~finite | (is_patience_over & may_stop)
        self.active = self.active[~stopped]
        return improved, stopped

    def _update_best(self, watched: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare the active trials' watched numbers, smaller is better, with their best ones.

        Returns:
            the mask of the active trials that have improved.
        """
        best = self.best[self.active]
        improved: NDArray[np.bool_] = watched < best
        if self._takes_ties:
            # The start is infinite too, and a trial that diverges at once has not reached it again.
            improved |= (watched == best) & np.isfinite(watched)
        better = self.active[improved]
        self.best[better] = watched[improved]
        self.best_epochs[better] = self.epochs[better]
        self.waited[self.active] = np.where(improved, 0, self.waited[self.active] + 1)
        return improved


def _are_finite(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """The mask ``(A,)`` of the trials whose losses are all finite."""
    names = MUST_BE_FINITE & metrics.keys()
    finite: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(metrics[name]) for name in names])
    return finite


class KeptWeights:
    """The weights with which the trials of a module end: copies, because a module holds the trials still here alone.

    Attributes:
        tensors: parameters and buffers by name, ``(T, ...)`` each. At the start they are the initial ones, with which
            a trial ends that diverges in its first epoch.
    """

    def __init__(self, module: StackModule) -> None:
        self._module = module
        self.tensors = {name: tensor.detach().clone() for name, tensor in state(module).items()}

    @torch.no_grad()
    def take(self, places: NDArray[np.int64]) -> None:
        """Copy the present weights of the trials at these places in the module."""
        if len(places) == 0:
            return
        positions = np.array(self._module.roster.positions)[places]
        named = state(self._module)
        kept = list(self.tensors.values())
        if len(positions) == len(kept[0]):
            torch._foreach_copy_(kept, [named[name] for name in self.tensors])
            return
        source, target = self._device_tensor(places), self._device_tensor(positions)
        for name, tensor in named.items():
            self.tensors[name].index_copy_(0, target, tensor.index_select(0, source))

    def _device_tensor(self, numbers: NDArray[np.int64]) -> Tensor:
        device = self._module.roster.index.device
        tensor = torch.from_numpy(numbers)
        # From other memory than pinned the host waits for its copy.
        if device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(device, non_blocking=True)
