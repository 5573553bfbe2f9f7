"""The pre-trainings of a stack, loaded from the cache or added to it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from ..engine.fit import Fit
from ..results import Claim, PretrainedTrial, PretrainingStore


@contextmanager
def cached(trials: Sequence[int], store: PretrainingStore) -> Iterator[tuple[dict[int, PretrainedTrial], Claim | None]]:
    """The pre-trainings that a cache has of trials. Within the context it is claimed if it lacks some, and another
    process that wants the same ones waits."""
    kept = store.load(trials)
    if len(kept) == len(trials):
        yield kept, None
        return
    with store.claim(waits=True) as claim:
        # Another process may have trained them while this one waited for the claim.
        yield store.load(trials), claim


def add(
    kept: dict[int, PretrainedTrial], fit: Fit, trials: Sequence[int], store: PretrainingStore, claim: Claim | None
) -> set[int]:
    """Take what was trained: of a block those trials that the cache lacks. Returns the trials that have diverged."""
    added = [each for each in _pretrained_trials(fit, trials) if each.trial not in kept]
    diverged = {trial for trial, is_lost in zip(trials, fit.diverged, strict=True) if is_lost and trial not in kept}
    kept |= {each.trial: each for each in added}
    # A diverged trial has no weights that another cell could start from.
    store.add([each for each in added if each.trial not in diverged], claim)
    return diverged


def joined(
    trials: Sequence[int], kept: Mapping[int, PretrainedTrial], diverged: Collection[int], steps_per_epoch: int
) -> Fit:
    """All trials as one fit, in this order."""
    each = [kept[trial] for trial in trials]
    epochs = np.array([one.epochs for one in each])
    return Fit(
        weights={name: torch.from_numpy(np.stack([one.weights[name] for one in each])) for name in each[0].weights},
        epochs=epochs,
        # The cache keeps no steps: of one pre-training every epoch has as many.
        steps=epochs * steps_per_epoch,
        best_epochs=np.array([one.best_epoch for one in each]),
        seconds=np.array([one.seconds for one in each]),
        curves=[record for one in each for record in one.curve],
        diverged=np.array([trial in diverged for trial in trials]),
    )


def _pretrained_trials(fit: Fit, trials: Sequence[int]) -> list[PretrainedTrial]:
    """The parts of a fit that each of its trials has, as the cache keeps them."""
    # To the host at once: a copy for each trial would wait for the device each time.
    weights = {name: weight.cpu().numpy() for name, weight in fit.weights.items()}
    return [
        PretrainedTrial(
            trial=trial,
            weights={name: weight[position] for name, weight in weights.items()},
            epochs=int(fit.epochs[position]),
            best_epoch=int(fit.best_epochs[position]),
            seconds=float(fit.seconds[position]),
            curve=[record for record in fit.curves if record["trial"] == trial],
        )
        for position, trial in enumerate(trials)
    ]
