"""Initial weights of the networks of a stack: a pre-training, loaded or trained, or encoders of another training."""

from collections.abc import Iterator, Mapping, Sequence
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


class Pretrainings:
    """The pre-trainings of a stack's trials: those of the cache, and those that are trained because it lacks them.

    Attributes:
        to_train: the trials to train at once; none if the cache has all.
    """

    def __init__(self, trials: Sequence[int], kept: dict[int, PretrainedTrial]) -> None:
        self.to_train: list[int] = []
        self._trials = trials
        self._kept = kept
        self._added: dict[int, PretrainedTrial] = {}
        self._diverged = set[int]()

    @property
    def missing(self) -> list[int]:
        """The trials that are neither in the cache nor trained yet."""
        return [trial for trial in self._trials if trial not in self._kept]

    def add(self, fit: Fit) -> None:
        """Take what was trained. Of a block this is the missing trials alone: the others are in the cache already."""
        # Taken first: what is added is not missing.
        missing = self.missing
        for each, has_diverged in zip(_pretrained_trials(fit, self.to_train), fit.diverged, strict=True):
            if each.trial not in missing:
                continue
            self._kept[each.trial] = each
            if has_diverged:
                self._diverged.add(each.trial)
            else:
                self._added[each.trial] = each

    @property
    def to_keep(self) -> list[PretrainedTrial]:
        """The pre-trainings for the cache; a diverged trial has no weights that another cell could start from."""
        return list(self._added.values())

    def fit(self, steps_per_epoch: int) -> Fit:
        """All trials as one fit, in the stack's order."""
        fits = []
        for trial in self._trials:
            has_diverged = trial in self._diverged
            fits.append(_as_fit(self._kept[trial], steps_per_epoch, has_diverged))
        return Fit.join(fits)


@contextmanager
def cached(
    trials: Sequence[int], store: PretrainingStore, *, is_block: bool = False, claim: Claim | None = None
) -> Iterator[Pretrainings]:
    """A context to pre-train trials in, each once for all cells that start from it.

    Within the context the cache is claimed if trials are to be trained, and another process that wants the same ones
    waits. The cache takes at the end what was added.

    Args:
        trials: numbers of trials; the fit holds them in this order.
        store: the cache.
        is_block: train all trials if one is missing, because numbers depend on the stack.
        claim: to the cache, which this process works under already; None to claim it here.
    """
    pretrainings = Pretrainings(trials, store.load(trials))
    if not pretrainings.missing:
        yield pretrainings
        return
    with store.claim() if claim is None else nullcontext(claim) as claim:
        # Another process may have trained them while this one waited for the claim.
        pretrainings = Pretrainings(trials, store.load(trials))
        if pretrainings.missing:
            pretrainings.to_train = list(trials) if is_block else pretrainings.missing
        yield pretrainings
        if pretrainings.to_train:
            store.add(pretrainings.to_keep, claim)


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
