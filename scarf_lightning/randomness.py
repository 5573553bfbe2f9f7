"""Random streams: one for every (seed, data, trial, purpose), so that methods share whatever they can share.

No stream is keyed by a method, a position in a stack or a count of earlier draws: a trial sees the same split, the same
initial weights and the same batches whether it trains alone or among thirty, after pre-training or without it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from .roster import Roster


class Purpose(StrEnum):
    """What the random streams of trainings are for. A method or a plugin names one of its own by any other string."""

    SPLIT = "split"
    LABELLED_SUBSET = "labelled subset"
    LABEL_NOISE = "label noise"
    LABELLED_VALIDATION = "labelled subset of validation rows"
    VALIDATION_NOISE = "label noise of validation rows"
    ENCODER = "initialisation of f"
    PRETRAIN_HEAD = "initialisation of g"
    HEAD = "initialisation of h"
    PRETRAIN_ORDER = "batch order of pre-training"
    FINETUNE_ORDER = "batch order of fine-tuning"
    CORRUPTION = "corruption"
    FINETUNE_CORRUPTION = "corruption in fine-tuning"
    VALIDATION_VIEWS = "validation views"
    DROPOUT = "dropout"
    PRETRAIN_DROPOUT = "dropout in pre-training"
    MIXUP = "mixup"
    BOOTSTRAP = "bootstrap samples"
    TUNING = "search for options"


@dataclass(frozen=True)
class Streams:
    """The random streams of one dataset under one seed."""

    seed: int
    data_hash: str

    def seed_of(self, trial: int, purpose: str, fit: int = 0) -> int:
        """A 63-bit seed. ``fit`` tells apart the fits of a method that trains several models in a trial."""
        key = f"{self.seed}|{self.data_hash}|{trial}|{purpose}|{fit}"
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little") >> 1

    def numpy(self, trial: int, purpose: str, fit: int = 0) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(self.seed_of(trial, purpose, fit)))

    def torch(
        self,
        trials: Sequence[int],
        purpose: str,
        *,
        fit: int = 0,
        device: torch.device | str = "cpu",
        roster: Roster | None = None,
    ) -> "StackedGenerator":
        return StackedGenerator([self.seed_of(trial, purpose, fit) for trial in trials], device, roster)


class StackedGenerator:
    """One torch generator a trial; every draw carries a leading trial axis.

    Draws are float32 whatever the default dtype is, so that a run in float64 sees the random numbers of one in float32.

    Args:
        seeds: of all trials.
        device: that the numbers are drawn on.
        roster: of the trials still here, for whom alone is drawn; None for all.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu", roster: Roster | None = None) -> None:
        self.device = torch.device(device)
        self._seeds, self._roster = list(seeds), roster or Roster(len(seeds))
        self._all = [torch.Generator(self.device) for _ in seeds]
        self.reset()

    def __len__(self) -> int:
        return len(self._roster)

    def reset(self) -> None:
        """Start every stream from its beginning again."""
        for generator, seed in zip(self._all, self._seeds, strict=True):
            generator.manual_seed(seed)

    def uniform(self, *shape: int) -> Tensor:
        """Uniform on [0, 1), ``(T, *shape)``."""
        out = torch.empty(len(self), *shape, dtype=torch.float32, device=self.device)
        for row, generator in zip(out, self._generators, strict=True):
            row.uniform_(generator=generator)
        return out

    def normal(self, *shape: int) -> Tensor:
        """Standard normal, ``(T, *shape)``."""
        out = torch.empty(len(self), *shape, dtype=torch.float32, device=self.device)
        for row, generator in zip(out, self._generators, strict=True):
            row.normal_(generator=generator)
        return out

    def integers(self, high: int, *shape: int) -> Tensor:
        """Uniform on 0, ..., high - 1; int64 ``(T, *shape)``."""
        out = torch.empty(len(self), *shape, dtype=torch.int64, device=self.device)
        for row, generator in zip(out, self._generators, strict=True):
            row.random_(high, generator=generator)
        return out

    def permutations(self, n: int) -> Tensor:
        """A permutation of 0, ..., n - 1 a trial; int64 ``(T, n)``."""
        return torch.stack([torch.randperm(n, generator=g, device=self.device) for g in self._generators])

    @property
    def _generators(self) -> list[torch.Generator]:
        return [self._all[position] for position in self._roster.positions]
