"""Initial weights of the networks of a stack: a pre-training, loaded or trained, or encoders of another training."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.preprocessing import Preprocessing
from ..engine.fit import Fit
from ..results import Claim, PretrainedTrial, PretrainingStore


@contextmanager
def cached(
    trials: Sequence[int], store: PretrainingStore, claim: Claim | None = None
) -> Iterator[tuple[dict[int, PretrainedTrial], Claim | None]]:
    """The pre-trainings that a cache has of trials. Within the context it is claimed if it lacks some, and another
    process that wants the same ones waits.

    Args:
        claim: to the cache, which this process works under already; None to claim it here.
    """
    kept = store.load(trials)
    if len(kept) == len(trials):
        yield kept, claim
        return
    with store.claim() if claim is None else nullcontext(claim) as claim:
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
    return Fit.join([_as_fit(kept[trial], steps_per_epoch, trial in diverged) for trial in trials])


def _pretrained_trials(fit: Fit, trials: Sequence[int]) -> list[PretrainedTrial]:
    """The parts of a fit that each of its trials has, as the cache keeps them."""
    # To the host at once: a copy for each trial would wait for the device each time.
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
        weights={name: torch.from_numpy(weight)[None] for name, weight in kept.weights.items()},
        epochs=np.array([kept.epochs]),
        # The cache keeps no steps: of one pre-training every epoch has as many.
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
        return {name: torch.from_numpy(np.array(weight[positions])) for name, weight in self.encoders.items()}

    def preprocess(self, trials: Sequence[int], fitted: Preprocessing) -> Preprocessing:
        """The preprocessing of T trials, with what their target has ``fitted`` to their labels."""
        encoder_preprocessing = self.preprocessing.take(self._positions(trials))
        return replace(encoder_preprocessing, target=fitted.target)

    def _positions(self, trials: Sequence[int]) -> NDArray[np.int64]:
        """The position of each trial's encoder."""
        n_encoders = len(self.preprocessing.fill)
        return np.array(trials, dtype=np.int64) % n_encoders
