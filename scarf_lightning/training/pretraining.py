"""Initial weights of the networks of a stack: a pre-training, loaded or trained, or encoders of another training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.preprocessing import Preprocessing
from ..engine.fitting import Fit
from ..results import PretrainedTrial, PretrainingStore

Train = Callable[[Sequence[int]], Fit]
"""Pre-trains these trials at once."""


def pretrain(
    trials: Sequence[int],
    store: PretrainingStore | None,
    train: Train,
    *,
    steps_per_epoch: int,
    together: bool = False,
) -> Fit:
    """Pre-train trials, each once for all cells that start from it.

    Args:
        trials: numbers of trials; the fit holds them in this order.
        store: the cache, if any. A process waits for another one that trains these trials. Diverged ones are not kept.
        train: trains missing trials.
        steps_per_epoch: optimiser steps in an epoch.
        together: train all trials if one is missing, because numbers depend on the stack.
    """
    if store is None:
        return train(trials)
    kept = store.load(trials)
    diverged = set[int]()
    if len(kept) < len(trials):
        with store.claim() as claim:
            # Another process may have trained them while this one waited for the claim.
            kept = store.load(trials)
            missing = [trial for trial in trials if trial not in kept]
            if missing:
                block = list(trials) if together else missing
                fit = train(block)
                fits = {
                    each.trial: each
                    for each in _by_trial(fit, block)
                    if each.trial in missing
                }
                for trial, has_diverged in zip(block, fit.diverged, strict=True):
                    if has_diverged and trial in fits:
                        diverged.add(trial)
                store.add(
                    [each for trial, each in fits.items() if trial not in diverged],
                    claim,
                )
                kept |= fits
    return Fit.join(
        [_as_fit(kept[trial], steps_per_epoch, trial in diverged) for trial in trials]
    )


def _by_trial(fit: Fit, trials: Sequence[int]) -> list[PretrainedTrial]:
    """The parts of a fit that each of its trials has, as the cache keeps them."""
    weights = {name: weight.cpu().numpy() for name, weight in fit.weights.items()}
    each = []
    for position, trial in enumerate(trials):
        each.append(
            PretrainedTrial(
                trial=trial,
                weights={name: weight[position] for name, weight in weights.items()},
                epochs=int(fit.epochs[position]),
                best_epoch=int(fit.best_epochs[position]),
                seconds=float(fit.seconds[position]),
                curve=[record for record in fit.curves if record["trial"] == trial],
            )
        )
    return each


def _as_fit(kept: PretrainedTrial, steps_per_epoch: int, diverged: bool) -> Fit:
    """A trial of the cache as a fit of one trial."""
    return Fit(
        weights={
            name: torch.from_numpy(weight)[None]
            for name, weight in kept.weights.items()
        },
        epochs=np.array([kept.epochs]),
        steps=np.array([kept.epochs * steps_per_epoch]),
        best_epochs=np.array([kept.best_epoch]),
        seconds=np.array([kept.seconds]),
        curves=list(kept.curve),
        diverged=np.array([diverged]),
    )


@dataclass(frozen=True)
class Start:
    """Encoders from which networks start in place of a pre-training: trial t from encoder t modulo E.

    Attributes:
        encoders: the weights of the E encoders by name, ``(E, ...)``.
        preprocessing: of the rows before each encoder.
    """

    encoders: Mapping[str, NDArray[Any]]
    preprocessing: Preprocessing

    def weights(self, trials: Sequence[int]) -> dict[str, Tensor]:
        """The weights of f for T trials by name, ``(T, ...)``."""
        positions = self._positions(trials)
        return {
            name: torch.from_numpy(np.array(weight[positions]))
            for name, weight in self.encoders.items()
        }

    def preprocess(self, trials: Sequence[int], fitted: Preprocessing) -> Preprocessing:
        """The preprocessing of T trials, with what their target has ``fitted`` to their labels."""
        of_encoders = self.preprocessing.take(self._positions(trials))
        return replace(of_encoders, target=fitted.target)

    def _positions(self, trials: Sequence[int]) -> NDArray[np.int64]:
        """The position of each trial's encoder."""
        n_encoders = len(self.preprocessing.fill)
        return np.array(trials, dtype=np.int64) % n_encoders
