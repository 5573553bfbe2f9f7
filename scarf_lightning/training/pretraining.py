"""The pre-training of a stack: from the cache what is there, trained what is not."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..modules.fitting import Fit
from ..results import PretrainedTrial, PretrainingStore

Train = Callable[[Sequence[int]], Fit]
"""Pre-trains these trials; one trial is the same whichever others are trained with it."""


def pretrain(trials: Sequence[int], store: PretrainingStore, train: Train) -> Fit:
    """The pre-training of ``trials``, in their order, each trained once for all cells that start from it.

    Args:
        trials: numbers of trials.
        store: where they are kept; a process that finds another at work on them waits for it.
        train: trains what is missing.
    """
    if not store.keeps:
        return train(trials)
    kept = store.load(trials)
    if len(kept) < len(trials):
        with store.claim() as claim:
            kept = store.load(trials)
            missing = [trial for trial in trials if trial not in kept]
            if missing:
                trained = _by_trial(train(missing), missing)
                store.add(trained, claim)
                kept |= {each.trial: each for each in trained}
    return Fit.join([_as_fit(kept[trial]) for trial in trials])


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


def _as_fit(kept: PretrainedTrial) -> Fit:
    return Fit(
        {name: torch.from_numpy(weight)[None] for name, weight in kept.weights.items()},
        np.array([kept.epochs]),
        np.array([kept.best_epoch]),
        np.array([kept.seconds]),
        list(kept.curve),
    )
