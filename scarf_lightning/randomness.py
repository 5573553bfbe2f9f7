"""Random streams: one for each (seed, labelled rows, trial, purpose), so that settings share all the randomness that
they can.

No stream depends on a method, a position in a stack or a count of earlier draws. A trial sees the same split, initial
weights and batches whether it trains alone or among thirty, after pre-training or without it.

Of the table, a stream depends on the number of rows with a label, and on nothing else. So a column that is renamed,
added or dropped, a cell that is mended and further rows without a label leave every stream as it was, and settings that
read one file differently are tested on the same rows. Tables of different sizes have different streams, so that a lucky
seed does not favour all of them at once.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

AHEAD = 2**21
"""Bytes of numbers that each trial draws at once on an accelerator, which takes one launch a trial."""
SORTED = 2**62
"""Range of the random keys that are sorted into a permutation: two of a million rows have the same key with a
probability of 1e-7."""


class Roster:
    """The trials of a stack that are still training.

    Tensors with a trial axis keep all T trials; `of` picks the part of the trials that are still here.

    Attributes:
        positions: of the trials still here among all T, in order.
        index: the same on the device, int64 ``(A,)``.
    """

    def __init__(self, n_trials: int, device: torch.device | str = "cpu") -> None:
        self._n_trials = n_trials
        self.positions = list(range(n_trials))
        self.index = torch.arange(n_trials, device=device)

    def __len__(self) -> int:
        return len(self.positions)

    def keep(self, positions: Sequence[int]) -> None:
        """Drop all trials but those at ``positions`` among the ones still here."""
        self.positions = [self.positions[position] for position in positions]
        self.index = torch.tensor(self.positions, device=self.index.device)

    def of(self, tensor: Tensor) -> Tensor:
        """The part of ``tensor`` ``(T, ...)`` that belongs to the trials still here, ``(A, ...)``."""
        # An index would copy the tensor, which is not needed as long as all trials train.
        if len(self) == self._n_trials:
            return tensor
        return tensor[self.index]


class Purpose(StrEnum):
    """Purpose of a random stream. A method or a plugin may use any other string for a stream of its own."""

    SPLIT = "split"
    LABELLED_SUBSET = "labelled subset"
    PRETRAIN_ROWS = "rows of pre-training"
    LABEL_NOISE = "label noise"
    VALIDATING = "labels that validate"
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
    FOLDS = "folds of the labels"


@dataclass(frozen=True)
class Streams:
    """The random streams of tables of one size under one seed.

    Attributes:
        seed: the option ``seed``.
        n_labelled: rows of the table that have a label.
    """

    seed: int
    n_labelled: int

    def seed_of(self, trial: int, purpose: str, fit: int = 0) -> int:
        """A 63-bit seed. ``fit`` tells apart the fits of a method that trains several models in a trial."""
        # A hash, so that neighbouring seeds and trials have unrelated streams.
        key = f"{self.seed}|{self.n_labelled}|{trial}|{purpose}|{fit}"
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


DrawnBy = Callable[["StackedGenerator", Callable[[], Tensor]], Tensor]
"""Returns the numbers of a draw instead of a stream. It may call the function that it gets to draw them."""
_drawn_by: DrawnBy | None = None


@contextmanager
def drawing(by: DrawnBy | None) -> Iterator[None]:
    """Within, ``by`` answers for all streams: it lists what a function draws, or gives numbers drawn before.

    None lets the streams answer.
    """
    global _drawn_by
    before, _drawn_by = _drawn_by, by
    try:
        yield
    finally:
        _drawn_by = before


Kind = str | int
"""A distribution: uniform, normal, permutation, or integers below a bound."""


def dtype_of(kind: Kind) -> torch.dtype:
    """The type of the draws of a kind."""
    return torch.float32 if kind in ("uniform", "normal") else torch.int64


def _fill(kind: Kind, out: Tensor, generator: torch.Generator) -> None:
    """Fill a tensor with draws of a kind, along its last axis if they are permutations."""
    if kind == "uniform":
        out.uniform_(generator=generator)
    elif kind == "normal":
        out.normal_(generator=generator)
    elif kind == "permutation":
        torch.randperm(out.shape[-1], generator=generator, out=out)
    else:
        out.random_(int(kind), generator=generator)


class StackedGenerator:
    """One torch generator for each trial.

    Every draw has leading axes in front of the requested shape: the trial axis, unless ``leading`` names
    others. So a part that draws ``random.uniform(N, M)`` gets numbers for each of its rows ``x (..., N, M)``.

    Draws are float32 whatever the default dtype is, so a run in float64 sees the same random numbers as one in float32.

    Args:
        seeds: one for each trial.
        device: where the numbers are drawn.
        roster: the trials that draw, those still here; None for all.
        leading: the leading axes of a draw if they are not the trial axis. ``()``, with one seed, draws for one trial.
        ahead: bytes of numbers that each trial draws at once for several draws of one shape. It decides which numbers
            are drawn, so only the device sets it: 0, draw by draw, on a processor and `AHEAD` elsewhere.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        roster: Roster | None = None,
        *,
        leading: tuple[int, ...] | None = None,
        ahead: int | None = None,
    ) -> None:
        self.device = torch.device(device)
        self._seeds, self._leading = list(seeds), leading
        self._roster = roster or Roster(len(seeds))
        if ahead is None:
            ahead = 0 if self.device.type == "cpu" else AHEAD
        self._ahead = ahead
        self._draws_ahead: dict[tuple[Kind, tuple[int, ...]], list[Tensor]] = {}
        self._all = [torch.Generator(self.device) for _ in seeds]
        self.reset()

    def __len__(self) -> int:
        return len(self._roster)

    @cached_property
    def host_streams(self) -> "StackedGenerator":
        """These streams on the processor, for libraries that compute there alone."""
        if self.device.type == "cpu":
            return self
        return StackedGenerator(self._seeds, roster=self._roster, leading=self._leading)

    def reset(self) -> None:
        """Restart every stream from its beginning."""
        for generator, seed in zip(self._all, self._seeds, strict=True):
            generator.manual_seed(seed)
        # What was drawn ahead belongs to the stream before, and so do the streams on the processor.
        self._draws_ahead.clear()
        self.__dict__.pop("host_streams", None)

    def uniform(self, *shape: int) -> Tensor:
        """Uniform on [0, 1), ``(..., *shape)``."""
        return self._draw("uniform", shape)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal, ``(..., *shape)``."""
        return self._draw("normal", shape)

    def integers(self, high: int, *shape: int) -> Tensor:
        """Uniform on 0, ..., high - 1; int64 ``(..., *shape)``."""
        return self._draw(high, shape)

    def permutations(self, n: int) -> Tensor:
        """A permutation of 0, ..., n - 1; int64 ``(..., n)``."""
        # On an accelerator `randperm` takes launches for each trial and draw; one sort serves all trials.
        if self._ahead:
            return self.integers(SORTED, n).argsort()
        return self._draw("permutation", (n,))

    def outside(self, make: Callable[[], Tensor]) -> Tensor:
        """Numbers that ``make`` computes from draws in a way that no captured step can, such as on the host."""
        if _drawn_by is None:
            return make()

        def made() -> Tensor:
            with drawing(None):
                return make()

        return _drawn_by(self, made)

    def _draw(self, kind: Kind, shape: tuple[int, ...]) -> Tensor:
        if _drawn_by is None:
            return self._draw_fresh(kind, shape)
        return _drawn_by(self, partial(self._draw_fresh, kind, shape))

    def _draw_fresh(self, kind: Kind, shape: tuple[int, ...]) -> Tensor:
        if self._ahead:
            out = self._next(kind, shape)
        else:
            out = torch.empty(len(self), *shape, dtype=dtype_of(kind), device=self.device)
            # A generator each: a trial's numbers do not depend on who trains beside it.
            for position, row in zip(self._roster.positions, out, strict=True):
                _fill(kind, row, self._all[position])
        return out if self._leading is None else out.view(*self._leading, *shape)

    def _next(self, kind: Kind, shape: tuple[int, ...]) -> Tensor:
        """The next of the draws of a kind and shape that each trial has drawn at once, ``(A, *shape)``."""
        if not self._draws_ahead.get((kind, shape)):
            self._draws_ahead[kind, shape] = self._draw_ahead(kind, shape)
        return self._roster.of(self._draws_ahead[kind, shape].pop(0))

    def _draw_ahead(self, kind: Kind, shape: tuple[int, ...]) -> list[Tensor]:
        """Draw several times at once, ``(T, *shape)`` each."""
        dtype = dtype_of(kind)
        n_draws = max(1, self._ahead // (math.prod(shape) * dtype.itemsize))
        numbers = torch.empty(len(self._all), n_draws, *shape, dtype=dtype, device=self.device)
        # Trials that have left draw nothing more.
        for position in self._roster.positions:
            _fill(kind, numbers[position], self._all[position])
        return list(numbers.unbind(1))
