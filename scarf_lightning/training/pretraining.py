"""The pre-training of a stack: trials in the cache are loaded, all others are trained."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..engine.fitting import Fit
from ..results import PretrainedTrial, PretrainingStore

Train = Callable[[Sequence[int]], Fit]
"""Pre-trains these trials at once."""


def pretrain(
    trials: Sequence[int], store: PretrainingStore | None, train: Train, *, steps_per_epoch: int, together: bool = False
) -> Fit:
    """Pre-train trials, each once for all cells that start from it.

    Args:
        trials: numbers of trials; the fit holds them in this order.
        store: the cache, or None. A process that finds another one training these trials waits for it. Trials that
            diverged are not kept.
        train: trains missing trials.
        steps_per_epoch: optimiser steps in an epoch.
        together: if a trial is missing, train all of them, because numbers depend on the stack; trials in the cache
            are still taken from it.
    """
    if store is None:
        return train(trials)
    kept = store.load(trials)
    diverged: set[int] = set()
    if len(kept) < len(trials):
        with store.claim() as claim:
            kept = store.load(trials)
            missing = [trial for trial in trials if trial not in kept]
            if missing:
                chosen = list(trials) if together else missing
                fit = train(chosen)
                diverged = {
                    trial for trial, gone in zip(chosen, fit.diverged, strict=True) if gone and trial in missing
                }
                trained = [each for each in _by_trial(fit, chosen) if each.trial in missing]
                store.add([each for each in trained if each.trial not in diverged], claim)
                kept |= {each.trial: each for each in trained}
    return Fit.join([_as_fit(kept[trial], steps_per_epoch, trial in diverged) for trial in trials])


def _by_trial(fit: Fit, trials: Sequence[int]) -> list[PretrainedTrial]:
    weights = {name: weight.cpu().numpy() for name, weight in fit.weights.items()}
    return [
        PretrainedTrial(
            trial,
            {name: weight[position] for name, weight in weights.items()},
            int(fit.epochs[position]),
            int(fit.best_epochs[position]),
            float(fit.seconds[position]),
            [record for record in fit.curves if record["trial"] == trial],
        )
        for position, trial in enumerate(trials)
    ]


def _as_fit(kept: PretrainedTrial, steps_per_epoch: int, diverged: bool) -> Fit:
    return Fit(
        {name: torch.from_numpy(weight)[None] for name, weight in kept.weights.items()},
        np.array([kept.epochs]),
        np.array([kept.epochs * steps_per_epoch]),
        np.array([kept.best_epoch]),
        np.array([kept.seconds]),
        list(kept.curve),
        np.array([diverged]),
    )
