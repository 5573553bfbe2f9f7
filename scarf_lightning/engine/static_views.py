"""The validation set of a pre-training: views that are made once, and judged at every validation (paper, section 3)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..pretexts import Views
from ..randomness import StackedGenerator

MOST_BYTES = 2**28
"""Kept of the views of a stack: what a wide table of a thousand rows takes several times over."""


@dataclass(frozen=True)
class StaticViews:
    """P mini-batches made of the same rows.

    **Shape.** ``inputs`` has a tensor for each input of the pretext: of all mini-batches, one after the other, ``(T,
    P * N, D)``, or ``(T, N, D)`` where it is the same in all of them, as clean rows are; ``parts`` says which, P or 1.
    ``targets`` are those of each mini-batch.
    """

    inputs: tuple[Tensor, ...]
    parts: tuple[int, ...]
    targets: tuple[tuple[Tensor, ...], ...]

    @classmethod
    def of_passes(cls, passes: list[Views]) -> "StaticViews":
        each_input = list(zip(*(views.inputs for views in passes), strict=True))
        distinct = [of_all[:1] if all(each is of_all[0] for each in of_all) else of_all for of_all in each_input]
        inputs = tuple(of_all[0] if len(of_all) == 1 else torch.cat(of_all, dim=1) for of_all in distinct)
        return cls(inputs, tuple(map(len, distinct)), tuple(views.targets for views in passes))

    @property
    def n_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in {id(tensor): tensor for tensor in self._tensors()}.values())

    def of(self, staying: Tensor) -> "StaticViews":
        """Those of the trials at these positions. What stands in several places still does."""
        kept: dict[int, Tensor] = {}
        for tensor in self._tensors():
            if id(tensor) not in kept:
                kept[id(tensor)] = tensor[staying]
        inputs = tuple(kept[id(tensor)] for tensor in self.inputs)
        targets = tuple(tuple(kept[id(tensor)] for tensor in of_pass) for of_pass in self.targets)
        return StaticViews(inputs, self.parts, targets)

    def _tensors(self) -> Iterator[Tensor]:
        yield from self.inputs
        for of_pass in self.targets:
            yield from of_pass


class ValidationSet:
    """The mini-batches of a validation, in their order: drawn at the first, kept for the others.

    Where they would take more than `MOST_BYTES`, or change with the network, they are drawn again each time, from the
    beginning of the same streams.

    Args:
        make: the views of raw rows ``(T, N, M)``.
        random: the streams that views are drawn from.
        keeps: whether the views of a row stay what they are.
    """

    def __init__(
        self, make: Callable[[Tensor, StackedGenerator], StaticViews], random: StackedGenerator, *, keeps: bool
    ):
        self._make, self._random, self._keeps = make, random, keeps
        self._kept: list[StaticViews] = []
        self._next = 0

    def start(self) -> None:
        """Begin a validation."""
        self._random.reset()
        self._next = 0

    def views(self, raw: Tensor) -> StaticViews:
        """The views of the next mini-batch."""
        if self._next < len(self._kept):
            views = self._kept[self._next]
        else:
            views = self._make(raw, self._random)
            self._keep(views)
        self._next += 1
        return views

    def let_leave(self, staying: Tensor) -> None:
        """Shrink what is kept to the trials at these positions."""
        self._kept = [views.of(staying) for views in self._kept]

    def _keep(self, views: StaticViews) -> None:
        if not self._keeps:
            return
        self._kept.append(views)
        if sum(each.n_bytes for each in self._kept) > MOST_BYTES:
            self._keeps = False
            self._kept.clear()
