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
    trials: Sequence[int], store: PretrainingStore | None, train: Train, *, steps_per_epoch: int, together: bool = False
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
            kept = store.load(trials)
            missing = [trial for trial in trials if trial not in kept]
            if missing:
                chosen = list(trials) if together else missing
                fit = train(chosen)
                trained = {each.trial: each for each in _by_trial(fit, chosen) if each.trial in missing}
                diverged = trained.keys() & {chosen[position] for position in np.flatnonzero(fit.diverged)}
                store.add([each for each in trained.values() if each.trial not in diverged], claim)
                kept |= trained
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


@dataclass(frozen=True)
class Start:
    """Encoders from which networks start in place of a pre-training: trial t from encoder t modulo E.

    ``encoders`` holds the weights of the E encoders by name, ``(E, ...)``, and ``preprocessing`` stands before them.
    """

    encoders: Mapping[str, NDArray[Any]]
    preprocessing: Preprocessing

    def weights(self, trials: Sequence[int]) -> dict[str, Tensor]:
        """The weights of f for T trials by name, ``(T, ...)``."""
        chosen = self._chosen(trials)
        return {name: torch.from_numpy(np.array(weight[chosen])) for name, weight in self.encoders.items()}

    def preprocess(self, trials: Sequence[int], fitted: Preprocessing) -> Preprocessing:
        """The preprocessing of T trials, with what their target has ``fitted`` to their labels."""
        return replace(self.preprocessing.take(self._chosen(trials)), target=fitted.target)

    def _chosen(self, trials: Sequence[int]) -> NDArray[np.int64]:
        return np.array(trials, dtype=np.int64) % len(self.preprocessing.fill)
